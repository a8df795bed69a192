#include "model/campaign_sphere.h"

#include <stddef.h>

bool dpot_campaign_is_sphere(const struct dpot_campaign *campaign)
{
    return campaign->domain.type == DPOT_DOMAIN_SPHERE;
}

static dpot_status check_parts(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const bool is_wpm = campaign->mechanism == DPOT_MECHANISM_WPM;
    if (!is_wpm) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "domain is a sphere and the mechanism %s: choose wpm, or for laplace "
                              "and gaussian an l2_ball of radius 1",
                              dpot_mechanism_name(campaign->mechanism));
    }
    if (campaign->solver != DPOT_SOLVER_EXACT) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "solver is %u and domain is a sphere: the solver must be exact (%d)",
                              (unsigned)campaign->solver, (int)DPOT_SOLVER_EXACT);
    }
    if (campaign->output.type != DPOT_DOMAIN_DIRECTIONS) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "domain is a sphere and output is a list of points: output must "
                              "be directions");
    }
    if (campaign->metric.id != DPOT_METRIC_EUCLIDEAN) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "metric is %s and domain is a sphere: choose euclidean (with power "
                              "2 it is twice the cosine distance)",
                              dpot_metric_name(campaign->metric.id));
    }
    return DPOT_OK;
}

/* The work of a device for one report. */
static dpot_status check_work(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    const uint64_t numbers = (uint64_t)campaign->output.size * campaign->output.dim;
    if (campaign->n_max < 1 || campaign->n_max > DPOT_EXACT_N_MAX_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "n_max is %u: on a sphere choose 1 to %d",
                              campaign->n_max, DPOT_EXACT_N_MAX_MAX);
    }
    if (numbers * campaign->n_max > DPOT_SPHERE_WORK_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "n_max %u with %u directions of %u coordinates is too much work for "
                              "one report: choose n_max at most %llu, or fewer directions",
                              campaign->n_max, campaign->output.size, campaign->output.dim,
                              (unsigned long long)(DPOT_SPHERE_WORK_MAX / numbers));
    }
    return DPOT_OK;
}

/* Directions are exchangeable before a report's id is drawn: other masses could only increase the
 * cost, and the aggregator's model of the channel assumes equal ones. */
static dpot_status check_masses(const struct dpot_base_measure *base_measure,
                                struct dpot_error *error)
{
    for (uint32_t j = 1; base_measure->mass_code && j < base_measure->size; j++) {
        if (base_measure->mass_code[j] != base_measure->mass_code[0]) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "mass code %u of the base measure is %u and the first %u: on a "
                                  "sphere all must be equal",
                                  j, base_measure->mass_code[j], base_measure->mass_code[0]);
        }
    }
    return DPOT_OK;
}

dpot_status dpot_campaign_check_sphere(const struct dpot_campaign *campaign,
                                       struct dpot_error *error)
{
    const bool has_sphere = dpot_campaign_is_sphere(campaign) ||
                            campaign->output.type == DPOT_DOMAIN_SPHERE ||
                            campaign->output.type == DPOT_DOMAIN_DIRECTIONS ||
                            campaign->domain.type == DPOT_DOMAIN_DIRECTIONS;
    if (!has_sphere) {
        return DPOT_OK;
    }
    if (!dpot_campaign_is_sphere(campaign)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "a sphere must be the domain and directions the output, both "
                              "together");
    }
    dpot_status status = check_parts(campaign, error);
    if (status == DPOT_OK) {
        status = check_work(campaign, error);
    }
    return status == DPOT_OK ? check_masses(&campaign->base_measure, error) : status;
}
