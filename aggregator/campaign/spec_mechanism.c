#include "campaign/spec_read.h"
#include "files/number.h"
#include "mechanism/baselines.h"
#include "mechanism/ground.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"

#include <math.h>
#include <string.h>

#define COST_PAIRS_MAX ((uint64_t)1 << 28)    /* looked at for a largest cost */
#define UTILITY_PAIRS_MAX ((uint64_t)1 << 26) /* for a sensitivity and a base measure */
#define ITERATIONS_DEFAULT 300
#define N_MAX_DEFAULT 32

static const char *const wpm_keys[] = {
    "type",  "epsilon",      "solver", "lambda", "lambda_relative", "iterations", "base_measure",
    "n_max", "sample_first", "passes", NULL};
static const char *const baseline_keys[] = {"type",  "epsilon",      "base_measure",
                                            "n_max", "sample_first", NULL};
static const char *const wpm_only_keys[] = {"solver", "lambda", "lambda_relative", "iterations",
                                            "passes"};
static const char *const sweeps_keys[] = {"lambda", "lambda_relative", "iterations"};

static dpot_status check_mechanism_keys(const json_t *mechanism, enum dpot_mechanism_id id,
                                        struct dpot_error *error)
{
    if (id == DPOT_MECHANISM_WPM) {
        return json_check_keys(mechanism, "mechanism", wpm_keys, error);
    }
    for (size_t i = 0; i < sizeof wpm_only_keys / sizeof wpm_only_keys[0]; i++) {
        if (json_object_get(mechanism, wpm_only_keys[i])) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "mechanism.%s goes with wpm only: %s does not use it, remove it",
                                  wpm_only_keys[i], dpot_mechanism_name(id));
        }
    }
    return json_check_keys(mechanism, "mechanism", baseline_keys, error);
}

dpot_status spec_read_mechanism_type(const json_t *spec, enum dpot_mechanism_id *id,
                                     struct dpot_error *error)
{
    static const char remedy[] = "say wpm, kpm, exponential, laplace or gaussian";
    const json_t *mechanism = json_object_get(spec, "mechanism");
    const char *type = NULL;
    if (!json_is_object(mechanism)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "mechanism must be an object such as {\"type\":\"wpm\",...}");
    }
    const dpot_status status =
        spec_require(json_get_string(mechanism, "mechanism", "type", &type, error),
                     "mechanism.type", remedy, error);
    if (status == DPOT_OK && dpot_mechanism_find(type, id) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "mechanism.type is \"%.40s\": %s", type,
                              remedy);
    }
    return status;
}

/* What a device is charged, rounded down; never above the ceiling by rounding. */
dpot_status spec_read_epsilon(const json_t *mechanism, struct dpot_campaign *campaign,
                              struct dpot_error *error)
{
    double epsilon = 0;
    dpot_status status = spec_require(
        json_get_number(mechanism, "mechanism", "epsilon", -INFINITY, INFINITY, &epsilon, error),
        "mechanism.epsilon", "give a number from 2^-32 to 20", error);
    if (status != DPOT_OK) {
        return status;
    }
    const double max = dpot_epsilon_to_double(DPOT_INDEX_EPSILON_MAX_Q32);
    if (epsilon > max) {
        return dpot_error_set(error, DPOT_ERR_EPSILON,
                              "mechanism.epsilon is %.17g: choose at most %g", epsilon, max);
    }
    status = dpot_epsilon_from_double(epsilon, &campaign->epsilon_q32);
    return status == DPOT_OK
               ? status
               : dpot_error_set(error, status,
                                "mechanism.epsilon is %.10g: give a number from 2^-32 (about "
                                "2.33e-10) to %g",
                                epsilon, max);
}

/* The largest cost between a domain point and an output point, by looking at every pair. */
static dpot_status find_largest_cost(const struct dpot_campaign *campaign, double *largest,
                                     struct dpot_error *error)
{
    const struct dpot_domain *domain = &campaign->domain, *output = &campaign->output;
    if ((uint64_t)domain->size * output->size > COST_PAIRS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "mechanism.lambda_relative would look at %u x %u costs: give "
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

static dpot_status read_lambda(const json_t *mechanism, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    const bool is_relative = json_object_get(mechanism, "lambda_relative") != NULL;
    if (is_relative == (json_object_get(mechanism, "lambda") != NULL)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "give either mechanism.lambda (cost units) or "
                              "mechanism.lambda_relative (fraction of the largest cost), %s",
                              is_relative
                                  ? "not both"
                                  : "one of them is needed; or \"solver\": \"exact\", which "
                                    "has none");
    }
    const char *key = is_relative ? "lambda_relative" : "lambda";
    dpot_status status =
        json_get_number(mechanism, "mechanism", key, -INFINITY, INFINITY, &campaign->lambda, error);
    if (status == DPOT_OK && !(campaign->lambda > 0 && isfinite(campaign->lambda))) {
        status = dpot_error_set(error, DPOT_ERR_RANGE, "mechanism.%s is %g: it must be positive",
                                key, campaign->lambda);
    }
    double largest = 1;
    if (status == DPOT_OK && is_relative) {
        status = find_largest_cost(campaign, &largest, error);
    }
    if (status == DPOT_OK && !(largest > 0 && isfinite(campaign->lambda * largest))) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "the largest cost is %g: mechanism.lambda_relative needs a "
                                "positive finite one",
                                largest);
    }
    campaign->lambda *= largest;
    return status;
}

/* The number after "prefix:"; *number is left alone when there is only the prefix. False: neither. */
static bool read_suffix(const char *text, const char *prefix, double *number)
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

/* The total mass of the uniform measure with which a device that holds one point reports the b output points
 * nearest to it, each with the largest probability U / N, and the k - b others with the least, L / N: b U + (k - b) L =
 * N, where U = e^(epsilon/2) m / k and L = e^(-epsilon/2) m / k. The smaller b, the larger m.
 *
 * Where distributions are to be found again behind the channel (barycenters), b = k / (16 + e^(epsilon/2)) is near the
 * best, as measured in tests/experiments/README.md. Counting frequencies one by one would want k / (e^epsilon + 1), wide when
 * epsilon is small; but a wide ball blurs, which the inversion must undo, and a small one near the truth is
 * worth more than its counts when places are what matters. */
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
    if (read_suffix(text, "uniform", total)) {
        return DPOT_OK;
    }
    if (read_suffix(text, "ball", &b)) {
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

/* The sensitivity of the utility; and the exponential mechanism's own base measure, unless m is
 * NULL. */
static dpot_status find_utility(struct dpot_campaign *campaign, double *m, struct dpot_error *error)
{
    const struct dpot_domain *domain = &campaign->domain, *output = &campaign->output;
    if ((uint64_t)domain->size * output->size > UTILITY_PAIRS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the exponential mechanism would look at %u x %u costs, at most %llu "
                              "are allowed: use fewer points",
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

/* The base measure that a mechanism has where the SPEC gives none. */
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

static dpot_status listed_masses(const json_t *value, const struct dpot_campaign *campaign,
                                 double *m, struct dpot_error *error)
{
    const uint32_t size = campaign->output.size;
    if (!json_is_string(value)) {
        return spec_read_numbers(value, "mechanism.base_measure", m, size, error);
    }
    double total = 1;
    const dpot_status status = read_uniform_mass(json_string_value(value), campaign, &total, error);
    for (uint32_t j = 0; j < size; j++) {
        m[j] = total / size;
    }
    return status;
}

static dpot_status read_masses(const json_t *value, struct dpot_campaign *campaign, double *m,
                               struct dpot_error *error)
{
    if (!value) {
        return default_masses(campaign, m, error);
    }
    const dpot_status status = campaign->mechanism == DPOT_MECHANISM_EXPONENTIAL
                                   ? find_utility(campaign, NULL, error)
                                   : DPOT_OK;
    return status == DPOT_OK ? listed_masses(value, campaign, m, error) : status;
}

static dpot_status read_base_measure(const json_t *mechanism, struct dpot_campaign *campaign,
                                     struct dpot_error *error)
{
    struct dpot_base_measure *base_measure = &campaign->base_measure;
    const uint32_t size = campaign->output.size;
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    base_measure->mass_code = dpot_alloc_array(NULL, size, sizeof *base_measure->mass_code);
    base_measure->size = size;
    dpot_status status = m && base_measure->mass_code ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        status = read_masses(json_object_get(mechanism, "base_measure"), campaign, m, error);
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

static dpot_status read_counts(const json_t *mechanism, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    int64_t n_max = N_MAX_DEFAULT;
    dpot_status status = spec_default(
        json_get_integer(mechanism, "mechanism", "n_max", 1, DPOT_N_MAX_MAX, &n_max, error));
    if (status == DPOT_OK) {
        status = spec_default(
            json_get_bool(mechanism, "mechanism", "sample_first", &campaign->sample_first, error));
    }
    campaign->n_max = (uint32_t)n_max;
    return status;
}

static dpot_status read_sweeps(const json_t *mechanism, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    int64_t iterations = ITERATIONS_DEFAULT;
    const dpot_status status = read_lambda(mechanism, campaign, error);
    if (status != DPOT_OK) {
        return status;
    }
    const dpot_status counted = spec_default(json_get_integer(
        mechanism, "mechanism", "iterations", 1, DPOT_ITERATIONS_MAX, &iterations, error));
    if (counted == DPOT_ERR_MALFORMED) {
        char shown[64];
        json_show(shown, sizeof shown, json_object_get(mechanism, "iterations"));
        return dpot_error_set(error, counted,
                              "mechanism.iterations is %s: give an integer from 1 to %d, or "
                              "\"auto\" or {\"error\": E} to have it measured by dpot campaign",
                              shown, DPOT_ITERATIONS_MAX);
    }
    campaign->iterations = (uint32_t)iterations;
    return counted;
}

/* A number of sweeps, "auto" included, has nothing to say to a solver without sweeps. */
dpot_status spec_check_solver_keys(const json_t *mechanism, bool *is_exact,
                                   struct dpot_error *error)
{
    const char *name = "entropic";
    enum dpot_solver_id id = DPOT_SOLVER_ENTROPIC;
    dpot_status status =
        spec_default(json_get_string(mechanism, "mechanism", "solver", &name, error));
    if (status == DPOT_OK && dpot_solver_find(name, &id) != DPOT_OK) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "mechanism.solver is \"%.40s\": say entropic or exact", name);
    }
    *is_exact = id == DPOT_SOLVER_EXACT;
    for (size_t i = 0;
         status == DPOT_OK && *is_exact && i < sizeof sweeps_keys / sizeof *sweeps_keys; i++) {
        if (json_object_get(mechanism, sweeps_keys[i])) {
            status = dpot_error_set(error, DPOT_ERR_MALFORMED,
                                    "mechanism.%s goes with the entropic solver only: the exact "
                                    "one does not use it, remove it",
                                    sweeps_keys[i]);
        }
    }
    if (status == DPOT_OK && !*is_exact && json_object_get(mechanism, "passes")) {
        status =
            dpot_error_set(error, DPOT_ERR_MALFORMED,
                           "mechanism.passes goes with the exact solver only: the entropic one "
                           "does not use it, remove it");
    }
    return status;
}

/* The default is left out of the campaign, which keeps the bytes it had before the field. */
dpot_status spec_read_passes(const json_t *mechanism, struct dpot_campaign *campaign,
                             struct dpot_error *error)
{
    int64_t passes = DPOT_PASSES_DEFAULT;
    const dpot_status status = spec_default(
        json_get_integer(mechanism, "mechanism", "passes", 1, DPOT_PASSES_MAX, &passes, error));
    campaign->passes = passes == DPOT_PASSES_DEFAULT ? 0 : (uint32_t)passes;
    return status;
}

static dpot_status read_solver(const json_t *mechanism, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    bool is_exact = false;
    const dpot_status status = spec_check_solver_keys(mechanism, &is_exact, error);
    if (status != DPOT_OK) {
        return status;
    }
    campaign->solver = is_exact ? DPOT_SOLVER_EXACT : DPOT_SOLVER_ENTROPIC;
    return is_exact ? spec_read_passes(mechanism, campaign, error)
                    : read_sweeps(mechanism, campaign, error);
}

dpot_status spec_read_mechanism(const json_t *spec, struct dpot_campaign *campaign,
                                struct dpot_error *error)
{
    const json_t *mechanism = json_object_get(spec, "mechanism");
    dpot_status status = spec_read_mechanism_type(spec, &campaign->mechanism, error);
    if (status == DPOT_OK) {
        status = check_mechanism_keys(mechanism, campaign->mechanism, error);
    }
    if (status == DPOT_OK) {
        status = spec_read_epsilon(mechanism, campaign, error);
    }
    if (status == DPOT_OK && campaign->mechanism == DPOT_MECHANISM_WPM) {
        status = read_solver(mechanism, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_counts(mechanism, campaign, error);
    }
    return status == DPOT_OK ? read_base_measure(mechanism, campaign, error) : status;
}
