/* SPECs of campaigns on a sphere: defaults and refusals. */
#include "campaign/spec.h"
#include "campaign/spec_sphere.h"
#include "mechanism/mechanism.h"
#include "spec_fixture.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1, 2, 3};

/* `more` and `mechanism` are further keys, each with a comma before it. */
static json_t *sphere_spec(const char *domain, const char *more, const char *mechanism)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{\"name\":\"faces\",\"domain\":{\"type\":\"sphere\"%s},\"metric\":\"euclidean\","
        "\"mechanism\":{\"type\":\"wpm\"%s},\"opens\":\"2026-01-01T00:00:00Z\","
        "\"closes\":\"2027-01-01T00:00:00Z\"%s}",
        domain, mechanism, more);
    return fixture_json(text);
}

Test(spec_sphere, missing_keys_are_chosen_for_the_least_cost)
{
    struct dpot_campaign c = compile(sphere_spec(",\"dim\":16", "", ",\"epsilon\":4"));
    struct spec_sphere measured;
    cr_assert(dpot_campaign_is_sphere(&c));
    cr_assert_eq(c.domain.dim, 16);
    cr_assert_eq(c.domain.size, 0);
    cr_assert_eq(c.output.type, DPOT_DOMAIN_DIRECTIONS);
    cr_assert_eq(c.output.size, 4096);
    cr_assert_eq(c.output.dim, 16);
    cr_assert_not(c.output_is_domain);
    cr_assert_eq(c.cost_power, 1);
    cr_assert_eq(c.n_max, 1);
    cr_assert(c.lambda == 0 && c.iterations == 0);
    spec_measure_sphere(&c, &measured);
    cr_assert_float_eq(measured.channel.n_near, 251, 1e-6);
    cr_assert_float_eq(measured.total_mass / measured.optimum.total_mass, 1, .01);
    cr_assert_float_eq(measured.channel.cost / measured.optimum.cost, 1, 1e-3);
    cr_assert_gt(measured.channel.cost, measured.optimum.cost);
    dpot_campaign_release(&c);
}

/* The number of directions grows with epsilon, up to what a device can make. */
Test(spec_sphere, a_small_cap_gets_more_directions)
{
    static const struct {
        const char *dim, *epsilon;
        uint32_t count;
    } cases[] = {{",\"dim\":2", ",\"epsilon\":12", 32768},
                 {",\"dim\":3", ",\"epsilon\":12", 65536},
                 {",\"dim\":3", ",\"epsilon\":20", 65536},
                 {",\"dim\":4096", ",\"epsilon\":20", 16384},
                 {",\"dim\":4096", ",\"epsilon\":1", 4096}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dpot_campaign c = compile(sphere_spec(cases[i].dim, "", cases[i].epsilon));
        cr_assert_eq(c.output.size, cases[i].count, "%s%s: %u", cases[i].dim, cases[i].epsilon,
                     c.output.size);
        dpot_campaign_release(&c);
    }
}

Test(spec_sphere, given_keys_are_taken)
{
    struct dpot_campaign c = compile(
        sphere_spec(",\"dim\":3", ",\"output\":{\"type\":\"directions\",\"count\":500},\"power\":2",
                    ",\"epsilon\":2,\"n_max\":4,\"sample_first\":true,\"solver\":\"exact\","
                    "\"base_measure\":\"uniform:1.5\""));
    struct spec_sphere measured;
    cr_assert_eq(c.output.size, 500);
    cr_assert_eq(c.cost_power, 2);
    cr_assert_eq(c.n_max, 4);
    cr_assert(c.sample_first);
    spec_measure_sphere(&c, &measured);
    cr_assert_float_eq(measured.total_mass, 1.5, 1e-12);
    dpot_campaign_release(&c);
    c = compile(sphere_spec(",\"dim\":3", ",\"output\":\"same\"",
                            ",\"epsilon\":2,\"base_measure\":\"uniform\""));
    cr_assert_eq(c.output.size, 4096);
    dpot_campaign_release(&c);
}

Test(spec_sphere, a_description_compiles_to_the_same_campaign)
{
    static const char *const derived[] = {"id",          "revision",   "hash",
                                          "schedule",    "epsilon",    "domain_size",
                                          "output_size", "total_mass", "sphere"};
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    struct dpot_campaign c = compile(sphere_spec(",\"dim\":9", "", ",\"epsilon\":3"));
    json_t *text = spec_describe(&c, hash, 1);
    cr_assert_not_null(text);
    const json_t *sphere = json_object_get(text, "sphere");
    const double cost = json_number_value(json_object_get(sphere, "expected_cost"));
    cr_assert_lt(cost, json_number_value(json_object_get(sphere, "mean_cost")));
    cr_assert_gt(cost, json_number_value(json_object_get(sphere, "optimal_cost")));
    for (size_t i = 0; i < sizeof derived / sizeof derived[0]; i++) {
        cr_assert_eq(json_object_del(text, derived[i]), 0, "%s", derived[i]);
    }
    struct dpot_campaign again = compile(text);
    cr_assert_eq(again.output.size, c.output.size);
    cr_assert(dpot_domain_equal(&again.domain, &c.domain));
    cr_assert_eq(again.base_measure.mass_code[7], c.base_measure.mass_code[7]);
    cr_assert_float_eq((double)again.base_measure.total / (double)c.base_measure.total, 1, 1e-12);
    dpot_campaign_release(&again);
    dpot_campaign_release(&c);
}

Test(spec_sphere, every_refusal_names_the_key_and_what_to_do)
{
    static const struct {
        const char *domain, *more, *mechanism, *word;
    } rows[] = {
        {"", "", ",\"epsilon\":1", "domain.dim is missing"},
        {",\"dim\":1", "", ",\"epsilon\":1", "domain.dim"},
        {",\"dim\":4097", "", ",\"epsilon\":1", "domain.dim"},
        {",\"dim\":3,\"radius\":2", "", ",\"epsilon\":1", "domain.radius"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"lambda\":1",
         "mechanism.lambda goes with the entropic solver of wpm: wpm on a sphere"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"iterations\":9",
         "mechanism.iterations goes with the entropic solver"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"solver\":\"entropic\"", "exact"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"n_max\":65", "n_max"},
        {",\"dim\":3", "", ",\"epsilon\":21", "epsilon"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"base_measure\":\"ball\"", "uniform:<total mass>"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"base_measure\":[1,2]",
         "base_measure is an array: on a sphere give uniform or uniform:<total mass>"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"base_measure\":7", "base_measure is 7"},
        {",\"dim\":3", "", ",\"epsilon\":1,\"base_measure\":\"x\"", "base_measure is \"x\""},
        {",\"dim\":3", "", ",\"epsilon\":1,\"base_measure\":\"uniform:9\"", "base_measure"},
        {",\"dim\":3", ",\"output\":\"all\"", ",\"epsilon\":1", "output is \"all\""},
        {",\"dim\":3", ",\"output\":{\"type\":\"ring\",\"size\":9}", ",\"epsilon\":1",
         "choose directions"},
        {",\"dim\":3", ",\"output\":{\"type\":\"directions\",\"count\":1}", ",\"epsilon\":1",
         "output.count"},
        {",\"dim\":3", ",\"output\":{\"type\":\"directions\",\"count\":20}", ",\"epsilon\":8",
         "at least 512"},
        {",\"dim\":4096", ",\"output\":{\"type\":\"directions\",\"count\":20000}", ",\"epsilon\":8",
         "16384"},
        {",\"dim\":4096", "", ",\"epsilon\":1,\"n_max\":64", "n_max at most 16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dpot_campaign campaign;
        struct dpot_error error = {{0}};
        json_t *spec = sphere_spec(rows[i].domain, rows[i].more, rows[i].mechanism);
        cr_assert_neq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", rows[i].word);
        cr_assert_not_null(strstr(error.text, rows[i].word), "%s: %s", rows[i].word, error.text);
        json_decref(spec);
    }
}

Test(spec_sphere, other_mechanisms_and_metrics_are_refused)
{
    struct dpot_campaign campaign;
    struct dpot_error error = {{0}};
    json_t *spec = sphere_spec(",\"dim\":3", "", ",\"epsilon\":1");
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "type", json_string("kpm"));
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "choose wpm"), "%s", error.text);
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "type", json_string("wpm"));
    (void)json_object_set_new(spec, "metric", json_string("cosine"));
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_ERR_SHAPE);
    cr_assert_not_null(strstr(error.text, "euclidean"), "%s", error.text);
    json_decref(spec);
}
