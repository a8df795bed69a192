/* A store on a disk that fails: nothing acknowledged is lost, nothing counted twice. */
#include "base/crypto.h"
#include "pool/writer.h"
#include "support/heap.h"
#include "unit/aggregator/faults/walk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N_BATCHES 4
#define N_SESSIONS 2                  /* of a server in one scene */
#define BATCH 3                       /* reports; the first is the last one of the batch before */
#define N_REPORTS (N_BATCHES * 2 + 1) /* different ones */
#define REPORTED_BATCH '0'            /* + its number: the receipt was received */
#define REPORTED_JOB 'J'              /* done, with its artifact */
#define REPORTED_DROPS 'D'            /* counted */
#define REPORTED_BROKEN 'X'           /* the scene itself saw a broken guarantee */
#define RUNS_MAX 60                   /* of each kind */

static const char artifact[] = "what a job has computed";
static char url[FIXTURE_PATH_SIZE + 32];
static struct rig rig;
static struct job_record job;
static struct dpot_buf bodies[N_BATCHES]; /* of POSTs */

/* Leaves a store with an open campaign and a queued job in `seed`. */
static void make_seed(void)
{
    char seed_url[FIXTURE_PATH_SIZE + 32];
    (void)snprintf(seed_url, sizeof seed_url, "sqlite:%s/dpot.db", seed);
    (void)snprintf(url, sizeof url, "sqlite:%s/dpot.db", folder);
    rig_init(&rig, seed_url, fixture_spec());
    job = (struct job_record){.kind = "estimate", .state = JOB_QUEUED, .created_ms = 1};
    memset(job.id, 7, sizeof job.id);
    memcpy(job.campaign_id, rig.record.campaign_id, sizeof job.campaign_id);
    memcpy(job.hash, rig.record.hash, sizeof job.hash);
    (void)snprintf(job.parameters, sizeof job.parameters, "{}");
    cr_assert_eq(store_add_job(rig.store, &job, NULL), DPOT_OK);
    rig_release(&rig);
}

static void make_batch(size_t batch, struct dpot_report reports[BATCH])
{
    for (size_t i = 0; i < BATCH; i++) {
        reports[i] = fixture_report((uint32_t)(batch * 2 + i));
    }
}

static void make_bodies(void)
{
    for (size_t batch = 0; batch < N_BATCHES; batch++) {
        struct dpot_report reports[BATCH];
        make_batch(batch, reports);
        dpot_buf_init(&bodies[batch], DPOT_BATCH_BYTES_MAX, NULL);
        rig_seal(&rig, &rig.secret.key, 0, reports, BATCH, &bodies[batch]);
    }
}

static void set_up(void)
{
    walk_make_folders();
    test_heap_init();
    make_seed();
    make_bodies();
}

static void tear_down(void)
{
    for (size_t batch = 0; batch < N_BATCHES; batch++) {
        dpot_buf_release(&bodies[batch]);
    }
    fixture_remove(home);
}

TestSuite(store_faults, .init = set_up, .fini = tear_down);

/* ---- the scene ---- */

static void require(bool holds)
{
    if (!holds) {
        disk_report(REPORTED_BROKEN);
    }
}

/* A failure has a sentence; a lack of memory only has its status. */
static bool has_sentence(dpot_status status, const struct dpot_error *error)
{
    return status == DPOT_OK || status == DPOT_ERR_MEMORY || error->text[0] != '\0';
}

/* Posts a batch; a refusal asks for a retry and has a sentence. */
static bool post(size_t batch)
{
    const struct dpot_buf *body = &bodies[batch];
    struct dpot_buf receipt;
    struct ingest_result result;
    dpot_buf_init(&receipt, DPOT_BATCH_BYTES_MAX, NULL);
    ingest_batch(&rig.ingest, rig.record.campaign_id, body->data, body->len, &receipt, &result);
    const bool is_accepted = result.verdict == INGEST_ACCEPTED;
    require(is_accepted || (result.verdict == INGEST_NOT_YET && result.status != DPOT_OK));
    require(has_sentence(result.status, &result.error));
    if (is_accepted) {
        disk_report((unsigned char)(REPORTED_BATCH + batch));
    }
    dpot_buf_release(&receipt);
    return is_accepted;
}

/* As the runner does. */
static void work(void)
{
    const uint64_t drops[DROP_REASONS] = {1, 2, 3, 4, 5};
    struct job_record record = job;
    struct dpot_error error = {{0}};
    record.state = JOB_RUNNING;
    record.n_attempts = 1;
    dpot_status status = store_update_job(rig.store, &record, &error);
    if (status == DPOT_OK) {
        status = store_finish_job(rig.store, &record, artifact, sizeof artifact, &error);
        if (status == DPOT_OK) {
            disk_report(REPORTED_JOB);
        }
    }
    require(status == DPOT_ERR_STATE || has_sentence(status, &error));
    if (store_add_drops(rig.store, drops, &error) == DPOT_OK) {
        disk_report(REPORTED_DROPS);
    }
}

static bool open_rooms(bool has_writer)
{
    struct dpot_error error = {{0}};
    rig.store = NULL;
    rig.registry = NULL;
    rig.ingest.writer = NULL;
    dpot_status status = store_open_owned(url, NULL, &rig.store, &error);
    if (status == DPOT_OK) {
        status = registry_new(rig.store, rig.secret_key, &rig.clock.clock, &rig.registry, &error);
    }
    rig.ingest.store = rig.store;
    rig.ingest.registry = rig.registry;
    if (status == DPOT_OK && has_writer) {
        const struct writer_config config = {.store = rig.store, .max_reports = 100};
        status = writer_open(&config, &rig.ingest.writer, &error);
    }
    require(has_sentence(status, &error));
    return status == DPOT_OK;
}

static void close_rooms(void)
{
    writer_close(rig.ingest.writer);
    registry_free(rig.registry);
    store_close(rig.store);
}

/* Two sessions of a server; refused requests are retried, as devices and supervisors do. */
static void serve(void *ctx)
{
    (void)ctx;
    for (size_t session = 0; session < N_SESSIONS; session++) {
        bool is_open = open_rooms(session == 0);
        if (!is_open) {
            close_rooms();
            is_open = open_rooms(session == 0);
        }
        if (is_open) {
            for (size_t batch = 2 * session; batch < 2 * session + 2; batch++) {
                (void)(post(batch) || post(batch));
            }
            work();
        }
        close_rooms();
    }
}

/* ---- validation ---- */

/* What the pool holds. */
struct pool {
    size_t n, n_of[N_REPORTS];
};

static int take(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct pool *pool = ctx;
    (void)round;
    for (uint32_t i = 0; i < N_REPORTS; i++) {
        const struct dpot_report known = fixture_report(i);
        const bool is_it = memcmp(known.id, report->id, sizeof known.id) == 0;
        pool->n_of[i] += is_it && known.index == report->index;
    }
    pool->n++;
    return 0;
}

static struct pool read_pool(void)
{
    struct pool pool = {0};
    struct dpot_error error = {{0}};
    cr_assert_eq(store_read_pool(rig.store, rig.record.hash, take, &pool, &error), DPOT_OK,
                 "%s: %s", walk_place, error.text);
    cr_assert_eq(rig_count(&rig).n_accepted, pool.n, "%s", walk_place);
    size_t n = 0;
    for (size_t i = 0; i < N_REPORTS; i++) {
        cr_assert_leq(pool.n_of[i], 1, "%s: report %zu is counted twice", walk_place, i);
        n += pool.n_of[i];
    }
    cr_assert_eq(n, pool.n, "%s: a report from nowhere", walk_place);
    return pool;
}

static void validate_reports(const struct disk_outcome *outcome)
{
    const struct pool pool = read_pool();
    for (size_t batch = 0; batch < N_BATCHES; batch++) {
        for (size_t i = 0;
             i < BATCH && was_reported(outcome, (unsigned char)(REPORTED_BATCH + batch)); i++) {
            cr_assert_eq(pool.n_of[batch * 2 + i], 1, "%s: report %zu was acknowledged and is lost",
                         walk_place, batch * 2 + i);
        }
    }
}

static int note_damage(void *ctx, const uint8_t digest[DPOT_HASH_LEN],
                       const struct job_record *record, bool is_missing)
{
    (void)digest;
    (void)record;
    (void)is_missing;
    ++*(size_t *)ctx;
    return 0;
}

static void validate_job(bool was_done)
{
    struct job_record record;
    struct dpot_buf bytes;
    struct dpot_error error = {{0}};
    size_t n_damaged = 0;
    dpot_buf_init(&bytes, 4096, NULL);
    cr_assert_eq(store_get_job(rig.store, job.id, &record, NULL), DPOT_OK, "%s", walk_place);
    cr_assert(!was_done || record.state == JOB_DONE, "%s: the job was done", walk_place);
    if (record.state == JOB_DONE) {
        cr_assert_eq(store_get_artifact(rig.store, record.artifact, &bytes, &error), DPOT_OK,
                     "%s: %s", walk_place, error.text);
        cr_assert(bytes.len == sizeof artifact && !memcmp(bytes.data, artifact, bytes.len), "%s",
                  walk_place);
    }
    cr_assert_eq(store_check_artifacts(rig.store, note_damage, &n_damaged, NULL), DPOT_OK);
    cr_assert_eq(n_damaged, 0, "%s", walk_place);
    dpot_buf_release(&bytes);
}

/* Every acknowledged count, and at most one more for each unacknowledged one. */
static void validate_drops(const struct disk_outcome *outcome)
{
    struct pool_count count;
    uint64_t drops[DROP_REASONS], n_reported = 0;
    for (size_t i = 0; i < outcome->n_reported; i++) {
        n_reported += outcome->reported[i] == REPORTED_DROPS;
    }
    cr_assert_eq(store_count_all(rig.store, &count, drops, NULL), DPOT_OK);
    cr_assert(drops[0] >= n_reported && drops[0] <= 2 * N_SESSIONS, "%s", walk_place);
    cr_assert_eq(drops[4], 5 * drops[0], "%s", walk_place);
}

/* A server on a sound disk continues from what is left; every batch is sent again. */
static void validate(void *ctx, const struct disk_outcome *outcome)
{
    (void)ctx;
    cr_assert_not(was_reported(outcome, REPORTED_BROKEN), "%s: told %.*s", walk_place,
                  (int)outcome->n_reported, (const char *)outcome->reported);
    rig_resume(&rig, url);
    validate_reports(outcome);
    validate_job(was_reported(outcome, REPORTED_JOB));
    validate_drops(outcome);
    for (size_t batch = 0; batch < N_BATCHES; batch++) {
        struct dpot_report reports[BATCH];
        make_batch(batch, reports);
        cr_assert_eq(rig_post(&rig, 0, reports, BATCH, NULL), INGEST_ACCEPTED, "%s", walk_place);
    }
    cr_assert_eq(read_pool().n, N_REPORTS, "%s", walk_place);
    rig_release(&rig);
}

Test(store_faults, nothing_acknowledged_is_lost_and_nothing_counted_twice)
{
    const struct walk walk = {serve, validate, NULL, seed, folder};
    struct disk_outcome outcome;
    walk_once(&walk, &(struct disk_plan){.fault = DISK_SOUND}, &outcome);
    cr_assert_eq(outcome.n_reported, N_BATCHES + 3, "%.*s", (int)outcome.n_reported,
                 (const char *)outcome.reported);
    const size_t n = walk_all(&walk, RUNS_MAX);
    cr_assert_geq(n, 100);
    cr_log_info("%zu runs of %zu operations", n, outcome.n_operations);
}

/* After a single failure the disk works again. */
static void validate_patience(void *ctx, const struct disk_outcome *outcome)
{
    validate(ctx, outcome);
    for (size_t batch = 0; batch < N_BATCHES; batch++) {
        cr_assert(was_reported(outcome, (unsigned char)(REPORTED_BATCH + batch)),
                  "%s: batch %zu was refused twice", walk_place, batch);
    }
}

Test(store_faults, a_request_refused_by_one_failure_succeeds_at_the_retry)
{
    const struct walk walk = {serve, validate_patience, NULL, seed, folder};
    struct disk_outcome outcome = {.is_hit = true};
    for (size_t at = 1; outcome.is_hit; at += 3) {
        walk_once(&walk, &(struct disk_plan){.fault = DISK_FAILS, .at = at, .seed = at}, &outcome);
    }
}

Test(store_faults, a_twin_whose_syncs_do_nothing_is_detected)
{
    const struct disk_plan plan = {.fault = DISK_SOUND, .loss = TEST_LOSE_ALL, .lies = true};
    struct disk_outcome outcome;
    disk_copy(seed, folder);
    disk_run(folder, &plan, serve, NULL, &outcome);
    cr_assert(was_reported(&outcome, REPORTED_BATCH));
    rig_resume(&rig, url);
    cr_assert_lt(rig_count(&rig).n_accepted, N_REPORTS);
    rig_release(&rig);
}

/* ---- memory ---- */

#define REPORTED_HIT 'M'
#define ALLOCATIONS_STEP 47

struct shortage {
    size_t at;
    bool is_single;
};

static void serve_short_of_memory(void *ctx)
{
    const struct shortage *shortage = ctx;
    test_heap_fail_at(shortage->at, shortage->is_single);
    serve(NULL);
    const bool is_hit = test_heap_is_hit();
    test_heap_fail_at(0, true);
    if (is_hit) {
        disk_report(REPORTED_HIT);
    }
    serve(NULL); /* memory is available again */
}

static void validate_memory(void *ctx, const struct disk_outcome *outcome)
{
    validate(ctx, outcome);
    for (size_t batch = 0; batch < N_BATCHES; batch++) {
        cr_assert(was_reported(outcome, (unsigned char)(REPORTED_BATCH + batch)), "allocation %zu",
                  ((const struct shortage *)ctx)->at);
    }
    cr_assert(was_reported(outcome, REPORTED_JOB), "allocation %zu",
              ((const struct shortage *)ctx)->at);
}

Test(store_faults, a_server_short_of_memory_loses_nothing_and_continues)
{
    struct shortage shortage = {.at = 1};
    const struct walk walk = {serve_short_of_memory, validate_memory, &shortage, seed, folder};
    struct disk_outcome outcome = {.n_reported = 0};
    size_t n = 0;
    do {
        shortage.is_single = n % 2 == 0;
        walk_once(&walk, &(struct disk_plan){.fault = DISK_SOUND}, &outcome);
        shortage.at += ALLOCATIONS_STEP;
        n++;
    } while (was_reported(&outcome, REPORTED_HIT));
    cr_assert_gt(n, 20);
    cr_log_info("%zu runs, up to allocation %zu", n, shortage.at);
}

/* A set that grows while it is filled copies its ids a dozen times. */
Test(store_faults, a_start_makes_the_set_of_ids_in_one_piece)
{
    enum { N = 20000 };
    static struct dpot_report many[N];
    static enum dpot_report_status statuses[N];
    static const uint8_t is_refused[N];
    struct store_append append = {
        .n_reports = N, .reports = many, .is_refused = is_refused, .statuses = statuses};
    struct store_id_usage usage;
    disk_copy(seed, folder);
    rig_resume(&rig, url);
    memcpy(append.hash, rig.record.hash, sizeof append.hash);
    for (uint32_t i = 0; i < N; i++) {
        many[i] = fixture_report(i);
    }
    cr_assert_eq(store_append_reports(rig.store, &append, NULL), DPOT_OK);
    rig_reopen(&rig, url);
    test_heap_fail_at(0, false);
    cr_assert_eq(store_load_ids(rig.store, NULL), DPOT_OK);
    cr_assert_lt(test_heap_count(), 1500, "%zu allocations", test_heap_count());
    store_get_id_usage(rig.store, &usage);
    cr_assert_eq(usage.n_ids, N);
    rig_release(&rig);
}
