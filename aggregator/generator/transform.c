#include "generator/transform.h"

#include "base/alloc.h"
#include "ot/linalg_f32.h"

#include <string.h>

static void forward(const void *ctx, const float *x, size_t n, float *out)
{
    const struct transform_matrix *m = ctx;
    dpot_linalg_f32_openblas()->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n, m->dim, m->data_dim,
                                     1.0F, x, m->data_dim, m->values, m->dim, 0.0F, out, m->dim);
}

static void backward(const void *ctx, const float *grad, size_t n, float *out)
{
    const struct transform_matrix *m = ctx;
    dpot_linalg_f32_openblas()->gemm(DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, n, m->data_dim, m->dim,
                                     1.0F, grad, m->dim, m->values, m->dim, 0.0F, out, m->data_dim);
}

void transform_matrix_release(struct transform_matrix *m)
{
    dpot_free_array(NULL, m->values, m->data_dim * m->dim, sizeof *m->values);
    memset(m, 0, sizeof *m);
}

static void fill(struct transform_matrix *m, struct dpot_transformer *transformer, double *unit,
                 double *coefficients)
{
    for (size_t i = 0; i < m->data_dim; i++) {
        unit[i] = 1.0;
        dpot_transformer_forward(transformer, unit, coefficients);
        unit[i] = 0.0;
        for (size_t j = 0; j < m->dim; j++) {
            m->values[i * m->dim + j] = (float)coefficients[j];
        }
    }
}

dpot_status transform_matrix_init(struct transform_matrix *m,
                                  const struct dpot_vector_domain *vector, struct dpot_error *error)
{
    struct dpot_transformer *transformer = NULL;
    memset(m, 0, sizeof *m);
    m->dim = vector->dim;
    m->data_dim = dpot_vector_data_dim(vector);
    double *unit = dpot_alloc_array(NULL, m->data_dim, sizeof *unit);
    double *coefficients = dpot_alloc_array(NULL, m->dim, sizeof *coefficients);
    if (m->data_dim <= SIZE_MAX / sizeof(float) / m->dim) {
        m->values = dpot_alloc_array(NULL, m->data_dim * m->dim, sizeof *m->values);
    }
    dpot_status status = unit && coefficients && m->values ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = dpot_transformer_new(vector, NULL, &transformer);
    }
    if (status == DPOT_OK) {
        fill(m, transformer, unit, coefficients);
        m->hooks = (struct generator_transform){m->dim, forward, backward, m};
    }
    dpot_transformer_free(transformer);
    dpot_free_array(NULL, coefficients, m->dim, sizeof *coefficients);
    dpot_free_array(NULL, unit, m->data_dim, sizeof *unit);
    if (status != DPOT_OK) {
        (void)dpot_error_set(error, status, "no memory for a transform of %zu to %zu numbers",
                             m->data_dim, m->dim);
        transform_matrix_release(m);
    }
    return status;
}
