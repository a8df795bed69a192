/* The Wasserstein barycenter of a privatised pool: every group is deconvolved (clean_groups.h),
 * then the groups are averaged (solve/barycenter/barycenter.h).
 *
 * The baseline is the barycenter of equal weights over the domain, which uses no report: its cost
 * to the same groups is reported beside the result's. */
#ifndef DPOT_JOBS_POOLED_BARYCENTER_H
#define DPOT_JOBS_POOLED_BARYCENTER_H

#include "jobs/clean_groups.h"
#include "solve/barycenter/barycenter.h"
#include "json/json.h"

#define POOLED_SUPPORT_MAX 4096
#define POOLED_SUPPORT_DEFAULT 48
#define POOLED_STARTS_MAX 1000
#define POOLED_ITERATIONS_DEFAULT 500
#define POOLED_MOVEMENT_TOL 1e-6

struct pooled_settings {
    size_t support;                  /* points of the barycenter, of equal weights */
    size_t n_weights;                /* 0: the groups weigh the same */
    double weights[DPOT_GROUPS_MAX]; /* of the groups, sum 1 */
    double lambda;                   /* of entropic plans; 0: exact plans */
    size_t n_starts, max_iterations;
    uint64_t seed;
    uint64_t least; /* reports that a group must have */
    struct clean_options clean;
};

/* Reads the parameters of the kind `barycenter` (doc/admin-api.md lists keys and defaults). All are
 * optional; unknown keys are refused by name. Weights are scaled to sum 1. DPOT_ERR_MALFORMED,
 * DPOT_ERR_SHAPE, DPOT_ERR_RANGE, and statuses of clean_groups_check. */
DPOT_WARN_UNUSED dpot_status pooled_settings_read(const json_t *given,
                                                  const struct dpot_campaign *campaign,
                                                  struct pooled_settings *settings,
                                                  struct dpot_error *error);

/* Default of `least`: min_pool / groups, rounded up. */
uint64_t pooled_least(const struct dpot_campaign *campaign);

/* All keys, such that pooled_settings_read returns the same settings. New reference; NULL when
 * memory is out. */
json_t *pooled_settings_json(const struct pooled_settings *settings,
                             const struct dpot_campaign *campaign);

struct pooled_result {
    struct barycenter_result barycenter;
    double cost;           /* sum_i w_i W_2^2(deconvolved group i, the points) */
    double data_free_cost; /* the same for the baseline */
    double lower_bound;    /* of the cost of any points; 0: not computed, it would take too long */
};

/* DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. *result is released on failure. When the
 * control stops the run, the result must not be used. */
DPOT_WARN_UNUSED dpot_status pooled_average(const struct clean_groups *groups,
                                            const struct pooled_settings *settings,
                                            const struct solve_control *control,
                                            struct pooled_result *result, struct dpot_error *error);

/* A zeroed struct is accepted. */
void pooled_result_release(struct pooled_result *result);

#endif
