#include "campaign/spec_sphere.h"

#include "campaign/spec_read.h"
#include "files/number.h"
#include "mechanism/sampler.h"

#include <math.h>
#include <string.h>

#define EXCESS_CHOSEN 0.01 /* of the expected cost, relative to the closed form */
#define EXCESS_REFUSED 0.1

static const char *const keys[] = {"type",         "epsilon", "base_measure", "n_max",
                                   "sample_first", "solver",  "passes",       NULL};

/* ---- output ---- */

/* *count is 0 for "same". */
static dpot_status read_count(const json_t *spec, int64_t *count, struct dpot_error *error)
{
    static const char *const known[] = {"type", "count", NULL};
    const json_t *output = json_object_get(spec, "output");
    const char *type = NULL;
    *count = 0;
    if (!output || (json_is_string(output) && strcmp(json_string_value(output), "same") == 0)) {
        return DPOT_OK;
    }
    if (!json_is_object(output)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "output must be \"same\" or {\"type\":\"directions\",\"count\":K}");
    }
    dpot_status status = spec_require(json_get_string(output, "output", "type", &type, error),
                                      "output.type", "say directions", error);
    if (status == DPOT_OK && strcmp(type, "directions") != 0) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "output.type is \"%.40s\": with a sphere use directions", type);
    }
    if (status == DPOT_OK) {
        status = json_check_keys(output, "output", known, error);
    }
    return status == DPOT_OK
               ? spec_default(json_get_integer(output, "output", "count", DPOT_DIRECTIONS_MIN,
                                               DPOT_DOMAIN_SIZE_MAX, count, error))
               : status;
}

static uint32_t most_directions(uint32_t dim)
{
    uint32_t most = SPEC_DIRECTIONS_MOST;
    while (most > DPOT_DIRECTIONS_NUMBERS_MAX / dim) {
        most /= 2;
    }
    return most;
}

static double cost_of(const struct sphere *sphere, double epsilon, uint32_t count)
{
    struct sphere_choice choice;
    sphere_choose(sphere, epsilon, count, &choice);
    return choice.channel.cost;
}

/* The least power of two from `first` on with at most that cost; or `most`. */
static uint32_t find_count(const struct sphere *sphere, double epsilon, uint32_t first,
                           uint32_t most, double cost)
{
    uint32_t count = first < most ? first : most;
    while (count < most && cost_of(sphere, epsilon, count) > cost) {
        count *= 2;
    }
    return count;
}

static dpot_status set_directions(struct dpot_campaign *campaign, int64_t given,
                                  struct dpot_error *error)
{
    const uint32_t dim = campaign->domain.dim, most = most_directions(dim);
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    const struct sphere sphere = {dim - 1, campaign->cost_power};
    struct sphere_optimum optimum;
    dpot_status status = sphere_solve(&sphere, epsilon, &optimum, error);
    if (status != DPOT_OK) {
        return status;
    }
    uint32_t count = (uint32_t)given;
    if (given == 0) {
        count = find_count(&sphere, epsilon, SPEC_DIRECTIONS_DEFAULT, most,
                           optimum.cost * (1 + EXCESS_CHOSEN));
    } else if (count < most) {
        const uint32_t least =
            find_count(&sphere, epsilon, 2, most, optimum.cost * (1 + EXCESS_REFUSED));
        if (count < least &&
            cost_of(&sphere, epsilon, count) > optimum.cost * (1 + EXCESS_REFUSED)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "output.count is %u: at epsilon %g in %u coordinates the nearest "
                                  "directions would cost more than 10 %% above the optimum, use at "
                                  "least %u",
                                  count, epsilon, dim, least);
        }
    }
    return dpot_domain_init_directions(&campaign->output, count, dim, error);
}

/* ---- mechanism ---- */

static dpot_status check_keys(const json_t *mechanism, struct dpot_error *error)
{
    static const char *const not_here[] = {"lambda", "lambda_relative", "iterations"};
    const char *solver = NULL;
    for (size_t i = 0; i < sizeof not_here / sizeof not_here[0]; i++) {
        if (json_object_get(mechanism, not_here[i])) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "mechanism.%s is of no use on a sphere, where the projection is "
                                  "exact: remove it",
                                  not_here[i]);
        }
    }
    dpot_status status = json_check_keys(mechanism, "mechanism", keys, error);
    if (status == DPOT_OK) {
        status = spec_default(json_get_string(mechanism, "mechanism", "solver", &solver, error));
    }
    if (status == DPOT_OK && solver && strcmp(solver, "exact") != 0) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "mechanism.solver is \"%.40s\": on a sphere it is exact", solver);
    }
    return status;
}

static dpot_status check_mechanism(const json_t *spec, struct dpot_campaign *campaign,
                                   struct dpot_error *error)
{
    const dpot_status status = spec_read_mechanism_type(spec, &campaign->mechanism, error);
    if (status == DPOT_OK && campaign->mechanism != DPOT_MECHANISM_WPM) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "mechanism.type is %s and domain a sphere: choose wpm, laplace or "
                              "gaussian",
                              dpot_mechanism_name(campaign->mechanism));
    }
    return status;
}

static dpot_status read_counts(const json_t *mechanism, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    int64_t n_max = 1;
    dpot_status status = spec_default(
        json_get_integer(mechanism, "mechanism", "n_max", 1, DPOT_EXACT_N_MAX_MAX, &n_max, error));
    if (status == DPOT_OK) {
        status = spec_default(
            json_get_bool(mechanism, "mechanism", "sample_first", &campaign->sample_first, error));
    }
    campaign->n_max = (uint32_t)n_max;
    campaign->solver = DPOT_SOLVER_EXACT;
    return status == DPOT_OK ? spec_read_passes(mechanism, campaign, error) : status;
}

/* "uniform" or "uniform:<total mass>". */
static dpot_status read_mass(const json_t *mechanism, const struct dpot_campaign *campaign,
                             double *total, struct dpot_error *error)
{
    static const char prefix[] = "uniform:";
    const struct sphere sphere = {campaign->domain.dim - 1, campaign->cost_power};
    const json_t *value = json_object_get(mechanism, "base_measure");
    const char *text = json_string_value(value);
    struct sphere_choice choice;
    if (!value || (text && strcmp(text, "uniform") == 0)) {
        sphere_choose(&sphere, dpot_epsilon_to_double(campaign->epsilon_q32), campaign->output.size,
                      &choice);
        *total = choice.total_mass;
        return DPOT_OK;
    }
    const bool has_mass = text && strncmp(text, prefix, sizeof prefix - 1) == 0;
    if (!has_mass || !number_parse_finite(text + sizeof prefix - 1, total) || !(*total > 0)) {
        char shown[64];
        json_show(shown, sizeof shown, value);
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "mechanism.base_measure is %s: on a sphere give uniform or "
                              "uniform:<total mass>",
                              shown);
    }
    return DPOT_OK;
}

static dpot_status set_base_measure(const json_t *mechanism, struct dpot_campaign *campaign,
                                    struct dpot_error *error)
{
    struct dpot_base_measure *base_measure = &campaign->base_measure;
    const uint32_t size = campaign->output.size;
    double total = 1;
    dpot_status status = read_mass(mechanism, campaign, &total, error);
    if (status != DPOT_OK) {
        return status;
    }
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    base_measure->mass_code = dpot_alloc_array(NULL, size, sizeof *base_measure->mass_code);
    base_measure->size = size;
    for (uint32_t j = 0; m && j < size; j++) {
        m[j] = total / size;
    }
    status = m && base_measure->mass_code
                 ? dpot_base_measure_encode(m, size, campaign->epsilon_q32, base_measure, error)
                 : DPOT_ERR_MEMORY;
    dpot_free_array(NULL, m, size, sizeof *m);
    return status == DPOT_OK || status == DPOT_ERR_MEMORY
               ? status
               : dpot_error_prefix(error, status, "mechanism.base_measure");
}

dpot_status spec_read_sphere(const json_t *spec, struct dpot_campaign *campaign,
                             struct dpot_error *error)
{
    const json_t *mechanism = json_object_get(spec, "mechanism");
    int64_t count = 0;
    dpot_status status = check_mechanism(spec, campaign, error);
    if (status == DPOT_OK) {
        status = check_keys(mechanism, error);
    }
    if (status == DPOT_OK) {
        status = read_count(spec, &count, error);
    }
    if (status == DPOT_OK) {
        status = spec_read_epsilon(mechanism, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_counts(mechanism, campaign, error);
    }
    if (status == DPOT_OK) {
        status = set_directions(campaign, count, error);
    }
    return status == DPOT_OK ? set_base_measure(mechanism, campaign, error) : status;
}

/* ---- what follows ---- */

void spec_measure_sphere(const struct dpot_campaign *campaign, struct spec_sphere *measured)
{
    const struct sphere sphere = {campaign->domain.dim - 1, campaign->cost_power};
    const double epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    const double size = campaign->output.size;
    /* All directions have the same mass, so that the bounds are those of a measure of two of that
     * total: L and U in doubles, up to a unit of 2^-62. */
    const double mass = (double)campaign->base_measure.total / (double)DPOT_MASS_ONE;
    const double lower = mass / size, upper = fmin(lower * exp(epsilon), 1);
    *measured = (struct spec_sphere){.total_mass = mass * exp(epsilon / 2)};
    sphere_measure(&sphere, campaign->output.size, lower, upper, &measured->channel);
    sphere_scatter(&sphere, campaign->output.size, lower, upper, &measured->scatter);
    if (sphere_solve(&sphere, epsilon, &measured->optimum, NULL) != DPOT_OK) {
        measured->optimum = (struct sphere_optimum){.threshold = NAN}; /* a checked one has one */
    }
}

json_t *spec_describe_sphere(const struct dpot_campaign *campaign)
{
    struct spec_sphere s;
    spec_measure_sphere(campaign, &s);
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "expected_cost", json_number(s.channel.cost),
        "contraction", json_number(s.channel.contraction), "n_near", json_number(s.channel.n_near),
        "report_error", json_number(sqrt(sphere_report_variance(s.channel.contraction))),
        "optimal_cost", json_number(s.optimum.cost), "optimal_total_mass",
        json_number(s.optimum.total_mass), "mean_cost", json_number(s.optimum.mean_cost));
}
