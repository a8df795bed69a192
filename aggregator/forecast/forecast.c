#include "forecast/forecast.h"

#include "account/binomial.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void figure_from_draws(struct figure *figure, double *draws, size_t n_draws)
{
    const size_t r = (size_t)((1 - FORECAST_LEVEL) / 2 * (double)(n_draws + 1) + 1e-9);
    double sum = 0;
    qsort(draws, n_draws, sizeof *draws, compare);
    for (size_t b = 0; b < n_draws; b++) {
        sum += draws[b];
    }
    figure->is_known = true;
    figure->mean = sum / (double)n_draws;
    figure->lower = draws[r - 1];
    figure->upper = draws[n_draws - r];
}

/* De Moivre: E |X - n p| = 2 v (1 - p) P[X = v], v = floor(n p) + 1. */
double forecast_mean_deviation(double n, double p)
{
    const double v = floor(n * p) + 1;
    if (!(p > 0 && p < 1 && v <= n)) { /* no randomness left */
        return 0;
    }
    return 2 * v * (1 - p) * exp(binomial_log_pmf(n, v, p, 1 - p)) / n;
}
