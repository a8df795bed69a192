/* The Gaussian mechanism on vectors of integers: discrete Gaussian noise of standard deviation
 * sigma = 2^k grid units on every coordinate.
 *
 * Claim. Neighbours: any two device vectors (local model), NaN and garbage included. Guarantee: the
 * (epsilon, delta) of the certificate row that the campaign names, for every campaign that passes
 * `check` with a row: D2^2 / sigma^2 <= mu^2 of the row, sigma^2 >= 2^c (dim + 128), dim <= d_max,
 * D2 the l2 diameter of the enforced set. With or without a row: outside of an event of probability
 * rho 2^-40 + dim 2^-75, zCDP with rho = D2^2 / (2 sigma^2) as charged, which is at most 8 on
 * devices. Proofs: client/doc/exact-privacy.md, Theorems B2 and B3. Rounding cannot violate them:
 * transform and rounding to the grid decide utility, the set is enforced on integers afterwards,
 * and epsilon, delta and mu are constants of this program, not of the server.
 *
 * Work: fixed per coordinate, except for rejected trials, whose number is independent of data and
 * noise. After workspace_new nothing allocates or fails. */
#include "mechanism/vector_noise.h"

static dpot_status check_row(const struct dpot_campaign *campaign,
                             const struct dpot_sensitivity *sensitivity, struct dpot_error *error)
{
    struct dpot_gauss_row row;
    const uint32_t index = campaign->noise.certificate_row;
    const unsigned k = campaign->noise.scale_log2;
    if (dpot_gauss_row(index, &row) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "certificate row %u: this program has the rows 1 to %u", index,
                              dpot_gauss_row_count());
    }
    if (row.epsilon_q32 > DPOT_INDEX_EPSILON_MAX_Q32 && !campaign->simulation) {
        return dpot_error_set(
            error, DPOT_ERR_EPSILON,
            "certificate row %u has epsilon %.6g: above %g is for simulations only", index,
            dpot_epsilon_to_double(row.epsilon_q32),
            dpot_epsilon_to_double(DPOT_INDEX_EPSILON_MAX_Q32));
    }
    if (!dpot_gaussian_accepts(sensitivity, &row, k, campaign->vector.dim)) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "certificate row %u (epsilon %.6g, delta %.3g) does not cover noise "
                              "of scale 2^%u on this set of %u coordinates: take a larger scale, a "
                              "smaller set or another row",
                              index, dpot_epsilon_to_double(row.epsilon_q32),
                              dpot_delta_to_double(row.delta_q64), k, campaign->vector.dim);
    }
    return DPOT_OK;
}

/* Without a row the guarantee is Theorem B3, which holds up to rho 8. */
static dpot_status check_rho(const struct dpot_campaign *campaign, uint64_t rho_q32,
                             struct dpot_error *error)
{
    if (dpot_gaussian_rho_accepts(rho_q32) || campaign->simulation) {
        return DPOT_OK;
    }
    return dpot_error_set(error, DPOT_ERR_EPSILON,
                          "one report would cost rho %.6g: without a certificate row at most %d is "
                          "allowed; take a larger scale or a smaller set",
                          dpot_epsilon_to_double(rho_q32), DPOT_GAUSSIAN_RHO_MAX);
}

static dpot_status check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    struct dpot_sensitivity sensitivity;
    uint64_t rho_q32 = 0;
    const dpot_status status = dpot_sensitivity_compute(&campaign->vector, &sensitivity, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (!dpot_gaussian_rho(&sensitivity, campaign->noise.scale_log2, campaign->vector.dim,
                           &rho_q32)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the set's l2 diameter is 2^27 grid units or more: make grid_step "
                              "larger");
    }
    return campaign->noise.certificate_row > 0 ? check_row(campaign, &sensitivity, error)
                                               : check_rho(campaign, rho_q32, error);
}

static struct dpot_privacy charge(const struct dpot_campaign *campaign)
{
    struct dpot_privacy cost = {.epsilon_q32 = UINT64_MAX,
                                .delta_q64 = UINT64_MAX,
                                .rho_q32 = UINT64_MAX,
                                .n_gaussian = campaign->vector.dim};
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

static void privatize(void *workspace, const struct dpot_private_vector *private_vector,
                      struct dpot_rng *rng, struct dpot_report *report)
{
    dpot_vector_noise_privatize(workspace, DPOT_NOISE_GAUSSIAN, private_vector, rng, report);
}

const struct dpot_mechanism dpot_mechanism_gaussian = {
    .id = DPOT_MECHANISM_GAUSSIAN,
    .check = check,
    .charge = charge,
    .steps = dpot_vector_noise_steps,
    .workspace_bytes = dpot_vector_noise_bytes,
    .workspace_new = dpot_vector_noise_new,
    .workspace_free = dpot_vector_noise_free,
    .privatize_vector = privatize,
};
