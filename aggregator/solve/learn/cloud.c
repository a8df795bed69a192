#include "solve/learn/cloud.h"

#include "base/alloc.h"
#include "ot/linalg_f32.h"
#include "solve/transport/lanes.h"

#include <stdatomic.h>
#include <string.h>

#define KEEP_DIM 8       /* from this dimension on, a distance is cached, not recomputed */
#define GRADIENT_ROWS 16 /* rows of the plan per task */

static void fill(const void *ctx, size_t first, size_t n_rows, size_t stride, double *out)
{
    const struct cloud *cloud = ctx;
    (void)stride; /* equal to the cloud's */
    lanes_get()->distances(cloud->distance == CLOUD_L1 ? LANES_L1 : LANES_SQUARED, n_rows,
                           cloud->stride, cloud->dim, cloud->scale, cloud->x + first * cloud->dim,
                           cloud->y_t, out);
}

dpot_status cloud_init(struct cloud *cloud, size_t n_max, size_t m_max, size_t dim,
                       enum cloud_distance distance, double scale)
{
    memset(cloud, 0, sizeof *cloud);
    cloud->distance = distance;
    cloud->scale = scale;
    cloud->n_max = n_max;
    cloud->stride_max = (m_max + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
    cloud->dim = dim;
    cloud->y_t = dim > 0 && cloud->stride_max <= SIZE_MAX / sizeof(float) / dim
                     ? dpot_alloc_array(NULL, cloud->stride_max * dim, sizeof(float))
                     : NULL;
    return cloud->y_t ? DPOT_OK : DPOT_ERR_MEMORY;
}

void cloud_release(struct cloud *cloud)
{
    dpot_free_array(NULL, cloud->y_t, cloud->stride_max * cloud->dim, sizeof(float));
    memset(cloud, 0, sizeof *cloud);
}

void cloud_set(struct cloud *cloud, const float *x, size_t n, const float *y, size_t m)
{
    cloud->x = x;
    cloud->y = y;
    cloud->n = n;
    cloud->m = m;
    cloud->stride = (m + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
    for (size_t c = 0; c < cloud->dim; c++) {
        float *row = cloud->y_t + c * cloud->stride;
        for (size_t j = 0; j < m; j++) {
            row[j] = y[j * cloud->dim + c];
        }
        memset(row + m, 0, (cloud->stride - m) * sizeof *row);
    }
    cloud->cost = (struct entropic_cost){
        .n_rows = n, .n_cols = m, .fill = fill, .ctx = cloud, .keep = cloud->dim >= KEEP_DIM};
}

/* ---- the gradient ---- */

struct gradient {
    const struct cloud *cloud;
    const struct entropic *e;
    float *grad;
    atomic_bool is_out_of_memory;
};

static void l1_rows(const struct cloud *cloud, size_t first, size_t n_rows, const float *plan,
                    float *grad)
{
    memset(grad, 0, n_rows * cloud->dim * sizeof *grad);
    lanes_get()->l1_gradient(n_rows, cloud->stride, cloud->dim, plan, cloud->x + first * cloud->dim,
                             cloud->y_t, grad);
    for (size_t k = 0; k < n_rows * cloud->dim; k++) {
        grad[k] *= (float)cloud->scale;
    }
}

/* 2 scale (x_i sum_j P_ij - sum_j P_ij y_j). */
static void squared_rows(const struct cloud *cloud, size_t first, size_t n_rows, const float *plan,
                         float *grad)
{
    const float factor = (float)(2.0 * cloud->scale);
    dpot_linalg_f32_openblas()->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n_rows, cloud->dim,
                                     cloud->m, -factor, plan, cloud->stride, cloud->y, cloud->dim,
                                     0.0F, grad, cloud->dim);
    for (size_t r = 0; r < n_rows; r++) {
        double mass = 0.0;
        for (size_t j = 0; j < cloud->m; j++) {
            mass += (double)plan[r * cloud->stride + j];
        }
        for (size_t c = 0; c < cloud->dim; c++) {
            grad[r * cloud->dim + c] +=
                factor * (float)mass * cloud->x[(first + r) * cloud->dim + c];
        }
    }
}

static void gradient_rows(void *ctx, size_t task)
{
    struct gradient *g = ctx;
    const struct cloud *cloud = g->cloud;
    const size_t first = task * GRADIENT_ROWS, left = cloud->n - first, stride = cloud->stride;
    const size_t n_rows = left < GRADIENT_ROWS ? left : GRADIENT_ROWS;
    double *scratch = dpot_alloc_array(NULL, stride, sizeof *scratch);
    float *plan = dpot_alloc_array(NULL, n_rows * stride, sizeof *plan);
    if (!scratch || !plan) {
        atomic_store(&g->is_out_of_memory, true);
    } else {
        float *grad = g->grad + first * cloud->dim;
        entropic_plan_tile(g->e, first, n_rows, scratch, plan);
        if (cloud->distance == CLOUD_L1) {
            l1_rows(cloud, first, n_rows, plan, grad);
        } else {
            squared_rows(cloud, first, n_rows, plan, grad);
        }
    }
    dpot_free_array(NULL, plan, n_rows * stride, sizeof *plan);
    dpot_free_array(NULL, scratch, stride, sizeof *scratch);
}

dpot_status cloud_gradient(const struct cloud *cloud, const struct entropic *e, struct team *team,
                           float *grad)
{
    struct gradient gradient = {.cloud = cloud, .e = e, .grad = grad};
    atomic_init(&gradient.is_out_of_memory, false);
    team_run(team, (cloud->n + GRADIENT_ROWS - 1) / GRADIENT_ROWS, gradient_rows, &gradient);
    return atomic_load(&gradient.is_out_of_memory) ? DPOT_ERR_MEMORY : DPOT_OK;
}
