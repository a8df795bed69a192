#include "mechanism/vector_noise.h"

#include "base/crypto.h"
#include "mechanism/index.h"
#include "mechanism/quantize.h"

#define NUMBER_STEPS UINT64_C(128) /* to round a number and draw its noise */

uint64_t dpot_vector_noise_steps(const struct dpot_campaign *campaign)
{
    const uint64_t rows = campaign->vector.transform.rows, cols = campaign->vector.transform.cols;
    return NUMBER_STEPS * campaign->vector.dim + rows * cols * (rows + cols);
}

size_t dpot_vector_noise_bytes(const struct dpot_campaign *campaign)
{
    return dpot_bytes_add(sizeof(struct dpot_vector_noise) + sizeof(double) * campaign->vector.dim,
                          dpot_transformer_bytes(&campaign->vector));
}

void dpot_vector_noise_free(void *workspace)
{
    struct dpot_vector_noise *w = workspace;
    if (!w) {
        return;
    }
    const struct dpot_allocator *allocator = w->allocator;
    dpot_transformer_free(w->transformer);
    dpot_free_secret(allocator, w->coefficients, w->campaign->vector.dim, sizeof(double));
    dpot_free_array(allocator, w, 1, sizeof *w);
}

dpot_status dpot_vector_noise_new(const struct dpot_campaign *campaign,
                                  const struct dpot_allocator *allocator, void **workspace,
                                  struct dpot_error *error)
{
    *workspace = NULL;
    struct dpot_vector_noise *w = dpot_alloc_array(allocator, 1, sizeof *w);
    if (!w) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the mechanism");
    }
    w->campaign = campaign;
    w->allocator = allocator;
    w->coefficients = dpot_alloc_array(allocator, campaign->vector.dim, sizeof(double));
    const dpot_status status = dpot_transformer_new(&campaign->vector, allocator, &w->transformer);
    if (!w->coefficients || status != DPOT_OK) {
        dpot_vector_noise_free(w);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a vector of %u numbers",
                              campaign->vector.dim);
    }
    *workspace = w;
    return DPOT_OK;
}

void dpot_vector_noise_privatize(void *workspace, enum dpot_noise noise,
                                 const struct dpot_private_vector *private_vector,
                                 struct dpot_rng *rng, struct dpot_report *report)
{
    struct dpot_vector_noise *w = workspace;
    const struct dpot_vector_domain *vector = &w->campaign->vector;
    dpot_transformer_forward(w->transformer, private_vector->values, w->coefficients);
    dpot_quantize(vector, w->coefficients, report->values);
    dpot_wipe(w->coefficients, vector->dim * sizeof *w->coefficients);
    dpot_noise_add(noise, w->campaign->noise.scale_log2, rng, report->values, vector->dim);
    report->n_values = vector->dim;
    report->index = 0;
}

struct dpot_sensitivity dpot_campaign_sensitivity(const struct dpot_campaign *campaign)
{
    struct dpot_sensitivity sensitivity;
    if (dpot_sensitivity_compute(&campaign->vector, &sensitivity, NULL) != DPOT_OK) {
        sensitivity = (struct dpot_sensitivity){UINT64_MAX, {UINT64_MAX, UINT64_MAX}, UINT64_MAX};
    }
    return sensitivity;
}

void dpot_mechanism_value_range(const struct dpot_campaign *campaign, uint32_t j, int64_t *lo,
                                int64_t *hi)
{
    const bool is_laplace = campaign->mechanism == DPOT_MECHANISM_LAPLACE;
    dpot_noise_range(is_laplace ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN,
                     campaign->noise.scale_log2, dpot_vector_lo(&campaign->vector, j),
                     dpot_vector_hi(&campaign->vector, j), lo, hi);
}
