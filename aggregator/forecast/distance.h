/* Exact W_p, in the campaign's metric, between a population on the domain of a campaign and
 * histograms on its output points.
 *
 * On a line (one coordinate, metric |x - y|) quantiles are matched. Otherwise an exact transport
 * problem is solved. For W_1 in a metric with output points equal to the domain, only the
 * differences are transported: by the triangle inequality common mass can stay. */
#ifndef DPOT_FORECAST_DISTANCE_H
#define DPOT_FORECAST_DISTANCE_H

#include "model/campaign.h"

#define DISTANCE_COSTS_MAX ((size_t)1 << 24) /* points of the population x output points */

struct distance {
    double power;
    bool is_line;
    bool is_cancelling;
    size_t n_rows, n_cols;
    uint32_t *row;    /* (n_rows) domain points of the population; on a line sorted by position */
    uint32_t *column; /* (n_cols) on a line: output points sorted by position */
    double *mass;     /* (n_rows) */
    double *x, *y;    /* (n_rows), (n_cols) on a line: positions */
    double *cost;     /* (n_rows, n_cols) not on a line: d^power */
};

/* Whether W_p of so many points can be computed; always true on a line. */
bool distance_fits(const struct dpot_campaign *campaign, const double *population);

/* Prepares distances to the population (domain size), mass 1. Release it also after a failure.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status distance_init(struct distance *distance,
                                           const struct dpot_campaign *campaign,
                                           const double *population, double power,
                                           struct dpot_error *error);
void distance_release(struct distance *distance);

/* Scratch space of one thread. */
struct distance_scratch {
    size_t n_rows, n_cols;
    size_t cap_costs;
    size_t *rows, *cols; /* rows and columns with mass */
    double *a, *b;
    double *cost; /* (cap_costs) of those rows and columns */
};
DPOT_WARN_UNUSED dpot_status distance_scratch_init(struct distance_scratch *scratch,
                                                   const struct distance *distance,
                                                   struct dpot_error *error);
void distance_scratch_release(struct distance_scratch *scratch);

/* W_p to `histogram` (n_cols), mass 1. Thread-safe with one scratch per thread. */
DPOT_WARN_UNUSED dpot_status distance_measure(const struct distance *distance,
                                              struct distance_scratch *scratch,
                                              const double *histogram, double *wp,
                                              struct dpot_error *error);

#endif
