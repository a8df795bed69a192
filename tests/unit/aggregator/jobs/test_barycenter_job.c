/* Kind barycenter: parameters, refusals, and the groups of a pool deconvolved and averaged. */
#include "campaign/spec.h"
#include "jobs/clean_groups.h"
#include "jobs/job.h"
#include "jobs/pooled_barycenter.h"
#include "pool/channel.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/page.h"
#include "unit/aggregator/vectors.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SIDE 6
#define K (SIDE * SIDE)

static struct store *store;
static uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
static struct revision_record record;
static uint32_t n_appended;

static void set_up(void)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    cr_assert_eq(dpot_init(), DPOT_OK);
    dpot_sign_keypair(public_key, secret_key);
    cr_assert_eq(store_open("sqlite::memory:", &store, NULL), DPOT_OK);
}

static void tear_down(void)
{
    store_close(store);
}

TestSuite(barycenter_job, .init = set_up, .fini = tear_down);

/* ---- campaigns ---- */

static struct dpot_campaign compile(const char *domain, const char *mechanism, const char *groups,
                                    unsigned min_pool)
{
    char text[1024];
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {7};
    struct dpot_campaign campaign;
    struct dpot_error error = {{0}};
    (void)snprintf(text, sizeof text,
                   "{\"name\":\"regions\",\"domain\":{%s},\"metric\":\"euclidean\",\"power\":2,"
                   "\"mechanism\":{%s},\"opens\":\"2026-01-01T00:00:00Z\","
                   "\"closes\":\"2027-01-01T00:00:00Z\",\"min_pool\":%u,\"groups\":[%s]}",
                   domain, mechanism, min_pool, groups);
    json_t *spec = fixture_json(text);
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    json_decref(spec);
    return campaign;
}

#define GRID "\"type\":\"grid\",\"lo\":[0,0],\"hi\":[6,6],\"shape\":[6,6]"
#define BOX "\"type\":\"box\",\"lo\":[0,0],\"hi\":[8,8]"
#define BALL                                                                                       \
    "\"type\":\"wpm\",\"epsilon\":4,\"lambda\":0.01,\"iterations\":20,\"base_measure\":\"ball\","  \
    "\"sample_first\":true"
#define LAPLACE "\"type\":\"laplace\",\"epsilon\":16"
#define TWO "\"north\",\"south\""

static struct dpot_campaign index_campaign(unsigned min_pool)
{
    return compile(GRID, BALL, TWO, min_pool);
}

static void append(uint32_t group, uint32_t index, const double *row,
                   const struct dpot_campaign *campaign)
{
    int64_t values[2];
    struct dpot_report report = fixture_report(n_appended++);
    report.group = group;
    report.index = row ? 0 : index;
    if (row) {
        report.values = values;
        report.n_values = 2;
        for (size_t j = 0; j < 2; j++) {
            values[j] = (int64_t)llround(row[j] / campaign->vector.grid_step);
        }
    }
    vectors_append(store, record.hash, 0, &report, 1);
}

/* Adds the expected reports of n devices at this place, rounded, for each output. */
static void append_place(const struct dpot_campaign *campaign, uint32_t group, size_t place,
                         double n)
{
    static double channel[K * K];
    cr_assert_eq(channel_fill(campaign, NULL, NULL, channel, NULL), DPOT_OK);
    for (uint32_t j = 0; j < K; j++) {
        for (long i = lround(n * channel[place * K + j]); i > 0; i--) {
            append(group, j, NULL, campaign);
        }
    }
}

/* Quantiles of Laplace noise in both coordinates. */
static void append_noise(const struct dpot_campaign *campaign, uint32_t group, double x, double y)
{
    const double b = ldexp(campaign->vector.grid_step, (int)campaign->noise.scale_log2);
    enum { STEPS = 20 };
    for (int i = 0; i < STEPS; i++) {
        for (int j = 0; j < STEPS; j++) {
            double row[2] = {x, y};
            const double u[2] = {(i + 0.5) / STEPS - 0.5, (j + 0.5) / STEPS - 0.5};
            for (size_t k = 0; k < 2; k++) {
                row[k] -= b * (u[k] < 0 ? -1 : 1) * log(1 - 2 * fabs(u[k]));
            }
            append(group, 0, row, campaign);
        }
    }
}

/* ---- parameters ---- */

static void refuse(const struct dpot_campaign *campaign, const char *given, dpot_status status,
                   const char *word)
{
    struct dpot_error error = {{0}};
    json_t *value = fixture_json(given), *parameters = NULL;
    const dpot_status found = job_barycenter.complete(campaign, value, &parameters, &error);
    cr_assert_eq(found, status, "%s: %s", dpot_status_name(found), error.text);
    cr_assert_null(parameters);
    cr_assert_not_null(strstr(error.text, word), "%s says: %s", given, error.text);
    json_decref(value);
}

static json_t *complete(const struct dpot_campaign *campaign, const char *given)
{
    struct dpot_error error = {{0}};
    json_t *value = fixture_json(given), *parameters = NULL, *again = NULL;
    cr_assert_eq(job_barycenter.complete(campaign, value, &parameters, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(job_barycenter.complete(campaign, parameters, &again, &error), DPOT_OK, "%s",
                 error.text);
    cr_assert(json_equal(parameters, again), "stored parameters read back unchanged");
    json_decref(again);
    json_decref(value);
    return parameters;
}

Test(barycenter_job, parameters_are_completed_for_the_campaign)
{
    struct dpot_campaign campaign = index_campaign(101);
    json_t *p = complete(&campaign, "{}");
    cr_assert_eq(json_object_size(p), 11);
    cr_assert_eq(json_integer_value(json_object_get(p, "support")), 48);
    cr_assert_eq(json_integer_value(json_object_get(p, "min_group")), 51,
                 "half of 101, rounded up");
    cr_assert(json_is_null(json_object_get(p, "group_weights")));
    json_decref(p);
    p = complete(&campaign,
                 "{\"group_weights\":[1,3],\"lambda\":0.5,\"seed\":9,\"deconvolve_tol\":0}");
    cr_assert_eq(json_real_value(json_array_get(json_object_get(p, "group_weights"), 1)), 0.75);
    cr_assert_eq(json_real_value(json_object_get(p, "deconvolve_tol")), 0);
    json_decref(p);
    dpot_campaign_release(&campaign);
    campaign = compile(BOX, LAPLACE, TWO, 1);
    json_decref(complete(&campaign, "{\"cells\":[8,9]}"));
    json_decref(complete(&campaign, "{\"atoms\":50}"));
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, the_page_has_every_parameter_with_its_default)
{
    struct dpot_campaign campaign = index_campaign(1);
    const char *text = page_section(PAGE("admin-api.md"), "\n| `barycenter`", "\n");
    json_t *parameters = complete(&campaign, "{}");
    cr_assert_eq(json_object_del(parameters, "min_group"), 0, "its default is the campaign's");
    page_expect_parameters(text, parameters);
    json_decref(parameters);
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, wrong_parameters_are_refused_by_key_and_value)
{
    struct dpot_campaign campaign = index_campaign(1);
    refuse(&campaign, "{\"suport\":3}", DPOT_ERR_MALFORMED, "parameters.suport");
    refuse(&campaign, "{\"support\":0}", DPOT_ERR_RANGE, "parameters.support is 0");
    refuse(&campaign, "{\"support\":\"m\"}", DPOT_ERR_MALFORMED, "parameters.support is \"m\"");
    refuse(&campaign, "{\"group_weights\":[1]}", DPOT_ERR_SHAPE, "give 2 numbers");
    refuse(&campaign, "{\"group_weights\":[1,-1]}", DPOT_ERR_RANGE,
           "entry 1 of parameters.group_weights is -1");
    refuse(&campaign, "{\"group_weights\":[0,0]}", DPOT_ERR_RANGE, "sums to 0");
    refuse(&campaign, "{\"lambda\":-1}", DPOT_ERR_RANGE, "parameters.lambda is -1");
    refuse(&campaign, "{\"cells\":[3,3]}", DPOT_ERR_RANGE, "its domain's");
    refuse(&campaign, "{\"atoms\":9}", DPOT_ERR_RANGE, "its domain's");
    refuse(&campaign, "[]", DPOT_ERR_MALFORMED, "JSON object");
    dpot_campaign_release(&campaign);
    campaign = compile(BOX, LAPLACE, TWO, 1);
    refuse(&campaign, "{\"cells\":[3]}", DPOT_ERR_SHAPE, "parameters.cells has 1 entry");
    refuse(&campaign, "{\"cells\":[300,300]}", DPOT_ERR_RANGE, "at most 65536");
    refuse(&campaign, "{\"cells\":[3,3],\"atoms\":9}", DPOT_ERR_RANGE, "exclude each other");
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, campaigns_that_have_no_groups_or_no_channel_are_refused)
{
    struct dpot_campaign campaign = compile(GRID, BALL, "", 1);
    refuse(&campaign, "{}", DPOT_ERR_RANGE, "\"regions\" has no groups");
    dpot_campaign_release(&campaign);
    campaign = compile(GRID, "\"type\":\"kpm\",\"epsilon\":4", TWO, 1);
    refuse(&campaign, "{}", DPOT_ERR_SHAPE, "sample_first");
    dpot_campaign_release(&campaign);
    campaign = index_campaign(1);
    campaign.metric.id = DPOT_METRIC_RING;
    refuse(&campaign, "{}", DPOT_ERR_RANGE, "ring");
    dpot_campaign_release(&campaign);
    static char labels[1][DPOT_CAMPAIGN_NAME_MAX + 1] = {"all"};
    struct dpot_campaign images = vectors_gaussian();
    images.n_groups = 1;
    images.groups = labels;
    refuse(&images, "{}", DPOT_ERR_SHAPE, "transform");
}

/* ---- runs ---- */

static struct dpot_artifact run(const struct dpot_campaign *campaign, const char *given,
                                size_t n_threads, const struct solve_control *control,
                                dpot_status expected, const char *word)
{
    static const struct solve_control nobody = {.cancel = NULL};
    struct dpot_artifact artifact = {.kind = "barycenter"};
    struct dpot_error error = {{0}};
    struct snapshot snapshot = {.store = store, .campaign = campaign, .n_accepted = n_appended};
    json_t *parameters = complete(campaign, given);
    memcpy(snapshot.hash, record.hash, sizeof snapshot.hash);
    const struct job_input input = {.snapshot = &snapshot,
                                    .parameters = parameters,
                                    .control = control ? control : &nobody,
                                    .limits = {.n_threads = n_threads}};
    cr_assert_eq(job_barycenter.check(&input, &error), DPOT_OK, "%s", error.text);
    const dpot_status status = job_barycenter.run(&input, &artifact, &error);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status), error.text);
    cr_assert(!word || strstr(error.text, word), "%s", error.text);
    json_decref(parameters);
    return artifact;
}

static double number(const struct dpot_artifact *artifact, const char *name)
{
    double value = NAN;
    cr_assert_eq(dpot_artifact_find_number(artifact, name, &value), DPOT_OK, "%s", name);
    return value;
}

/* Two groups, each at one place: the point between them by their weights is known. */
Test(barycenter_job, of_two_places_it_is_the_point_between_them)
{
    struct dpot_campaign campaign = index_campaign(1);
    const size_t a = 1 * SIDE + 1, b = 4 * SIDE + 3; /* (1.5, 1.5) and (4.5, 3.5) */
    vectors_open(store, &campaign, secret_key, &record);
    append_place(&campaign, 0, a, 2000);
    append_place(&campaign, 1, b, 1000);
    struct dpot_artifact artifact =
        run(&campaign, "{\"support\":1,\"deconvolve_tol\":0,\"deconvolve_iterations\":20000}", 1,
            NULL, DPOT_OK, NULL);
    cr_assert_float_eq(artifact.values[0], 3.0, 0.02, "%g", artifact.values[0]);
    cr_assert_float_eq(artifact.values[1], 2.5, 0.02);
    cr_assert_eq(artifact.values[2], 1, "its weight");
    cr_assert_float_eq(number(&artifact, "cost"), (9.0 + 4.0) / 4, 0.05);
    /* Of all the domain it is the middle, (3, 3): 4.5 from the first and 2.5 from the second. */
    cr_assert_float_eq(number(&artifact, "data_free_cost"), (4.5 + 2.5) / 2, 0.05, "%g",
                       number(&artifact, "data_free_cost"));
    cr_assert_leq(number(&artifact, "lower_bound"), number(&artifact, "cost") + 1e-9);
    /* The deconvolved groups: one weight on their place. */
    cr_assert_eq(artifact.n_values, 3 + 2 * K * 3);
    const double *clean = artifact.values + 3;
    cr_assert_gt(clean[3 * a], 0.99, "%g", clean[3 * a]);
    cr_assert_float_eq(clean[3 * a + 1], 1.5, 1e-12);
    cr_assert_gt(clean[3 * (K + b)], 0.99);
    cr_assert_float_eq(clean[3 * (K + b) + 2], 3.5, 1e-12);
    cr_assert(artifact.has_pool);
    cr_assert_eq(artifact.pool_count, n_appended);
    cr_assert_eq(artifact.n_counts, 2);
    cr_assert_eq(artifact.counts[0] + artifact.counts[1], n_appended);
    dpot_artifact_release(&artifact);
    artifact = run(&campaign, "{\"support\":1,\"group_weights\":[3,1],\"deconvolve_tol\":0}", 1,
                   NULL, DPOT_OK, NULL);
    cr_assert_float_eq(artifact.values[0], 1.5 + 3.0 / 4, 0.05, "%g", artifact.values[0]);
    dpot_artifact_release(&artifact);
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, of_laplace_reports_it_is_the_point_between_too)
{
    static const char *const given[] = {"{\"support\":1}", "{\"support\":1,\"cells\":[16,16]}",
                                        "{\"support\":1,\"atoms\":30}"};
    struct dpot_campaign campaign = compile(BOX, LAPLACE, TWO, 1);
    vectors_open(store, &campaign, secret_key, &record);
    append_noise(&campaign, 0, 2, 2);
    append_noise(&campaign, 1, 6, 5);
    for (size_t i = 0; i < 3; i++) {
        struct dpot_artifact artifact = run(&campaign, given[i], 2, NULL, DPOT_OK, NULL);
        cr_assert_float_eq(artifact.values[0], 4, 0.15, "%s: %g", given[i], artifact.values[0]);
        cr_assert_float_eq(artifact.values[1], 3.5, 0.15);
        cr_assert_float_eq(number(&artifact, "cost"), (16.0 + 9.0) / 4, 0.8, "%g",
                           number(&artifact, "cost"));
        cr_assert_eq(number(&artifact, "points"), i == 0 ? 1024 : i == 1 ? 256 : 30);
        dpot_artifact_release(&artifact);
    }
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, threads_make_no_difference)
{
    struct dpot_campaign campaign = compile(BOX, LAPLACE, TWO, 1);
    vectors_open(store, &campaign, secret_key, &record);
    append_noise(&campaign, 0, 2, 2);
    append_noise(&campaign, 1, 6, 5);
    struct dpot_artifact one = run(&campaign, "{\"support\":5}", 1, NULL, DPOT_OK, NULL);
    struct dpot_artifact three = run(&campaign, "{\"support\":5}", 3, NULL, DPOT_OK, NULL);
    cr_assert_eq(one.n_values, three.n_values);
    cr_assert_arr_eq(one.values, three.values, one.n_values * sizeof *one.values);
    dpot_artifact_release(&one);
    dpot_artifact_release(&three);
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, a_group_below_its_minimum_is_named)
{
    struct dpot_campaign campaign = index_campaign(20);
    vectors_open(store, &campaign, secret_key, &record);
    for (uint32_t i = 0; i < 30; i++) {
        append(i < 27 ? 0 : 1, i % K, NULL, &campaign);
    }
    struct dpot_artifact artifact = run(&campaign, "{}", 1, NULL, DPOT_ERR_STATE,
                                        "group \"south\" has 3 of 10 accepted reports");
    dpot_artifact_release(&artifact);
    artifact = run(&campaign, "{\"min_group\":3,\"support\":2}", 1, NULL, DPOT_OK, NULL);
    dpot_artifact_release(&artifact);
    artifact = run(&campaign, "{\"group_weights\":[1,0],\"support\":2}", 1, NULL, DPOT_OK, NULL);
    dpot_artifact_release(&artifact);
    dpot_campaign_release(&campaign);
}

static int64_t count_poll(void *ctx)
{
    return ++*(int64_t *)ctx;
}

Test(barycenter_job, it_can_be_stopped_at_every_check)
{
    struct dpot_campaign campaign = index_campaign(1);
    vectors_open(store, &campaign, secret_key, &record);
    append_place(&campaign, 0, 7, 300);
    append_place(&campaign, 1, 20, 300);
    size_t n_results = 0;
    for (int64_t n_most = 1; n_most < 400; n_most += 7) {
        int64_t n_polls = 0;
        const struct dpot_clock clock = {
            .struct_size = sizeof clock, .ctx = &n_polls, .now = count_poll};
        const struct solve_control control = {.clock = &clock, .deadline_ms = n_most};
        struct dpot_artifact artifact =
            run(&campaign, "{\"support\":3}", 1, &control, DPOT_OK, NULL);
        cr_assert_leq(n_polls, n_most + 8, "it goes on for %lld polls",
                      (long long)(n_polls - n_most));
        n_results += artifact.n_numbers > 0;
        dpot_artifact_release(&artifact);
    }
    cr_assert_gt(n_results, 0);
    dpot_campaign_release(&campaign);
}

Test(barycenter_job, a_job_beyond_the_memory_limit_is_refused_before_it_is_queued)
{
    struct dpot_campaign campaign = compile(BOX, LAPLACE, TWO, 1);
    struct dpot_error error = {{0}};
    const struct snapshot snapshot = {.campaign = &campaign, .n_accepted = 100000000};
    json_t *parameters = complete(&campaign, "{}");
    const struct job_input input = {
        .snapshot = &snapshot, .parameters = parameters, .limits = {.memory_max = 1 << 20}};
    cr_assert_eq(job_barycenter.check(&input, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "limits.job_memory_bytes"), "%s", error.text);
    json_decref(parameters);
    dpot_campaign_release(&campaign);
}

/* ---- the reports of the groups ---- */

Test(barycenter_job, rows_are_sorted_by_group_and_stay_in_order_within)
{
    struct dpot_campaign campaign = compile(BOX, LAPLACE, TWO, 1);
    struct group_reports reports;
    struct dpot_error error = {{0}};
    cr_assert_eq(group_reports_init(&campaign, 5, &reports, &error), DPOT_OK);
    for (uint32_t i = 0; i < 5; i++) {
        const double row[2] = {i, -1.0 * i};
        cr_assert_eq(group_reports_add(&reports, i % 2, 0, row, &error), DPOT_OK);
    }
    const double row[2] = {0};
    cr_assert_eq(group_reports_add(&reports, 0, 0, row, &error), DPOT_ERR_RANGE, "the sixth");
    cr_assert_eq(group_reports_add(&reports, 2, 0, row, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "group 2"), "%s", error.text);
    cr_assert_eq(group_reports_sort(&reports, &error), DPOT_OK);
    cr_assert(reports.n_of[0] == 3 && reports.n_of[1] == 2);
    const double *first = group_reports_rows(&reports, 0),
                 *second = group_reports_rows(&reports, 1);
    cr_assert(first[0] == 0 && first[2] == 2 && first[4] == 4 && first[5] == -4);
    cr_assert(second[0] == 1 && second[2] == 3);
    group_reports_release(&reports);
    dpot_campaign_release(&campaign);
    campaign = index_campaign(1);
    cr_assert_eq(group_reports_init(&campaign, 5, &reports, &error), DPOT_OK);
    cr_assert_eq(group_reports_add(&reports, 0, K, NULL, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "point 36"), "%s", error.text);
    group_reports_release(&reports);
    dpot_campaign_release(&campaign);
}
