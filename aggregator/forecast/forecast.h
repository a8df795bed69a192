/* What is predicted: for each figure of error its mean and a band that holds it in 95 of 100
 * campaigns.
 *
 * The band runs from the r-th smallest to the r-th largest of B drawn campaigns, r = floor(0.025 (B +
 * 1)): the error of a further campaign falls inside with probability 1 - 2 r / (B + 1), whatever
 * its law. */
#ifndef DPOT_FORECAST_FORECAST_H
#define DPOT_FORECAST_FORECAST_H

#include <stdbool.h>
#include <stddef.h>

#define FORECAST_LEVEL 0.95
#define FORECAST_DRAWS_MIN 39 /* r >= 1 */

enum figure_id {
    FIGURE_HISTOGRAM,  /* l1 distance of the histogram from the law of the reports */
    FIGURE_W1,         /* of the histogram from the truth */
    FIGURE_W2,         /* the same */
    FIGURE_MEAN,       /* l2 distance of the mean vector from the true mean */
    FIGURE_COORDINATE, /* |error| of one coordinate of a report's mean, each alike */
    N_FIGURES,
};
#define FIGURES_ALL ((1u << N_FIGURES) - 1) /* as bits */

struct figure {
    bool is_known;
    double mean, lower, upper;
    double bias; /* the error that is left however many report */
};

struct forecast {
    double n;
    struct figure figures[N_FIGURES];
};

/* Mean and band from draws (n_draws >= FORECAST_DRAWS_MIN), which are sorted. Leaves the bias. */
void figure_from_draws(struct figure *figure, double *draws, size_t n_draws);

/* E |X / n - p| of X ~ Binomial(n, p), exactly. */
double forecast_mean_deviation(double n, double p);

#endif
