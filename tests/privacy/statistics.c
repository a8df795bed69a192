#include "privacy/statistics.h"

#include <math.h>

/* P(a, x) by its series, for x < a + 1. */
static double lower_gamma(double a, double x)
{
    double term = 1 / a, sum = term;
    for (double n = 1; term > sum * 1e-17; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* Q(a, x) by Legendre's continued fraction from the inside, for x >= a + 1. */
static double upper_gamma(double a, double x)
{
    double fraction = 0;
    for (double n = 2000; n >= 1; n--) {
        fraction = n * (n - a) / (x + 2 * n + 1 - a - fraction);
    }
    return exp(a * log(x) - x - lgamma(a)) / (x + 1 - a - fraction);
}

double chi_square_p(double x, double n)
{
    if (!(x > 0)) {
        return 1;
    }
    const double a = n / 2, half = x / 2;
    return half < a + 1 ? 1 - lower_gamma(a, half) : upper_gamma(a, half);
}

double fit_p(const size_t *counts, const double *probabilities, size_t n, size_t n_samples)
{
    double chi_square = 0, expected = 0, count = 0, left = (double)n_samples;
    double n_cells = 0;
    for (size_t i = 0; i < n; i++) {
        expected += probabilities[i] * (double)n_samples;
        count += (double)counts[i];
        left -= probabilities[i] * (double)n_samples;
        /* The last cell takes all of the rest, so it is closed only where enough is left for it. */
        if ((expected >= 20 && left >= 20) || i + 1 == n) {
            chi_square += (count - expected) * (count - expected) / expected;
            n_cells++;
            expected = count = 0;
        }
    }
    return chi_square_p(chi_square, n_cells - 1);
}

double kolmogorov_p(double d, size_t n)
{
    const double root = sqrt((double)n), x = (root + 0.12 + 0.11 / root) * d;
    double p = 0;
    for (int i = 1; i <= 100; i++) {
        p += (i % 2 ? 2 : -2) * exp(-2.0 * i * i * x * x);
    }
    return fmin(p, 1);
}
