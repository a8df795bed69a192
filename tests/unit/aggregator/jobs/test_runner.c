/* The state diagram of jobs, edge by edge. */
#include "jobs/check.h"
#include "jobs/runner.h"
#include "proto/wire_artifact.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ENDLESS "{\"max_iterations\":1000000000,\"gap\":0}"
#define SHORT "{\"max_iterations\":50,\"gap\":0}"

static struct rig rig;
static struct runner *runner;
static char folder[FIXTURE_PATH_SIZE];
static char url[FIXTURE_PATH_SIZE + 16];

/* Number of reports of each state by the runner; written by its worker, read after closing. */
static size_t n_reported[JOB_CANCELLED + 1];
static size_t n_refusals;

static void note_change(void *ctx, const struct job_record *record, const struct dpot_error *error)
{
    (void)ctx;
    (void)error;
    if (record) {
        n_reported[record->state]++;
    } else {
        n_refusals++;
    }
}

static void open_runner(void)
{
    struct dpot_error error = {{0}};
    const struct runner_config config = {
        .source = {rig.store, rig.registry}, .clock = &rig.clock.clock, .on_change = note_change};
    cr_assert_eq(runner_open(&config, &runner, &error), DPOT_OK, "%s", error.text);
}

static void set_up(void)
{
    char path[FIXTURE_PATH_SIZE];
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    rig_init(&rig, url, fixture_spec());
    open_runner();
}

static void refuse_fault(void *ctx, const char *sentence)
{
    (void)ctx;
    cr_assert_fail("%s", sentence);
}

static void refuse_job(void *ctx, dpot_status status, const char *sentence)
{
    if (status != DPOT_OK) {
        refuse_fault(ctx, sentence);
    }
}

/* The rows of all ended jobs must pass the check of dpotd doctor. */
static void expect_sound_rows(void)
{
    cr_assert_eq(store_check_tables(rig.store, STORE_TABLES_AND_COUNTS, refuse_fault, NULL, NULL),
                 DPOT_OK);
    cr_assert_eq(jobs_check(rig.store, refuse_job, NULL, NULL), DPOT_OK);
}

static void tear_down(void)
{
    runner_close(runner);
    rig_release(&rig);
    fixture_remove(folder);
}

TestSuite(runner, .init = set_up, .fini = tear_down);

static dpot_status try_start(const char *kind, const char *given, struct job_record *record,
                             struct dpot_error *error)
{
    json_t *parameters = given ? fixture_json(given) : NULL;
    const dpot_status status =
        runner_start(runner, kind, rig.record.campaign_id, 0, parameters, record, error);
    json_decref(parameters);
    return status;
}

static struct job_record start(const char *kind, const char *given)
{
    struct job_record record;
    struct dpot_error error = {{0}};
    cr_assert_eq(try_start(kind, given, &record, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(record.state, JOB_QUEUED);
    return record;
}

static struct job_record get(const struct job_record *job)
{
    struct job_record record;
    struct dpot_error error = {{0}};
    cr_assert_eq(runner_get(runner, job->id, &record, &error), DPOT_OK, "%s", error.text);
    return record;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static struct job_record wait_for(const struct job_record *job, enum job_state state)
{
    for (int i = 0; i < 30000; i++) {
        const struct job_record record = get(job);
        if (record.state == state) {
            return record;
        }
        cr_assert(record.state == JOB_QUEUED || record.state == JOB_RUNNING, "the job is %s: %s",
                  job_state_name(record.state), record.sentence);
        pause_ms(1);
    }
    cr_assert_fail("the job never was %s", job_state_name(state));
    return *job;
}

/* Waits until the job has made progress. */
static struct job_record wait_for_progress(const struct job_record *job)
{
    for (int i = 0; i < 30000; i++) {
        const struct job_record record = get(job);
        if (record.n_done > 0) {
            return record;
        }
        pause_ms(1);
    }
    cr_assert_fail("no progress");
    return *job;
}

static dpot_status cancel(const struct job_record *job, struct dpot_error *error)
{
    struct job_record record;
    return runner_cancel(runner, job->id, &record, error);
}

static void post_reports(uint32_t n)
{
    struct dpot_report reports[64];
    for (uint32_t i = 0; i < n; i++) {
        reports[i] = fixture_report(i);
    }
    cr_assert_eq(rig_post(&rig, 0, reports, n, NULL), INGEST_ACCEPTED);
}

static void load(const uint8_t *digest, struct dpot_artifact *artifact)
{
    struct dpot_buf bytes;
    struct dpot_error error = {{0}};
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(store_get_artifact(rig.store, digest, &bytes, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_wire_artifact_decode(bytes.data, bytes.len, NULL, artifact, &error), DPOT_OK,
                 "%s", error.text);
    dpot_buf_release(&bytes);
}

Test(runner, a_job_gives_an_artifact_with_its_provenance)
{
    const struct job_record job = start("base-measure", SHORT);
    const struct job_record done = wait_for(&job, JOB_DONE);
    struct dpot_artifact artifact;
    cr_assert_eq(done.n_done, 50);
    cr_assert_eq(done.n_total, 50);
    cr_assert_eq(done.n_attempts, 1);
    cr_assert_eq(done.started_ms, FIXTURE_NOW_MS);
    cr_assert_eq(done.ended_ms, FIXTURE_NOW_MS);
    load(done.artifact, &artifact);
    cr_assert_str_eq(artifact.kind, "base-measure");
    cr_assert_str_eq(artifact.parameters, done.parameters);
    cr_assert_not_null(strstr(artifact.parameters, "\"max_iterations\":50"));
    cr_assert_arr_eq(artifact.campaign_hash, rig.record.hash, DPOT_HASH_LEN);
    cr_assert_neq(artifact.program_version[0], '\0');
    dpot_artifact_release(&artifact);
    expect_sound_rows();
}

Test(runner, the_same_job_twice_gives_the_same_artifact)
{
    const struct job_record a = start("base-measure", SHORT), b = start("base-measure", SHORT);
    const struct job_record first = wait_for(&a, JOB_DONE), second = wait_for(&b, JOB_DONE);
    cr_assert_arr_eq(first.artifact, second.artifact, DPOT_HASH_LEN);
}

Test(runner, an_estimate_waits_for_the_minimum_pool)
{
    struct job_record record;
    struct dpot_error error = {{0}};
    cr_assert_eq(try_start("estimate", NULL, &record, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "not yet: 0 of 3 accepted reports"), "%s", error.text);
    post_reports(2);
    cr_assert_eq(try_start("estimate", NULL, &record, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "not yet: 2 of 3 accepted reports"), "%s", error.text);
    cr_assert_eq(store_next_job(rig.store, &record, NULL), DPOT_ERR_NOT_FOUND);
    post_reports(20);
    const struct job_record job = start("estimate", NULL);
    const struct job_record done = wait_for(&job, JOB_DONE);
    struct dpot_artifact artifact;
    load(done.artifact, &artifact);
    cr_assert_eq(artifact.pool_count, 20);
    dpot_artifact_release(&artifact);
}

Test(runner, a_wrong_job_is_refused_before_it_is_queued)
{
    struct job_record record;
    struct dpot_error error = {{0}};
    const uint8_t nobody[DPOT_CAMPAIGN_ID_LEN] = {0};
    cr_assert_eq(try_start("barycenter", NULL, &record, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "barycenter"));
    cr_assert_eq(try_start("base-measure", "{\"gap\":2}", &record, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "parameters.gap is 2"), "%s", error.text);
    cr_assert_eq(runner_start(runner, "base-measure", nobody, 0, NULL, &record, &error),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_eq(store_next_job(rig.store, &record, NULL), DPOT_ERR_NOT_FOUND);
}

Test(runner, a_campaign_of_kpm_is_estimated_and_has_no_base_measure_job)
{
    struct revision_record kpm;
    struct job_record record;
    struct dpot_error error = {{0}};
    json_t *spec = fixture_spec();
    (void)json_object_set_new(spec, "mechanism", fixture_json("{\"type\":\"kpm\",\"epsilon\":1}"));
    cr_assert_eq(registry_create(rig.registry, spec, &kpm, &error), DPOT_OK, "%s", error.text);
    json_decref(spec);
    cr_assert_eq(registry_open_campaign(rig.registry, kpm.campaign_id, &kpm, NULL, NULL), DPOT_OK);
    cr_assert_eq(runner_start(runner, "base-measure", kpm.campaign_id, 0, NULL, &record, &error),
                 DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "kpm"), "%s", error.text);
    rig.record = kpm;
    post_reports(3);
    cr_assert_eq(runner_start(runner, "estimate", kpm.campaign_id, 0, NULL, &record, &error),
                 DPOT_OK, "%s", error.text);
    (void)wait_for(&record, JOB_DONE);
}

Test(runner, of_two_concurrent_jobs_the_second_waits)
{
    const struct job_record first = start("base-measure", ENDLESS);
    (void)wait_for_progress(&first);
    const struct job_record second = start("base-measure", SHORT);
    pause_ms(20);
    cr_assert_eq(get(&second).state, JOB_QUEUED);
    cr_assert_eq(get(&first).state, JOB_RUNNING);
    cr_assert_eq(cancel(&first, NULL), DPOT_OK);
    (void)wait_for(&second, JOB_DONE);
    cr_assert_eq(get(&first).state, JOB_CANCELLED);
    expect_sound_rows();
}

Test(runner, a_queued_job_is_cancelled_at_once)
{
    const struct job_record first = start("base-measure", ENDLESS);
    (void)wait_for_progress(&first);
    const struct job_record second = start("base-measure", SHORT);
    cr_assert_eq(cancel(&second, NULL), DPOT_OK);
    const struct job_record record = get(&second);
    cr_assert_eq(record.state, JOB_CANCELLED);
    cr_assert_eq(record.started_ms, 0);
    cr_assert_eq(record.ended_ms, FIXTURE_NOW_MS);
    cr_assert_eq(cancel(&first, NULL), DPOT_OK);
    (void)wait_for(&first, JOB_CANCELLED);
    expect_sound_rows();
}

Test(runner, a_job_cancelled_at_any_moment_ends_and_the_next_one_runs)
{
    for (long us = 0; us < 3000; us += 150) {
        const struct job_record job = start("base-measure", ENDLESS);
        const struct timespec t = {.tv_nsec = us * 1000};
        (void)nanosleep(&t, NULL);
        cr_assert_eq(cancel(&job, NULL), DPOT_OK);
        const struct job_record record = wait_for(&job, JOB_CANCELLED);
        cr_assert_str_eq(record.sentence, "");
    }
    const struct job_record last = start("base-measure", SHORT);
    (void)wait_for(&last, JOB_DONE);
    expect_sound_rows();
}

/* A short job may be done before it is cancelled: then the cancel is refused and the result
 * stays. */
Test(runner, a_cancel_near_the_end_is_done_or_refused)
{
    for (int i = 0; i < 40; i++) {
        struct dpot_error error = {{0}};
        const struct job_record job = start("base-measure", SHORT);
        const struct timespec t = {.tv_nsec = i * 50000};
        (void)nanosleep(&t, NULL);
        const dpot_status status = cancel(&job, &error);
        if (status == DPOT_OK) {
            (void)wait_for(&job, JOB_CANCELLED);
        } else {
            cr_assert_eq(status, DPOT_ERR_STATE);
            cr_assert_not_null(strstr(error.text, "the job is done"), "%s", error.text);
            cr_assert_eq(get(&job).state, JOB_DONE);
        }
    }
    expect_sound_rows();
}

Test(runner, an_ended_or_unknown_job_cannot_be_cancelled)
{
    struct dpot_error error = {{0}};
    const struct job_record unknown = {.id = {1}};
    cr_assert_eq(cancel(&unknown, &error), DPOT_ERR_NOT_FOUND);
    const struct job_record job = start("base-measure", SHORT);
    (void)wait_for(&job, JOB_DONE);
    cr_assert_eq(cancel(&job, &error), DPOT_ERR_STATE);
    cr_assert_not_null(strstr(error.text, "nothing to cancel"), "%s", error.text);
}

static int find_running(void *ctx, const struct job_record *record)
{
    if (record->state == JOB_RUNNING) {
        *(struct job_record *)ctx = *record;
    }
    return 0;
}

Test(runner, the_list_shows_the_present_progress)
{
    struct job_record listed = {.n_done = 0};
    const struct job_record job = start("base-measure", ENDLESS);
    (void)wait_for_progress(&job);
    cr_assert_eq(runner_list(runner, NULL, find_running, &listed, NULL), DPOT_OK);
    cr_assert_arr_eq(listed.id, job.id, JOB_ID_LEN);
    cr_assert_gt(listed.n_done, 0);
    cr_assert_eq(listed.n_total, 1000000000);
    cr_assert_eq(cancel(&job, NULL), DPOT_OK);
}

Test(runner, closing_sends_the_running_job_back_into_the_queue_and_opening_resumes_it)
{
    struct job_record record;
    const struct job_record job = start("base-measure", ENDLESS);
    (void)wait_for_progress(&job);
    runner_close(runner);
    cr_assert_eq(store_get_job(rig.store, job.id, &record, NULL), DPOT_OK);
    cr_assert_eq(record.state, JOB_QUEUED);
    cr_assert_eq(record.n_done, 0);
    cr_assert_eq(record.n_attempts, 0);
    open_runner();
    (void)wait_for_progress(&job);
    cr_assert_eq(cancel(&job, NULL), DPOT_OK);
    (void)wait_for(&job, JOB_CANCELLED);
    expect_sound_rows();
}

Test(runner, a_job_interrupted_by_a_crash_is_done_after_a_restart)
{
    struct job_record record;
    const struct job_record blocker = start("base-measure", ENDLESS);
    const struct job_record job = start("base-measure", SHORT);
    (void)wait_for_progress(&blocker);
    cr_assert_eq(cancel(&blocker, NULL), DPOT_OK);
    (void)wait_for(&job, JOB_DONE);
    runner_close(runner);

    /* As a process leaves it that was killed during the job. */
    cr_assert_eq(store_get_job(rig.store, job.id, &record, NULL), DPOT_OK);
    const struct job_record expected = record;
    dpot_random_bytes(record.id, sizeof record.id);
    cr_assert_eq(store_add_job(rig.store, &record, NULL), DPOT_OK);
    record.state = JOB_RUNNING;
    record.n_attempts = 1;
    record.n_done = 7;
    record.ended_ms = 0;
    cr_assert_eq(store_update_job(rig.store, &record, NULL), DPOT_OK);
    rig_reopen(&rig, url);
    open_runner();
    const struct job_record done = wait_for(&record, JOB_DONE);
    cr_assert_eq(done.n_attempts, 2);
    cr_assert_arr_eq(done.artifact, expected.artifact, DPOT_HASH_LEN);
    expect_sound_rows();
}

Test(runner, a_kind_that_the_program_no_longer_has_fails_by_name)
{
    struct job_record record = {.kind = "oracle", .parameters = "{}", .id = {9}};
    memcpy(record.campaign_id, rig.record.campaign_id, sizeof record.campaign_id);
    memcpy(record.hash, rig.record.hash, sizeof record.hash);
    runner_close(runner);
    cr_assert_eq(store_add_job(rig.store, &record, NULL), DPOT_OK);
    open_runner();
    const struct job_record failed = wait_for(&record, JOB_FAILED);
    cr_assert_not_null(strstr(failed.sentence, "oracle"), "%s", failed.sentence);
    expect_sound_rows();
}

Test(runner, a_missing_or_altered_revision_fails_the_job_and_not_the_server)
{
    struct job_record record = {.kind = "base-measure", .id = {9}};
    (void)snprintf(record.parameters, sizeof record.parameters, "{\"method\":\"uniform\"}");
    runner_close(runner);
    cr_assert_eq(store_add_job(rig.store, &record, NULL), DPOT_OK);
    open_runner();
    const struct job_record failed = wait_for(&record, JOB_FAILED);
    cr_assert_not_null(strstr(failed.sentence, "no revision"), "%s", failed.sentence);
    const struct job_record next = start("base-measure", SHORT);
    (void)wait_for(&next, JOB_DONE);
}

/* Queues a job without its checks, as by writing into the file. */
static void expect_failed(struct job_record record, const char *kind, const char *parameters,
                          const char *word)
{
    runner_close(runner);
    (void)snprintf(record.kind, sizeof record.kind, "%s", kind);
    (void)snprintf(record.parameters, sizeof record.parameters, "%s", parameters);
    dpot_random_bytes(record.id, sizeof record.id);
    cr_assert_eq(store_add_job(rig.store, &record, NULL), DPOT_OK);
    open_runner();
    const struct job_record failed = wait_for(&record, JOB_FAILED);
    cr_assert_not_null(strstr(failed.sentence, word), "%s: %s", parameters, failed.sentence);
}

Test(runner, altered_parameters_fail_the_job)
{
    static const char *const altered[] = {
        "{",
        "[1]",
        "",
        "{}",
        "{\"method\":3}",
        "{\"method\":\"mirror\"}",
        "{\"a\":1}",
        "{\"method\":\"uniform\",\"gap\":0.5}",
        "{\"gap\":0.0,\"max_iterations\":-1,\"method\":\"mirror\"}",
        "{\"gap\":0.0,\"max_iterations\":9000000000000000000,\"method\":\"mirror\"}"};
    struct job_record record = {.state = JOB_QUEUED};
    memcpy(record.hash, rig.record.hash, sizeof record.hash);
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        expect_failed(record, "base-measure", altered[i], "start a new one");
    }
    expect_failed(record, "estimate", "{\"a\":1}", "start a new one");
}

Test(runner, a_job_moved_to_another_campaign_is_checked_again)
{
    struct revision_record other;
    struct job_record record = {.state = JOB_QUEUED};
    json_t *spec = fixture_spec();
    (void)json_object_set_new(spec, "mechanism", fixture_json("{\"type\":\"kpm\",\"epsilon\":1}"));
    cr_assert_eq(registry_create(rig.registry, spec, &other, NULL), DPOT_OK);
    memcpy(record.hash, other.hash, sizeof record.hash);
    expect_failed(record, "base-measure", "{\"method\":\"uniform\"}", "mechanism is kpm");
    (void)json_object_set_new(spec, "mechanism",
                              fixture_json("{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.1}"));
    (void)json_object_set_new(
        spec, "domain",
        fixture_json("{\"type\":\"grid\",\"lo\":[0,0],\"hi\":[1,1],\"shape\":[200,200]}"));
    (void)json_object_set_new(spec, "metric", json_string("euclidean"));
    cr_assert_eq(registry_create(rig.registry, spec, &other, NULL), DPOT_OK);
    memcpy(record.hash, other.hash, sizeof record.hash);
    expect_failed(record, "base-measure", "{\"method\":\"uniform\"}", "40000 x 40000 costs");
    json_decref(spec);
}

/* ---- revisions ---- */

/* Revision 2, open; rig.record is it. Returns revision 1, closed. */
static struct revision_record open_revision_2(void)
{
    const struct revision_record former = rig.record;
    struct dpot_error error = {{0}};
    json_t *change =
        fixture_json("{\"base_measure\":[0.12,0.06,0.18,0.12,0.12,0.12,0.06,0.18,0.12,0.12]}");
    cr_assert_eq(registry_revise(rig.registry, former.campaign_id, change, &rig.record, &error),
                 DPOT_OK, "%s", error.text);
    json_decref(change);
    cr_assert_eq(
        registry_open_campaign(rig.registry, former.campaign_id, &rig.record, NULL, &error),
        DPOT_OK, "%s", error.text);
    return former;
}

static void expect_estimate(uint32_t number, const struct revision_record *revision,
                            enum revision_state state, uint64_t n)
{
    struct job_record job;
    struct dpot_artifact artifact;
    struct dpot_error error = {{0}};
    cr_assert_eq(
        runner_start(runner, "estimate", rig.record.campaign_id, number, NULL, &job, &error),
        DPOT_OK, "%s", error.text);
    cr_assert_eq(job.revision, revision->revision);
    cr_assert_eq(job.revision_state, state);
    const struct job_record done = wait_for(&job, JOB_DONE);
    cr_assert_eq(done.revision, revision->revision);
    cr_assert_eq(done.revision_state, state);
    load(done.artifact, &artifact);
    cr_assert_eq(artifact.revision, revision->revision);
    cr_assert_arr_eq(artifact.campaign_hash, revision->hash, DPOT_HASH_LEN);
    cr_assert_eq(artifact.pool_count, n);
    dpot_artifact_release(&artifact);
}

Test(runner, a_job_reads_the_pool_of_the_revision_it_names_open_or_closed)
{
    post_reports(20);
    const struct revision_record former = open_revision_2();
    post_reports(7);
    expect_estimate(1, &former, REVISION_CLOSED, 20);
    expect_estimate(2, &rig.record, REVISION_OPEN, 7);
    expect_estimate(0, &rig.record, REVISION_OPEN, 7);
}

Test(runner, a_job_keeps_its_revision_when_another_one_opens)
{
    struct job_record listed = {.n_done = 0};
    const struct job_record blocker = start("base-measure", ENDLESS);
    (void)wait_for_progress(&blocker);
    post_reports(20);
    const struct job_record job = start("estimate", NULL);
    (void)open_revision_2();
    cr_assert_eq(get(&blocker).revision, 1);
    cr_assert_eq(get(&blocker).revision_state, REVISION_CLOSED, "as it is now, while it runs");
    cr_assert_eq(runner_list(runner, NULL, find_running, &listed, NULL), DPOT_OK);
    cr_assert_eq(listed.revision_state, REVISION_CLOSED);
    cr_assert_eq(cancel(&blocker, NULL), DPOT_OK);
    const struct job_record done = wait_for(&job, JOB_DONE);
    struct dpot_artifact artifact;
    load(done.artifact, &artifact);
    cr_assert_eq(artifact.revision, 1);
    cr_assert_eq(artifact.pool_count, 20);
    dpot_artifact_release(&artifact);
}

Test(runner, a_revision_that_does_not_exist_has_no_job)
{
    struct job_record record;
    struct dpot_error error = {{0}};
    cr_assert_eq(
        runner_start(runner, "base-measure", rig.record.campaign_id, 2, NULL, &record, &error),
        DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "no revision 2: choose from 1 (open)"), "%s", error.text);
    cr_assert_eq(store_next_job(rig.store, &record, NULL), DPOT_ERR_NOT_FOUND);
}

Test(runner, a_job_of_another_version_fails_and_names_the_parameter)
{
    static const struct {
        const char *kind, *parameters, *word;
    } queued[] = {
        {"estimate", "{\"smoothing\":1}", "parameters.smoothing is not known"},
        {"base-measure", "{\"method\":\"uniform\",\"tilt\":2}", "parameters.tilt is not known"},
        {"base-measure", "{\"max_iterations\":5,\"method\":\"mirror\"}",
         "it has no parameters.gap, which this version needs"},
        {"base-measure", "{\"gap\":0,\"max_iterations\":5,\"method\":\"mirror\"}",
         "its parameters.gap is not written as this version writes it"},
        {"oracle", "{}", "kind is \"oracle\""},
    };
    struct job_record record = {.state = JOB_QUEUED};
    memcpy(record.hash, rig.record.hash, sizeof record.hash);
    for (size_t i = 0; i < sizeof queued / sizeof queued[0]; i++) {
        expect_failed(record, queued[i].kind, queued[i].parameters, queued[i].word);
        expect_failed(record, queued[i].kind, queued[i].parameters, "start a new one");
    }
}

Test(runner, every_start_and_end_is_reported_to_the_operator)
{
    const struct job_record a = start("base-measure", SHORT);
    (void)wait_for(&a, JOB_DONE);
    const struct job_record b = start("base-measure", ENDLESS);
    (void)wait_for_progress(&b);
    cr_assert_eq(cancel(&b, NULL), DPOT_OK);
    (void)wait_for(&b, JOB_CANCELLED);
    runner_close(runner);
    cr_assert_eq(n_reported[JOB_RUNNING], 2);
    cr_assert_eq(n_reported[JOB_DONE], 1);
    cr_assert_eq(n_reported[JOB_CANCELLED], 1);
    cr_assert_eq(n_refusals, 0);
    open_runner();
}
