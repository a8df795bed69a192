/* Deconvolved groups: estimates of each group's data before the noise, as weighted points.
 *
 *   index mechanisms    weights of the domain's points, by EM through the campaign's channel
 *                       (pool/channel.h, solve/estimate/channel_em.h)
 *   vector mechanisms   weights of the cells of a grid over the domain, in up to three dimensions,
 *                       else of points that move, by the law of the noise
 *                       (solve/estimate/deconvolve.h)
 *
 * Each group is estimated from its own reports alone. Post-processing of private reports: it costs
 * no privacy. The result does not depend on the number of threads. */
#ifndef DPOT_JOBS_CLEAN_GROUPS_H
#define DPOT_JOBS_CLEAN_GROUPS_H

#include "jobs/group_reports.h"
#include "solve/run/control.h"
#include "solve/run/team.h"
#include "solve/transport/wasserstein.h"

#define CLEAN_GRID_DIM_MAX 3
#define CLEAN_POINTS_MAX 65536
#define CLEAN_ATOMS_DEFAULT 256

struct clean_options {
    double tol; /* nats a step; negative: CHANNEL_EM_TOL, or DECONVOLVE_TOL for vectors */
    size_t max_iterations;              /* of one group; 0: 5000 */
    uint32_t cells[CLEAN_GRID_DIM_MAX]; /* vectors: of the grid; [0] is 0: by the dimension */
    size_t atoms;                       /* vectors: points that move instead of a grid; 0: a grid */
    uint64_t seed;                      /* of the initial positions of atoms */
    struct team *team;                  /* borrowed; NULL: one thread */
};

struct clean_group {
    uint64_t n; /* reports; 0: no estimate, all mass is on the first point */
    double log_likelihood, gain;
    size_t iterations;
    enum solve_outcome outcome;
};

struct clean_groups {
    size_t n_groups, dim;
    size_t n_points;           /* of one group */
    bool is_shared;            /* all have the same points */
    double *points;            /* (n_points, dim), or (n_groups, n_points, dim); owned */
    double *weights;           /* (n_groups, n_points) rows of sum 1; owned */
    struct clean_group *group; /* (n_groups) owned */
    struct point_set *sets;    /* (n_groups) owned, they borrow the points */
    double *free; /* (n_points, dim) points of equal weights that use no report; owned */
};

/* Checks that the groups of this campaign can be deconvolved; uses no report.
 * DPOT_ERR_RANGE: no groups, or a ring, whose positions have no mean. DPOT_ERR_SHAPE: devices
 * project several places at once, or the campaign has a transform. DPOT_ERR_TOO_LARGE: too many
 * points. */
DPOT_WARN_UNUSED dpot_status clean_groups_check(const struct dpot_campaign *campaign,
                                                const struct clean_options *options,
                                                struct dpot_error *error);

/* Deconvolves every group.
 * reports: sorted (group_reports_sort).
 * control: may be NULL; counts groups. When it stops the run, the weights must not be used.
 * *groups is released on failure. */
DPOT_WARN_UNUSED dpot_status clean_groups_run(const struct group_reports *reports,
                                              const struct clean_options *options,
                                              const struct solve_control *control,
                                              struct clean_groups *groups,
                                              struct dpot_error *error);

/* A zeroed struct is accepted. */
void clean_groups_release(struct clean_groups *groups);

#endif
