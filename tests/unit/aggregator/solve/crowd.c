/* See the header. */
#include "crowd.h"

#include "transport.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint64_t state = 3;

double uniform(void)
{
    return transport_uniform(&state);
}

double *random_points(size_t n, size_t dim, double offset)
{
    double *points = calloc(n * dim, sizeof *points);
    for (size_t k = 0; k < n * dim; k++) {
        points[k] = offset + uniform();
    }
    return points;
}

struct barycenter_options exact_options(size_t m)
{
    return (struct barycenter_options){.support_size = m,
                                       .inner = BARYCENTER_EXACT,
                                       .tol = 1e-10,
                                       .max_iterations = 500,
                                       .n_starts = 1};
}

struct barycenter_options sinkhorn_options(size_t m, double lambda)
{
    return (struct barycenter_options){.support_size = m,
                                       .inner = BARYCENTER_SINKHORN,
                                       .lambda = lambda,
                                       .inner_iterations = 100000,
                                       .inner_tol = 1e-11,
                                       .tol = 1e-9,
                                       .max_iterations = 2000,
                                       .n_starts = 1};
}

void solve(const struct barycenter_problem *problem, const struct barycenter_options *options,
           struct barycenter_result *result)
{
    struct dpot_error error = {""};
    cr_assert_eq(barycenter_solve(problem, options, NULL, result, &error), DPOT_OK, "%s",
                 error.text);
}

double cost_of(const struct barycenter_problem *problem, const struct barycenter_result *result)
{
    struct dpot_error error = {""};
    double cost = 0;
    cr_assert_eq(barycenter_cost(problem, result->support, result->weights, result->support_size,
                                 NULL, &cost, &error),
                 DPOT_OK, "%s", error.text);
    return cost;
}

double bound_of(const struct barycenter_problem *problem, enum barycenter_bound_method how)
{
    struct dpot_error error = {""};
    double bound = 0;
    cr_assert_eq(barycenter_bound(problem, how, NULL, &bound, &error), DPOT_OK, "%s", error.text);
    return bound;
}

static const double crowd_weights[4] = {0.1, 0.2, 0.3, 0.4};

void crowd_init(struct crowd *crowd, size_t n, size_t dim, double offset)
{
    for (size_t i = 0; i < 4; i++) {
        double *mass = calloc(n, sizeof *mass), sum = 0;
        for (size_t l = 0; l < n; l++) {
            sum += mass[l] = 0.1 + uniform();
        }
        for (size_t l = 0; l < n; l++) {
            mass[l] /= sum;
        }
        crowd->groups[i] = (struct point_set){n, random_points(n, dim, offset), mass};
    }
    crowd->problem = (struct barycenter_problem){4, dim, crowd->groups, crowd_weights};
}

void crowd_release(struct crowd *crowd)
{
    for (size_t i = 0; i < 4; i++) {
        free((void *)crowd->groups[i].points);
        free((void *)crowd->groups[i].weights);
    }
}
