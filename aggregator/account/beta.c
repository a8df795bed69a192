#include "account/beta.h"

#include <math.h>

#define HALF_LOG_2PI 0.91893853320467274178
#define SERIES_FROM 16.0 /* Stirling's series is used from here on, with an error below 1e-16 */
#define STEPS_MAX 20000  /* of the continued fraction; sqrt(max(a, b)) is typical */
#define FRACTION_END 1e-16
#define TINY 1e-300

/* log Gamma(x), x > 0. lgamma is not thread-safe: it writes signgam. */
static double log_gamma(double x)
{
    double product = 1;
    for (; x < SERIES_FROM; x += 1) {
        product *= x;
    }
    const double x2 = x * x;
    const double rest =
        (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / x2) / x2) / x2) / x2) / x;
    return (x - 0.5) * log(x) - x + HALF_LOG_2PI + rest - log(product);
}

double beta_log(double a, double b)
{
    return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

/* One step of Lentz's method for 1 + t_1/(1 + t_2/(1 + ...)); returns the factor of the value. */
static double lentz_step(double term, double *c, double *d)
{
    *d = 1 + term * *d;
    *c = 1 + term / *c;
    *d = 1 / (fabs(*d) < TINY ? TINY : *d);
    *c = fabs(*c) < TINY ? TINY : *c;
    return *c * *d;
}

/* The continued fraction of I_x(a, b) (Abramowitz and Stegun 26.5.8), fast for
 * x < (a + 1)/(a + b + 2). */
static double fraction(double a, double b, double x)
{
    double c = 1, d = 1 / fmax(1 - (a + b) * x / (a + 1), TINY), value = d;
    for (int m = 1; m <= STEPS_MAX; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        value *= lentz_step(even, &c, &d);
        const double factor = lentz_step(odd, &c, &d);
        value *= factor;
        if (fabs(factor - 1) <= FRACTION_END) {
            break;
        }
    }
    return value;
}

struct beta_tails beta_cumulative(double a, double b, double x, double y)
{
    if (!(x > 0)) {
        return (struct beta_tails){0, 1};
    }
    if (!(y > 0)) {
        return (struct beta_tails){1, 0};
    }
    const double log_front = a * log(x) + b * log(y) - beta_log(a, b);
    if (x < (a + 1) / (a + b + 2)) {
        const double below = fmin(exp(log_front) * fraction(a, b, x) / a, 1);
        return (struct beta_tails){below, 1 - below};
    }
    const double above = fmin(exp(log_front) * fraction(b, a, y) / b, 1);
    return (struct beta_tails){1 - above, above};
}
