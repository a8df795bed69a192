/* Many threads append overlapping batches of vectors while others read the pool: every vector must
 * be accepted exactly once and be read as it was written. */
#include "base/buf.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 33
#define N_WRITERS 4
#define N_BATCHES 40
#define BATCH 20
#define STEP 10 /* each batch shares half of its reports with the next */
#define N_DISTINCT (STEP * (N_BATCHES - 1) + BATCH)

static struct store *store;
static const uint8_t hash[DPOT_HASH_LEN] = {1};

/* Exits with a message if the condition is false. */
static void demand(bool is_true, const char *what)
{
    if (!is_true) {
        (void)fprintf(stderr, "threads_vectors: %s\n", what);
        exit(1);
    }
}

/* Value j of report n: the width differs from batch to batch. */
static int64_t value_of(uint32_t n, uint32_t j)
{
    const int64_t magnitude = (int64_t)1 << (n / STEP % 40);
    return (n + j) % 2 == 0 ? magnitude + j : -magnitude - (int64_t)n;
}

struct writer {
    pthread_t thread;
    size_t n_accepted;
    size_t n_duplicate;
};

static void append(struct writer *writer, uint32_t first)
{
    struct dpot_report reports[BATCH] = {{.index = 0}};
    int64_t values[BATCH][DIM];
    const uint8_t is_refused[BATCH] = {0};
    enum dpot_report_status statuses[BATCH];
    struct store_append batch = {
        .n_reports = BATCH, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    struct dpot_error error = {{0}};
    memcpy(batch.hash, hash, sizeof batch.hash);
    for (uint32_t i = 0; i < BATCH; i++) {
        dpot_store_u32(reports[i].id, first + i);
        reports[i].n_values = DIM;
        reports[i].values = values[i];
        for (uint32_t j = 0; j < DIM; j++) {
            values[i][j] = value_of(first + i, j);
        }
    }
    demand(store_append_reports(store, &batch, &error) == DPOT_OK, error.text);
    for (size_t i = 0; i < BATCH; i++) {
        writer->n_accepted += statuses[i] == DPOT_REPORT_ACCEPTED;
        writer->n_duplicate += statuses[i] == DPOT_REPORT_DUPLICATE;
    }
}

static void *run_writer(void *ctx)
{
    for (uint32_t i = 0; i < N_BATCHES; i++) {
        append(ctx, i * STEP);
    }
    return NULL;
}

static int check_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    const uint32_t n = dpot_load_u32(report->id);
    (void)round;
    demand(report->n_values == DIM, "a vector changed its length");
    for (uint32_t j = 0; j < DIM; j++) {
        demand(report->values[j] == value_of(n, j), "a vector changed in the store");
    }
    ++*(size_t *)ctx;
    return 0;
}

static void *run_reader(void *ctx)
{
    (void)ctx;
    size_t before = 0;
    for (int i = 0; i < 40; i++) {
        size_t n = 0;
        demand(store_read_pool(store, hash, check_report, &n, NULL) == DPOT_OK,
               "reading the pool failed");
        demand(n >= before && n <= N_DISTINCT, "the pool shrank or grew too far");
        before = n;
    }
    return NULL;
}

int main(void)
{
    struct writer writers[N_WRITERS] = {{.n_accepted = 0}};
    struct revision_record record = {.revision = 1, .name = "vectors"};
    pthread_t readers[2];
    size_t n_accepted = 0, n_duplicate = 0, n_read = 0;
    memcpy(record.hash, hash, sizeof hash);
    demand(dpot_init() == DPOT_OK, "the library did not start");
    demand(store_open("sqlite::memory:", &store, NULL) == DPOT_OK, "no store");
    demand(store_add_revision(store, &record, "x", 1, NULL) == DPOT_OK, "no revision");
    demand(store_set_state(store, hash, REVISION_OPEN, NULL) == DPOT_OK, "it does not open");
    for (size_t i = 0; i < 2; i++) {
        demand(pthread_create(&readers[i], NULL, run_reader, NULL) == 0, "no thread");
    }
    for (size_t i = 0; i < N_WRITERS; i++) {
        demand(pthread_create(&writers[i].thread, NULL, run_writer, &writers[i]) == 0, "no thread");
    }
    for (size_t i = 0; i < N_WRITERS; i++) {
        (void)pthread_join(writers[i].thread, NULL);
        n_accepted += writers[i].n_accepted;
        n_duplicate += writers[i].n_duplicate;
    }
    for (size_t i = 0; i < 2; i++) {
        (void)pthread_join(readers[i], NULL);
    }
    demand(n_accepted == N_DISTINCT, "a vector was not accepted exactly once");
    demand(n_accepted + n_duplicate == (size_t)N_WRITERS * N_BATCHES * BATCH, "a vector was lost");
    demand(store_read_pool(store, hash, check_report, &n_read, NULL) == DPOT_OK, "no pool");
    demand(n_read == N_DISTINCT, "the pool is not whole");
    store_close(store);
    return 0;
}
