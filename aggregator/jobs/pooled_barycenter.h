/* The Wasserstein barycenter of a privatised pool: every group is deconvolved (clean_groups.h), then averaged
 * (solve/barycenter/barycenter.h).
 *
 * Beside the answer stands the one that knows no report, the barycenter of equal weights over the domain, with
 * its cost to the same groups: an answer is worth what it is better than that. */
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
    size_t support;                  /* points that are sought, of equal weights */
    size_t n_weights;                /* 0: the groups weigh the same */
    double weights[DPOT_GROUPS_MAX]; /* of the groups, sum 1 */
    double lambda;                   /* entropic plans; 0: exact ones */
    size_t n_starts, max_iterations;
    uint64_t seed;
    uint64_t least; /* reports of a group */
    struct clean_options clean;
};

/* Keys, all optional, unknown ones are refused by name: support (48), group_weights (an array; they are scaled to
 * sum 1), lambda (0: exact plans), starts (1), seed (1), max_iterations (500), min_group (min_pool / groups, rounded
 * up), deconvolve_tol and deconvolve_iterations (null: those of the mechanism), cells (an array of one size a
 * coordinate; null) and atoms (0) of vector campaigns. DPOT_ERR_MALFORMED, DPOT_ERR_RANGE, and what
 * clean_groups_check says. */
DPOT_WARN_UNUSED dpot_status pooled_settings_read(const json_t *given,
                                                  const struct dpot_campaign *campaign,
                                                  struct pooled_settings *settings,
                                                  struct dpot_error *error);

/* Reports that a group needs unless told otherwise: its share of min_pool, rounded up. */
uint64_t pooled_least(const struct dpot_campaign *campaign);

/* All keys, so that reading it again gives the same. New reference; NULL when memory is out. */
json_t *pooled_settings_json(const struct pooled_settings *settings,
                             const struct dpot_campaign *campaign);

struct pooled_result {
    struct barycenter_result barycenter;
    double cost; /* sum_i w_i W_2^2(clean group i, the points): an estimate of the true one */
    double data_free_cost; /* the same of the points that know nothing */
    double lower_bound;    /* no points cost less; 0 where that would cost too much to find */
};

/* DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. *result is released on failure. A control that stops
 * leaves a result that is not to be used. */
DPOT_WARN_UNUSED dpot_status pooled_average(const struct clean_groups *groups,
                                            const struct pooled_settings *settings,
                                            const struct solve_control *control,
                                            struct pooled_result *result, struct dpot_error *error);

/* A zeroed one is allowed. */
void pooled_result_release(struct pooled_result *result);

#endif
