/* Job kinds: parameters, refusals, results. */
#include "jobs/job.h"
#include "mechanism/sampler.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/page.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct job_kind *kind_of(const char *name)
{
    const struct job_kind *kind = NULL;
    cr_assert_eq(job_kind_find(name, &kind, NULL), DPOT_OK);
    return kind;
}

static json_t *complete(const char *name, const char *given)
{
    const struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_WPM};
    json_t *value = fixture_json(given), *parameters = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(kind_of(name)->complete(&campaign, value, &parameters, &error), DPOT_OK, "%s",
                 error.text);
    json_decref(value);
    return parameters;
}

static void refuse(const char *name, const char *given, const char *word)
{
    const struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_WPM};
    json_t *value = fixture_json(given), *parameters = NULL;
    struct dpot_error error = {{0}};
    cr_assert_neq(kind_of(name)->complete(&campaign, value, &parameters, &error), DPOT_OK, "%s",
                  given);
    cr_assert_null(parameters);
    cr_assert_not_null(strstr(error.text, word), "%s says: %s", given, error.text);
    json_decref(value);
}

Test(job_kinds, an_unknown_kind_is_refused_with_the_known_names)
{
    const struct job_kind *kind = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(job_kind_find("frobnicate", &kind, &error), DPOT_ERR_RANGE);
    cr_assert_null(kind);
    cr_assert_str_eq(
        error.text,
        "kind is \"frobnicate\": choose base-measure, estimate, generator or barycenter");
}

Test(job_kinds, missing_parameters_get_their_defaults)
{
    json_t *p = complete("base-measure", "{}");
    cr_assert_str_eq(json_string_value(json_object_get(p, "method")), "mirror");
    cr_assert_eq(json_integer_value(json_object_get(p, "max_iterations")), 10000);
    cr_assert_eq(json_real_value(json_object_get(p, "gap")), 1e-6);
    json_decref(p);
    p = complete("base-measure", "{\"gap\":0,\"max_iterations\":7}");
    cr_assert_eq(json_integer_value(json_object_get(p, "max_iterations")), 7);
    cr_assert_eq(json_number_value(json_object_get(p, "gap")), 0);
    json_decref(p);
    p = complete("base-measure", "{\"method\":\"uniform\"}");
    cr_assert_eq(json_object_size(p), 1);
    json_decref(p);
    p = complete("estimate", "{}");
    cr_assert_eq(json_object_size(p), 0);
    json_decref(p);
}

Test(job_kinds, the_page_has_every_parameter_with_its_default)
{
    static const char *const given[] = {"{}", "{\"method\":\"certified\"}",
                                        "{\"method\":\"users\"}"};
    const char *text = page_section(PAGE("admin-api.md"), "\n| `base-measure`", "\n");
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        json_t *parameters = complete("base-measure", given[i]);
        page_expect_parameters(text, parameters);
        json_decref(parameters);
    }
}

Test(job_kinds, wrong_parameters_are_refused_by_key_and_value)
{
    refuse("base-measure", "{\"methd\":\"mirror\"}", "parameters.methd");
    refuse("base-measure", "{\"method\":\"magic\"}",
           "\"magic\": choose mirror, uniform, certified or users");
    refuse("base-measure", "{\"method\":3}", "parameters.method is 3");
    refuse("base-measure", "{\"max_iterations\":0}", "parameters.max_iterations is 0");
    refuse("base-measure", "{\"max_iterations\":2e9}", "parameters.max_iterations");
    refuse("base-measure", "{\"max_iterations\":\"many\"}",
           "parameters.max_iterations is \"many\"");
    refuse("base-measure", "{\"gap\":-1}", "parameters.gap is -1");
    refuse("base-measure", "{\"method\":\"uniform\",\"gap\":0.1}",
           "parameters.gap goes with method mirror, certified or users");
    refuse("base-measure", "{\"users\":5}", "parameters.users goes with method users");
    refuse("base-measure", "{\"method\":\"users\",\"users\":0}", "parameters.users is 0");
    refuse("base-measure", "{\"method\":\"users\",\"draws_min\":9,\"draws_max\":4}",
           "draws_min is 9 and draws_max 4");
    refuse("base-measure", "{\"method\":\"users\",\"mix\":2}", "parameters.mix is 2");
    refuse("base-measure", "[]", "parameters must be a JSON object");
    refuse("estimate", "{\"bootstrap\":200}", "parameters.bootstrap");
}

static dpot_status check(const char *name, const struct dpot_campaign *campaign,
                         struct dpot_error *error)
{
    const struct snapshot snapshot = {.campaign = campaign};
    const struct job_input input = {.snapshot = &snapshot};
    return kind_of(name)->check(&input, error);
}

Test(job_kinds, a_campaign_of_another_mechanism_is_refused_by_its_name)
{
    struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_KPM};
    struct dpot_error error = {{0}};
    campaign.domain.size = campaign.output.size = 10;
    cr_assert_eq(check("base-measure", &campaign, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "kpm"), "%s", error.text);
    cr_assert_eq(check("estimate", &campaign, &error), DPOT_OK);
}

Test(job_kinds, a_pool_of_vectors_has_no_points_to_count_and_no_base_measure)
{
    static const char *const kinds[] = {"estimate", "base-measure"};
    static const enum dpot_mechanism_id ids[] = {DPOT_MECHANISM_LAPLACE, DPOT_MECHANISM_GAUSSIAN};
    for (size_t i = 0; i < 4; i++) {
        struct dpot_campaign campaign = {.mechanism = ids[i / 2]};
        struct dpot_error error = {{0}};
        cr_assert_eq(check(kinds[i % 2], &campaign, &error), DPOT_ERR_SHAPE);
        cr_assert_not_null(strstr(error.text, dpot_mechanism_name(ids[i / 2])), "%s", error.text);
    }
}

Test(job_kinds, more_costs_than_a_job_can_hold_are_refused_before_any_work)
{
    struct dpot_campaign campaign = {.mechanism = DPOT_MECHANISM_WPM};
    struct dpot_error error = {{0}};
    campaign.domain.size = campaign.output.size = 1u << 20;
    cr_assert_eq(check("base-measure", &campaign, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "1048576 x 1048576"), "%s", error.text);
}

/* ---- runs ---- */

static struct rig rig;

static json_t *grid_spec(void)
{
    return fixture_json("{\"name\":\"grid\",\"domain\":{\"type\":\"grid\",\"lo\":[0,0],"
                        "\"hi\":[1,1],\"shape\":[3,3]},\"metric\":\"euclidean\",\"power\":2,"
                        "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":2,\"lambda\":0.1},"
                        "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\"}");
}

static void run(const char *name, const char *given, const struct solve_control *control,
                struct dpot_artifact *artifact)
{
    static const struct solve_control nobody = {.cancel = NULL};
    const struct snapshot_source source = {rig.store, rig.registry};
    struct snapshot snapshot;
    struct dpot_error error = {{0}};
    json_t *parameters = complete(name, given);
    cr_assert_eq(snapshot_take(&source, rig.record.hash, &snapshot, &error), DPOT_OK);
    const struct job_input input = {
        .snapshot = &snapshot, .parameters = parameters, .control = control ? control : &nobody};
    *artifact = (struct dpot_artifact){.n_values = 0};
    cr_assert_eq(kind_of(name)->run(&input, artifact, &error), DPOT_OK, "%s", error.text);
    json_decref(parameters);
}

static double number(const struct dpot_artifact *artifact, const char *name)
{
    double value = NAN;
    cr_assert_eq(dpot_artifact_find_number(artifact, name, &value), DPOT_OK, "%s", name);
    return value;
}

/* The next campaign must be able to encode the masses. */
static void expect_feasible(const struct dpot_artifact *artifact, double epsilon)
{
    struct dpot_base_measure base_measure = {.size = 0};
    struct dpot_error error = {{0}};
    uint64_t epsilon_q32 = 0;
    cr_assert_eq(dpot_epsilon_from_double(epsilon, &epsilon_q32), DPOT_OK);
    base_measure.mass_code = dpot_alloc_array(NULL, artifact->n_values, sizeof(uint32_t));
    cr_assert_eq(dpot_base_measure_encode(artifact->values, artifact->n_values, epsilon_q32,
                                          &base_measure, &error),
                 DPOT_OK, "%s", error.text);
    dpot_free_array(NULL, base_measure.mass_code, artifact->n_values, sizeof(uint32_t));
}

Test(job_kinds, the_best_uniform_measure_comes_with_its_proof_and_reads_no_report)
{
    struct dpot_artifact artifact;
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    run("base-measure", "{\"method\":\"uniform\"}", NULL, &artifact);
    cr_assert_not(artifact.has_pool);
    cr_assert_eq(artifact.n_values, FIXTURE_RING_SIZE);
    for (size_t j = 1; j < artifact.n_values; j++) {
        cr_assert_float_eq(artifact.values[j], artifact.values[0], 1e-12);
    }
    cr_assert_float_eq(number(&artifact, "total_mass"), 10 * artifact.values[0], 1e-12);
    /* On a ring the best uniform measure is optimal among all. */
    cr_assert_leq(number(&artifact, "relative_gap"), 1e-9);
    cr_assert_eq(number(&artifact, "objective"), number(&artifact, "worst_case"));
    cr_assert_eq(number(&artifact, "is_converged"), 1);
    expect_feasible(&artifact, 1);
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

Test(job_kinds, mirror_descent_beats_the_best_uniform_measure_on_a_grid)
{
    struct dpot_artifact artifact;
    rig_init(&rig, "sqlite::memory:", grid_spec());
    run("base-measure", "{\"max_iterations\":20000,\"gap\":0.001}", NULL, &artifact);
    const double objective = number(&artifact, "objective");
    cr_assert_lt(objective, 0.99 * number(&artifact, "uniform_objective"), "%g of %g", objective,
                 number(&artifact, "uniform_objective"));
    cr_assert_leq(number(&artifact, "lower_bound"), objective);
    cr_assert_float_eq(number(&artifact, "worst_case"), sqrt(objective), 1e-12);
    cr_assert_float_eq(number(&artifact, "epsilon"), 2, 1e-9);
    expect_feasible(&artifact, 2);
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

Test(job_kinds, mirror_descent_never_ends_above_the_best_uniform_measure)
{
    const char *const given[] = {"{\"max_iterations\":1}", "{\"max_iterations\":30,\"gap\":0}"};
    for (size_t i = 0; i < 2; i++) {
        struct dpot_artifact artifact;
        rig_init(&rig, "sqlite::memory:", grid_spec());
        run("base-measure", given[i], NULL, &artifact);
        cr_assert_leq(number(&artifact, "objective"), number(&artifact, "uniform_objective"));
        dpot_artifact_release(&artifact);
        rig_release(&rig);
    }
}

Test(job_kinds, the_certified_measure_is_within_its_gap)
{
    struct dpot_artifact artifact;
    rig_init(&rig, "sqlite::memory:", grid_spec());
    run("base-measure", "{\"method\":\"certified\"}", NULL, &artifact);
    cr_assert_not(artifact.has_pool);
    cr_assert_eq(number(&artifact, "is_converged"), 1);
    cr_assert_leq(number(&artifact, "relative_gap"), 1e-6);
    cr_assert_lt(number(&artifact, "objective"), 0.99 * number(&artifact, "uniform_objective"));
    expect_feasible(&artifact, 2);
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

/* All reports name two corners of the grid, so users drawn from them are there. */
Test(job_kinds, a_measure_for_users_follows_the_pool_and_names_it)
{
    struct dpot_artifact artifact;
    struct dpot_report reports[40];
    rig_init(&rig, "sqlite::memory:", grid_spec());
    for (uint32_t i = 0; i < 40; i++) {
        reports[i] = fixture_report(i);
        reports[i].index = i % 4 == 0 ? 8 : 0;
    }
    cr_assert_eq(rig_post(&rig, 0, reports, 40, NULL), INGEST_ACCEPTED);
    run("base-measure", "{\"method\":\"users\",\"users\":30}", NULL, &artifact);
    cr_assert(artifact.has_pool);
    cr_assert_eq(artifact.pool_count, 40);
    cr_assert_gt(artifact.values[0], artifact.values[4]);
    cr_assert_gt(artifact.values[0], artifact.values[2]);
    cr_assert_eq(number(&artifact, "held_out_users"), 10);
    cr_assert_lt(number(&artifact, "held_out_cost"), number(&artifact, "held_out_uniform_cost"));
    cr_assert_leq(number(&artifact, "lower_bound"), number(&artifact, "objective"));
    cr_assert_gt(number(&artifact, "lower_bound"), 0);
    expect_feasible(&artifact, 2);
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

/* At large epsilon masses underflow in the descent; a campaign cannot encode 0. */
Test(job_kinds, no_mass_of_a_result_is_zero)
{
    struct dpot_artifact artifact;
    json_t *spec = grid_spec();
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "epsilon", json_integer(20));
    rig_init(&rig, "sqlite::memory:", spec);
    run("base-measure", "{\"max_iterations\":200000,\"gap\":0}", NULL, &artifact);
    expect_feasible(&artifact, 20);
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

Test(job_kinds, an_estimate_counts_the_pool_and_names_it_by_its_checksum)
{
    struct dpot_artifact artifact;
    struct dpot_report reports[25];
    struct dpot_hasher hasher;
    uint8_t checksum[DPOT_HASH_LEN];
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    dpot_hasher_init(&hasher);
    for (uint32_t i = 0; i < 25; i++) {
        reports[i] = fixture_report(i);
    }
    fixture_sort(reports, 25);
    for (uint32_t i = 0; i < 25; i++) {
        uint8_t row[24];
        dpot_store_u32(row, 0);
        memcpy(row + 4, reports[i].id, 16);
        dpot_store_u32(row + 20, reports[i].index);
        dpot_hasher_add(&hasher, row, sizeof row);
    }
    dpot_hasher_end(&hasher, checksum);
    cr_assert_eq(rig_post(&rig, 0, reports, 25, NULL), INGEST_ACCEPTED);
    run("estimate", "{}", NULL, &artifact);
    cr_assert(artifact.has_pool);
    cr_assert_eq(artifact.pool_count, 25);
    cr_assert_arr_eq(artifact.pool_checksum, checksum, sizeof checksum);
    cr_assert_eq(artifact.n_counts, FIXTURE_RING_SIZE);
    for (size_t j = 0; j < FIXTURE_RING_SIZE; j++) {
        cr_assert_eq(artifact.counts[j], j < 5 ? 3 : 2);
        cr_assert_eq(artifact.values[j], (double)artifact.counts[j] / 25);
    }
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

Test(job_kinds, a_cancelled_run_returns_soon)
{
    struct dpot_artifact artifact;
    const atomic_bool stop = true;
    const struct solve_control control = {.cancel = &stop};
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    run("base-measure", "{\"max_iterations\":1000000000,\"gap\":0}", &control, &artifact);
    dpot_artifact_release(&artifact);
    rig_release(&rig);
}

/* A clock whose time is the number of its calls. */
static int64_t count_poll(void *ctx)
{
    return ++*(int64_t *)ctx;
}

/* Stops the run at every poll of the control, in every phase: few polls follow, and no result. */
Test(job_kinds, a_run_can_be_stopped_at_any_poll_and_does_little_after_it)
{
    static const char *const methods[] = {"{\"method\":\"uniform\"}",
                                          "{\"max_iterations\":20,\"gap\":0}"};
    rig_init(&rig, "sqlite::memory:", grid_spec());
    for (size_t m = 0; m < 2; m++) {
        bool is_stopped = true;
        int64_t stop = 1;
        for (; is_stopped; stop++) {
            struct dpot_artifact artifact;
            int64_t n_polls = 0;
            const struct dpot_clock clock = {
                .struct_size = sizeof clock, .ctx = &n_polls, .now = count_poll};
            const struct solve_control control = {.clock = &clock, .deadline_ms = stop};
            run("base-measure", methods[m], &control, &artifact);
            is_stopped = n_polls >= stop;
            cr_assert(n_polls <= stop + 5, "%lld polls after %lld", (long long)n_polls,
                      (long long)stop);
            cr_assert_eq(artifact.n_numbers > 0, !is_stopped);
            dpot_artifact_release(&artifact);
        }
        cr_assert(stop > 10 && stop < 200, "%lld", (long long)stop);
    }
    rig_release(&rig);
}

Test(job_kinds, a_snapshot_reads_only_the_reports_it_was_taken_of)
{
    struct snapshot snapshot;
    struct dpot_report report = fixture_report(1);
    struct dpot_error error = {{0}};
    rig_init(&rig, "sqlite::memory:", fixture_spec());
    const struct snapshot_source source = {rig.store, rig.registry};
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
    cr_assert_eq(snapshot_find(&source, rig.record.campaign_id, 0, &snapshot, &error), DPOT_OK);
    cr_assert_eq(snapshot.n_accepted, 1);
    cr_assert_eq(snapshot_check_ready(&snapshot, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "not yet: 1 of 3 accepted reports"), "%s", error.text);
    report = fixture_report(2);
    cr_assert_eq(rig_post(&rig, 0, &report, 1, NULL), INGEST_ACCEPTED);
    struct dpot_artifact artifact = {.n_values = 0};
    json_t *parameters = json_object();
    const struct solve_control nobody = {.cancel = NULL};
    const struct job_input input = {
        .snapshot = &snapshot, .parameters = parameters, .control = &nobody};
    cr_assert_eq(kind_of("estimate")->run(&input, &artifact, &error), DPOT_OK);
    cr_assert_eq(artifact.pool_count, 1);
    dpot_artifact_release(&artifact);

    /* A store that holds fewer reports than it counted is corrupt. */
    snapshot.n_accepted = 3;
    cr_assert_eq(kind_of("estimate")->run(&input, &artifact, &error), DPOT_ERR_CORRUPT);
    dpot_artifact_release(&artifact);
    json_decref(parameters);
    rig_release(&rig);
}
