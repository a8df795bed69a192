/* Barycenter problems with random groups, and what the suites check of a solution. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_CROWD_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_CROWD_H

#include "solve/barycenter/barycenter.h"

#include <stddef.h>

/* Four groups of n points with masses, of weights 0.1, 0.2, 0.3 and 0.4. */
struct crowd {
    struct point_set groups[4];
    struct barycenter_problem problem;
};

/* Coordinates in [offset, offset + 1). Must not move. */
void crowd_init(struct crowd *crowd, size_t n, size_t dim, double offset);
void crowd_release(struct crowd *crowd);

/* The next number in [0, 1), or a fresh array (n, dim), of a stream with a fixed seed. */
double uniform(void);
double *random_points(size_t n, size_t dim, double offset);

/* One start until convergence, with equal weights on m atoms. */
struct barycenter_options exact_options(size_t m);
struct barycenter_options sinkhorn_options(size_t m, double lambda);

/* Each fails the test on errors. */
void solve(const struct barycenter_problem *problem, const struct barycenter_options *options,
           struct barycenter_result *result);
double cost_of(const struct barycenter_problem *problem, const struct barycenter_result *result);
double bound_of(const struct barycenter_problem *problem, enum barycenter_bound_method how);

#endif
