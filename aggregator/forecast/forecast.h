/* A forecast: for each error figure its mean and a band that contains it in 95 of 100 campaigns.
 *
 * The band runs from the r-th smallest to the r-th largest of B simulated campaigns,
 * r = floor(0.025 (B + 1)). The error of a further campaign lies inside with probability 1 - 2
 * r / (B + 1), whatever its distribution. */
#ifndef DPOT_FORECAST_FORECAST_H
#define DPOT_FORECAST_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

#define FORECAST_LEVEL 0.95
#define FORECAST_DRAWS_MIN 39 /* r >= 1 */

enum figure_id {
    FIGURE_HISTOGRAM,  /* l1 distance of the histogram from the law of the reports */
    FIGURE_W1,         /* of the histogram from the truth */
    FIGURE_W2,         /* in the same way */
    FIGURE_MEAN,       /* l2 distance of the mean vector from the true mean */
    FIGURE_COORDINATE, /* |error| of one coordinate of the mean, all with equal weight */
    N_FIGURES,
};
#define FIGURES_ALL ((1u << N_FIGURES) - 1) /* as a bit mask */

struct figure {
    bool is_known;
    double mean, lower, upper;
    double bias; /* the error that remains for any number of reports */
};

struct forecast {
    double n;
    struct figure figures[N_FIGURES];
};

/* Sets mean and band from draws (n_draws >= FORECAST_DRAWS_MIN), which it sorts. Does not change
 * the bias. */
void figure_from_draws(struct figure *figure, double *draws, size_t n_draws);

/* E |X / n - p| for X ~ Binomial(n, p), exactly. */
double forecast_mean_deviation(double n, double p);

#endif
