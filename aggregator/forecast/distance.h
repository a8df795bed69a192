/* Exact W_p between one population on the domain of a campaign and many histograms on its output
 * points, distances in the campaign's metric.
 *
 * On a line (one coordinate, a metric that is |x - y|) both are matched quantile by quantile.
 * Elsewhere an exact transport is solved; of W_1 in a metric, where domain and output are the same
 * points, only for what is not already in its place: by the triangle inequality the rest may stay. */
#ifndef DPOT_FORECAST_DISTANCE_H
#define DPOT_FORECAST_DISTANCE_H

#include "model/campaign.h"

#define DISTANCE_COSTS_MAX ((size_t)1 << 24) /* points of the population x output points */

struct distance {
    double power;
    bool is_line;
    bool is_cancelling;
    size_t n_rows, n_cols;
    uint32_t *row;    /* (n_rows) domain points of the population; on a line by position */
    uint32_t *column; /* (n_cols) on a line: output points by position */
    double *mass;     /* (n_rows) */
    double *x, *y;    /* (n_rows), (n_cols) on a line: positions */
    double *cost;     /* (n_rows, n_cols) elsewhere: d^power */
};

/* True when W_p of so many points can be told: on a line always. */
bool distance_fits(const struct dpot_campaign *campaign, const double *population);

/* The population is (domain size), mass 1. DPOT_ERR_MEMORY; release it also after a failure. */
DPOT_WARN_UNUSED dpot_status distance_init(struct distance *distance,
                                           const struct dpot_campaign *campaign,
                                           const double *population, double power,
                                           struct dpot_error *error);
void distance_release(struct distance *distance);

/* What one thread needs beside. */
struct distance_scratch {
    size_t n_rows, n_cols;
    size_t cap_costs;
    size_t *rows, *cols; /* those that take part */
    double *a, *b;
    double *cost; /* (cap_costs) of those */
};
DPOT_WARN_UNUSED dpot_status distance_scratch_init(struct distance_scratch *scratch,
                                                   const struct distance *distance,
                                                   struct dpot_error *error);
void distance_scratch_release(struct distance_scratch *scratch);

/* W_p to `histogram` (n_cols), mass 1. Several threads may use one distance. */
DPOT_WARN_UNUSED dpot_status distance_measure(const struct distance *distance,
                                              struct distance_scratch *scratch,
                                              const double *histogram, double *wp,
                                              struct dpot_error *error);

#endif
