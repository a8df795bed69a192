#include "campaign/spec.h"

#include "base/clock.h"
#include "campaign/spec_read.h"
#include "campaign/spec_sphere.h"
#include "campaign/spec_vector.h"
#include "mechanism/mechanism.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER_MAX ((int64_t)1 << 53) /* what every JSON reader keeps exactly */

static const char *const spec_keys[] = {
    "name",   "domain", "output", "metric",   "ring_size", "power",      "mechanism",
    "rounds", "opens",  "closes", "min_pool", "groups",    "simulation", NULL};

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
    if (status == DPOT_OK && dpot_campaign_is_sphere(campaign)) {
        return read_metric(spec, campaign, error); /* its output follows from epsilon */
    }
    if (status == DPOT_OK) {
        status = read_output(spec, campaign, error);
    }
    if (status == DPOT_OK && campaign->output.dim != campaign->domain.dim) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE, "output has %u coordinate%s and domain %u: they must agree",
            campaign->output.dim, DPOT_S(campaign->output.dim), campaign->domain.dim);
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

static dpot_status read_index(const json_t *spec, struct dpot_campaign *campaign,
                              struct dpot_error *error)
{
    const dpot_status status = read_places(spec, campaign, error);
    if (status != DPOT_OK) {
        return status;
    }
    return dpot_campaign_is_sphere(campaign) ? spec_read_sphere(spec, campaign, error)
                                             : spec_read_mechanism(spec, campaign, error);
}

/* Revisions of before may have it. */
static dpot_status refuse_loss_counts(const json_t *spec, struct dpot_error *error)
{
    return json_object_get(spec, "loss_counts")
               ? dpot_error_set(error, DPOT_ERR_MALFORMED,
                                "the key loss_counts was removed: devices tell nobody what they "
                                "lost; delete the key")
               : DPOT_OK;
}

static dpot_status read_spec(const json_t *spec, struct dpot_campaign *campaign,
                             struct dpot_error *error)
{
    enum dpot_mechanism_id id = DPOT_MECHANISM_WPM;
    dpot_status status = refuse_loss_counts(spec, error);
    if (status == DPOT_OK) {
        status = json_check_keys(spec, "", spec_keys, error);
    }
    if (status == DPOT_OK) {
        status = read_name(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = spec_default(json_get_bool(spec, "", "simulation", &campaign->simulation, error));
    }
    if (status == DPOT_OK) {
        status = spec_read_mechanism_type(spec, &id, error);
    }
    if (status == DPOT_OK) {
        status = dpot_mechanism_is_vector(id) ? spec_read_vector(spec, id, campaign, error)
                                              : read_index(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_schedule(spec, campaign, error);
    }
    if (status == DPOT_OK) {
        status = read_groups(spec, campaign, error);
    }
    return status;
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
