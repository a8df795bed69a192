/* How near several sets of points are to one reference: what `dpot generator evaluate` measures.
 *
 * The reference is shuffled and cut into two halves. One is what every contestant is compared with; the
 * other is a contestant itself, the floor: no generator can be expected to do better than fresh data.
 * All contestants have the same number of points, and equally many of them take part in the exact
 * distances, because the distance between samples depends on how many there are.
 *
 *     contest_init(&contest, reference, n, dim, seed, &error);
 *     contest_add(&contest, "samples", points, weights, n, &error);      any number of times
 *     contest_settle(&contest, n_exact, &error);            all known: adds floor and yardsticks
 *     contest_measure_exact(&contest, n_threads, NULL, &error);
 *     contest_release(&contest); */
#ifndef DPOT_FORECAST_CONTEST_H
#define DPOT_FORECAST_CONTEST_H

#include "solve/estimate/coverage.h"
#include "solve/run/control.h"
#include "solve/run/team.h"
#include "solve/transport/wasserstein.h"

#define CONTESTANTS_MAX 6

struct contestant {
    const char *name;
    size_t n, cap;   /* rows in use and there */
    double *points;  /* (n, dim) owned */
    double *weights; /* (n) owned; NULL: equal */

    struct wasserstein exact;
    double sliced;
    double frechet;           /* NaN without a classifier */
    struct coverage coverage; /* n_classes 0 without a classifier */
};

struct contest {
    size_t dim;
    uint64_t seed;
    struct contestant reference; /* the half compared with */
    struct contestant entries[CONTESTANTS_MAX];
    size_t n_entries;
    size_t n_each;  /* points of a contestant without weights */
    size_t n_exact; /* of them in the exact distances */
};

/* Copies the reference: at least 4 points (DPOT_ERR_SHAPE). DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status contest_init(struct contest *contest, const double *reference,
                                          size_t n, size_t dim, uint64_t seed,
                                          struct dpot_error *error);
void contest_release(struct contest *contest);

/* Copies the points, shuffled unless they have weights (sum one; NULL: equal). `name` is borrowed. */
DPOT_WARN_UNUSED dpot_status contest_add(struct contest *contest, const char *name,
                                         const double *points, const double *weights, size_t n,
                                         struct dpot_error *error);

/* After the last contest_add: the floor ("reference"), and two yardsticks that know next to nothing, the
 * Gaussian with the moments of the floor's points ("gaussian", up to MOMENTS_DIM_MAX coordinates) and
 * their mean ("mean"). */
DPOT_WARN_UNUSED dpot_status contest_settle(struct contest *contest, size_t n_exact,
                                            struct dpot_error *error);

/* Exact distances of every contestant, on n_threads threads. Of `control` only `progress` is used. */
DPOT_WARN_UNUSED dpot_status contest_measure_exact(struct contest *contest, size_t n_threads,
                                                   const struct solve_control *control,
                                                   struct dpot_error *error);

/* The same with sliced distances. */
DPOT_WARN_UNUSED dpot_status contest_measure_sliced(struct contest *contest, size_t n_directions,
                                                    size_t n_threads,
                                                    const struct solve_control *control,
                                                    struct dpot_error *error);

/* NULL when there is none of that name. */
const struct contestant *contest_find(const struct contest *contest, const char *name);

#endif
