/* With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2, the densities at the two points satisfy
 * e^epsilon phi(b) = phi(a), so
 *
 *   delta(epsilon; mu) = phi(a) (M(a) - M(b)),   M(x) = (1 - Phi(x)) / phi(x)   (Mills)
 *                      = phi(a) integral_a^b (1 - x M(x)) dx.
 *
 * The difference is used if M(a) and M(b) are far apart, the integral if they are close, so neither
 * cancels. phi(a) is kept as a logarithm. */
#include "account/gaussian.h"

#include "account/outward.h"

#include <stdbool.h>

#define SQRT_HALF_PI 1.2533141373155002512 /* sqrt(pi / 2) */
#define LOG_SQRT_2PI 0.91893853320467274178
#define FRACTION_FROM 2.0  /* the continued fraction is used from here on */
#define FRACTION_TERMS 100 /* its error is below exp(-2 x sqrt(2 terms)): e^-56 at x = 2 */
#define MU_SMALL 0.5       /* the integral is used up to this mu */
#define NEAR 0.05          /* and up to this fraction of a, where M is nearly 1/x */
#define SURE 30.0          /* for a below -SURE, 1 - delta is below 1e-190 */
#define SEARCH_MAX 1e300
#define BISECTIONS 200 /* more than an interval of doubles needs */

/* The fraction of the Mills ratio for x > 0: K(x) = 1/(x + 2/(x + 3/(x + ...))), with M = 1/(x + K)
 * and 1 - x M = K M. */
static double mills_fraction(double x)
{
    double t = 0;
    for (int n = FRACTION_TERMS; n >= 1; n--) {
        t = n / (x + t);
    }
    return t;
}

static double mills(double x)
{
    return x >= FRACTION_FROM ? 1 / (x + mills_fraction(x))
                              : SQRT_HALF_PI * exp(x * x / 2) * erfc(x / sqrt(2));
}

/* 1 - x M(x) = -M'(x), positive. */
static double mills_descent(double x)
{
    if (x < FRACTION_FROM) {
        return 1 - x * mills(x);
    }
    const double k = mills_fraction(x);
    return k / (x + k);
}

/* Gauss-Legendre with 8 points; on the intervals used here its error is below rounding. */
static double integrate_descent(double from, double width)
{
    static const double nodes[4] = {0.18343464249564980494, 0.52553240991632898582,
                                    0.79666647741362673959, 0.96028985649753623168};
    static const double weights[4] = {0.36268378337836198297, 0.31370664587788728734,
                                      0.22238103445337447054, 0.10122853629037625915};
    const double half = width / 2, middle = from + half;
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += weights[i] *
               (mills_descent(middle - half * nodes[i]) + mills_descent(middle + half * nodes[i]));
    }
    return half * sum;
}

double gaussian_log_delta(double epsilon, double mu)
{
    const double a = epsilon / mu - mu / 2, b = epsilon / mu + mu / 2;
    if (a < -SURE) {
        return 0;
    }
    if (!(b < 1e100)) {
        return -1e190; /* a > 1e99 here, log delta < -a^2/2 */
    }
    const bool is_close = mu <= fmax(MU_SMALL, a * NEAR);
    const double difference = is_close ? integrate_descent(a, mu) : mills(a) - mills(b);
    /* Rounding of a changes a^2/2 by less than 3 ulp of a b; all other errors are below 1e-12. */
    const double margin = 1e-11 + 1e-15 * (fabs(a) + 1) * (b + 1);
    const double log_delta = -a * a / 2 - LOG_SQRT_2PI + log(difference) + margin;
    return log_delta < 0 ? log_delta : 0;
}

/* delta increases with mu. Bisects by the geometric mean, which halves exponents first, until the
 * ends meet. */
double gaussian_mu(double epsilon, double delta)
{
    const double log_delta = log(delta);
    double low = 1e-300, high = 1;
    if (log_delta >= 0) {
        return INFINITY;
    }
    if (!(gaussian_log_delta(epsilon, low) <= log_delta)) {
        return 0;
    }
    while (gaussian_log_delta(epsilon, high) <= log_delta && high < SEARCH_MAX) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        const double middle = sqrt(low) * sqrt(high);
        if (!(middle > low && middle < high)) {
            break;
        }
        if (gaussian_log_delta(epsilon, middle) <= log_delta) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return outward_down(low, 4e-16);
}

double gaussian_epsilon(double mu, double delta)
{
    const double log_delta = log(delta);
    double low = 0, high = 1;
    if (gaussian_log_delta(0, mu) <= log_delta) {
        return 0;
    }
    while (!(gaussian_log_delta(high, mu) <= log_delta)) {
        if (high > SEARCH_MAX) {
            return INFINITY;
        }
        low = high;
        high *= 2;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        const double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high)) {
            break;
        }
        if (gaussian_log_delta(middle, mu) <= log_delta) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

double gaussian_scale(double epsilon, double delta, double l2_diameter)
{
    return outward_up(l2_diameter / gaussian_mu(epsilon, delta), 0);
}

double gaussian_paper_scale(double epsilon, double delta, double l2_diameter)
{
    /* sqrt(16 delta + 1) - 1 = 16 delta / (sqrt(16 delta + 1) + 1) */
    const double c2 = log((sqrt(16 * delta + 1) + 1) / (8 * delta));
    const double c = sqrt(c2);
    return outward_up(l2_diameter * (c + sqrt(c2 + epsilon)) / (epsilon * sqrt(2)), 1e-14);
}
