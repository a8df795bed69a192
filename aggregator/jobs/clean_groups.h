/* What the data of each group were before they were privatised: a weighted set of points a group.
 *
 *   index mechanisms    weights of the domain's points, by EM through the campaign's channel (pool/channel.h,
 *                       solve/estimate/channel_em.h)
 *   vector mechanisms   weights of the cells of a grid over the domain, in up to three dimensions, else of points
 *                       that move, by the law of the noise (solve/estimate/deconvolve.h)
 *
 * Groups are treated one by one, each as if there were no other. Post-processing of private reports: it
 * costs no privacy. The same for any number of threads. */
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
    size_t max_iterations; /* of one group; 0: 5000 */
    uint32_t
        cells[CLEAN_GRID_DIM_MAX]; /* vectors: of the grid; [0] is 0: chosen by the dimension */
    size_t atoms;                  /* vectors: points that move instead of a grid; 0: a grid */
    uint64_t seed;                 /* of where they start */
    struct team *team;             /* borrowed; NULL: one thread */
};

struct clean_group {
    uint64_t n; /* reports; 0: it has no weights, and a mass of one on the first point */
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
    double *free; /* (n_points, dim) the same without a look at any report, equal weights; owned */
};

/* Can this campaign have it? Looks at no report. DPOT_ERR_RANGE: no groups, a ring, whose positions have no mean;
 * DPOT_ERR_SHAPE: devices project several places at once, a transform; DPOT_ERR_TOO_LARGE. */
DPOT_WARN_UNUSED dpot_status clean_groups_check(const struct dpot_campaign *campaign,
                                                const struct clean_options *options,
                                                struct dpot_error *error);

/* Reports must be sorted. `control` may be NULL; it counts groups. A run that it stops leaves weights that
 * are not to be used. *groups is released on failure. */
DPOT_WARN_UNUSED dpot_status clean_groups_run(const struct group_reports *reports,
                                              const struct clean_options *options,
                                              const struct solve_control *control,
                                              struct clean_groups *groups,
                                              struct dpot_error *error);

/* A zeroed one is allowed. */
void clean_groups_release(struct clean_groups *groups);

#endif
