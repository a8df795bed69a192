/* Distances of several sets of points to one reference, for `dpot generator evaluate`.
 *
 * The reference is shuffled and split into two halves. Every candidate is compared with one; the
 * other is a candidate itself, the floor: no generator can be expected to be closer than fresh
 * data. All candidates have the same number of points, and the same number of them enters the exact
 * distances, because the distance between samples depends on the sample size.
 *
 *     comparison_init(&comparison, reference, n, dim, seed, &error);
 *     comparison_add(&comparison, "samples", points, weights, n, &error);      any number of times
 *     comparison_complete(&comparison, n_exact, &error);            adds floor and baselines
 *     comparison_measure_exact(&comparison, n_threads, NULL, &error);
 *     comparison_release(&comparison); */
#ifndef DPOT_FORECAST_COMPARISON_H
#define DPOT_FORECAST_COMPARISON_H

#include "solve/estimate/coverage.h"
#include "solve/run/control.h"
#include "solve/run/team.h"
#include "solve/transport/wasserstein.h"

#define CANDIDATES_MAX 6

struct candidate {
    const char *name;
    size_t n, cap;   /* rows in use and allocated */
    double *points;  /* (n, dim) owned */
    double *weights; /* (n) owned; NULL: equal */

    struct wasserstein exact;
    double sliced;
    double frechet;           /* NaN: no classifier */
    struct coverage coverage; /* n_classes 0: no classifier */
};

struct comparison {
    size_t dim;
    uint64_t seed;
    struct candidate reference; /* the half that candidates are compared with */
    struct candidate entries[CANDIDATES_MAX];
    size_t n_entries;
    size_t n_each;  /* points of a candidate without weights */
    size_t n_exact; /* of these, points in the exact distances */
};

/* Copies the reference. DPOT_ERR_SHAPE: fewer than 4 points. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status comparison_init(struct comparison *comparison, const double *reference,
                                             size_t n, size_t dim, uint64_t seed,
                                             struct dpot_error *error);
void comparison_release(struct comparison *comparison);

/* Copies the points of a candidate, shuffled unless they have weights (sum one; NULL: equal).
 * `name` is borrowed. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status comparison_add(struct comparison *comparison, const char *name,
                                            const double *points, const double *weights, size_t n,
                                            struct dpot_error *error);

/* Adds the floor ("reference") and two baselines after the last comparison_add: the Gaussian with
 * the moments of the floor ("gaussian", up to MOMENTS_DIM_MAX coordinates) and its mean
 * ("mean"). */
DPOT_WARN_UNUSED dpot_status comparison_complete(struct comparison *comparison, size_t n_exact,
                                                 struct dpot_error *error);

/* Exact distances of all candidates, on n_threads threads. Uses only `progress` of `control`. */
DPOT_WARN_UNUSED dpot_status comparison_measure_exact(struct comparison *comparison,
                                                      size_t n_threads,
                                                      const struct solve_control *control,
                                                      struct dpot_error *error);

/* Sliced distances, in the same way. */
DPOT_WARN_UNUSED dpot_status comparison_measure_sliced(struct comparison *comparison,
                                                       size_t n_directions, size_t n_threads,
                                                       const struct solve_control *control,
                                                       struct dpot_error *error);

/* NULL: no candidate has this name. */
const struct candidate *comparison_find(const struct comparison *comparison, const char *name);

#endif
