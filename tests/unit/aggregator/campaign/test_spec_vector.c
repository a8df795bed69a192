/* SPECs of noise on vectors. */
#include "campaign/spec.h"
#include "campaign/spec_vector.h"
#include "mechanism/mechanism.h"
#include "spec_fixture.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static json_t *vector_spec(const char *domain, const char *mechanism)
{
    json_t *spec = fixture_json("{\"name\":\"noise\",\"rounds\":1,"
                                "\"opens\":\"2026-12-01T00:00:00Z\","
                                "\"closes\":\"2026-12-08T00:00:00Z\",\"min_pool\":1}");
    (void)json_object_set_new(spec, "domain", fixture_json(domain));
    (void)json_object_set_new(spec, "mechanism", fixture_json(mechanism));
    return spec;
}

Test(spec, a_laplace_spec_becomes_integers_that_a_device_accepts)
{
    struct dpot_campaign c =
        compile(vector_spec("{\"type\":\"l1_ball\",\"radius\":140,\"dim\":784}",
                            "{\"type\":\"laplace\",\"epsilon\":8}"));
    cr_assert_eq(c.mechanism, DPOT_MECHANISM_LAPLACE);
    cr_assert_eq(c.vector.set, DPOT_VECTOR_L1_BALL);
    cr_assert_eq(c.vector.dim, 784);
    cr_assert_eq(c.metric.id, DPOT_METRIC_EUCLIDEAN);
    cr_assert_leq(c.epsilon_q32, (uint64_t)8 << 32);
    cr_assert_geq(c.epsilon_q32, (uint64_t)7.9 << 32);
    /* scale = 2^k g is at most 2 % above the diameter 280 over epsilon */
    const double scale = ldexp(c.vector.grid_step, (int)c.noise.scale_log2);
    cr_assert(scale >= 280 / 8.0 && scale <= 1.02 * 280 / 8.0, "%g", scale);
    dpot_campaign_release(&c);
}

Test(spec, a_dct_keeps_the_lowest_frequencies_and_sets_the_dimension)
{
    struct dpot_campaign c =
        compile(vector_spec("{\"type\":\"l2_ball\",\"radius\":3}",
                            "{\"type\":\"gaussian\",\"epsilon\":2,\"delta\":1e-6,"
                            "\"transform\":{\"type\":\"dct\",\"shape\":[2,4],\"keep\":4}}"));
    static const uint32_t lowest[] = {0, 1, 2, 4}; /* u/2 + v/4: 0, 1/4, 1/2 and 1/2 */
    cr_assert_eq(c.vector.dim, 4);
    cr_assert_eq(dpot_vector_data_dim(&c.vector), 8);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(c.vector.transform.keep[i], lowest[i]);
    }
    cr_assert_eq(c.epsilon_q32, 0);
    cr_assert_gt(c.noise.certificate_row, 0);
    dpot_campaign_release(&c);
}

/* As in the side files of pools. */
Test(spec, coefficients_can_be_listed_by_their_numbers)
{
    static const char *const wrong[] = {"[8]", "[-1]", "[0.5]", "[3,3]"};
    json_t *value =
        fixture_json("{\"transform\":{\"type\":\"dct\",\"shape\":[2,4],\"keep\":[7,[0,1],4]}}");
    struct dpot_transform transform;
    cr_assert_eq(spec_read_transform(value, &transform, NULL), DPOT_OK);
    cr_assert_eq(transform.n_keep, 3);
    cr_assert_eq(transform.keep[0], 1);
    cr_assert_eq(transform.keep[1], 4);
    cr_assert_eq(transform.keep[2], 7);
    dpot_free_array(NULL, transform.keep, transform.n_keep, sizeof *transform.keep);
    for (size_t i = 0; i < 4; i++) {
        json_t *keep = fixture_json(wrong[i]);
        (void)json_object_set_new(json_object_get(value, "transform"), "keep", keep);
        cr_assert_eq(spec_read_transform(value, &transform, NULL), DPOT_ERR_RANGE, "%s", wrong[i]);
        cr_assert_null(transform.keep);
    }
    json_decref(value);
}

Test(spec, a_description_of_vectors_has_the_set_that_a_device_enforces)
{
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    struct dpot_campaign c =
        compile(vector_spec("{\"type\":\"box\",\"lo\":[-1,0],\"hi\":[1,5]}",
                            "{\"type\":\"gaussian\",\"epsilon\":1,\"delta\":1e-5}"));
    json_t *text = spec_describe(&c, hash, 0);
    json_t *mechanism = json_object_get(text, "mechanism");
    const json_t *domain =
        json_object_get(text, "domain"); /* sides are listed even without points */
    cr_assert_float_eq(json_number_value(json_array_get(json_object_get(domain, "lo"), 0)), -1,
                       0.02);
    cr_assert_float_eq(json_number_value(json_array_get(json_object_get(domain, "hi"), 1)), 5, 0.1);
    cr_assert_str_eq(json_string_value(json_object_get(mechanism, "type")), "gaussian");
    cr_assert_leq(json_number_value(json_object_get(mechanism, "delta")), 1e-5);
    cr_assert_leq(json_number_value(json_object_get(mechanism, "epsilon")), 1);
    cr_assert_float_eq(json_number_value(json_object_get(mechanism, "l2_diameter")), sqrt(29),
                       0.02 * sqrt(29));
    cr_assert_eq(json_integer_value(json_object_get(text, "dim")), 2);
    json_decref(text);
    dpot_campaign_release(&c);
}

Test(spec, refusals_of_vectors_name_the_key)
{
    static const char ball[] = "{\"type\":\"l2_ball\",\"radius\":1,\"dim\":2}";
    static const char laplace[] = "{\"type\":\"laplace\",\"epsilon\":1}";
    static const struct {
        const char *domain, *mechanism;
        dpot_status status;
        const char *word;
    } cases[] = {
        {ball, "{\"type\":\"laplace\"}", DPOT_ERR_MALFORMED, "mechanism.epsilon"},
        {ball, "{\"type\":\"laplace\",\"epsilon\":1,\"delta\":0.1}", DPOT_ERR_MALFORMED, "delta"},
        {ball, "{\"type\":\"laplace\",\"epsilon\":21}", DPOT_ERR_EPSILON, "20"},
        {ball, "{\"type\":\"laplace\",\"epsilon\":0}", DPOT_ERR_RANGE, "epsilon"},
        {ball, "{\"type\":\"gaussian\",\"epsilon\":1}", DPOT_ERR_MALFORMED, "mechanism.delta"},
        {ball, "{\"type\":\"gaussian\",\"epsilon\":1,\"delta\":1}", DPOT_ERR_RANGE, "delta"},
        {ball, "{\"type\":\"gaussian\",\"epsilon\":1,\"delta\":1e-30}", DPOT_ERR_RANGE, "delta"},
        {ball, "{\"type\":\"laplace\",\"epsilon\":1,\"n_max\":4}", DPOT_ERR_MALFORMED, "n_max"},
        {"{\"type\":\"l2_ball\",\"radius\":0,\"dim\":2}", laplace, DPOT_ERR_RANGE, "radius"},
        {"{\"type\":\"l2_ball\",\"radius\":1}", laplace, DPOT_ERR_MALFORMED, "domain.dim"},
        {"{\"type\":\"l2_ball\",\"radius\":1,\"dim\":1048577}", laplace, DPOT_ERR_RANGE, "dim"},
        {"{\"type\":\"grid\",\"lo\":[0],\"hi\":[1],\"shape\":[4]}", laplace, DPOT_ERR_RANGE,
         "domain.type"},
        {"{\"type\":\"box\",\"lo\":[1],\"hi\":[0]}", laplace, DPOT_ERR_RANGE, "lo"},
        {ball,
         "{\"type\":\"laplace\",\"epsilon\":1,\"transform\":{\"type\":\"dct\",\"shape\":[2,2],"
         "\"keep\":3}}",
         DPOT_ERR_SHAPE, "keeps 3"},
        {ball,
         "{\"type\":\"laplace\",\"epsilon\":1,\"transform\":{\"type\":\"dct\",\"shape\":[2,2],"
         "\"keep\":[[0,0],[0,0]]}}",
         DPOT_ERR_RANGE, "twice"},
        {ball,
         "{\"type\":\"laplace\",\"epsilon\":1,\"transform\":{\"type\":\"dct\",\"shape\":[2,2],"
         "\"keep\":[[0,2]]}}",
         DPOT_ERR_RANGE, "keep[0]"},
        {ball, "{\"type\":\"laplace\",\"epsilon\":1,\"transform\":\"fft\"}", DPOT_ERR_MALFORMED,
         "mechanism.transform"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refuse(vector_spec(cases[i].domain, cases[i].mechanism), cases[i].status, cases[i].word);
    }
}
