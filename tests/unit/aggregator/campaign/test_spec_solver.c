/* Solvers of wpm in SPECs. */
#include "campaign/spec.h"
#include "spec_fixture.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <string.h>

/* The ring SPEC with a solver, without lambda and iterations, and with one key more, or NULL. */
static json_t *solver_spec(const char *solver, const char *key, const char *value)
{
    json_t *spec = fixture_spec(), *mechanism = json_object_get(spec, "mechanism");
    (void)json_object_set_new(mechanism, "solver", json_string(solver));
    (void)json_object_del(mechanism, "lambda");
    (void)json_object_del(mechanism, "iterations");
    if (key) {
        (void)json_object_set_new(mechanism, key, json_loads(value, JSON_DECODE_ANY, NULL));
    }
    return spec;
}

Test(spec_solver, the_exact_solver_needs_no_lambda_and_survives_its_description)
{
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    struct dpot_campaign exact = compile(solver_spec("exact", NULL, NULL));
    cr_assert_eq(exact.solver, DPOT_SOLVER_EXACT);
    cr_assert(exact.lambda == 0 && exact.iterations == 0 && exact.passes == 0);
    json_t *text = spec_describe(&exact, hash, 1), *mechanism = json_object_get(text, "mechanism");
    cr_assert_str_eq(json_string_value(json_object_get(mechanism, "solver")), "exact");
    cr_assert_null(json_object_get(mechanism, "lambda"));
    cr_assert_null(json_object_get(mechanism, "iterations"));
    json_t *again = fixture_spec();
    (void)json_object_set(again, "mechanism", mechanism);
    struct dpot_campaign second = compile(again);
    cr_assert_eq(second.solver, DPOT_SOLVER_EXACT);
    cr_assert_eq(second.n_max, exact.n_max);
    json_decref(text);
    dpot_campaign_release(&second);
    dpot_campaign_release(&exact);
}

Test(spec_solver, passes_are_described_and_their_default_is_not_signed)
{
    const uint8_t hash[DPOT_HASH_LEN] = {0};
    const struct {
        const char *given;
        uint32_t signed_as;
        json_int_t described;
    } rows[] = {{"1", 1, 1}, {"64", 0, 64}, {"4096", 4096, 4096}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dpot_campaign campaign = compile(solver_spec("exact", "passes", rows[i].given));
        json_t *text = spec_describe(&campaign, hash, 1);
        const json_t *passes = json_object_get(json_object_get(text, "mechanism"), "passes");
        cr_assert_eq(campaign.passes, rows[i].signed_as);
        cr_assert_eq(json_integer_value(passes), rows[i].described);
        json_decref(text);
        dpot_campaign_release(&campaign);
    }
    refuse(solver_spec("exact", "passes", "0"), DPOT_ERR_RANGE, "mechanism.passes is 0");
    refuse(solver_spec("exact", "passes", "4097"), DPOT_ERR_RANGE, "mechanism.passes is 4097");
    refuse(solver_spec("exact", "passes", "\"auto\""), DPOT_ERR_MALFORMED, "mechanism.passes");
}

Test(spec_solver, the_entropic_solver_can_be_named_and_is_the_default)
{
    struct dpot_campaign named = compile(solver_spec("entropic", "lambda", "1.5"));
    struct dpot_campaign plain = compile(fixture_spec());
    cr_assert_eq(named.solver, DPOT_SOLVER_ENTROPIC);
    cr_assert_eq(plain.solver, DPOT_SOLVER_ENTROPIC);
    cr_assert_eq(named.lambda, 1.5);
    cr_assert_eq(named.iterations, 300);
    dpot_campaign_release(&named);
    dpot_campaign_release(&plain);
}

Test(spec_solver, keys_of_the_other_solver_are_refused)
{
    const char *const keys[][2] = {{"lambda", "1"},
                                   {"lambda_relative", "0.1"},
                                   {"iterations", "300"},
                                   {"iterations", "\"auto\""},
                                   {"iterations", "{\"error\": 0.1}"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct dpot_error error = {{0}};
        json_t *spec = solver_spec("exact", keys[i][0], keys[i][1]);
        cr_assert_eq(spec_inline(spec, ".", &error), i < 3 ? DPOT_OK : DPOT_ERR_MALFORMED);
        cr_assert(i < 3 || strstr(error.text, "mechanism.iterations goes with"), "%s", error.text);
        refuse(spec, DPOT_ERR_MALFORMED, keys[i][0]);
    }
    refuse(solver_spec("entropic", "passes", "64"), DPOT_ERR_MALFORMED,
           "mechanism.passes goes with the exact solver of wpm");
    refuse(solver_spec("exact", "n_max", "65"), DPOT_ERR_RANGE, "n_max is 65: the exact solver");
    refuse(solver_spec("exact", "type", "\"kpm\""), DPOT_ERR_MALFORMED,
           "mechanism.solver goes with wpm: kpm");
    json_t *laplace = solver_spec("exact", "type", "\"laplace\"");
    (void)json_object_set_new(laplace, "metric", json_string("l1"));
    refuse(laplace, DPOT_ERR_MALFORMED, "mechanism.solver goes with wpm: laplace");
}
