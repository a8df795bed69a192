/* What the files of `dpot project` share. */
#ifndef DPOT_TOOL_TRANSPORT_PROJECT_H
#define DPOT_TOOL_TRANSPORT_PROJECT_H

#include "files/array.h"
#include "ot/projection.h"
#include "tool/shared/load.h"
#include "tool/shared/progress.h"

struct user_result {
    double transport_cost;
    double dual;     /* exact wpm only: no q in the polytope costs less */
    double residual; /* entropic wpm only: L1 distance of the plan's rows from mu before rounding */
    size_t iterations;
    bool is_stopped; /* before the tolerance */
    bool is_done;    /* by the batch */
};

/* What one thread keeps from user to user. */
struct workspace {
    size_t *support;                    /* (k) rows with mass */
    double *mu;                         /* (k) their masses */
    double *cost;                       /* (k, kv) their costs; where no projection holds them */
    struct dpot_projection *projection; /* for n_rows rows; NULL: none yet */
    size_t n_rows;
};

struct projection_job {
    struct run *run;
    const char *out_path;
    double epsilon, lambda, tol;
    uint64_t iterations; /* fixed when tol is 0, otherwise the most */
    bool is_exact;
    bool is_float32;
    enum dpot_mechanism_id method; /* wpm, kpm or exponential */
    bool has_cost;                 /* KPM does without */
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

/* Reads --base-measure uniform[:MASS]: *uniform_mass is 0 for a file. */
DPOT_WARN_UNUSED dpot_status project_check_base_measure(const struct projection_job *job,
                                                        double *uniform_mass);

/* Everything that the options name, the polytope checked, and room for the results. */
DPOT_WARN_UNUSED dpot_status project_load_inputs(struct projection_job *job);

void project_release(struct projection_job *job);

/* The rows where a user has mass, into ws->support and ws->mu: how many. Rows without mass change
 * nothing and are left out. */
size_t project_find_support(const struct projection_job *job, size_t user, struct workspace *ws);

/* The costs of the first n rows of ws->support. */
void project_copy_cost(const struct projection_job *job, const struct workspace *ws, size_t n,
                       double *out /* (n, kv) */);

/* Projects all users with one kernel where that is the faster way (solve/projection/batch.h): those whose
 * results say is_done. The others remain. */
DPOT_WARN_UNUSED dpot_status project_batch(struct projection_job *job, struct progress *progress);

/* Baselines (KPM, exponential): checks the shape of the inputs and sets what the law needs; fills
 * the base measure with the mechanism's own when --base-measure was not given. */
DPOT_WARN_UNUSED dpot_status baseline_prepare(struct projection_job *job);

/* The law of one user, and its transport cost where a solver was chosen. */
DPOT_WARN_UNUSED dpot_status baseline_project(const struct projection_job *job,
                                              struct workspace *ws, size_t user, double *q,
                                              struct user_result *result, struct dpot_error *error);

#endif
