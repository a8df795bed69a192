/* Parts of dpot barycenter: options and inputs (inputs.c), free points (free.c), weights on fixed
 * points (fixed.c), groups of a privatised pool (pool.c). */
#ifndef DPOT_TOOL_BARYCENTER_BARYCENTER_H
#define DPOT_TOOL_BARYCENTER_BARYCENTER_H

#include "solve/barycenter/barycenter.h"
#include "solve/barycenter/fixed.h"
#include "tool/shared/load.h"

enum barycenter_kind {
    KIND_FREE,   /* --support m */
    KIND_GRID,   /* --grid RxC */
    KIND_MATRIX, /* --cost F */
    KIND_POINTS, /* --fixed F */
};

struct barycenter_job {
    struct run *run;
    enum barycenter_kind kind;
    bool is_exact;
    bool keeps_going; /* --max-iterations without --tol: reaching it is no failure */
    double lambda, tol, inner_tol;
    uint64_t support_size, outer, inner, n_starts, project;
    size_t shape[BARYCENTER_GRID_DIM_MAX], n_dims;
    double spacing[BARYCENTER_GRID_DIM_MAX];
    const char *out_path, *weights_path, *curve_path;
    double started;

    size_t n_groups;
    struct array *files; /* (n_files) of --group-files, as read */
    size_t n_files;
    double *point_weights; /* with --weighted: of all points, owned */
    size_t n_points;
    struct point_set *sets; /* (n_files), owned */
    struct array weights;   /* of the groups, empty without --group-weights */
    struct team *team;
};

/* Reads and validates the options; reads no file. */
DPOT_WARN_UNUSED dpot_status barycenter_read_options(struct barycenter_job *job);

/* The file of group i, counted from 0, where every file is a group. Borrowed from the command
 * line. */
const char *barycenter_group_path(const struct barycenter_job *job, size_t i);

/* Loads groups of points into job->sets, all with *dim coordinates; with --weighted the last column
 * is taken out as weights. */
DPOT_WARN_UNUSED dpot_status barycenter_load_points(struct barycenter_job *job, size_t *dim);

/* Loads histograms of n cells; every measure in the files is a group. *masses is (n_groups, n),
 * owned by the caller. */
DPOT_WARN_UNUSED dpot_status barycenter_load_histograms(struct barycenter_job *job, size_t n,
                                                        double **masses);

/* Loads --group-weights; *weights is NULL for equal weights. */
DPOT_WARN_UNUSED dpot_status barycenter_load_group_weights(struct barycenter_job *job,
                                                           const double **weights);
void barycenter_release_inputs(struct barycenter_job *job);

DPOT_WARN_UNUSED dpot_status barycenter_run_free(struct barycenter_job *job);
DPOT_WARN_UNUSED dpot_status barycenter_run_fixed(struct barycenter_job *job);

/* --pool: reads its own options and makes job->team. */
DPOT_WARN_UNUSED dpot_status barycenter_run_pool(struct barycenter_job *job);

#endif
