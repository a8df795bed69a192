/* Which changes of a campaign change its content digest. */
#include "campaign/content.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
}

TestSuite(content, .init = set_up);

static void digest_of(const json_t *spec, uint8_t id_byte, uint32_t revision,
                      uint8_t digest[DPOT_HASH_LEN])
{
    struct dpot_campaign campaign;
    struct dpot_error error = {{0}};
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    memset(id, id_byte, sizeof id);
    cr_assert_eq(spec_compile(spec, id, revision, &campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(content_digest(&campaign, digest, &error), DPOT_OK, "%s", error.text);
    dpot_campaign_release(&campaign);
}

/* Is the digest that of the SPEC without this change? */
static bool is_same(const char *spec_text, const char *key, const char *value)
{
    uint8_t before[DPOT_HASH_LEN], after[DPOT_HASH_LEN];
    json_t *spec = fixture_json(spec_text);
    digest_of(spec, 0, 1, before);
    json_t *changed = json_loads(value, JSON_DECODE_ANY, NULL);
    cr_assert_not_null(changed, "%s", value);
    cr_assert_eq(json_object_set_new(spec, key, changed), 0);
    digest_of(spec, 0, 1, after);
    json_decref(spec);
    return memcmp(before, after, sizeof before) == 0;
}

#define WPM(numbers) "{\"type\":\"wpm\"," numbers "}"
#define RING(mechanism)                                                                            \
    "{\"name\":\"ring\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","           \
    "\"mechanism\":" mechanism ",\"min_pool\":3,"                                                  \
    "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\"}"
#define PLAIN RING(WPM("\"epsilon\":1,\"lambda\":0.5"))

Test(content, does_not_depend_on_id_and_revision)
{
    uint8_t spec_digest[DPOT_HASH_LEN], signed_digest[DPOT_HASH_LEN];
    json_t *spec = fixture_json(PLAIN);
    digest_of(spec, 0, 1, spec_digest);
    digest_of(spec, 0xa5, 7, signed_digest);
    cr_assert_arr_eq(spec_digest, signed_digest, DPOT_HASH_LEN);
    json_decref(spec);
}

Test(content, does_not_depend_on_names_times_rounds_groups_and_sizes_of_pools)
{
    cr_assert(is_same(PLAIN, "name", "\"other\""));
    cr_assert(is_same(PLAIN, "opens", "\"2025-06-01T00:00:00Z\""));
    cr_assert(is_same(PLAIN, "closes", "\"2028-06-01T00:00:00Z\""));
    cr_assert(is_same(PLAIN, "rounds", "12"));
    cr_assert(is_same(PLAIN, "min_pool", "4000"));
    cr_assert(is_same(PLAIN, "groups", "[\"a\",\"b\"]"));
    cr_assert(is_same(PLAIN, "simulation", "true"));
}

Test(content, depends_on_whatever_changes_the_law_of_a_report)
{
    static const char *const mechanisms[] = {
        WPM("\"epsilon\":1.001,\"lambda\":0.5"),
        WPM("\"epsilon\":1,\"lambda\":0.51"),
        WPM("\"epsilon\":1,\"lambda\":0.5,\"iterations\":77"),
        WPM("\"epsilon\":1,\"lambda\":0.5,\"n_max\":3"),
        WPM("\"epsilon\":1,\"lambda\":0.5,\"sample_first\":true"),
        WPM("\"epsilon\":1,\"lambda\":0.5,\"base_measure\":[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,"
            "0.1001]"),
        "{\"type\":\"kpm\",\"epsilon\":1}",
        "{\"type\":\"exponential\",\"epsilon\":1}",
    };
    for (size_t i = 0; i < sizeof mechanisms / sizeof mechanisms[0]; i++) {
        cr_assert_not(is_same(PLAIN, "mechanism", mechanisms[i]), "%s", mechanisms[i]);
    }
    cr_assert_not(is_same(PLAIN, "domain", "{\"type\":\"ring\",\"size\":11}"));
    cr_assert_not(is_same(PLAIN, "power", "2"));
    cr_assert_not(is_same(fixture_census_spec, "output",
                          "{\"type\":\"grid\",\"lo\":[24.5,-125],\"hi\":[49.4,-66.9],\"shape\":"
                          "[8,12]}"));
    cr_assert_not(is_same(fixture_census_spec, "metric", "\"euclidean\""));
}

Test(content, is_the_same_for_listed_output_points_that_equal_the_domain)
{
    cr_assert(is_same(fixture_census_spec, "output",
                      "{\"type\":\"grid\",\"lo\":[24.5,-125],\"hi\":[49.4,-66.9],\"shape\":"
                      "[16,24]}"));
}

Test(content, of_vectors_depends_on_their_set_and_noise)
{
    static const char laplace[] =
        "{\"name\":\"mean\",\"domain\":{\"type\":\"box\",\"lo\":[0,0],\"hi\":[1,1]},\"metric\":"
        "\"l1\",\"mechanism\":{\"type\":\"laplace\",\"epsilon\":1},"
        "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\",\"min_pool\":3}";
    cr_assert(is_same(laplace, "name", "\"other\""));
    cr_assert_not(is_same(laplace, "domain", "{\"type\":\"box\",\"lo\":[0,0],\"hi\":[1,2]}"));
    cr_assert_not(is_same(laplace, "mechanism", "{\"type\":\"laplace\",\"epsilon\":2}"));
}
