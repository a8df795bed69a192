#include "privacy/twin_rows.h"

#include "mechanism/index.h"
#include "mechanism/mechanism.h"
#include "mechanism/quantize.h"
#include "mechanism/vector_noise.h"

#include <math.h>

enum row_fault row_fault = ROW_SOUND;

/* ---- vectors ---- */

/* The real inequalities, with a sensitivity that may be wrong. */
static dpot_status check_vector(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    struct dpot_sensitivity sensitivity;
    struct dpot_gauss_row row;
    const unsigned k = campaign->noise.scale_log2;
    const dpot_status status = dpot_sensitivity_compute(&campaign->vector, &sensitivity, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (row_fault == ROW_RADIUS) {
        sensitivity.l1 /= 2;
        sensitivity.l2_squared = dpot_u128_shr(sensitivity.l2_squared, 2);
    }
    bool is_accepted = dpot_laplace_accepts(&sensitivity, campaign->epsilon_q32, k);
    if (row_fault == ROW_WRAPPING) {
        is_accepted = sensitivity.l1 << 32 <= (campaign->epsilon_q32 - 1) << k;
    }
    if (campaign->mechanism == DPOT_MECHANISM_GAUSSIAN) {
        is_accepted = dpot_gauss_row(campaign->noise.certificate_row, &row) == DPOT_OK &&
                      dpot_gaussian_accepts(&sensitivity, &row, k, campaign->vector.dim);
    }
    return is_accepted
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_EPSILON, "not enough noise of scale 2^%u", k);
}

static struct dpot_privacy charge_laplace(const struct dpot_campaign *campaign)
{
    return dpot_privacy_pure(row_fault == ROW_HALF_CHARGE ? campaign->epsilon_q32 / 2
                                                          : campaign->epsilon_q32);
}

static struct dpot_privacy charge_gaussian(const struct dpot_campaign *campaign)
{
    struct dpot_privacy cost = {.n_gaussian = campaign->vector.dim};
    struct dpot_gauss_row row;
    const struct dpot_sensitivity sensitivity = dpot_campaign_sensitivity(campaign);
    if (dpot_gauss_row(campaign->noise.certificate_row, &row) == DPOT_OK) {
        cost.epsilon_q32 = row.epsilon_q32;
        cost.delta_q64 = row.delta_q64;
    }
    (void)dpot_gaussian_rho(&sensitivity, campaign->noise.scale_log2, campaign->vector.dim,
                            &cost.rho_q32);
    return cost;
}

/* Clamps every value of the release to the set, as if that were the clipping that protects. */
static void clip_release(const struct dpot_vector_domain *vector, int64_t *values)
{
    dpot_quantize_enforce(vector, values);
}

static void privatize_laplace(void *workspace, const struct dpot_private_vector *private_vector,
                              struct dpot_rng *rng, struct dpot_report *report)
{
    const struct dpot_campaign *campaign = ((struct dpot_vector_noise *)workspace)->campaign;
    const struct dpot_vector_domain *vector = &campaign->vector;
    const unsigned k = campaign->noise.scale_log2;
    dpot_vector_noise_privatize(workspace, DPOT_NOISE_LAPLACE, private_vector, rng, report);
    if (row_fault == ROW_CLIP_AFTER_NOISE) {
        dpot_quantize_round(vector->inverse_step, private_vector->values, vector->dim,
                            report->values);
        dpot_noise_add(DPOT_NOISE_LAPLACE, k, rng, report->values, vector->dim);
        clip_release(vector, report->values);
    }
    for (uint32_t j = 0; row_fault == ROW_NAN_SKIPS_CLAMP && j < vector->dim; j++) {
        if (isnan(private_vector->values[j])) {
            report->values[j] = DPOT_VECTOR_SIDE_MAX;
        }
    }
    dpot_laplace_clamp(k, vector, report->values);
}

static void privatize_gaussian(void *workspace, const struct dpot_private_vector *private_vector,
                               struct dpot_rng *rng, struct dpot_report *report)
{
    const struct dpot_campaign *campaign = ((struct dpot_vector_noise *)workspace)->campaign;
    const struct dpot_vector_domain *vector = &campaign->vector;
    dpot_vector_noise_privatize(workspace, DPOT_NOISE_GAUSSIAN, private_vector, rng, report);
    if (row_fault == ROW_QUARTER_NOISE) {
        dpot_quantize(vector, private_vector->values, report->values);
        dpot_noise_add(DPOT_NOISE_GAUSSIAN, campaign->noise.scale_log2 - 2, rng, report->values,
                       vector->dim);
    }
}

const struct dpot_mechanism dpot_mechanism_laplace = {
    .id = DPOT_MECHANISM_LAPLACE,
    .check = check_vector,
    .charge = charge_laplace,
    .workspace_bytes = dpot_vector_noise_bytes,
    .steps = dpot_vector_noise_steps,
    .workspace_new = dpot_vector_noise_new,
    .workspace_free = dpot_vector_noise_free,
    .privatize_vector = privatize_laplace,
};

const struct dpot_mechanism dpot_mechanism_gaussian = {
    .id = DPOT_MECHANISM_GAUSSIAN,
    .check = check_vector,
    .charge = charge_gaussian,
    .workspace_bytes = dpot_vector_noise_bytes,
    .steps = dpot_vector_noise_steps,
    .workspace_new = dpot_vector_noise_new,
    .workspace_free = dpot_vector_noise_free,
    .privatize_vector = privatize_gaussian,
};

/* ---- k-ary randomised response, on a domain that is its own output ---- */

static void fill_own(void *workspace, const struct dpot_measure *own)
{
    struct dpot_index *index = workspace;
    for (size_t j = 0; j < index->n_cols; j++) {
        index->q[j] = 0;
    }
    for (size_t r = 0; r < own->support_size; r++) {
        index->q[own->support[r]] += own->weights[r];
    }
    dpot_index_project(index);
}

static dpot_status new_kpm(const struct dpot_campaign *campaign,
                           const struct dpot_allocator *allocator, void **workspace,
                           struct dpot_error *error)
{
    struct dpot_index *index = dpot_alloc_array(allocator, 1, sizeof *index);
    *workspace = index;
    return index ? dpot_index_init(index, fill_own, campaign, allocator, error) : DPOT_ERR_MEMORY;
}

static void free_kpm(void *workspace)
{
    struct dpot_index *index = workspace;
    const struct dpot_allocator *allocator = index->allocator;
    dpot_index_release(index);
    dpot_free_array(allocator, index, 1, sizeof *index);
}

static void privatize_kpm(void *workspace, const struct dpot_private_measure *private_measure,
                          struct dpot_rng *rng, struct dpot_report *report)
{
    dpot_index_privatize(workspace, private_measure, rng, report);
    if (row_fault == ROW_MORE_TRUTH && dpot_rng_u64(rng) % 10 == 0) {
        report->index = private_measure->measure.support[0];
    }
}

const struct dpot_mechanism dpot_mechanism_kpm = {
    .id = DPOT_MECHANISM_KPM,
    .check = dpot_index_check,
    .charge = dpot_index_charge,
    .workspace_bytes = dpot_index_bytes,
    .steps = dpot_index_steps,
    .workspace_new = new_kpm,
    .workspace_free = free_kpm,
    .privatize = privatize_kpm,
    .law = dpot_index_law,
};
