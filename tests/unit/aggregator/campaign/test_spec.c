#include "campaign/spec.h"
#include "campaign/spec_vector.h"
#include "mechanism/mechanism.h"
#include "mechanism/sampler.h"
#include "spec_fixture.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1, 2, 3};

/* The ring SPEC with the value at a dotted path of one or two keys replaced (NULL: removed). */
static json_t *with(const char *object, const char *key, const char *value)
{
    json_t *spec = fixture_spec();
    json_t *place = object ? json_object_get(spec, object) : spec;
    if (value) {
        json_t *wrapped = fixture_json(value);
        cr_assert_eq(json_object_set(place, key, json_array_get(wrapped, 0)), 0);
        json_decref(wrapped);
    } else {
        cr_assert_eq(json_object_del(place, key), 0);
    }
    return spec;
}

Test(spec, the_example_of_the_operators_page_compiles)
{
    struct dpot_campaign c = compile(fixture_json(fixture_census_spec));
    cr_assert_str_eq(c.name, "census");
    cr_assert_eq(c.domain.type, DPOT_DOMAIN_GRID);
    cr_assert_eq(c.domain.size, 16 * 24);
    cr_assert(c.output_is_domain);
    cr_assert_eq(c.output.size, 16 * 24);
    cr_assert_eq(c.metric.id, DPOT_METRIC_HAVERSINE);
    cr_assert_eq(c.epsilon_q32, 2 * DPOT_EPSILON_ONE);
    cr_assert_eq(c.lambda, 40);
    cr_assert_eq(c.iterations, 300);
    cr_assert_eq(c.n_max, 32);
    cr_assert_eq(c.min_pool, 1000);
    cr_assert_eq(c.opens_ms, INT64_C(1796083200000));
    cr_assert_eq(c.closes_ms - c.opens_ms, INT64_C(7 * 86400000));
    cr_assert_eq(c.revision, 1);
    cr_assert_eq(memcmp(c.id, id, sizeof id), 0);
    cr_assert_not(c.simulation);
    cr_assert_not(c.sample_first);
    cr_assert_eq(dpot_mechanism_check_campaign(&c, NULL), DPOT_OK);
    dpot_campaign_release(&c);
}

Test(spec, defaults_are_those_of_the_operators_page)
{
    struct dpot_campaign c = compile(fixture_spec());
    cr_assert(c.output_is_domain);
    cr_assert_eq(c.cost_power, 1);
    cr_assert_eq(c.rounds, 1);
    cr_assert_eq(c.n_groups, 0);
    cr_assert_not(c.simulation);
    cr_assert_not(c.sample_first);
    cr_assert_eq(c.iterations, 300);
    cr_assert_eq(c.n_max, 32);
    cr_assert_eq(c.metric.ring_size, 10);
    dpot_campaign_release(&c);
    c = compile(with(NULL, "min_pool", NULL));
    cr_assert_eq(c.min_pool, 1);
    dpot_campaign_release(&c);
}

static double total_mass(const struct dpot_campaign *c)
{
    double m[64], total = 0;
    dpot_base_measure_decode(&c->base_measure, c->epsilon_q32, m);
    for (uint32_t j = 0; j < c->base_measure.size; j++) {
        total += m[j];
    }
    return total;
}

/* b U + (k - b) L = 2^62 for the ball of b points; b = k / (16 + e^(epsilon/2)), at least 1, is the
 * default. */
Test(spec, a_ball_has_the_mass_that_makes_b_points_likely)
{
    static const double balls[] = {1, 2, 3.5, 9};
    static const char *const texts[] = {"[\"ball:1\"]", "[\"ball:2\"]", "[\"ball:3.5\"]",
                                        "[\"ball:9\"]"};
    const double up = exp(0.5);
    struct dpot_campaign c;
    for (size_t i = 0; i < 4; i++) {
        c = compile(with("mechanism", "base_measure", texts[i]));
        const double m = total_mass(&c);
        cr_assert_float_eq((balls[i] * up + (10 - balls[i]) / up) * m / 10, 1, 1e-9, "%s",
                           texts[i]);
        dpot_campaign_release(&c);
    }
    c = compile(with("mechanism", "base_measure", "[\"ball\"]"));
    cr_assert_float_eq(total_mass(&c), 10 / (9 / up + up), 1e-9, "of ten points one is the least");
    dpot_campaign_release(&c);
}

Test(spec, a_uniform_base_measure_takes_its_total_mass)
{
    struct dpot_campaign c = compile(fixture_spec());
    cr_assert_float_eq(total_mass(&c), 1, 1e-9);
    dpot_campaign_release(&c);
    c = compile(with("mechanism", "base_measure", "[\"uniform:1.5\"]"));
    cr_assert_float_eq(total_mass(&c), 1.5, 1e-9);
    dpot_campaign_release(&c);
}

Test(spec, a_listed_base_measure_keeps_its_ratios)
{
    struct dpot_campaign c =
        compile(with("mechanism", "base_measure", "[[0.2,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1]]"));
    double m[10];
    dpot_base_measure_decode(&c.base_measure, c.epsilon_q32, m);
    cr_assert_float_eq(m[0] / m[1], 2, 1e-8);
    cr_assert_float_eq(total_mass(&c), 1.1, 1e-8);
    dpot_campaign_release(&c);
}

Test(spec, lambda_relative_is_a_fraction_of_the_largest_cost)
{
    json_t *spec = with("mechanism", "lambda_relative", "[0.1]");
    (void)json_object_del(json_object_get(spec, "mechanism"), "lambda");
    (void)json_object_set_new(spec, "power", json_integer(2));
    struct dpot_campaign c = compile(spec);
    cr_assert_float_eq(c.lambda, 0.1 * 25, 1e-12); /* half way round a ring of 10, squared */
    dpot_campaign_release(&c);
}

Test(spec, epsilon_is_rounded_down)
{
    struct dpot_campaign c = compile(with("mechanism", "epsilon", "[0.1]"));
    cr_assert_eq(c.epsilon_q32, (uint64_t)floor(0.1 * 4294967296.0));
    dpot_campaign_release(&c);
    c = compile(with("mechanism", "epsilon", "[20]"));
    cr_assert_eq(c.epsilon_q32, DPOT_INDEX_EPSILON_MAX_Q32);
    dpot_campaign_release(&c);
}

Test(spec, listed_points_and_another_output_compile)
{
    json_t *spec = fixture_json(
        "{\"name\":\"p\",\"domain\":{\"type\":\"points\",\"points\":[[0,0],[1,2],[3,4]]},"
        "\"output\":{\"type\":\"grid\",\"lo\":[0,0],\"hi\":[4,4],\"shape\":[2,2]},"
        "\"metric\":\"euclidean\",\"power\":2,"
        "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":0.5,\"lambda\":1,\"sample_first\":true},"
        "\"rounds\":4,\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2026-01-05T00:00:00Z\","
        "\"groups\":[\"north\",\"south\"],\"simulation\":true}");
    struct dpot_campaign c = compile(spec);
    cr_assert_eq(c.domain.size, 3);
    cr_assert_eq(c.domain.points[3], 2);
    cr_assert_eq(c.output.size, 4);
    cr_assert_not(c.output_is_domain);
    cr_assert_eq(c.n_groups, 2);
    cr_assert_str_eq(c.groups[1], "south");
    cr_assert(c.simulation);
    cr_assert(c.sample_first);
    cr_assert_eq(c.rounds, 4);
    dpot_campaign_release(&c);
}

Test(spec, costs_that_a_double_cannot_hold_are_refused)
{
    const char *const points[] = {"[[[0,0],[1e200,2]]]", "[[[0,0],[1,1e-280]]]"};
    const char *const said[] = {"largest cost", "coordinate 1 of point 1 is 1e-280"};
    for (size_t i = 0; i < 2; i++) {
        json_t *spec = fixture_json(
            "{\"name\":\"p\",\"domain\":{\"type\":\"points\",\"points\":[[0,0],[1,2]]},"
            "\"metric\":\"euclidean\",\"power\":2,"
            "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":0.5,\"lambda\":1},"
            "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2026-01-05T00:00:00Z\"}");
        json_t *given = fixture_json(points[i]);
        (void)json_object_set(json_object_get(spec, "domain"), "points", json_array_get(given, 0));
        json_decref(given);
        refuse(spec, DPOT_ERR_RANGE, said[i]);
    }
}

Test(spec, listed_positions_on_a_ring_need_its_size)
{
    const char *domain = "[{\"type\":\"points\",\"points\":[[0],[3],[6]]}]";
    refuse(with(NULL, "domain", domain), DPOT_ERR_MALFORMED, "ring_size");
    json_t *spec = with(NULL, "domain", domain);
    (void)json_object_set_new(spec, "ring_size", json_integer(8));
    struct dpot_campaign c = compile(spec);
    cr_assert_eq(c.metric.ring_size, 8);
    dpot_campaign_release(&c);
}

/* One row per refusal: where, what, and the word that names it. */
struct refusal {
    const char *object, *key, *value;
    dpot_status status;
    const char *word;
};
static const struct refusal refusals[] = {
    {NULL, "epsilon", "[1]", DPOT_ERR_MALFORMED, "the key epsilon"},
    {"mechanism", "epsilonn", "[1]", DPOT_ERR_MALFORMED, "mechanism.epsilonn"},
    {"mechanism", "delta", "[1e-6]", DPOT_ERR_MALFORMED, "mechanism.delta"},
    {"domain", "shape", "[[3]]", DPOT_ERR_MALFORMED, "domain.shape"},
    {NULL, "name", NULL, DPOT_ERR_MALFORMED, "name is missing"},
    {NULL, "name", "[7]", DPOT_ERR_MALFORMED, "name is 7"},
    {NULL, "name", "[\"UPPER\"]", DPOT_ERR_RANGE, "name"},
    {NULL, "name", "[\"\"]", DPOT_ERR_RANGE, "name"},
    {NULL, "name", "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]",
     DPOT_ERR_RANGE, "name has 65 bytes"},
    {NULL, "domain", NULL, DPOT_ERR_MALFORMED, "domain must be"},
    {NULL, "domain", "[\"grid\"]", DPOT_ERR_MALFORMED, "domain must be"},
    {"domain", "type", NULL, DPOT_ERR_MALFORMED, "domain.type is missing"},
    {"domain", "type", "[\"torus\"]", DPOT_ERR_RANGE, "domain.type is \"torus\""},
    {"domain", "type", "[\"box\"]", DPOT_ERR_RANGE, "domain.type is \"box\": choose points, grid,"},
    {"domain", "type", "[\"l1_ball\"]", DPOT_ERR_RANGE, "domain.type is \"l1_ball\""},
    {"domain", "type", "[\"sphere\"]", DPOT_ERR_MALFORMED, "domain.size"},
    {"domain", "size", NULL, DPOT_ERR_MALFORMED, "domain.size is missing"},
    {"domain", "size", "[0]", DPOT_ERR_RANGE, "domain.size is 0"},
    {"domain", "size", "[2000000]", DPOT_ERR_RANGE, "domain.size is 2000000"},
    {"domain", "size", "[\"ten\"]", DPOT_ERR_MALFORMED, "domain.size"},
    {NULL, "domain", "[{\"type\":\"points\",\"file\":\"x.npy\"}]", DPOT_ERR_MALFORMED,
     "domain.file"},
    {NULL, "domain", "[{\"type\":\"points\",\"points\":[]}]", DPOT_ERR_MALFORMED, "domain.points"},
    {NULL, "domain", "[{\"type\":\"points\",\"points\":[[1],[2,3]]}]", DPOT_ERR_SHAPE,
     "point 1 of domain.points"},
    {NULL, "domain", "[{\"type\":\"points\",\"points\":[[1],[\"a\"]]}]", DPOT_ERR_MALFORMED,
     "point 1 of domain.points"},
    {NULL, "domain", "[{\"type\":\"points\",\"points\":[1,2]}]", DPOT_ERR_MALFORMED,
     "domain.points"},
    {NULL, "domain", "[{\"type\":\"grid\",\"lo\":[0],\"hi\":[1]}]", DPOT_ERR_SHAPE, "domain.shape"},
    {NULL, "domain", "[{\"type\":\"grid\",\"lo\":[0,1],\"hi\":[1],\"shape\":[3]}]", DPOT_ERR_SHAPE,
     "domain.lo"},
    {NULL, "domain", "[{\"type\":\"grid\",\"lo\":[0],\"hi\":[1],\"shape\":[2.5]}]", DPOT_ERR_RANGE,
     "domain.shape"},
    {NULL, "domain", "[{\"type\":\"grid\",\"lo\":[1],\"hi\":[1],\"shape\":[3]}]", DPOT_ERR_RANGE,
     "lo < hi"},
    {NULL, "output", "[\"other\"]", DPOT_ERR_MALFORMED, "output is \"other\""},
    {NULL, "output", "[{\"type\":\"ring\",\"size\":10}]", DPOT_ERR_RANGE, "output.type"},
    {NULL, "output", "[{\"type\":\"points\",\"points\":[[1,2],[3,4]]}]", DPOT_ERR_SHAPE,
     "output has 2 coordinates"},
    {NULL, "metric", NULL, DPOT_ERR_MALFORMED, "metric is missing"},
    {NULL, "metric", "[\"manhattan\"]", DPOT_ERR_RANGE, "metric is \"manhattan\""},
    {NULL, "metric", "[\"haversine\"]", DPOT_ERR_SHAPE, "haversine"},
    {NULL, "ring_size", "[9]", DPOT_ERR_SHAPE, "ring"},
    {NULL, "power", "[0.5]", DPOT_ERR_RANGE, "power is 0.5"},
    {NULL, "power", "[\"2\"]", DPOT_ERR_MALFORMED, "power"},
    {NULL, "mechanism", NULL, DPOT_ERR_MALFORMED, "mechanism must be"},
    {"mechanism", "type", NULL, DPOT_ERR_MALFORMED, "mechanism.type is missing"},
    {"mechanism", "type", "[\"laplace\"]", DPOT_ERR_RANGE,
     "metric is \"ring\": choose euclidean, l1,"},
    {"mechanism", "type", "[\"kpm\"]", DPOT_ERR_MALFORMED,
     "mechanism.lambda goes with the entropic solver of wpm: kpm does not use it"},
    {"mechanism", "type", "[\"exponential\"]", DPOT_ERR_MALFORMED,
     "mechanism.lambda goes with the entropic solver of wpm: exponential does not use it"},
    {"mechanism", "type", "[\"magic\"]", DPOT_ERR_RANGE, "mechanism.type is \"magic\""},
    {"mechanism", "epsilon", NULL, DPOT_ERR_MALFORMED, "mechanism.epsilon is missing"},
    {"mechanism", "epsilon", "[\"two\"]", DPOT_ERR_MALFORMED, "mechanism.epsilon is \"two\""},
    {"mechanism", "epsilon", "[0]", DPOT_ERR_RANGE, "mechanism.epsilon is 0"},
    {"mechanism", "epsilon", "[-1]", DPOT_ERR_RANGE, "mechanism.epsilon is -1"},
    {"mechanism", "epsilon", "[1e-30]", DPOT_ERR_RANGE, "mechanism.epsilon"},
    {"mechanism", "epsilon", "[20.000001]", DPOT_ERR_EPSILON, "mechanism.epsilon is 20.000001"},
    {"mechanism", "epsilon", "[20.000000000001]", DPOT_ERR_EPSILON, "mechanism.epsilon"},
    {"mechanism", "lambda", NULL, DPOT_ERR_MALFORMED, "or \"solver\": \"exact\""},
    {"mechanism", "lambda_relative", "[0.1]", DPOT_ERR_MALFORMED, "not both"},
    {"mechanism", "lambda", "[0]", DPOT_ERR_RANGE, "mechanism.lambda is 0"},
    {"mechanism", "lambda", "[-2]", DPOT_ERR_RANGE, "mechanism.lambda is -2"},
    {"mechanism", "iterations", "[0]", DPOT_ERR_RANGE, "mechanism.iterations is 0"},
    {"mechanism", "iterations", "[10001]", DPOT_ERR_RANGE, "mechanism.iterations is 10001"},
    {"mechanism", "iterations", "[1.5]", DPOT_ERR_MALFORMED,
     "mechanism.iterations is 1.5: give an integer from 1 to 10000, or \"auto\" or {\"error\": E}"},
    {"mechanism", "iterations", "[\"automatic\"]", DPOT_ERR_MALFORMED, "is \"automatic\": give an"},
    {"mechanism", "n_max", "[0]", DPOT_ERR_RANGE, "mechanism.n_max is 0"},
    {"mechanism", "solver", "[1]", DPOT_ERR_MALFORMED, "mechanism.solver is 1"},
    {"mechanism", "solver", "[\"simplex\"]", DPOT_ERR_RANGE,
     "mechanism.solver is \"simplex\": choose entropic or exact"},
    {"mechanism", "solver", "[\"exact\"]", DPOT_ERR_MALFORMED,
     "mechanism.lambda goes with the entropic solver of wpm: the exact solver"},
    {"mechanism", "sample_first", "[1]", DPOT_ERR_MALFORMED, "mechanism.sample_first is 1"},
    {"mechanism", "base_measure", "[\"normal\"]", DPOT_ERR_MALFORMED,
     "mechanism.base_measure is \"normal\""},
    {"mechanism", "base_measure", "[\"uniform:\"]", DPOT_ERR_MALFORMED, "mechanism.base_measure"},
    {"mechanism", "base_measure", "[\"uniform:1x\"]", DPOT_ERR_MALFORMED, "mechanism.base_measure"},
    {"mechanism", "base_measure", "[\"ball:\"]", DPOT_ERR_MALFORMED, "mechanism.base_measure"},
    {"mechanism", "base_measure", "[\"ball:2x\"]", DPOT_ERR_MALFORMED, "mechanism.base_measure"},
    {"mechanism", "base_measure", "[\"ball:0.5\"]", DPOT_ERR_RANGE, "a ball of 0.5 points"},
    {"mechanism", "base_measure", "[\"ball:10\"]", DPOT_ERR_RANGE,
     "fewer than the 10 output points"},
    {"mechanism", "base_measure", "[[0.5,0.5]]", DPOT_ERR_SHAPE, "mechanism.base_measure"},
    {"mechanism", "base_measure", "[[1,1,1,1,1,1,1,1,1,-1]]", DPOT_ERR_RANGE,
     "mechanism.base_measure"},
    {"mechanism", "base_measure", "[\"uniform:5\"]", DPOT_ERR_INFEASIBLE, "mechanism.base_measure"},
    {NULL, "rounds", "[0]", DPOT_ERR_RANGE, "rounds is 0"},
    {NULL, "rounds", "[100001]", DPOT_ERR_RANGE, "rounds is 100001"},
    {NULL, "opens", NULL, DPOT_ERR_MALFORMED, "opens is missing"},
    {NULL, "opens", "[\"tomorrow\"]", DPOT_ERR_MALFORMED, "opens is \"tomorrow\""},
    {NULL, "closes", "[\"2026-02-30T00:00:00Z\"]", DPOT_ERR_MALFORMED, "closes"},
    {NULL, "closes", "[\"2025-01-01T00:00:00Z\"]", DPOT_ERR_RANGE, "closes"},
    {NULL, "min_pool", "[0]", DPOT_ERR_RANGE, "min_pool is 0"},
    {NULL, "groups", "[\"a\"]", DPOT_ERR_MALFORMED, "groups"},
    {NULL, "groups", "[[1]]", DPOT_ERR_MALFORMED, "entry 0 of groups"},
    {NULL, "groups", "[[\"a\",\"a\"]]", DPOT_ERR_RANGE, "groups 0 and 1"},
    {NULL, "simulation", "[\"yes\"]", DPOT_ERR_MALFORMED, "simulation"},
    {NULL, "loss_counts", "[true]", DPOT_ERR_MALFORMED, "loss_counts was removed"},
    {NULL, "loss_counts", "[false]", DPOT_ERR_MALFORMED, "delete the key"},
};

/* The ring SPEC for one of the baselines. */
static json_t *baseline_spec(const char *type)
{
    json_t *spec = fixture_spec(), *mechanism = json_object_get(spec, "mechanism");
    (void)json_object_set_new(mechanism, "type", json_string(type));
    (void)json_object_del(mechanism, "lambda");
    (void)json_object_del(mechanism, "base_measure");
    return spec;
}

Test(spec, kpm_has_a_base_measure_of_its_own)
{
    struct dpot_campaign c = compile(baseline_spec("kpm"));
    const double epsilon = dpot_epsilon_to_double(c.epsilon_q32);
    cr_assert_eq(c.mechanism, DPOT_MECHANISM_KPM);
    cr_assert(c.lambda == 0 && c.iterations == 0 && c.sensitivity == 0);
    cr_assert_eq(c.n_max, 32);
    cr_assert_float_eq(total_mass(&c), 10 * exp(epsilon / 2) / (exp(epsilon) + 9), 1e-12);
    dpot_campaign_release(&c);
    json_t *spec = baseline_spec("kpm");
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "base_measure",
                              json_string("uniform:1.25"));
    c = compile(spec);
    cr_assert_float_eq(total_mass(&c), 1.25, 1e-9);
    dpot_campaign_release(&c);
}

Test(spec, kpm_reports_points_of_its_domain)
{
    json_t *spec = baseline_spec("kpm");
    json_t *output = fixture_json("{\"type\":\"points\",\"points\":[[0],[3],[6]]}");
    (void)json_object_set_new(spec, "output", output);
    refuse(spec, DPOT_ERR_SHAPE, "output must be the same");
}

/* On a ring of ten every law has the same normaliser, so all masses are equal: with distances 0 to
 * 5 they are sqrt(1 * exp(-epsilon / 2)) / Z. */
Test(spec, the_exponential_mechanism_has_a_base_measure_and_a_sensitivity_of_its_own)
{
    struct dpot_campaign c = compile(baseline_spec("exponential"));
    const double epsilon = dpot_epsilon_to_double(c.epsilon_q32);
    double z = 0;
    for (int d = 0; d < 10; d++) {
        z += exp(-epsilon * (d < 5 ? d : 10 - d) / 10);
    }
    cr_assert_eq(c.mechanism, DPOT_MECHANISM_EXPONENTIAL);
    cr_assert(c.lambda == 0 && c.iterations == 0);
    cr_assert_eq(c.sensitivity, 5);
    cr_assert_float_eq(total_mass(&c), 10 * exp(-epsilon / 4) / z, 1e-12);
    dpot_campaign_release(&c);
    json_t *spec = baseline_spec("exponential");
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "base_measure",
                              json_string("uniform"));
    (void)json_object_set_new(spec, "power", json_integer(2));
    c = compile(spec);
    cr_assert_eq(c.sensitivity, 25);
    cr_assert_float_eq(total_mass(&c), 1, 1e-9);
    dpot_campaign_release(&c);
}

Test(spec, wpm_keys_and_a_stated_sensitivity_are_refused_in_a_baseline)
{
    static const char *const types[] = {"kpm", "exponential"};
    static const char *const keys[] = {"lambda", "lambda_relative", "iterations", "sensitivity"};
    for (size_t i = 0; i < 8; i++) {
        char name[64];
        json_t *spec = baseline_spec(types[i / 4]);
        (void)json_object_set_new(json_object_get(spec, "mechanism"), keys[i % 4], json_integer(1));
        (void)snprintf(name, sizeof name, "mechanism.%s", keys[i % 4]);
        refuse(spec, DPOT_ERR_MALFORMED, name);
    }
}

Test(spec, an_exponential_mechanism_without_a_utility_is_refused)
{
    json_t *spec = baseline_spec("exponential");
    json_t *domain = fixture_json("{\"type\":\"points\",\"points\":[[0]]}");
    json_t *output = fixture_json("{\"type\":\"points\",\"points\":[[3],[6]]}");
    (void)json_object_set_new(spec, "domain", domain);
    (void)json_object_set_new(spec, "output", output);
    (void)json_object_set_new(spec, "ring_size", json_integer(8));
    refuse(spec, DPOT_ERR_RANGE, "differ between inputs by 0");
    spec = baseline_spec("exponential");
    (void)json_object_set_new(json_object_get(spec, "domain"), "size", json_integer(10000));
    refuse(spec, DPOT_ERR_TOO_LARGE, "10000 x 10000 costs");
}

Test(spec, every_refusal_names_the_key)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = &refusals[i];
        refuse(with(r->object, r->key, r->value), r->status, r->word);
    }
    refuse(json_array(), DPOT_ERR_MALFORMED, "object");
    refuse(json_object(), DPOT_ERR_MALFORMED, "name is missing");
}

Test(spec, too_many_pairs_for_lambda_relative_are_refused)
{
    json_t *spec = with("mechanism", "lambda_relative", "[0.1]");
    (void)json_object_del(json_object_get(spec, "mechanism"), "lambda");
    (void)json_object_set_new(json_object_get(spec, "domain"), "size", json_integer(1 << 20));
    refuse(spec, DPOT_ERR_TOO_LARGE, "mechanism.lambda_relative");
}

Test(spec, a_description_compiles_to_the_same_campaign)
{
    static const char *const derived[] = {"id",          "revision",   "hash",     "epsilon",
                                          "domain_size", "total_mass", "schedule", "output_size"};
    const uint8_t hash[DPOT_HASH_LEN] = {0xab};
    struct dpot_campaign first = compile(fixture_json(fixture_census_spec));
    json_t *text = spec_describe(&first, hash, 1);
    cr_assert_not_null(text);
    cr_assert_eq(json_string_value(json_object_get(text, "hash"))[0], 'a');
    cr_assert_eq(json_array_size(json_object_get(text, "schedule")), 1);
    cr_assert_float_eq(json_real_value(json_object_get(text, "total_mass")), 1, 1e-9);
    for (size_t i = 0; i < sizeof derived / sizeof derived[0]; i++) {
        cr_assert_eq(json_object_del(text, derived[i]), 0, "%s", derived[i]);
    }
    struct dpot_campaign second = compile(text);
    cr_assert(dpot_domain_equal(&first.domain, &second.domain));
    cr_assert_eq(first.epsilon_q32, second.epsilon_q32);
    cr_assert_eq(first.lambda, second.lambda);
    cr_assert_eq(first.opens_ms, second.opens_ms);
    dpot_campaign_release(&second);
    dpot_campaign_release(&first);
}

Test(spec, a_description_of_a_baseline_compiles_to_the_same_campaign)
{
    static const char *const derived[] = {"id",          "revision",   "hash",     "epsilon",
                                          "domain_size", "total_mass", "schedule", "output_size"};
    static const char *const types[] = {"kpm", "exponential"};
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    for (size_t t = 0; t < 2; t++) {
        struct dpot_campaign first = compile(baseline_spec(types[t]));
        json_t *text = spec_describe(&first, hash, 1);
        cr_assert_eq(json_object_del(text, "sensitivity") == 0, t == 1);
        for (size_t i = 0; i < sizeof derived / sizeof derived[0]; i++) {
            cr_assert_eq(json_object_del(text, derived[i]), 0, "%s", derived[i]);
        }
        struct dpot_campaign second = compile(text);
        cr_assert_eq(second.mechanism, first.mechanism);
        cr_assert_eq(second.sensitivity, first.sensitivity);
        cr_assert_float_eq(total_mass(&second), total_mass(&first), 1e-12);
        dpot_campaign_release(&second);
        dpot_campaign_release(&first);
    }
}

Test(spec, a_description_lists_points_only_when_asked)
{
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    json_t *spec = with(NULL, "domain", "[{\"type\":\"points\",\"points\":[[0],[3],[6]]}]");
    (void)json_object_set_new(spec, "ring_size", json_integer(8));
    struct dpot_campaign c = compile(spec);
    json_t *brief = spec_describe(&c, hash, 0), *full = spec_describe(&c, hash, 1);
    cr_assert_null(json_object_get(json_object_get(brief, "domain"), "points"));
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(brief, "domain"), "size")), 3);
    cr_assert_eq(json_array_size(json_object_get(json_object_get(full, "domain"), "points")), 3);
    json_decref(brief);
    json_decref(full);
    dpot_campaign_release(&c);
}
