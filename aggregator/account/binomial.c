#include "account/binomial.h"

#include <math.h>

#define HALF_LOG_2PI 0.91893853320467274178
#define SERIES_FROM 16.0  /* Stirling's series is used from here on, with an error below 1e-16 */
#define FRACTION_MAX 2000 /* pairs of steps of the continued fraction */
#define FRACTION_END 1e-14
#define TAIL_MARGIN 1e-13 /* above the rounding error of the fraction, below what shuffle.c needs */

/* log n! - (n + 1/2) log n + n - log(2 pi)/2, for n >= 1. */
static double stirling_rest(double n)
{
    if (n >= SERIES_FROM) {
        const double n2 = n * n;
        return (1.0 / 12 -
                (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / n2) / n2) / n2) / n2) /
               n;
    }
    double log_factorial = 0;
    for (double i = 2; i <= n; i++) {
        log_factorial += log(i);
    }
    return log_factorial - (n + 0.5) * log(n) + n - HALF_LOG_2PI;
}

/* x log(x/m) + m - x for x >= 1, m > 0. To avoid cancellation for x near m it is computed as
 * (x - m) v + 2 x (v^3/3 + v^5/5 + ...) with v = (x - m)/(x + m). */
static double deviance(double x, double m)
{
    if (fabs(x - m) > 0.1 * (x + m)) {
        return x * log(x / m) + m - x;
    }
    const double v = (x - m) / (x + m);
    double sum = (x - m) * v, power = 2 * x * v;
    for (int j = 3; j < 60; j += 2) {
        power *= v * v;
        const double next = sum + power / j;
        if (next == sum) {
            break;
        }
        sum = next;
    }
    return sum;
}

double binomial_log_pmf(double n, double x, double p, double q)
{
    if (x <= 0) {
        return n > 0 ? n * (p < 0.5 ? log1p(-p) : log(q)) : 0;
    }
    if (x >= n) {
        return n * (q < 0.5 ? log1p(-q) : log(p));
    }
    const double y = n - x;
    return stirling_rest(n) - stirling_rest(x) - stirling_rest(y) - deviance(x, n * p) -
           deviance(y, n * q) + log(n / x / y) / 2 - HALF_LOG_2PI;
}

/* The m-th pair of coefficients of the continued fraction of the incomplete beta function
 * I_{1/2}(a, b) (DLMF 8.17.22). */
static double odd_coefficient(double a, double b, double m)
{
    return -(a + m) / (a + 2 * m) * ((a + b + m) / (a + 2 * m + 1)) / 2;
}

static double even_coefficient(double a, double b, double m)
{
    return m / (a + 2 * m - 1) * ((b - m) / (a + 2 * m)) / 2;
}

/* One step of Lentz's method: the next convergent of 1 + d_1/(1 + d_2/(1 + ...)). */
static double lentz_step(double d, double *c, double *e)
{
    *c = 1 + d / *c;
    *e = 1 / (1 + d * *e);
    return *c * *e;
}

/* A lower bound of 1/(1 + d_1/(1 + ...)). Of four consecutive convergents two lie below the value
 * and two above (DLMF 8.17.23 and after), so the least of the last four is a lower bound wherever
 * the loop stops. */
static double beta_fraction(double a, double b)
{
    double c = 1, e = 0, value = 1, least = 0;
    for (int m = 0; m < FRACTION_MAX; m += 2) {
        double ends[4];
        for (int i = 0; i < 2; i++) {
            const double k = m + i;
            value *= lentz_step(odd_coefficient(a, b, k), &c, &e);
            ends[2 * i] = 1 / value;
            value *= lentz_step(even_coefficient(a, b, k + 1), &c, &e);
            ends[2 * i + 1] = 1 / value;
        }
        least = fmin(fmin(ends[0], ends[1]), fmin(ends[2], ends[3]));
        const double most = fmax(fmax(ends[0], ends[1]), fmax(ends[2], ends[3]));
        if (most - least <= FRACTION_END * least) {
            break;
        }
    }
    return least;
}

double binomial_fair_tail(double c, double t)
{
    if (t > c) {
        return 0;
    }
    /* P[>= t] = I_{1/2}(t, c-t+1) = P[= t]/2 times the fraction; P[= t] = P[= t-1] (c-t+1)/t. */
    return beta_fraction(t, c - t + 1) / 2 * ((c - t + 1) / t) * (1 - TAIL_MARGIN);
}
