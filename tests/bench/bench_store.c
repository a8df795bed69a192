/* The store with millions of ids: its rate at one million rows and at ten, memory per id, and a
 * restart.
 *
 *     bench_store FOLDER [MILLIONS]        FOLDER on the disk to measure; 10 needs 1 GB
 *
 * Reports of 36 small numbers and a random id, 5,000 a commit, durable. Memory is what the process
 * has more than at its first commit, by the kernel's high-water mark, which sees every moment of
 * growth: the most for an id that any commit brought it to, from 200,000 ids on. */
#include "base/crypto.h"
#include "store/store.h"
#include "turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIM 36
#define COMMIT 5000
#define MILLION ((size_t)1000000)
#define MEASURED ((size_t)250000) /* reports of one measurement */
#define SETTLED ((size_t)200000)

static struct dpot_report reports[COMMIT];
static enum dpot_report_status statuses[COMMIT];
static uint8_t is_refused[COMMIT];
static int64_t values[DIM];
static uint8_t ids[COMMIT][DPOT_REPORT_ID_LEN];

struct filling {
    struct store *store;
    uint8_t hash[DPOT_HASH_LEN];
    size_t n_ids;
    double base_bytes;
    double most_per_id; /* bytes */
};

/* A number of kB of /proc/self/status, in bytes. */
static double status_bytes(const char *name)
{
    char line[256];
    double value = 0;
    FILE *stream = fopen("/proc/self/status", "r");
    while (stream && fgets(line, sizeof line, stream)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = 1024 * strtod(line + strlen(name), NULL);
        }
    }
    if (stream) {
        (void)fclose(stream);
    }
    return value;
}

static void add_commit(struct filling *f)
{
    struct store_append append = {
        .n_reports = COMMIT, .reports = reports, .is_refused = is_refused, .statuses = statuses};
    struct dpot_error error = {{0}};
    memcpy(append.hash, f->hash, sizeof append.hash);
    dpot_random_bytes(
        ids, sizeof ids); /* immediately, as the removal would take a quarter of the time */
    for (size_t i = 0; i < COMMIT; i++) {
        reports[i].n_values = DIM;
        reports[i].values = values;
        memcpy(reports[i].id, ids[i], sizeof reports[i].id);
    }
    turn_require(store_append_reports(f->store, &append, &error) == DPOT_OK, error.text);
    f->n_ids += COMMIT;
    if (f->n_ids == COMMIT) {
        f->base_bytes = status_bytes("VmRSS:") - COMMIT * 32.0;
    }
    const double per_id = (status_bytes("VmHWM:") - f->base_bytes) / (double)f->n_ids;
    if (f->n_ids >= SETTLED && per_id > f->most_per_id) {
        f->most_per_id = per_id;
    }
}

/* Reports a second of wall time, and microseconds of the processor, up to `n_ids`. */
static double fill(struct filling *f, size_t n_ids, double *cpu_us)
{
    const size_t before = f->n_ids;
    const struct turn began = turn_start();
    while (f->n_ids < n_ids) {
        add_commit(f);
    }
    const struct turn spent = turn_since(began);
    const double n = (double)(f->n_ids - before);
    *cpu_us = 1e6 * spent.cpu / n;
    return n / spent.wall;
}

static void open_store(struct filling *f, const char *url)
{
    struct dpot_error error = {{0}};
    turn_require(store_open_owned(url, NULL, &f->store, &error) == DPOT_OK, error.text);
}

static void add_revision(struct filling *f)
{
    struct revision_record record = {.revision = 1, .name = "bench", .hash = {1}};
    struct dpot_error error = {{0}};
    memcpy(f->hash, record.hash, sizeof f->hash);
    turn_require(store_add_revision(f->store, &record, "x", 1, &error) == DPOT_OK &&
                     store_set_state(f->store, f->hash, REVISION_OPEN, &error) == DPOT_OK,
                 error.text);
}

static void remove_store(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char name[600];
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

static void restart(struct filling *f, const char *url)
{
    struct store_id_usage usage;
    struct dpot_error error = {{0}};
    store_close(f->store);
    const struct turn began = turn_start();
    open_store(f, url);
    turn_require(store_load_ids(f->store, &error) == DPOT_OK, error.text);
    const struct turn spent = turn_since(began);
    store_get_id_usage(f->store, &usage);
    turn_require(usage.n_ids == f->n_ids, "the restart lost ids");
    (void)printf("restart with %zu ids: %.2f s (%.2f s of the processor), %.1f bytes an id\n",
                 f->n_ids, spent.wall, spent.cpu, (double)usage.n_bytes / (double)f->n_ids);
}

int main(int argc, char **argv)
{
    char path[512], url[600];
    const char *folder = argc > 1 ? argv[1] : ".";
    const size_t n_millions = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
    struct filling f = {.n_ids = 0};
    double cpu_us = 0, early_us = 0;
    turn_require(dpot_init() == DPOT_OK, "the library did not start");
    turn_require(n_millions >= 2, "give at least two millions");
    for (size_t j = 0; j < DIM; j++) {
        values[j] = (int64_t)(j % 11) - 5;
    }
    (void)snprintf(path, sizeof path, "%s/bench.db", folder);
    (void)snprintf(url, sizeof url, "sqlite:%s", path);
    remove_store(path);
    open_store(&f, url);
    add_revision(&f);
    (void)fill(&f, MILLION, &cpu_us);
    const double early = fill(&f, MILLION + MEASURED, &early_us);
    (void)printf("at %5zu thousand rows: %9.0f reports/s, cpu %.2f us/report\n", MILLION / 1000,
                 early, early_us);
    (void)fill(&f, n_millions * MILLION, &cpu_us);
    const double late = fill(&f, n_millions * MILLION + MEASURED, &cpu_us);
    (void)printf("at %5zu thousand rows: %9.0f reports/s, cpu %.2f us/report, ratio %.1f %% "
                 "(by the processor %.1f %%)\n",
                 n_millions * 1000, late, cpu_us, 100 * late / early, 100 * early_us / cpu_us);
    (void)printf("memory: at most %.1f bytes an id at any moment\n", f.most_per_id);
    restart(&f, url);
    store_close(f.store);
    remove_store(path);
    return 0;
}
