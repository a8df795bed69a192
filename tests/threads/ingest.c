/* Many threads post overlapping batches while others read the pool and the tally, list, and open
 * and close campaigns. Every report must be accepted exactly once, and the counts must be
 * consistent at every moment. First each thread commits its own batches; then a writer groups them;
 * then tasks are submitted to the writer without waiting, more than its queue admits. */
#include "pool/ingest.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_POSTERS 6
#define N_BATCHES 40
#define BATCH 50
#define STEP 25 /* each batch shares half of its reports with the next */
#define N_DISTINCT (STEP * (N_BATCHES - 1) + BATCH)

static const char spec_text[] =
    "{\"name\":\"threads\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static struct ingest ingest; /* with a tally, and a writer in two of three parts */
static struct seal_secret secret;
static struct revision_record record;
static size_t report_len_max;
static json_t *spec;

/* Exits with a message if the condition is false. */
static void demand(bool is_true, const char *what)
{
    if (!is_true) {
        (void)fprintf(stderr, "threads_ingest: %s\n", what);
        exit(1);
    }
}

static struct dpot_report report_of(uint32_t n)
{
    struct dpot_report report = {.index = n % 10};
    dpot_store_u32(report.id, n);
    return report;
}

struct poster {
    pthread_t thread;
    size_t n_accepted;
    size_t n_duplicate;
};

static void post(struct poster *poster, uint32_t first)
{
    struct dpot_report reports[BATCH];
    enum dpot_report_status statuses[BATCH];
    struct dpot_batch batch = {
        .n_reports = BATCH, .reports = reports, .report_len_max = report_len_max};
    struct dpot_buf body, receipt;
    struct ingest_result result;
    memcpy(batch.campaign_hash, record.hash, sizeof batch.campaign_hash);
    for (uint32_t i = 0; i < BATCH; i++) {
        reports[i] = report_of(first + i);
    }
    dpot_buf_init(&body, DPOT_BATCH_BYTES_MAX, NULL);
    dpot_buf_init(&receipt, DPOT_BATCH_BYTES_MAX, NULL);
    demand(dpot_wire_batch_seal(&batch, &secret.key, &body) == DPOT_OK, "sealing failed");
    ingest_batch(&ingest, record.campaign_id, body.data, body.len, &receipt, &result);
    demand(result.verdict == INGEST_ACCEPTED, result.error.text);
    demand(dpot_wire_receipt_decode(receipt.data, receipt.len, NULL, NULL, statuses, BATCH) ==
               DPOT_OK,
           "the receipt is malformed");
    for (size_t i = 0; i < BATCH; i++) {
        poster->n_accepted += statuses[i] == DPOT_REPORT_ACCEPTED;
        poster->n_duplicate += statuses[i] == DPOT_REPORT_DUPLICATE;
    }
    dpot_buf_release(&receipt);
    dpot_buf_release(&body);
}

static void *run_poster(void *ctx)
{
    for (uint32_t i = 0; i < N_BATCHES; i++) {
        post(ctx, i * STEP);
    }
    return NULL;
}

static int count_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    (void)round;
    demand(report->index == dpot_load_u32(report->id) % 10, "a report changed in the store");
    ++*(size_t *)ctx;
    return 0;
}

static int ignore_record(void *ctx, const struct revision_record *r)
{
    (void)ctx;
    (void)r;
    return 0;
}

static void *run_reader(void *ctx)
{
    (void)ctx;
    size_t before = 0;
    for (int i = 0; i < 60; i++) {
        size_t n = 0;
        demand(store_read_pool(ingest.store, record.hash, count_report, &n, NULL) == DPOT_OK,
               "reading the pool failed");
        demand(n >= before && n <= N_DISTINCT, "the pool shrank or grew too far");
        before = n;
        demand(store_list_revisions(ingest.store, ignore_record, NULL, NULL) == DPOT_OK,
               "listing failed");
    }
    return NULL;
}

static void *run_admin(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 20; i++) {
        struct revision_record other;
        struct registry_revision revision;
        struct dpot_error error = {{0}};
        demand(registry_create(ingest.registry, spec, &other, &error) == DPOT_OK, error.text);
        demand(registry_open_campaign(ingest.registry, other.campaign_id, &other, NULL, &error) ==
                   DPOT_OK,
               error.text);
        demand(registry_find(ingest.registry, other.campaign_id, &revision, &error) == DPOT_OK,
               error.text);
        demand(registry_close_campaign(ingest.registry, other.campaign_id, 0, &other, &error) ==
                   DPOT_OK,
               error.text);
    }
    return NULL;
}

static uint64_t n_settled(const struct tally_counts *counts)
{
    uint64_t n = counts->committed.n_accepted + counts->committed.n_duplicate + counts->n_pending;
    for (size_t i = 0; i < DPOT_REPORT_STATUS_END; i++) {
        n += counts->committed.n_rejected[i];
    }
    for (size_t i = 0; i < DROP_REASONS; i++) {
        n += counts->n_dropped[i];
    }
    return n;
}

static void *run_scraper(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 2000; i++) {
        struct tally_counts counts;
        struct store_id_usage usage;
        struct writer_work work;
        tally_get(ingest.tally, &counts);
        demand(counts.n_submitted == n_settled(&counts), "a report is nowhere");
        store_get_id_usage(ingest.store, &usage);
        if (ingest.writer) {
            writer_get_work(ingest.writer, &work);
            demand(work.n_failures == 0, "a commit failed");
        }
    }
    return NULL;
}

static void set_up(bool with_writer)
{
    struct dpot_error error = {{0}};
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    dpot_sign_keypair(public_key, secret_key);
    dpot_seal_keypair(secret.key.public_key, secret.secret_key);
    dpot_seal_key_id(secret.key.public_key, secret.key.id);
    secret.key.not_after_ms = INT64_MAX;
    ingest.clock = dpot_clock_system();
    ingest.seal_secrets = &secret;
    ingest.n_seal_secrets = 1;
    demand(store_open("sqlite::memory:", &ingest.store, &error) == DPOT_OK, error.text);
    demand(tally_new(ingest.store, &ingest.tally, &error) == DPOT_OK, error.text);
    const struct writer_config config = {
        .store = ingest.store, .tally = ingest.tally, .max_reports = 300, .max_delay_ms = 1};
    ingest.writer = NULL;
    demand(!with_writer || writer_open(&config, &ingest.writer, &error) == DPOT_OK, error.text);
    demand(registry_new(ingest.store, secret_key, ingest.clock, &ingest.registry, &error) ==
               DPOT_OK,
           error.text);
    demand(json_parse(spec_text, sizeof spec_text - 1, &spec, &error) == DPOT_OK, error.text);
    demand(registry_create(ingest.registry, spec, &record, &error) == DPOT_OK, error.text);
    demand(registry_open_campaign(ingest.registry, record.campaign_id, &record, NULL, &error) ==
               DPOT_OK,
           error.text);
    struct registry_revision revision;
    demand(registry_get(ingest.registry, record.hash, &revision, &error) == DPOT_OK, error.text);
    report_len_max = dpot_wire_report_len_max(revision.campaign);
}

static void start(pthread_t *thread, void *(*run)(void *), void *ctx)
{
    demand(pthread_create(thread, NULL, run, ctx) == 0, "no thread");
}

static void tear_down(void)
{
    writer_close(ingest.writer);
    tally_free(ingest.tally);
    registry_free(ingest.registry);
    store_close(ingest.store);
    json_decref(spec);
}

static void post_all(bool with_writer)
{
    struct poster posters[N_POSTERS] = {{.n_accepted = 0}};
    struct pool_count count;
    pthread_t reader, admin, scraper;
    size_t n_accepted = 0, n_duplicate = 0;
    set_up(with_writer);
    start(&reader, run_reader, NULL);
    start(&admin, run_admin, NULL);
    start(&scraper, run_scraper, NULL);
    for (size_t i = 0; i < N_POSTERS; i++) {
        start(&posters[i].thread, run_poster, &posters[i]);
    }
    for (size_t i = 0; i < N_POSTERS; i++) {
        (void)pthread_join(posters[i].thread, NULL);
        n_accepted += posters[i].n_accepted;
        n_duplicate += posters[i].n_duplicate;
    }
    (void)pthread_join(reader, NULL);
    (void)pthread_join(admin, NULL);
    (void)pthread_join(scraper, NULL);
    demand(n_accepted == N_DISTINCT, "a report was not accepted exactly once");
    demand(n_accepted + n_duplicate == (size_t)N_POSTERS * N_BATCHES * BATCH, "a report was lost");
    demand(store_count_pool(ingest.store, record.hash, &count, NULL) == DPOT_OK, "no count");
    demand(count.n_accepted == n_accepted && count.n_duplicate == n_duplicate,
           "the counts differ from the receipts");
    tear_down();
}

/* ---- submitting without waiting ---- */

#define N_TASKS 400

static struct writer_task tasks[N_TASKS];
static struct dpot_report task_reports[N_TASKS];
static enum dpot_report_status task_statuses[N_TASKS];
static size_t n_done; /* owned by the writer until it is closed */

static void take_back(struct writer_task *task)
{
    demand(task == &tasks[n_done], "a task came out of order");
    demand(task->status == DPOT_OK, task->error.text);
    n_done++;
}

/* Submits the tasks by one, by two and so on up to five. */
static void submit_in_groups(void)
{
    size_t n = 1;
    for (size_t i = 0; i < N_TASKS; i += n, n = n % 5 + 1) {
        for (size_t j = i; j + 1 < i + n && j + 1 < N_TASKS; j++) {
            tasks[j].next = &tasks[j + 1];
        }
        writer_submit(ingest.writer, &tasks[i]);
    }
}

/* Each task claims to be large, so that few are admitted at a time. */
static void hand_over_all(void)
{
    static const uint8_t is_refused[1];
    set_up(true);
    for (uint32_t i = 0; i < N_TASKS; i++) {
        task_reports[i] = report_of(i / 2);
        tasks[i] = (struct writer_task){.append = {.n_reports = 1,
                                                   .reports = &task_reports[i],
                                                   .is_refused = is_refused,
                                                   .statuses = &task_statuses[i]},
                                        .n_bytes = WRITER_BYTES_MAX / 3,
                                        .done = take_back};
        memcpy(tasks[i].append.hash, record.hash, sizeof record.hash);
    }
    submit_in_groups();
    writer_close(ingest.writer); /* commits everything first */
    ingest.writer = NULL;
    demand(n_done == N_TASKS, "closing lost a task");
    for (size_t i = 0; i < N_TASKS; i++) {
        demand(task_statuses[i] == (i % 2 == 0 ? DPOT_REPORT_ACCEPTED : DPOT_REPORT_DUPLICATE),
               "a task has the wrong status");
    }
    tear_down();
}

int main(void)
{
    demand(dpot_init() == DPOT_OK, "the library did not start");
    post_all(false);
    post_all(true);
    hand_over_all();
    return 0;
}
