#include "base/clock.h"
#include "campaign/spec.h"
#include "campaign/spec_sphere.h"
#include "campaign/spec_vector.h"
#include "mechanism/sampler.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS_SHOWN 1000 /* at most: the others follow from opens, closes and rounds */

static json_t *shape_of(const struct dpot_domain *domain)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < domain->dim; i++) {
        (void)json_array_append_new(list, json_integer(domain->shape[i]));
    }
    return list;
}

static json_t *describe_domain(const struct dpot_domain *domain, int with_points)
{
    switch (domain->type) {
    case DPOT_DOMAIN_GRID:
        return json_pack("{s:s,s:o,s:o,s:o}", "type", "grid", "lo",
                         json_numbers(domain->lo, domain->dim), "hi",
                         json_numbers(domain->hi, domain->dim), "shape", shape_of(domain));
    case DPOT_DOMAIN_RING:
        return json_pack("{s:s,s:I}", "type", "ring", "size", (json_int_t)domain->size);
    case DPOT_DOMAIN_SPHERE:
        return json_pack("{s:s,s:I}", "type", "sphere", "dim", (json_int_t)domain->dim);
    case DPOT_DOMAIN_DIRECTIONS:
        return json_pack("{s:s,s:I}", "type", "directions", "count", (json_int_t)domain->size);
    case DPOT_DOMAIN_POINTS:
        break;
    }
    return with_points ? json_pack("{s:s,s:o}", "type", "points", "points",
                                   json_rows(domain->points, domain->size, domain->dim))
                       : json_pack("{s:s,s:I,s:I}", "type", "points", "size",
                                   (json_int_t)domain->size, "dim", (json_int_t)domain->dim);
}

/* The masses as devices decode them; NULL when memory is out. */
static double *decode_masses(const struct dpot_campaign *campaign, double *total)
{
    const size_t size = campaign->base_measure.size;
    double *m = dpot_alloc_array(NULL, size, sizeof *m);
    *total = 0;
    if (m) {
        dpot_base_measure_decode(&campaign->base_measure, campaign->epsilon_q32, m);
    }
    for (size_t j = 0; m && j < size; j++) {
        *total += m[j];
    }
    return m;
}

/* The masses of a sphere, which are equal. */
static json_t *uniform_text(const double *m, size_t size)
{
    char text[48];
    (void)snprintf(text, sizeof text, "uniform:%.17g", m[0] * (double)size);
    return json_string(text);
}

static json_t *describe_mechanism(const struct dpot_campaign *campaign, const double *m,
                                  int with_points)
{
    json_t *mechanism =
        json_pack("{s:s,s:o,s:b,s:I}", "type", dpot_mechanism_name(campaign->mechanism), "epsilon",
                  json_number(dpot_epsilon_to_double(campaign->epsilon_q32)), "sample_first",
                  campaign->sample_first, "n_max", (json_int_t)campaign->n_max);
    if (campaign->mechanism == DPOT_MECHANISM_WPM) {
        (void)json_object_set_new(mechanism, "solver",
                                  json_string(dpot_solver_name(campaign->solver)));
    }
    if (campaign->mechanism == DPOT_MECHANISM_WPM && campaign->solver == DPOT_SOLVER_ENTROPIC) {
        (void)json_object_set_new(mechanism, "lambda", json_number(campaign->lambda));
        (void)json_object_set_new(mechanism, "iterations",
                                  json_integer((json_int_t)campaign->iterations));
    }
    if (campaign->solver == DPOT_SOLVER_EXACT) {
        (void)json_object_set_new(mechanism, "passes",
                                  json_integer((json_int_t)dpot_campaign_passes(campaign)));
    }
    if (with_points) {
        (void)json_object_set_new(mechanism, "base_measure",
                                  dpot_campaign_is_sphere(campaign)
                                      ? uniform_text(m, campaign->base_measure.size)
                                      : json_numbers(m, campaign->base_measure.size));
    }
    return mechanism;
}

static json_t *time_text(int64_t time_ms)
{
    char text[DPOT_RFC3339_SIZE];
    dpot_time_format(time_ms, text);
    return json_string(text);
}

static json_t *describe_rounds(const struct dpot_campaign *campaign)
{
    json_t *list = json_array();
    for (uint32_t r = 0; r < campaign->rounds && r < ROUNDS_SHOWN; r++) {
        (void)json_array_append_new(
            list, json_pack("{s:I,s:o,s:o}", "round", (json_int_t)r, "opens",
                            time_text(dpot_campaign_round_opens(campaign, r)), "closes",
                            time_text(dpot_campaign_round_closes(campaign, r))));
    }
    return list;
}

static json_t *describe_groups(const struct dpot_campaign *campaign)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < campaign->n_groups; i++) {
        (void)json_array_append_new(list, json_string(campaign->groups[i]));
    }
    return list;
}

static json_t *hex_text(const uint8_t *data, size_t len)
{
    char text[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(text, data, len);
    return json_string(text);
}

/* The keys of every SPEC. */
static json_t *describe_spec(const struct dpot_campaign *campaign, json_t *domain, json_t *output,
                             json_t *mechanism)
{
    json_t *spec = json_pack(
        "{s:s,s:o,s:o,s:s,s:o,s:o,s:I,s:o,s:o,s:I,s:o,s:b}", "name", campaign->name, "domain",
        domain, "output", output, "metric", dpot_metric_name(campaign->metric.id), "power",
        json_number(campaign->cost_power), "mechanism", mechanism, "rounds",
        (json_int_t)campaign->rounds, "opens", time_text(campaign->opens_ms), "closes",
        time_text(campaign->closes_ms), "min_pool", (json_int_t)campaign->min_pool, "groups",
        describe_groups(campaign), "simulation", campaign->simulation);
    if (spec && campaign->metric.ring_size > 0) {
        (void)json_object_set_new(spec, "ring_size",
                                  json_integer((json_int_t)campaign->metric.ring_size));
    }
    return spec;
}

/* Keys that are not of the SPEC. */
static json_t *describe_derived(const struct dpot_campaign *campaign,
                                const uint8_t hash[DPOT_HASH_LEN])
{
    return json_pack("{s:o,s:I,s:o,s:o}", "id", hex_text(campaign->id, sizeof campaign->id),
                     "revision", (json_int_t)campaign->revision, "hash",
                     hex_text(hash, DPOT_HASH_LEN), "schedule", describe_rounds(campaign));
}

static json_t *describe_index(const struct dpot_campaign *campaign, json_t *derived,
                              int with_points)
{
    double total_mass = 0;
    double *m = decode_masses(campaign, &total_mass);
    if (!m) {
        return NULL;
    }
    json_t *spec =
        describe_spec(campaign, describe_domain(&campaign->domain, with_points),
                      campaign->output_is_domain ? json_string("same")
                                                 : describe_domain(&campaign->output, with_points),
                      describe_mechanism(campaign, m, with_points));
    dpot_free_array(NULL, m, campaign->base_measure.size, sizeof *m);
    (void)json_object_set_new(derived, "epsilon",
                              json_number(dpot_epsilon_to_double(campaign->epsilon_q32)));
    (void)json_object_set_new(derived, "domain_size",
                              json_integer((json_int_t)campaign->domain.size));
    (void)json_object_set_new(derived, "output_size",
                              json_integer((json_int_t)campaign->output.size));
    (void)json_object_set_new(derived, "total_mass", json_number(total_mass));
    if (dpot_campaign_is_sphere(campaign)) {
        (void)json_object_set_new(derived, "sphere", spec_describe_sphere(campaign));
    }
    if (campaign->mechanism == DPOT_MECHANISM_EXPONENTIAL) {
        (void)json_object_set_new(derived, "sensitivity", json_number(campaign->sensitivity));
    }
    return spec;
}

static json_t *describe_vector(const struct dpot_campaign *campaign, json_t *derived)
{
    json_t *mechanism = spec_describe_noise(campaign);
    (void)json_object_set(derived, "epsilon", json_object_get(mechanism, "epsilon"));
    (void)json_object_set_new(derived, "dim", json_integer((json_int_t)campaign->vector.dim));
    (void)json_object_set_new(derived, "data_dim",
                              json_integer((json_int_t)dpot_vector_data_dim(&campaign->vector)));
    return describe_spec(campaign, spec_describe_vector(campaign, 1), json_string("same"),
                         mechanism);
}

json_t *spec_describe(const struct dpot_campaign *campaign, const uint8_t hash[DPOT_HASH_LEN],
                      int with_points)
{
    json_t *derived = describe_derived(campaign, hash);
    json_t *spec = dpot_mechanism_is_vector(campaign->mechanism)
                       ? describe_vector(campaign, derived)
                       : describe_index(campaign, derived, with_points);
    if (!spec || !derived || json_object_update(spec, derived) != 0) {
        json_decref(spec);
        spec = NULL;
    }
    json_decref(derived);
    return spec;
}
