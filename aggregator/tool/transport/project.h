/* Parts of dpot project: options and projection (project.c), inputs (project_inputs.c), many users
 * at once (project_batch.c), KPM and exponential (project_baseline.c). */
#ifndef DPOT_TOOL_TRANSPORT_PROJECT_H
#define DPOT_TOOL_TRANSPORT_PROJECT_H

#include "files/array.h"
#include "ot/projection.h"
#include "tool/shared/load.h"
#include "tool/shared/progress.h"

struct user_result {
    double transport_cost;
    double dual;     /* exact wpm only: a lower bound on the cost of any q in the polytope */
    double residual; /* entropic wpm only: L1 distance of the plan's rows from mu before rounding */
    size_t iterations;
    bool is_stopped; /* before the tolerance */
    bool is_done;    /* by project_batch */
};

/* Workspace of one thread, reused for all users. */
struct workspace {
    size_t *support;                    /* (k) rows with mass */
    double *mu;                         /* (k) their masses */
    double *cost;                       /* (k, kv) their costs, unless the projection holds them */
    struct dpot_projection *projection; /* for n_rows rows; NULL: none yet */
    size_t n_rows;
};

struct projection_job {
    struct run *run;
    const char *out_path;
    double epsilon, lambda, tol;
    uint64_t iterations; /* fixed when tol is 0, otherwise the maximum */
    bool is_exact;
    bool is_float32;
    enum dpot_mechanism_id method; /* wpm, kpm or exponential */
    bool has_cost;                 /* KPM may have none */
    double rate;                   /* exponential: epsilon / (2 sensitivity) */

    struct cost cost;
    struct array mu, q;
    size_t n_users;
    double *base_measure;  /* (kv) */
    double *lower, *upper; /* (kv) */
    struct dpot_polytope polytope;
    struct user_result *users;    /* (n_users) */
    struct workspace *workspaces; /* (n_workers) */
    size_t n_workers;
};

bool project_is_baseline(const struct projection_job *job);

/* Checks --base-measure; *uniform_mass is that of uniform[:MASS], 0 for a file. */
DPOT_WARN_UNUSED dpot_status project_check_base_measure(const struct projection_job *job,
                                                        double *uniform_mass);

/* Loads all inputs, checks that the polytope is not empty, and allocates the results. */
DPOT_WARN_UNUSED dpot_status project_load_inputs(struct projection_job *job);

void project_release(struct projection_job *job);

/* Writes the rows where a user has mass to ws->support and ws->mu; returns their number. Rows
 * without mass do not change the projection. */
size_t project_find_support(const struct projection_job *job, size_t user, struct workspace *ws);

/* Copies the costs of the first n rows of ws->support. */
void project_copy_cost(const struct projection_job *job, const struct workspace *ws, size_t n,
                       double *out /* (n, kv) */);

/* Where it is faster, projects users with one common kernel (solve/projection/batch.h) and sets
 * is_done in their results. */
DPOT_WARN_UNUSED dpot_status project_batch(struct projection_job *job, struct progress *progress);

/* Baselines (KPM, exponential): checks the shape of the inputs, prepares the law, and without
 * --base-measure sets the default base measure. */
DPOT_WARN_UNUSED dpot_status baseline_prepare(struct projection_job *job);

/* The law of one user, and its transport cost if a solver was chosen. */
DPOT_WARN_UNUSED dpot_status baseline_project(const struct projection_job *job,
                                              struct workspace *ws, size_t user, double *q,
                                              struct user_result *result, struct dpot_error *error);

#endif
