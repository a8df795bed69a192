#include "base/alloc.h"
#include "solve/projection/batch_parts.h"

bool batch_axis_init(struct batch_axis *axis, const struct projection_batch_axis *given,
                     bool is_float32, bool is_alone)
{
    const size_t n = given->n_rows * given->n_cols;
    axis->n_rows = given->n_rows;
    axis->n_cols = given->n_cols;
    axis->excess = dpot_alloc_array(NULL, n, sizeof(double));
    axis->kernel_f64 = dpot_alloc_array(NULL, n, sizeof(double));
    axis->kernel_f32 = is_float32 ? dpot_alloc_array(NULL, n, sizeof(float)) : NULL;
    axis->cost_kernel = dpot_alloc_array(NULL, n, sizeof(double));
    axis->ones = is_alone ? NULL : dpot_alloc_array(NULL, n, sizeof(double));
    for (size_t k = 0; axis->ones && k < n; k++) {
        axis->ones[k] = 1.0;
    }
    return axis->excess && axis->kernel_f64 && axis->cost_kernel &&
           (axis->kernel_f32 || !is_float32) && (axis->ones || is_alone);
}

void batch_axis_release(struct batch_axis *axis)
{
    const size_t n = axis->n_rows * axis->n_cols;
    dpot_free_array(NULL, axis->excess, n, sizeof(double));
    dpot_free_array(NULL, axis->kernel_f64, n, sizeof(double));
    dpot_free_array(NULL, axis->kernel_f32, n, sizeof(float));
    dpot_free_array(NULL, axis->cost_kernel, n, sizeof(double));
    dpot_free_array(NULL, axis->ones, n, sizeof(double));
}

bool batch_workspace_init(const struct projection_batch *b, struct batch_workspace *workspace)
{
    const size_t n = b->users_max, rows = n * b->row_stride, cols = n * b->col_stride;
    const bool is_float32 = b->config.is_float32;
    workspace->mu_f64 = dpot_alloc_array(NULL, rows, sizeof(double));
    workspace->u_f64 = dpot_alloc_array(NULL, rows, sizeof(double));
    workspace->kv_f64 = dpot_alloc_array(NULL, rows, sizeof(double));
    workspace->v_f64 = dpot_alloc_array(NULL, cols, sizeof(double));
    workspace->s_f64 = dpot_alloc_array(NULL, cols, sizeof(double));
    workspace->w = dpot_alloc_array(NULL, cols, sizeof(double));
    workspace->q = dpot_alloc_array(NULL, cols, sizeof(double));
    workspace->placed = dpot_alloc_array(NULL, rows, sizeof(double));
    workspace->cost = dpot_alloc_array(NULL, rows, sizeof(double));
    workspace->term = dpot_alloc_array(NULL, rows, sizeof(double));
    workspace->scratch = dpot_alloc_array(NULL, 2 * b->tensor, sizeof(double));
    workspace->start = dpot_alloc_array(NULL, n, sizeof(double));
    workspace->user = dpot_alloc_array(NULL, n, sizeof(size_t));
    workspace->change = dpot_alloc_array(NULL, n, sizeof(double));
    workspace->lost = dpot_alloc_array(NULL, n, sizeof(bool));
    workspace->mu_f32 = is_float32 ? dpot_alloc_array(NULL, rows, sizeof(float)) : NULL;
    workspace->u_f32 = is_float32 ? dpot_alloc_array(NULL, rows, sizeof(float)) : NULL;
    workspace->kv_f32 = is_float32 ? dpot_alloc_array(NULL, rows, sizeof(float)) : NULL;
    workspace->v_f32 = is_float32 ? dpot_alloc_array(NULL, cols, sizeof(float)) : NULL;
    workspace->s_f32 = is_float32 ? dpot_alloc_array(NULL, cols, sizeof(float)) : NULL;
    return workspace->mu_f64 && workspace->u_f64 && workspace->kv_f64 && workspace->v_f64 &&
           workspace->s_f64 && workspace->w && workspace->q && workspace->placed &&
           workspace->cost && workspace->term && workspace->scratch && workspace->start &&
           workspace->user && workspace->change && workspace->lost &&
           (!is_float32 || (workspace->mu_f32 && workspace->u_f32 && workspace->kv_f32 &&
                            workspace->v_f32 && workspace->s_f32));
}

void batch_workspace_release(const struct projection_batch *b, struct batch_workspace *workspace)
{
    const size_t n = b->users_max, rows = n * b->row_stride, cols = n * b->col_stride;
    dpot_free_array(NULL, workspace->mu_f64, rows, sizeof(double));
    dpot_free_array(NULL, workspace->u_f64, rows, sizeof(double));
    dpot_free_array(NULL, workspace->kv_f64, rows, sizeof(double));
    dpot_free_array(NULL, workspace->v_f64, cols, sizeof(double));
    dpot_free_array(NULL, workspace->s_f64, cols, sizeof(double));
    dpot_free_array(NULL, workspace->w, cols, sizeof(double));
    dpot_free_array(NULL, workspace->q, cols, sizeof(double));
    dpot_free_array(NULL, workspace->placed, rows, sizeof(double));
    dpot_free_array(NULL, workspace->cost, rows, sizeof(double));
    dpot_free_array(NULL, workspace->term, rows, sizeof(double));
    dpot_free_array(NULL, workspace->scratch, 2 * b->tensor, sizeof(double));
    dpot_free_array(NULL, workspace->start, n, sizeof(double));
    dpot_free_array(NULL, workspace->user, n, sizeof(size_t));
    dpot_free_array(NULL, workspace->change, n, sizeof(double));
    dpot_free_array(NULL, workspace->lost, n, sizeof(bool));
    dpot_free_array(NULL, workspace->mu_f32, rows, sizeof(float));
    dpot_free_array(NULL, workspace->u_f32, rows, sizeof(float));
    dpot_free_array(NULL, workspace->kv_f32, rows, sizeof(float));
    dpot_free_array(NULL, workspace->v_f32, cols, sizeof(float));
    dpot_free_array(NULL, workspace->s_f32, cols, sizeof(float));
}
