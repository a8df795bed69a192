/* Internal to projection/batch.h: projection/batch.c (blocks of users, stages of
 * lambda), projection/batch_memory.c, projection/batch_sweep.inc (sweeps of a type),
 * projection/batch_cost.c (transport costs). */
#ifndef DPOT_SOLVE_PROJECTION_BATCH_PARTS_H
#define DPOT_SOLVE_PROJECTION_BATCH_PARTS_H

#include "ot/linalg.h"
#include "ot/linalg_f32.h"
#include "solve/projection/batch.h"
#include "solve/transport/lanes.h"

/* One axis: costs minus row minima, and their kernels at the current lambda. */
struct batch_axis {
    size_t n_rows, n_cols;
    double *excess;      /* (n_rows, n_cols) cost - smallest of the row */
    double *kernel_f64;  /* exp(-excess / lambda) */
    float *kernel_f32;   /* NULL in float64 */
    double *cost_kernel; /* kernel * excess */
    double *ones;        /* for the sum of costs over several axes; NULL with one */
};

/* Memory of one thread for a block of users. All rows are padded with zeros. */
struct batch_workspace {
    double *mu_f64, *u_f64, *kv_f64; /* (users_max, row_stride) */
    double *v_f64, *s_f64, *w;       /* (users_max, col_stride) */
    double *q;                       /* (users_max, col_stride) */
    double *placed, *cost, *term;    /* (users_max, row_stride) for the costs */
    float *mu_f32, *u_f32, *kv_f32;  /* as above; NULL in float64 */
    float *v_f32, *s_f32;
    void *scratch;  /* two tensors between axes */
    double *start;  /* (users_max) start of the search for the scale */
    size_t *user;   /* (users_max) user of the row */
    double *change; /* (users_max) of the last sweep */
    bool *lost;     /* (users_max) */
};

struct projection_batch {
    struct projection_batch_config config;
    struct batch_axis axes[PROJECTION_BATCH_AXES];
    size_t n_rows, n_cols, row_stride, col_stride;
    size_t users_max;              /* per block */
    size_t tensor;                 /* entries of the largest tensor between axes */
    double ratio_range;            /* sum over axes of the widest row */
    double lambda;                 /* of the kernels */
    double *row_minimum;           /* (n_rows) sum over axes */
    double *lower_f64, *upper_f64; /* (col_stride) padded with 0 */
    float *lower_f32, *upper_f32;
    struct batch_workspace *workspaces; /* (team size) */
    size_t n_workspaces;
    const struct lanes *lanes;
};

/* False: out of memory; call the release function in any case. */
bool batch_axis_init(struct batch_axis *axis, const struct projection_batch_axis *given,
                     bool is_float32, bool is_alone);
void batch_axis_release(struct batch_axis *axis);
bool batch_workspace_init(const struct projection_batch *b, struct batch_workspace *workspace);
void batch_workspace_release(const struct projection_batch *b, struct batch_workspace *workspace);

/* out = op(M) in for every user, M the Kronecker product of the axes' matrices: (n_rows,
 * n_cols). */
void batch_apply_f64(const struct projection_batch *b, enum dpot_transpose transpose,
                     const double *const matrices[], size_t n_users, const double *in, double *out,
                     void *scratch);
void batch_apply_f32(const struct projection_batch *b, enum dpot_transpose transpose,
                     const float *const matrices[], size_t n_users, const float *in, float *out,
                     void *scratch);

/* One sweep of the first n_users rows. A user whose sums leave the range of the type gets lost[row]
 * = true and rows of zeros; the others' change of log v goes to `change`. */
void batch_sweep_f64(const struct projection_batch *b, struct batch_workspace *workspace,
                     size_t n_users, double *change, bool *lost);
void batch_sweep_f32(const struct projection_batch *b, struct batch_workspace *workspace,
                     size_t n_users, double *change, bool *lost);

/* After the last sweep: transport costs from u, s and q of the users (002, Appendix I, by the
 * rounding of Altschuler, Weed and Rigollet 2017, Algorithm 2). Overwrites u, kv, s, w and
 * change. */
void batch_costs(const struct projection_batch *b, struct batch_workspace *workspace,
                 size_t n_users, struct projection_batch_result *results);

#endif
