#include "jobs/pooled_barycenter.h"

#include "base/alloc.h"

#define BOUND_COSTS_MAX                                                                            \
    ((size_t)1 << 21) /* of a pair of groups: with more, the lower bound takes too long */
#define SWEEPS_MAX 2000
#define SWEEPS_TOL 1e-9

static struct barycenter_options options_of(const struct pooled_settings *settings)
{
    return (struct barycenter_options){
        .support_size = settings->support,
        .inner = settings->lambda > 0 ? BARYCENTER_SINKHORN : BARYCENTER_EXACT,
        .tol = POOLED_MOVEMENT_TOL,
        .max_iterations = settings->max_iterations,
        .lambda = settings->lambda,
        .inner_iterations = SWEEPS_MAX,
        .inner_tol = SWEEPS_TOL,
        .n_starts = settings->n_starts,
        .seed = settings->seed,
        .team = settings->clean.team,
    };
}

/* The cost to the groups of points that use no report: the barycenter of equal weights over the
 * domain. */
static dpot_status find_data_free_cost(const struct barycenter_problem *problem,
                                       const struct clean_groups *groups,
                                       const struct barycenter_options *options,
                                       const struct solve_control *control, double *cost,
                                       struct dpot_error *error)
{
    struct barycenter_result result;
    const struct point_set everywhere = {groups->n_points, groups->free, NULL};
    const struct barycenter_problem nothing = {1, groups->dim, &everywhere, NULL};
    dpot_status status = barycenter_solve(&nothing, options, control, &result, error);
    if (status == DPOT_OK) {
        status = barycenter_cost(problem, result.support, result.weights, result.support_size,
                                 options->team, cost, error);
    }
    barycenter_result_release(&result);
    return status;
}

static dpot_status find_costs(const struct barycenter_problem *problem,
                              const struct clean_groups *groups,
                              const struct barycenter_options *options,
                              const struct solve_control *control, struct pooled_result *result,
                              struct dpot_error *error)
{
    struct solve_control quiet = {0};
    if (control) {
        quiet = *control;
        quiet.progress = NULL;
    }
    dpot_status status =
        barycenter_cost(problem, result->barycenter.support, result->barycenter.weights,
                        result->barycenter.support_size, options->team, &result->cost, error);
    if (status == DPOT_OK) {
        status =
            find_data_free_cost(problem, groups, options, &quiet, &result->data_free_cost, error);
    }
    if (status == DPOT_OK && groups->n_points <= BOUND_COSTS_MAX / groups->n_points) {
        status = barycenter_bound(problem, BARYCENTER_BOUND_PAIRS, options->team,
                                  &result->lower_bound, error);
    }
    return status;
}

dpot_status pooled_average(const struct clean_groups *groups,
                           const struct pooled_settings *settings,
                           const struct solve_control *control, struct pooled_result *result,
                           struct dpot_error *error)
{
    const struct barycenter_problem problem = {
        .n_groups = groups->n_groups,
        .dim = groups->dim,
        .groups = groups->sets,
        .group_weights = settings->n_weights > 0 ? settings->weights : NULL,
    };
    const struct barycenter_options options = options_of(settings);
    *result = (struct pooled_result){.cost = 0};
    dpot_status status = barycenter_solve(&problem, &options, control, &result->barycenter, error);
    if (status == DPOT_OK) {
        status = find_costs(&problem, groups, &options, control, result, error);
    }
    if (status != DPOT_OK) {
        pooled_result_release(result);
    }
    return status;
}

void pooled_result_release(struct pooled_result *result)
{
    barycenter_result_release(&result->barycenter);
    *result = (struct pooled_result){.cost = 0};
}
