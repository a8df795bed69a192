/* Sweeps for problems with few rows and one task: one fused pass over columns reads the kernel once
 * and carries the row sums to the next sweep. The scalings v stay in the kernel's type until they
 * are needed. */
#include "solve/transport/entropic_state.h"

#include <math.h>
#include <string.h>

void entropic_few_prepare(struct entropic *e)
{
    e->has_row_sums = e->has_few_v = false;
    e->is_few = e->kernel && e->n_tasks == 1 && e->n_rows <= LANES_FUSED_ROWS;
    for (size_t j = 0; e->is_few && j < e->stride; j++) {
        if (e->options.precision == ENTROPIC_F32) {
            ((float *)e->few_b)[j] = (float)e->b[j];
        } else {
            ((double *)e->few_b)[j] = e->b[j];
        }
    }
}

void entropic_few_leave(struct entropic *e)
{
    for (size_t j = 0; e->has_few_v && j < e->stride; j++) {
        const double v = e->options.precision == ENTROPIC_F32 ? (double)((float *)e->few_v)[j]
                                                              : ((double *)e->few_v)[j];
        e->v[j] = v;
        e->last_s[j] = v > 0.0 ? 1.0 / v : 0.0;
    }
    e->has_row_sums = e->has_few_v = false;
}

/* v = 1 / (K' (a u)) and r = K (b v). */
static void fused_pass(struct entropic *e)
{
    for (size_t i = 0; i < e->n_rows; i++) {
        const double x = e->a[i] * e->u[i];
        if (e->options.precision == ENTROPIC_F32) {
            ((float *)e->few_x)[i] = (float)x;
        } else {
            ((double *)e->few_x)[i] = x;
        }
    }
    struct lanes_fused sweep = {
        .n_rows = e->n_rows,
        .n = e->stride,
        .stride = e->stride,
        .kernel = e->kernel,
        .x = e->few_x,
        .b = e->few_b,
        .v = e->few_v,
        .r = e->r,
    };
    if (e->options.precision == ENTROPIC_F32) {
        e->lanes->fused_f32(&sweep);
    } else {
        e->lanes->fused_f64(&sweep);
    }
    e->few_least = sweep.least;
    e->few_most = sweep.most;
    e->is_few_lost = sweep.is_lost;
    e->has_row_sums = e->has_few_v = true;
}

double entropic_few_sweep(struct entropic *e)
{
    double residual = 0.0;
    if (!e->has_row_sums) {
        fused_pass(e); /* v is already 1 / (K' (a u)): computes r */
    }
    for (size_t i = 0; i < e->n_rows; i++) {
        e->last_u[i] = e->u[i];
        e->u[i] = e->r[i] > 0.0 ? 1.0 / e->r[i] : 0.0;
    }
    fused_pass(e);
    for (size_t i = 0; i < e->n_rows; i++) {
        residual += e->a[i] > 0.0 ? e->a[i] * fabs(e->u[i] * e->r[i] - 1.0) : 0.0;
    }
    return residual;
}
