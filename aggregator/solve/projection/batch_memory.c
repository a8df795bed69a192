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

bool batch_room_init(const struct projection_batch *b, struct batch_room *room)
{
    const size_t n = b->users_max, rows = n * b->row_stride, cols = n * b->col_stride;
    const bool is_float32 = b->config.is_float32;
    room->mu_f64 = dpot_alloc_array(NULL, rows, sizeof(double));
    room->u_f64 = dpot_alloc_array(NULL, rows, sizeof(double));
    room->kv_f64 = dpot_alloc_array(NULL, rows, sizeof(double));
    room->v_f64 = dpot_alloc_array(NULL, cols, sizeof(double));
    room->s_f64 = dpot_alloc_array(NULL, cols, sizeof(double));
    room->w = dpot_alloc_array(NULL, cols, sizeof(double));
    room->q = dpot_alloc_array(NULL, cols, sizeof(double));
    room->placed = dpot_alloc_array(NULL, rows, sizeof(double));
    room->cost = dpot_alloc_array(NULL, rows, sizeof(double));
    room->term = dpot_alloc_array(NULL, rows, sizeof(double));
    room->scratch = dpot_alloc_array(NULL, 2 * b->tensor, sizeof(double));
    room->start = dpot_alloc_array(NULL, n, sizeof(double));
    room->user = dpot_alloc_array(NULL, n, sizeof(size_t));
    room->change = dpot_alloc_array(NULL, n, sizeof(double));
    room->lost = dpot_alloc_array(NULL, n, sizeof(bool));
    room->mu_f32 = is_float32 ? dpot_alloc_array(NULL, rows, sizeof(float)) : NULL;
    room->u_f32 = is_float32 ? dpot_alloc_array(NULL, rows, sizeof(float)) : NULL;
    room->kv_f32 = is_float32 ? dpot_alloc_array(NULL, rows, sizeof(float)) : NULL;
    room->v_f32 = is_float32 ? dpot_alloc_array(NULL, cols, sizeof(float)) : NULL;
    room->s_f32 = is_float32 ? dpot_alloc_array(NULL, cols, sizeof(float)) : NULL;
    return room->mu_f64 && room->u_f64 && room->kv_f64 && room->v_f64 && room->s_f64 && room->w &&
           room->q && room->placed && room->cost && room->term && room->scratch && room->start &&
           room->user && room->change && room->lost &&
           (!is_float32 ||
            (room->mu_f32 && room->u_f32 && room->kv_f32 && room->v_f32 && room->s_f32));
}

void batch_room_release(const struct projection_batch *b, struct batch_room *room)
{
    const size_t n = b->users_max, rows = n * b->row_stride, cols = n * b->col_stride;
    dpot_free_array(NULL, room->mu_f64, rows, sizeof(double));
    dpot_free_array(NULL, room->u_f64, rows, sizeof(double));
    dpot_free_array(NULL, room->kv_f64, rows, sizeof(double));
    dpot_free_array(NULL, room->v_f64, cols, sizeof(double));
    dpot_free_array(NULL, room->s_f64, cols, sizeof(double));
    dpot_free_array(NULL, room->w, cols, sizeof(double));
    dpot_free_array(NULL, room->q, cols, sizeof(double));
    dpot_free_array(NULL, room->placed, rows, sizeof(double));
    dpot_free_array(NULL, room->cost, rows, sizeof(double));
    dpot_free_array(NULL, room->term, rows, sizeof(double));
    dpot_free_array(NULL, room->scratch, 2 * b->tensor, sizeof(double));
    dpot_free_array(NULL, room->start, n, sizeof(double));
    dpot_free_array(NULL, room->user, n, sizeof(size_t));
    dpot_free_array(NULL, room->change, n, sizeof(double));
    dpot_free_array(NULL, room->lost, n, sizeof(bool));
    dpot_free_array(NULL, room->mu_f32, rows, sizeof(float));
    dpot_free_array(NULL, room->u_f32, rows, sizeof(float));
    dpot_free_array(NULL, room->kv_f32, rows, sizeof(float));
    dpot_free_array(NULL, room->v_f32, cols, sizeof(float));
    dpot_free_array(NULL, room->s_f32, cols, sizeof(float));
}
