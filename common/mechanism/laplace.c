/* The Laplace mechanism on vectors of integers: two-sided geometric noise of scale t = 2^k grid
 * units on every coordinate, clamped to a public range.
 *
 * Claim. Neighbours: any two device vectors (local model), NaN and garbage included. Guarantee:
 * pure epsilon-LDP with epsilon = E / 2^32, for every campaign that passes `check`: the l1 diameter
 * D1 of the enforced set satisfies D1 2^32 <= (E - 1) 2^k, and no coordinate is wider than 32 t -
 * 2. Proof: client/doc/exact-privacy.md, Theorem B1. Rounding cannot violate it: transform and
 * rounding to the grid decide utility, the set is enforced on integers afterwards. The output clamp
 * is PART OF THE PROOF: it makes the supports of all inputs equal.
 *
 * Work: fixed per coordinate, except for rejected trials, whose number is independent of data and
 * noise. After workspace_new nothing allocates or fails. */
#include "mechanism/vector_noise.h"

static dpot_status check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const unsigned k = campaign->noise.scale_log2;
    struct dpot_sensitivity sensitivity;
    const dpot_status status = dpot_sensitivity_compute(&campaign->vector, &sensitivity, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (sensitivity.widest > dpot_laplace_widest(k)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a coordinate is %llu grid units wide: noise of scale 2^%u covers at "
                              "most %llu",
                              (unsigned long long)sensitivity.widest, k,
                              (unsigned long long)dpot_laplace_widest(k));
    }
    if (!dpot_laplace_accepts(&sensitivity, campaign->epsilon_q32, k)) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "the set has l1 diameter %llu grid units and the noise scale 2^%u: "
                              "that is epsilon %.6g, not the %.6g the campaign claims",
                              (unsigned long long)sensitivity.l1, k,
                              (double)sensitivity.l1 / (double)((uint64_t)1 << k),
                              dpot_epsilon_to_double(campaign->epsilon_q32));
    }
    return DPOT_OK;
}

static struct dpot_privacy charge(const struct dpot_campaign *campaign)
{
    return dpot_privacy_pure(campaign->epsilon_q32);
}

static void privatize(void *workspace, const struct dpot_private_vector *private_vector,
                      struct dpot_rng *rng, struct dpot_report *report)
{
    const struct dpot_campaign *campaign = ((struct dpot_vector_noise *)workspace)->campaign;
    dpot_vector_noise_privatize(workspace, DPOT_NOISE_LAPLACE, private_vector, rng, report);
    dpot_laplace_clamp(campaign->noise.scale_log2, &campaign->vector, report->values);
}

const struct dpot_mechanism dpot_mechanism_laplace = {
    .id = DPOT_MECHANISM_LAPLACE,
    .check = check,
    .charge = charge,
    .steps = dpot_vector_noise_steps,
    .workspace_bytes = dpot_vector_noise_bytes,
    .workspace_new = dpot_vector_noise_new,
    .workspace_free = dpot_vector_noise_free,
    .privatize_vector = privatize,
};
