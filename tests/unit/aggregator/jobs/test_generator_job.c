/* Kind generator: parameters, refusals, checkpoints, and one result however often it is
 * interrupted. */
#include "generator/model.h"
#include "jobs/checkpoint.h"
#include "jobs/job.h"
#include "jobs/runner.h"
#include "proto/wire_artifact.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/vectors.h"

#include "base/clock.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_REPORTS 60
#define SMALL                                                                                      \
    "{\"arch\":\"mlp:6\",\"batch\":16,\"atoms\":30,\"sinkhorn\":5,\"steps\":40,\"seed\":4}"
#define LONG                                                                                       \
    "{\"arch\":\"mlp:6\",\"batch\":16,\"atoms\":30,\"sinkhorn\":5,\"steps\":12000,\"seed\":4}"
#define ENDLESS                                                                                    \
    "{\"arch\":\"mlp:6\",\"batch\":16,\"atoms\":30,\"sinkhorn\":5,\"steps\":400000,\"seed\":4}"

static struct rig rig;
static struct revision_record record;
static char folder[FIXTURE_PATH_SIZE], checkpoint_folder[FIXTURE_PATH_SIZE];
static uint32_t n_appended;

static void append_reports(uint32_t n)
{
    int64_t values[2];
    for (uint32_t i = 0; i < n; i++) {
        const struct dpot_report report = vectors_report(n_appended++, 2, 5, values);
        vectors_append(rig.store, record.hash, 0, &report, 1);
    }
}

static void set_up(void)
{
    char path[FIXTURE_PATH_SIZE], url[FIXTURE_PATH_SIZE + 16];
    const struct dpot_campaign campaign = vectors_laplace(2);
    fixture_folder(folder);
    fixture_path(path, folder, "dpot.db");
    fixture_path(checkpoint_folder, folder, "dpot.db-jobs");
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    rig_init(&rig, url, fixture_spec());
    vectors_open(rig.store, &campaign, rig.secret_key, &record);
    append_reports(N_REPORTS);
}

static void tear_down(void)
{
    rig_release(&rig);
    fixture_remove(folder);
}

TestSuite(generator_job, .init = set_up, .fini = tear_down);

static struct snapshot take_snapshot(void)
{
    const struct snapshot_source source = {rig.store, rig.registry};
    struct snapshot snapshot;
    cr_assert_eq(snapshot_take(&source, record.hash, &snapshot, NULL), DPOT_OK);
    return snapshot;
}

/* ---- parameters ---- */

static void refuse(const struct dpot_campaign *campaign, const char *given, dpot_status status,
                   const char *word)
{
    struct dpot_error error = {{0}};
    json_t *value = fixture_json(given), *parameters = NULL;
    const dpot_status found = job_generator.complete(campaign, value, &parameters, &error);
    cr_assert_eq(found, status, "%s: %s", dpot_status_name(found), error.text);
    cr_assert_null(parameters);
    cr_assert_not_null(strstr(error.text, word), "%s says: %s", given, error.text);
    json_decref(value);
}

Test(generator_job, parameters_are_completed_for_the_campaign_and_refused_by_name)
{
    const struct snapshot snapshot = take_snapshot();
    const struct dpot_campaign *campaign = snapshot.campaign;
    json_t *empty = json_object(), *p = NULL, *again = NULL;
    cr_assert_eq(job_generator.complete(campaign, empty, &p, NULL), DPOT_OK);
    cr_assert_eq(json_object_size(p), 13);
    cr_assert_str_eq(json_string_value(json_object_get(p, "cost")), "l1");
    cr_assert_eq(json_integer_value(json_object_get(p, "atoms")), 4096);
    cr_assert_eq(job_generator.complete(campaign, p, &again, NULL), DPOT_OK);
    cr_assert(json_equal(p, again), "what is stored is read again as it is");
    json_decref(again);
    json_decref(p);
    json_decref(empty);
    refuse(campaign, "{\"stepps\":1}", DPOT_ERR_MALFORMED, "parameters.stepps is not known");
    refuse(campaign, "{\"steps\":\"many\"}", DPOT_ERR_MALFORMED, "parameters.steps is \"many\"");
    refuse(campaign, "{\"atoms\":5,\"pool_batch\":5}", DPOT_ERR_RANGE, "give one of them");
    refuse(campaign, "{\"arch\":\"dcgan28:8\"}", DPOT_ERR_RANGE, "parameters.arch");
    refuse(campaign, "{\"arch\":\"mlp:8000,8000\"}", DPOT_ERR_TOO_LARGE, "has 64");
    refuse(campaign, "[]", DPOT_ERR_MALFORMED, "JSON object");
}

Test(generator_job, campaigns_whose_reports_name_points_are_refused_by_their_mechanism)
{
    static const enum dpot_mechanism_id ids[] = {DPOT_MECHANISM_WPM, DPOT_MECHANISM_KPM,
                                                 DPOT_MECHANISM_EXPONENTIAL};
    for (size_t i = 0; i < 3; i++) {
        const struct dpot_campaign campaign = {.mechanism = ids[i]};
        refuse(&campaign, "{}", DPOT_ERR_SHAPE, dpot_mechanism_name(ids[i]));
    }
}

static dpot_status check(const struct snapshot *snapshot, const char *given, uint64_t memory_max,
                         struct dpot_error *error)
{
    json_t *parameters = fixture_json(given);
    const struct job_input input = {
        .snapshot = snapshot, .parameters = parameters, .limits = {.memory_max = memory_max}};
    const dpot_status status = job_generator.check(&input, error);
    json_decref(parameters);
    return status;
}

Test(generator_job, a_training_beyond_the_memory_of_a_job_is_refused_before_it_is_queued)
{
    struct dpot_error error = {{0}};
    struct snapshot snapshot = take_snapshot();
    cr_assert_eq(check(&snapshot, SMALL, 0, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(check(&snapshot, SMALL, 1 << 16, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "limits.job_memory_bytes"), "%s", error.text);
    cr_assert_eq(check(&snapshot, "{\"batch\":65536,\"atoms\":0,\"pool_batch\":65536}", 0, &error),
                 DPOT_OK, "of a small pool a step takes what there is");
    snapshot.n_accepted = 1000000000;
    cr_assert_eq(check(&snapshot, SMALL, 0, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(error.text, "1000000000 reports of 2 numbers"), "%s", error.text);
    snapshot.n_accepted = 1000000;
    cr_assert_eq(check(&snapshot, "{\"batch\":65536,\"atoms\":0,\"pool_batch\":65536}", 0, &error),
                 DPOT_ERR_TOO_LARGE);
}

/* ---- runs ---- */

static struct dpot_buf run(const struct snapshot *snapshot, const char *given, size_t n_threads,
                           const struct solve_control *control,
                           const struct job_checkpoint *checkpoint, dpot_status expected)
{
    static const struct solve_control nobody = {.cancel = NULL};
    struct dpot_artifact artifact = {.kind = "generator", .parameters = "{}"};
    struct dpot_error error = {{0}};
    struct dpot_buf bytes;
    json_t *value = fixture_json(given), *parameters = NULL;
    cr_assert_eq(job_generator.complete(snapshot->campaign, value, &parameters, NULL), DPOT_OK);
    const struct job_input input = {.snapshot = snapshot,
                                    .parameters = parameters,
                                    .control = control ? control : &nobody,
                                    .limits = {.n_threads = n_threads},
                                    .checkpoint = checkpoint};
    const dpot_status status = job_generator.run(&input, &artifact, &error);
    cr_assert_eq(status, expected, "%s: %s", dpot_status_name(status), error.text);
    cr_assert(status == DPOT_OK || strstr(error.text, "cannot be written"), "%s", error.text);
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    if (artifact.n_model > 0) {
        cr_assert_eq(dpot_wire_artifact_encode(&artifact, &bytes, &error), DPOT_OK, "%s",
                     error.text);
    }
    dpot_artifact_release(&artifact);
    json_decref(parameters);
    json_decref(value);
    return bytes;
}

static void expect_same_bytes(const struct dpot_buf *a, const struct dpot_buf *b)
{
    cr_assert_eq(a->len, b->len);
    cr_assert_arr_eq(a->data, b->data, a->len);
}

static void expect_note(const struct generator_model *model, const char *key, const char *value)
{
    const char *found = generator_model_find_note(model, key);
    cr_assert_not_null(found, "%s", key);
    cr_assert_str_eq(found, value, "%s is %s", key, found);
}

Test(generator_job, the_artifact_holds_the_model_with_its_provenance_and_the_curve)
{
    const struct generator_setup setup = {.max_batch = 8, .linalg = dpot_linalg_f32_openblas()};
    const struct snapshot snapshot = take_snapshot();
    struct dpot_buf bytes = run(&snapshot, SMALL, 1, NULL, NULL, DPOT_OK);
    struct dpot_artifact artifact;
    struct generator_model model;
    struct dpot_error error = {{0}};
    char hash[2 * DPOT_HASH_LEN + 1];
    double value = 0;
    cr_assert_eq(dpot_wire_artifact_decode(bytes.data, bytes.len, NULL, &artifact, &error),
                 DPOT_OK);
    cr_assert(artifact.has_pool);
    cr_assert_eq(artifact.pool_count, N_REPORTS);
    cr_assert_eq(artifact.n_values, 5 * 40);
    cr_assert_eq(artifact.values[5 * 39], 39);
    cr_assert_lt(artifact.values[5 * 39 + 1], artifact.values[1], "the loss fell");
    cr_assert_eq(dpot_artifact_find_number(&artifact, "loss", &value), DPOT_OK);
    cr_assert_eq(value, artifact.values[5 * 39 + 1]);
    cr_assert_eq(dpot_artifact_find_number(&artifact, "is_diverged", &value), DPOT_OK);
    cr_assert_eq(value, 0);
    cr_assert_eq(dpot_artifact_find_number(&artifact, "delta", &value), DPOT_OK);
    cr_assert_eq(value, 0);
    cr_assert_eq(generator_model_decode(artifact.model, artifact.n_model, &setup, &model, &error),
                 DPOT_OK, "%s", error.text);
    dpot_hex_encode(hash, record.hash, DPOT_HASH_LEN);
    expect_note(&model, "campaign_hash", hash);
    expect_note(&model, "revision", "1");
    expect_note(&model, "mechanism", "laplace");
    expect_note(&model, "scale", "2");                    /* 0.25 times 2^3 */
    expect_note(&model, "epsilon", "2.5000000002328306"); /* 20 / 2^3, rounded up */
    expect_note(&model, "delta", "0");
    expect_note(&model, "pool_count", "60");
    expect_note(&model, "steps_done", "40");
    generator_model_release(&model);
    dpot_artifact_release(&artifact);
    dpot_buf_release(&bytes);
}

Test(generator_job, threads_make_no_difference)
{
    const struct snapshot snapshot = take_snapshot();
    struct dpot_buf one = run(&snapshot, SMALL, 1, NULL, NULL, DPOT_OK);
    struct dpot_buf three = run(&snapshot, SMALL, 3, NULL, NULL, DPOT_OK);
    expect_same_bytes(&one, &three);
    dpot_buf_release(&three);
    dpot_buf_release(&one);
}

/* A campaign with a transform: reports are coefficients, generated points data. */
Test(generator_job, a_campaign_with_a_transform_gives_a_generator_of_data)
{
    const struct dpot_campaign campaign = vectors_gaussian();
    const struct generator_setup setup = {.max_batch = 8, .linalg = dpot_linalg_f32_openblas()};
    struct dpot_artifact artifact;
    struct generator_model model;
    int64_t values[VECTORS_DCT_DIM];
    vectors_open(rig.store, &campaign, rig.secret_key, &record);
    for (uint32_t i = 0; i < 20; i++) {
        const struct dpot_report report = vectors_report(i, VECTORS_DCT_DIM, 40, values);
        vectors_append(rig.store, record.hash, 0, &report, 1);
    }
    const struct snapshot snapshot = take_snapshot();
    struct dpot_buf bytes =
        run(&snapshot, "{\"arch\":\"mlp:5\",\"batch\":8,\"steps\":5}", 1, NULL, NULL, DPOT_OK);
    cr_assert_eq(dpot_wire_artifact_decode(bytes.data, bytes.len, NULL, &artifact, NULL), DPOT_OK);
    cr_assert_eq(generator_model_decode(artifact.model, artifact.n_model, &setup, &model, NULL),
                 DPOT_OK);
    cr_assert_eq(network_architecture(model.network)->out_dim, VECTORS_DCT_DATA_DIM);
    expect_note(&model, "transform", "dct");
    expect_note(&model, "mechanism", "gaussian");
    generator_model_release(&model);
    dpot_artifact_release(&artifact);
    dpot_buf_release(&bytes);
}

/* ---- checkpoints ---- */

static bool is_always_due(void *ctx)
{
    (void)ctx;
    return true;
}

static bool is_never_due(void *ctx)
{
    (void)ctx;
    return false;
}

static void count_checkpoint(void *ctx)
{
    ++*(size_t *)ctx;
}

static int64_t count_poll(void *ctx)
{
    return ++*(int64_t *)ctx;
}

/* Stops the run after so many polls of the control and resumes it, until there is a result. */
static struct dpot_buf run_in_pieces(const struct snapshot *snapshot,
                                     const struct job_checkpoint *checkpoint, int64_t n_polls_each,
                                     size_t *n_pieces)
{
    for (*n_pieces = 1;; ++*n_pieces) {
        int64_t n_polls = 0;
        const struct dpot_clock clock = {
            .struct_size = sizeof clock, .ctx = &n_polls, .now = count_poll};
        const struct solve_control control = {.clock = &clock, .deadline_ms = n_polls_each};
        struct dpot_buf bytes = run(snapshot, SMALL, 1, &control, checkpoint, DPOT_OK);
        if (bytes.len > 0) {
            return bytes;
        }
        dpot_buf_release(&bytes);
        cr_assert_lt(*n_pieces, 1000);
    }
}

Test(generator_job, a_run_that_is_interrupted_again_and_again_gives_the_same_bytes)
{
    static const int64_t looks[] = {17, 40, 99};
    const struct snapshot snapshot = take_snapshot();
    struct dpot_buf whole = run(&snapshot, SMALL, 1, NULL, NULL, DPOT_OK);
    for (size_t i = 0; i < 6; i++) {
        char path[FIXTURE_PATH_SIZE];
        size_t n_written = 0, n_pieces = 0;
        fixture_path(path, folder, "state");
        const struct job_checkpoint checkpoint = {path, i % 2 ? is_never_due : is_always_due,
                                                  count_checkpoint, &n_written};
        struct dpot_buf bytes = run_in_pieces(&snapshot, &checkpoint, looks[i / 2], &n_pieces);
        expect_same_bytes(&whole, &bytes);
        cr_assert_gt(n_pieces, 2);
        cr_assert_geq(n_written, n_pieces - 1, "%zu of %zu", n_written, n_pieces);
        dpot_buf_release(&bytes);
        (void)unlink(path);
    }
    dpot_buf_release(&whole);
}

Test(generator_job, a_damaged_or_foreign_checkpoint_is_not_used)
{
    char path[FIXTURE_PATH_SIZE];
    size_t n_written = 0;
    const struct snapshot snapshot = take_snapshot();
    struct snapshot fewer = snapshot;
    fixture_path(path, folder, "state");
    const struct job_checkpoint checkpoint = {path, is_never_due, count_checkpoint, &n_written};
    struct dpot_buf whole = run(&snapshot, SMALL, 1, NULL, NULL, DPOT_OK);

    fixture_write(path, "DPOTGCP1 and then nothing that was ever written by a training");
    struct dpot_buf bytes = run(&snapshot, SMALL, 1, NULL, &checkpoint, DPOT_OK);
    expect_same_bytes(&whole, &bytes);
    cr_assert_neq(access(path, F_OK), 0);
    dpot_buf_release(&bytes);

    int64_t n_polls = 0; /* of a smaller pool */
    const struct dpot_clock clock = {
        .struct_size = sizeof clock, .ctx = &n_polls, .now = count_poll};
    const struct solve_control control = {.clock = &clock, .deadline_ms = 50};
    fewer.n_accepted--;
    bytes = run(&fewer, SMALL, 1, &control, &checkpoint, DPOT_OK);
    cr_assert_eq(access(path, F_OK), 0);
    dpot_buf_release(&bytes);
    bytes = run(&snapshot, SMALL, 1, NULL, &checkpoint, DPOT_OK);
    expect_same_bytes(&whole, &bytes);
    dpot_buf_release(&bytes);
    dpot_buf_release(&whole);
}

Test(generator_job, a_job_that_cannot_write_its_checkpoint_fails_with_a_sentence)
{
    char path[FIXTURE_PATH_SIZE];
    size_t n_written = 0;
    const struct snapshot snapshot = take_snapshot();
    fixture_path(path, folder, "no/such/folder");
    const struct job_checkpoint checkpoint = {path, is_always_due, count_checkpoint, &n_written};
    struct dpot_buf bytes = run(&snapshot, SMALL, 1, NULL, &checkpoint, DPOT_ERR_IO);
    cr_assert_eq(bytes.len, 0);
    cr_assert_eq(n_written, 0);
    dpot_buf_release(&bytes);
}

/* ---- with the runner ---- */

static struct runner *open_runner(int64_t checkpoint_every_ms)
{
    struct dpot_error error = {{0}};
    struct runner *runner = NULL;
    const struct runner_config config = {.source = {rig.store, rig.registry},
                                         .clock = dpot_clock_system(),
                                         .checkpoint_folder = checkpoint_folder,
                                         .checkpoint_every_ms = checkpoint_every_ms};
    cr_assert_eq(runner_open(&config, &runner, &error), DPOT_OK, "%s", error.text);
    return runner;
}

static struct job_record start(struct runner *runner, const char *given)
{
    struct job_record job;
    struct dpot_error error = {{0}};
    json_t *parameters = fixture_json(given);
    cr_assert_eq(runner_start(runner, "generator", record.campaign_id, 0, parameters, &job, &error),
                 DPOT_OK, "%s", error.text);
    json_decref(parameters);
    return job;
}

static struct job_record get(struct runner *runner, const struct job_record *job)
{
    struct job_record found;
    cr_assert_eq(runner_get(runner, job->id, &found, NULL), DPOT_OK);
    return found;
}

/* Waits until the job has done `n_done` steps, or is in this state. */
static struct job_record wait_for(struct runner *runner, const struct job_record *job,
                                  enum job_state state, uint64_t n_done)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    struct job_record found = get(runner, job);
    for (int i = 0; i < 60000 && found.state != state && found.n_done < n_done; i++) {
        (void)nanosleep(&moment, NULL);
        found = get(runner, job);
    }
    cr_assert(found.state == state || found.n_done >= n_done, "%s: %s", job_state_name(found.state),
              found.sentence);
    return found;
}

static size_t n_checkpoint_files(void)
{
    size_t n = 0;
    DIR *dir = opendir(checkpoint_folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        n += e->d_name[0] != '.';
    }
    if (dir) {
        (void)closedir(dir);
    }
    return n;
}

Test(generator_job, a_job_resumes_after_a_restart)
{
    struct dpot_buf stored;
    struct dpot_artifact artifact, expected;
    const struct snapshot before = take_snapshot();
    struct dpot_buf whole = run(&before, LONG, 1, NULL, NULL, DPOT_OK);
    struct runner *runner = open_runner(0);
    const struct job_record job = start(runner, LONG);
    for (uint64_t n_done = 100; n_done <= 700; n_done += 200) {
        cr_assert_lt(wait_for(runner, &job, JOB_DONE, n_done).n_done, 12000, "it ended too soon");
        runner_close(runner);
        cr_assert_eq(n_checkpoint_files(), 1);
        runner = open_runner(0);
    }
    const struct job_record done = wait_for(runner, &job, JOB_DONE, UINT64_MAX);
    runner_close(runner);
    cr_assert_eq(n_checkpoint_files(), 0);
    dpot_buf_init(&stored, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(store_get_artifact(rig.store, done.artifact, &stored, NULL), DPOT_OK);
    cr_assert_eq(dpot_wire_artifact_decode(stored.data, stored.len, NULL, &artifact, NULL),
                 DPOT_OK);
    cr_assert_eq(dpot_wire_artifact_decode(whole.data, whole.len, NULL, &expected, NULL), DPOT_OK);
    cr_assert_eq(artifact.pool_count, N_REPORTS);
    cr_assert_arr_eq(artifact.pool_checksum, expected.pool_checksum, DPOT_HASH_LEN);
    cr_assert_eq(artifact.n_model, expected.n_model);
    cr_assert_arr_eq(artifact.model, expected.model, expected.n_model);
    cr_assert_arr_eq(artifact.values, expected.values, expected.n_values * sizeof(double));
    dpot_artifact_release(&expected);
    dpot_artifact_release(&artifact);
    dpot_buf_release(&stored);
    dpot_buf_release(&whole);
}

/* In the order of ids its first reports are not the first ones of the larger pool. */
Test(generator_job, a_job_whose_pool_has_grown_starts_again_with_all_of_it)
{
    struct dpot_buf stored;
    struct dpot_artifact artifact, expected;
    struct runner *runner = open_runner(0);
    const struct job_record job = start(runner, LONG);
    (void)wait_for(runner, &job, JOB_DONE, 100);
    runner_close(runner);
    cr_assert_eq(n_checkpoint_files(), 1);
    append_reports(7);
    const struct snapshot after = take_snapshot();
    struct dpot_buf whole = run(&after, LONG, 1, NULL, NULL, DPOT_OK);
    runner = open_runner(0);
    const struct job_record done = wait_for(runner, &job, JOB_DONE, UINT64_MAX);
    runner_close(runner);
    cr_assert_eq(n_checkpoint_files(), 0);
    dpot_buf_init(&stored, DPOT_ARTIFACT_BYTES_MAX, NULL);
    cr_assert_eq(store_get_artifact(rig.store, done.artifact, &stored, NULL), DPOT_OK);
    cr_assert_eq(dpot_wire_artifact_decode(stored.data, stored.len, NULL, &artifact, NULL),
                 DPOT_OK);
    cr_assert_eq(artifact.pool_count, N_REPORTS + 7);
    cr_assert_eq(dpot_wire_artifact_decode(whole.data, whole.len, NULL, &expected, NULL), DPOT_OK);
    cr_assert_arr_eq(artifact.pool_checksum, expected.pool_checksum, DPOT_HASH_LEN);
    cr_assert_arr_eq(artifact.model, expected.model, expected.n_model);
    dpot_artifact_release(&expected);
    dpot_artifact_release(&artifact);
    dpot_buf_release(&stored);
    dpot_buf_release(&whole);
}

Test(generator_job, a_cancelled_job_leaves_nothing_whether_running_or_queued)
{
    struct job_record found;
    struct runner *runner = open_runner(1);
    const struct job_record first = start(runner, ENDLESS), second = start(runner, ENDLESS);
    (void)wait_for(runner, &first, JOB_DONE, 50);
    runner_close(runner); /* the first is queued again, with its checkpoint */
    cr_assert_eq(n_checkpoint_files(), 1);
    found = first;
    found.state = JOB_CANCELLED;
    cr_assert_eq(store_update_job(rig.store, &found, NULL), DPOT_OK);
    runner = open_runner(1);
    cr_assert_eq(get(runner, &first).state, JOB_CANCELLED);
    (void)wait_for(runner, &second, JOB_DONE, 50);
    cr_assert_eq(runner_cancel(runner, second.id, &found, NULL), DPOT_OK);
    (void)wait_for(runner, &second, JOB_CANCELLED, UINT64_MAX);
    runner_close(runner);
    cr_assert_eq(n_checkpoint_files(), 0);
}

/* A job fails when the process dies three times without progress in between. */
Test(generator_job, a_job_that_makes_progress_is_retried)
{
    struct runner *runner = open_runner(1);
    struct job_record job = start(runner, ENDLESS);
    (void)wait_for(runner, &job, JOB_DONE, 50);
    runner_close(runner);
    cr_assert_eq(store_get_job(rig.store, job.id, &job, NULL), DPOT_OK);
    job.n_attempts = JOB_ATTEMPTS_MAX - 1; /* as if the process had been killed that often */
    cr_assert_eq(store_update_job(rig.store, &job, NULL), DPOT_OK);
    const uint64_t n_before = 60;
    runner = open_runner(1);
    (void)wait_for(runner, &job, JOB_DONE, n_before + 100);
    cr_assert_eq(get(runner, &job).n_attempts, 1);
    runner_close(runner);
}

Test(generator_job, checkpoints_of_jobs_that_are_gone_are_removed_and_others_stay)
{
    static const char gone[] = "000102030405060708090a0b0c0d0e0f-12.state";
    static const char cut[] = "000102030405060708090a0b0c0d0e0f-12.state.tmp-77";
    static const char left[] = ".dpot-0011223344556677.tmp";
    static const char *const others[] = {"notes.txt", "000102030405060708090a0b0c0d0e0f-x.state",
                                         "00-1.state", "000102030405060708090a0b0c0d0e0g-1.state"};
    char path[FIXTURE_PATH_SIZE], name[JOB_CHECKPOINT_PATH_SIZE];
    uint8_t id[JOB_ID_LEN] = {9};
    uint64_t n_reports = 7;
    cr_assert_eq(job_checkpoint_find(checkpoint_folder, id, name, &n_reports, NULL),
                 DPOT_ERR_NOT_FOUND);
    cr_assert_eq(job_checkpoint_name(checkpoint_folder, id, 345, name, NULL), DPOT_OK);
    fixture_write(name, "x");
    cr_assert_eq(job_checkpoint_find(checkpoint_folder, id, name, &n_reports, NULL), DPOT_OK);
    cr_assert_eq(n_reports, 345);
    fixture_path(path, checkpoint_folder, gone);
    fixture_write(path, "x");
    fixture_path(path, checkpoint_folder, cut);
    fixture_write(path, "x");
    fixture_path(path, checkpoint_folder, left);
    fixture_write(path, "x");
    for (size_t i = 0; i < 4; i++) {
        fixture_path(path, checkpoint_folder, others[i]);
        fixture_write(path, "x");
    }
    cr_assert_eq(n_checkpoint_files(), 7);
    job_checkpoint_sweep(checkpoint_folder, rig.store);
    cr_assert_eq(n_checkpoint_files(), 4);
    fixture_path(path, checkpoint_folder, left);
    cr_assert_eq(access(path, F_OK), -1);
}
