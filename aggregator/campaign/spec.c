#include "campaign/spec.h"

#include "base/clock.h"
#include "campaign/spec_read.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "ot/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER_MAX ((int64_t)1 << 53) /* what every JSON reader keeps exactly */
#define COST_PAIRS_MAX ((uint64_t)1 << 28)
#define ITERATIONS_DEFAULT 300
#define N_MAX_DEFAULT 32

static const char *const spec_keys[] = {
    "name",   "domain", "output", "metric",   "ring_size", "power",      "mechanism",
    "rounds", "opens",  "closes", "min_pool", "groups",    "simulation", NULL};

static const char *const wpm_keys[] = {"type",       "epsilon",      "lambda", "lambda_relative",
                                       "iterations", "base_measure", "n_max",  "sample_first",
                                       NULL};

static dpot_status copy_label(char out[DPOT_CAMPAIGN_NAME_MAX + 1], const char *key,
                              const char *text, struct dpot_error *error)
{
    const size_t len = strlen(text);
    if (len > DPOT_CAMPAIGN_NAME_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s has %zu bytes: use at most %d", key, len,
                              DPOT_CAMPAIGN_NAME_MAX);
    }
    memcpy(out, text, len + 1);
    return DPOT_OK;
}

static dpot_status read_name(const json_t *spec, struct dpot_campaign *campaign,
                             struct dpot_error *error)
{
    const char *name = NULL;
    const dpot_status status = spec_require(json_get_string(spec, "", "name", &name, error), "name",
                                            "give one of a-z, 0-9 and -", error);
    return status == DPOT_OK ? copy_label(campaign->name, "name", name, error) : status;
}

/* Output points: "same" (the default) or a points or grid object. */
static dpot_status read_output(const json_t *spec, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    const json_t *output = json_object_get(spec, "output");
    if (output && !json_is_string(output)) {
        return spec_read_domain(spec, "output", false, &campaign->output, error);
    }
    if (output && strcmp(json_string_value(output), "same") != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "output is \"%.40s\": say \"same\" or give a points or grid object",
                              json_string_value(output));
    }
    campaign->output_is_domain = true;
    return dpot_domain_init_copy(&campaign->output, &campaign->domain);
}

static dpot_status read_metric(const json_t *spec, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    const char *name = NULL;
    static const char remedy[] = "choose euclidean, l1, linf, cosine, haversine or ring";
    dpot_status status =
        spec_require(json_get_string(spec, "", "metric", &name, error), "metric", remedy, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (dpot_metric_find(name, &campaign->metric.id) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "metric is \"%.40s\": %s", name, remedy);
    }
    int64_t ring_size = 0;
    if (campaign->metric.id == DPOT_METRIC_RING && campaign->domain.type == DPOT_DOMAIN_RING) {
        ring_size = campaign->domain.size;
    }
    status = spec_default(
        json_get_integer(spec, "", "ring_size", 1, DPOT_DOMAIN_SIZE_MAX, &ring_size, error));
    if (status == DPOT_OK && campaign->metric.id == DPOT_METRIC_RING && ring_size == 0) {
        status = dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "ring_size is missing: the ring metric on listed points needs it");
    }
    campaign->metric.ring_size = (uint32_t)ring_size;
    campaign->cost_power = 1;
    return status == DPOT_OK ? spec_default(json_get_number(spec, "", "power", 1, 64,
                                                            &campaign->cost_power, error))
                             : status;
}

static dpot_status check_mechanism_type(const json_t *mechanism, enum dpot_mechanism_id *id,
                                        struct dpot_error *error)
{
    const char *type = NULL;
    if (!json_is_object(mechanism)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "mechanism must be an object such as {\"type\":\"wpm\",...}");
    }
    const dpot_status status =
        spec_require(json_get_string(mechanism, "mechanism", "type", &type, error),
                     "mechanism.type", "say wpm", error);
    if (status != DPOT_OK) {
        return status;
    }
    if (dpot_mechanism_find(type, id) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "mechanism.type is \"%.40s\": use wpm", type);
    }
    if (*id != DPOT_MECHANISM_WPM) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "mechanism.type is \"%s\", which is not in this build: use wpm",
                              type);
    }
    return json_check_keys(mechanism, "mechanism", wpm_keys, error);
}

/* What a device is charged, rounded down; never above the ceiling by rounding. */
static dpot_status read_epsilon(const json_t *mechanism, struct dpot_campaign *campaign,
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
    const uint32_t dim = domain->dim;
    if ((uint64_t)domain->size * output->size > COST_PAIRS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "mechanism.lambda_relative would look at %u x %u costs: give "
                              "mechanism.lambda in cost units",
                              domain->size, output->size);
    }
    double *v = dpot_alloc_array(NULL, (size_t)output->size * dim, sizeof *v);
    double *row = dpot_alloc_array(NULL, output->size, sizeof *row);
    double *x = dpot_alloc_array(NULL, dim, sizeof *x);
    dpot_status status = v && row && x ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        dpot_domain_points(output, v);
    }
    *largest = 0;
    for (uint32_t i = 0; status == DPOT_OK && i < domain->size; i++) {
        dpot_domain_point(domain, i, x);
        dpot_cost_row(&campaign->metric, campaign->cost_power, dim, x, v, output->size, row);
        for (uint32_t j = 0; j < output->size; j++) {
            *largest = fmax(*largest, row[j]);
        }
    }
    dpot_free_array(NULL, x, dim, sizeof *x);
    dpot_free_array(NULL, row, output->size, sizeof *row);
    dpot_free_array(NULL, v, (size_t)output->size * dim, sizeof *v);
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
                              is_relative ? "not both" : "one of them is needed");
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

/* The total mass of "uniform" or "uniform:<total mass>". */
static dpot_status read_uniform_mass(const char *text, double *total, struct dpot_error *error)
{
    static const char prefix[] = "uniform";
    char *end = NULL;
    *total = 1;
    if (strcmp(text, prefix) == 0) {
        return DPOT_OK;
    }
    if (strncmp(text, "uniform:", sizeof prefix) == 0) {
        *total = strtod(text + sizeof prefix, &end);
        if (end != text + sizeof prefix && *end == '\0' && *total > 0 && isfinite(*total)) {
            return DPOT_OK;
        }
    }
    return dpot_error_set(error, DPOT_ERR_MALFORMED,
                          "mechanism.base_measure is \"%.40s\": give uniform, uniform:<total mass> "
                          "or an array of masses",
                          text);
}

static dpot_status read_masses(const json_t *value, double *m, uint32_t size,
                               struct dpot_error *error)
{
    if (value && !json_is_string(value)) {
        return spec_read_numbers(value, "mechanism.base_measure", m, size, error);
    }
    double total = 1;
    const dpot_status status =
        read_uniform_mass(value ? json_string_value(value) : "uniform", &total, error);
    for (uint32_t j = 0; j < size; j++) {
        m[j] = total / size;
    }
    return status;
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
        status = read_masses(json_object_get(mechanism, "base_measure"), m, size, error);
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
    int64_t iterations = ITERATIONS_DEFAULT, n_max = N_MAX_DEFAULT;
    dpot_status status = spec_default(json_get_integer(mechanism, "mechanism", "iterations", 1,
                                                       DPOT_ITERATIONS_MAX, &iterations, error));
    if (status == DPOT_OK) {
        status = spec_default(
            json_get_integer(mechanism, "mechanism", "n_max", 1, DPOT_N_MAX_MAX, &n_max, error));
    }
    if (status == DPOT_OK) {
        status = spec_default(
            json_get_bool(mechanism, "mechanism", "sample_first", &campaign->sample_first, error));
    }
    campaign->iterations = (uint32_t)iterations;
    campaign->n_max = (uint32_t)n_max;
    return status;
}

static dpot_status read_mechanism(const json_t *spec, struct dpot_campaign *campaign,
                                  struct dpot_error *error)
{
    const json_t *mechanism = json_object_get(spec, "mechanism");
    dpot_status status = check_mechanism_type(mechanism, &campaign->mechanism, error);
    if (status == DPOT_OK) {
        status = read_epsilon(mechanism, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_lambda(mechanism, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_counts(mechanism, campaign, error);
    }
    return status == DPOT_OK ? read_base_measure(mechanism, campaign, error) : status;
}

static dpot_status read_time(const json_t *spec, const char *key, int64_t *time_ms,
                             struct dpot_error *error)
{
    static const char remedy[] = "give a UTC time such as \"2026-12-01T00:00:00Z\"";
    const char *text = NULL;
    const dpot_status status =
        spec_require(json_get_string(spec, "", key, &text, error), key, remedy, error);
    if (status == DPOT_OK && dpot_time_parse(text, time_ms) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is \"%.40s\": %s", key, text, remedy);
    }
    return status;
}

static dpot_status read_schedule(const json_t *spec, struct dpot_campaign *campaign,
                                 struct dpot_error *error)
{
    int64_t rounds = 1, min_pool = 1;
    dpot_status status =
        spec_default(json_get_integer(spec, "", "rounds", 1, DPOT_ROUNDS_MAX, &rounds, error));
    if (status == DPOT_OK) {
        status =
            spec_default(json_get_integer(spec, "", "min_pool", 1, INTEGER_MAX, &min_pool, error));
    }
    if (status == DPOT_OK) {
        status = read_time(spec, "opens", &campaign->opens_ms, error);
    }
    if (status == DPOT_OK) {
        status = read_time(spec, "closes", &campaign->closes_ms, error);
    }
    campaign->rounds = (uint32_t)rounds;
    campaign->min_pool = (uint64_t)min_pool;
    return status;
}

static dpot_status read_groups(const json_t *spec, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    const json_t *groups = json_object_get(spec, "groups");
    const size_t n = json_array_size(groups);
    if (groups && !json_is_array(groups)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "groups must be an array of labels");
    }
    if (n > DPOT_GROUPS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "groups has %zu labels: give at most %d",
                              n, DPOT_GROUPS_MAX);
    }
    if (n == 0) {
        return DPOT_OK;
    }
    campaign->groups = dpot_alloc_array(NULL, n, sizeof *campaign->groups);
    if (!campaign->groups) {
        return DPOT_ERR_MEMORY;
    }
    campaign->n_groups = (uint32_t)n;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const json_t *label = json_array_get(groups, i);
        status = json_is_string(label)
                     ? copy_label(campaign->groups[i], "a label of groups",
                                  json_string_value(label), error)
                     : dpot_error_set(error, DPOT_ERR_MALFORMED,
                                      "entry %zu of groups is not a text: give a label", i);
    }
    return status;
}

static dpot_status read_places(const json_t *spec, struct dpot_campaign *campaign,
                               struct dpot_error *error)
{
    dpot_status status = spec_read_domain(spec, "domain", true, &campaign->domain, error);
    if (status == DPOT_OK) {
        status = read_output(spec, campaign, error);
    }
    if (status == DPOT_OK && campaign->output.dim != campaign->domain.dim) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "output has %u coordinates and domain %u: they must agree",
                              campaign->output.dim, campaign->domain.dim);
    }
    if (status == DPOT_OK) {
        status = read_metric(spec, campaign, error);
    }
    if (status == DPOT_OK &&
        dpot_metric_check(&campaign->metric, campaign->domain.dim) == DPOT_ERR_SHAPE) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "metric %s does not take points of %u coordinates: haversine takes 2, "
            "ring 1",
            dpot_metric_name(campaign->metric.id), campaign->domain.dim);
    }
    return status;
}

static dpot_status read_spec(const json_t *spec, struct dpot_campaign *campaign,
                             struct dpot_error *error)
{
    dpot_status status = json_check_keys(spec, "", spec_keys, error);
    if (status == DPOT_OK) {
        status = read_name(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_places(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_schedule(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_groups(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = spec_default(json_get_bool(spec, "", "simulation", &campaign->simulation, error));
    }
    return status == DPOT_OK ? read_mechanism(spec, campaign, error) : status;
}

dpot_status spec_compile(const json_t *spec, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                         uint32_t revision, struct dpot_campaign *campaign,
                         struct dpot_error *error)
{
    *campaign = (struct dpot_campaign){.revision = revision};
    memcpy(campaign->id, id, DPOT_CAMPAIGN_ID_LEN);
    dpot_status status = read_spec(spec, campaign, error);
    if (status == DPOT_OK) {
        status = dpot_mechanism_check_campaign(campaign, error);
    }
    if (status != DPOT_OK) {
        dpot_campaign_release(campaign);
    }
    return status == DPOT_ERR_MEMORY
               ? dpot_error_set(error, status, "out of memory for the campaign")
               : status;
}
