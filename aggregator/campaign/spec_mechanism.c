/* lambda and base measure of an index mechanism. */
#include "campaign/spec_fields.h"
#include "files/number.h"
#include "mechanism/baselines.h"
#include "mechanism/ground.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define COORDINATE_LEAST 0x1p-900 /* different coordinates are then 2^-953 apart */

#define COST_PAIRS_MAX ((uint64_t)1 << 28)    /* evaluated for the largest cost */
#define UTILITY_PAIRS_MAX ((uint64_t)1 << 26) /* for a sensitivity and a base measure */

/* The largest cost between a domain point and an output point, over every pair. */
static dpot_status find_largest_cost(const struct dpot_campaign *campaign, double *largest,
                                     struct dpot_error *error)
{
    const struct dpot_domain *domain = &campaign->domain, *output = &campaign->output;
    if ((uint64_t)domain->size * output->size > COST_PAIRS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "mechanism.lambda_relative would evaluate %u x %u costs: give "
                              "mechanism.lambda in cost units",
                              domain->size, output->size);
    }
    struct dpot_ground ground = {0};
    dpot_status status = dpot_ground_init(&ground, campaign, NULL, error);
    double *row = dpot_alloc_array(NULL, output->size, sizeof *row);
    if (status == DPOT_OK && !row) {
        status = DPOT_ERR_MEMORY;
    }
    *largest = 0;
    for (uint32_t i = 0; status == DPOT_OK && i < domain->size; i++) {
        dpot_ground_row(&ground, i, row);
        for (uint32_t j = 0; j < output->size; j++) {
            *largest = fmax(*largest, row[j]);
        }
    }
    dpot_free_array(NULL, row, output->size, sizeof *row);
    dpot_ground_release(&ground);
    return status;
}

static dpot_status set_lambda(struct spec *spec, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    const bool is_relative = spec->lambda_relative > 0;
    if (is_relative == (campaign->lambda > 0)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "give either mechanism.lambda (cost units) or "
                              "mechanism.lambda_relative (fraction of the largest cost), %s",
                              is_relative
                                  ? "not both"
                                  : "one of them is needed; or \"solver\": \"exact\", which "
                                    "has none");
    }
    if (!is_relative) {
        return DPOT_OK;
    }
    double largest = 0;
    const dpot_status status = find_largest_cost(campaign, &largest, error);
    campaign->lambda = spec->lambda_relative * largest;
    if (status == DPOT_OK && !(largest > 0 && isfinite(campaign->lambda))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the largest cost is %g: mechanism.lambda_relative needs a "
                              "positive finite one",
                              largest);
    }
    return status;
}

bool spec_read_suffix(const char *text, const char *prefix, double *number)
{
    const size_t len = strlen(prefix);
    if (strcmp(text, prefix) == 0) {
        return true;
    }
    if (strncmp(text, prefix, len) != 0 || text[len] != ':') {
        return false;
    }
    return number_parse_finite(text + len + 1, number) && *number > 0;
}

/* The total mass m of the uniform measure with which a device that holds one point reports each of
 * the b output points nearest to it with the largest probability, U / N, and each of the k - b
 * others with the least, L / N: b U + (k - b) L = N, where U / N = e^(epsilon/2) m / k and L / N =
 * e^(-epsilon/2) m / k. The smaller b, the larger m.
 *
 * The default b = k / (16 + e^(epsilon/2)) was measured to be near the best for estimating
 * distributions behind the channel (tests/experiments/README.md). For single frequencies k /
 * (e^epsilon + 1) would be best, which is large when epsilon is small; but a large ball blurs, and
 * the deconvolution has to undo it. */
static dpot_status find_ball_mass(const struct dpot_campaign *campaign, double b, double *total,
                                  struct dpot_error *error)
{
    const double k = campaign->output.size;
    const double up = exp(dpot_epsilon_to_double(campaign->epsilon_q32) / 2);
    if (campaign->mechanism != DPOT_MECHANISM_WPM) {
        return dpot_error_set(
            error, DPOT_ERR_MALFORMED,
            "mechanism.base_measure is a ball, which is for wpm: %s has a measure of its own, "
            "leave it out",
            dpot_mechanism_name(campaign->mechanism));
    }
    b = b > 0 ? b : fmax(1, k / (16 + up));
    if (!(b >= 1 && b < k)) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "mechanism.base_measure is a ball of %g points: give at least 1 and fewer than the %g "
            "output points",
            b, k);
    }
    *total = k / ((k - b) / up + b * up);
    return DPOT_OK;
}

/* The total mass of "uniform", "uniform:<total mass>", "ball" or "ball:<points>". */
static dpot_status read_uniform_mass(const char *text, const struct dpot_campaign *campaign,
                                     double *total, struct dpot_error *error)
{
    double b = 0;
    *total = 1;
    if (spec_read_suffix(text, "uniform", total)) {
        return DPOT_OK;
    }
    if (spec_read_suffix(text, "ball", &b)) {
        return find_ball_mass(campaign, b, total, error);
    }
    return dpot_error_set(
        error, DPOT_ERR_MALFORMED,
        "mechanism.base_measure is \"%.40s\": give uniform, uniform:<total mass>, ball, "
        "ball:<points> or an array of masses",
        text);
}

static void ground_row(void *ctx, size_t i, double *row)
{
    dpot_ground_row(ctx, (uint32_t)i, row);
}

/* Sets the sensitivity of the utility; m (output size), which may be NULL, gets the base measure of
 * the exponential mechanism. */
static dpot_status find_utility(struct dpot_campaign *campaign, double *m, struct dpot_error *error)
{
    const struct dpot_domain *domain = &campaign->domain, *output = &campaign->output;
    if ((uint64_t)domain->size * output->size > UTILITY_PAIRS_MAX) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "the exponential mechanism would evaluate %u x %u costs: at most %llu "
            "are allowed, use fewer points",
            domain->size, output->size, (unsigned long long)UTILITY_PAIRS_MAX);
    }
    struct dpot_ground ground = {0};
    const struct dpot_cost_rows cost = {domain->size, output->size, ground_row, &ground};
    dpot_status status = dpot_ground_init(&ground, campaign, NULL, error);
    if (status == DPOT_OK) {
        status = dpot_exponential_sensitivity(&cost, NULL, &campaign->sensitivity, error);
    }
    if (status == DPOT_OK && m) {
        const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
        status = dpot_exponential_base_measure(&cost, epsilon / (2 * campaign->sensitivity), NULL,
                                               m, error);
    }
    dpot_ground_release(&ground);
    return status;
}

/* The mechanism's own base measure, where the SPEC gives none. */
static dpot_status default_masses(struct dpot_campaign *campaign, double *m,
                                  struct dpot_error *error)
{
    const uint32_t size = campaign->output.size;
    if (campaign->mechanism == DPOT_MECHANISM_EXPONENTIAL) {
        return find_utility(campaign, m, error);
    }
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    const double mass =
        campaign->mechanism == DPOT_MECHANISM_KPM ? dpot_kpm_mass(epsilon, size) : 1.0 / size;
    for (uint32_t j = 0; j < size; j++) {
        m[j] = mass;
    }
    return DPOT_OK;
}

/* Equal masses, of the total mass that the text gives. */
static dpot_status uniform_masses(const struct spec *spec, double *m, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = &spec->campaign;
    const uint32_t size = campaign->output.size;
    double total = 1;
    const dpot_status status =
        dpot_campaign_is_sphere(campaign)
            ? spec_sphere_mass(spec, &total, error)
            : read_uniform_mass(json_string_value(spec->base_measure), campaign, &total, error);
    for (uint32_t j = 0; j < size; j++) {
        m[j] = total / size;
    }
    return status;
}

static dpot_status find_masses(struct spec *spec, double *m, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    const json_t *given = spec->base_measure;
    const bool is_sphere = dpot_campaign_is_sphere(campaign);
    if (!given && !is_sphere) {
        return default_masses(campaign, m, error);
    }
    const dpot_status status = campaign->mechanism == DPOT_MECHANISM_EXPONENTIAL
                                   ? find_utility(campaign, NULL, error)
                                   : DPOT_OK;
    if (status != DPOT_OK || is_sphere || json_is_string(given)) {
        return status == DPOT_OK ? uniform_masses(spec, m, error) : status;
    }
    return json_read_numbers(given, "mechanism.base_measure", -INFINITY, m, campaign->output.size,
                             error);
}

static dpot_status set_base_measure(struct spec *spec, struct dpot_error *error)
{
    struct dpot_campaign *campaign = &spec->campaign;
    struct dpot_base_measure *base_measure = &campaign->base_measure;
    const uint32_t size = campaign->output.size;
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    base_measure->mass_code = dpot_alloc_array(NULL, size, sizeof *base_measure->mass_code);
    base_measure->size = size;
    dpot_status status = m && base_measure->mass_code ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = find_masses(spec, m, error);
    }
    if (status == DPOT_OK) {
        status = dpot_base_measure_encode(m, size, campaign->epsilon_q32, base_measure, error);
        if (status != DPOT_OK) {
            status = dpot_error_prefix(error, status, "mechanism.base_measure");
        }
    }
    dpot_free_array(NULL, m, size, sizeof *m);
    return status;
}

/* Devices count differences below 2^-1000 as 0. */
static dpot_status check_coordinates(const struct dpot_domain *domain, struct dpot_error *error)
{
    const size_t n = domain->type == DPOT_DOMAIN_POINTS ? (size_t)domain->size * domain->dim : 0;
    for (size_t i = 0; i < n; i++) {
        if (domain->points[i] != 0 && fabs(domain->points[i]) < COORDINATE_LEAST) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "coordinate %zu of point %zu is %g: it must be 0, or at least %g "
                                  "in size, choose a smaller unit",
                                  i % domain->dim, i / domain->dim, domain->points[i],
                                  COORDINATE_LEAST);
        }
    }
    return DPOT_OK;
}

/* By the box of all points; kpm has no costs, and those of a sphere are at most 2^power. */
static dpot_status check_costs(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (campaign->mechanism == DPOT_MECHANISM_KPM || campaign->domain.type == DPOT_DOMAIN_SPHERE) {
        return DPOT_OK;
    }
    dpot_status status = check_coordinates(&campaign->domain, error);
    if (status == DPOT_OK) {
        status = check_coordinates(&campaign->output, error);
    }
    if (status != DPOT_OK || dpot_ground_cost_bound(campaign) < DBL_MAX) {
        return status;
    }
    return dpot_error_set(
        error, DPOT_ERR_RANGE,
        "the largest cost, a distance to the power %g, is too large for a double: "
        "scale the points or lower the power",
        campaign->cost_power);
}

dpot_status spec_set_mechanism(struct spec *spec, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = &spec->campaign;
    const bool has_lambda =
        campaign->mechanism == DPOT_MECHANISM_WPM && campaign->solver == DPOT_SOLVER_ENTROPIC;
    dpot_status status = check_costs(campaign, error);
    if (status == DPOT_OK && has_lambda) {
        status = set_lambda(spec, error);
    }
    return status == DPOT_OK ? set_base_measure(spec, error) : status;
}
