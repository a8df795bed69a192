#include "pool/writer.h"

#include "base/clock.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#define TASKS_MAX 8192 /* in a commit */
#define TALLY_EVERY_S 10

struct writer {
    struct writer_config config;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows, up to the blank line */
    pthread_cond_t wake;   /* of the writer */
    pthread_cond_t room;   /* of those who submit */
    struct writer_task *first, *last;
    size_t n_reports, n_bytes; /* of waiting tasks */
    bool is_closing;
    struct writer_work work;

    /* Used by the thread only. */
    struct writer_task *tasks[TASKS_MAX]; /* of one commit */
    const struct store_append *appends[TASKS_MAX];
    dpot_status outcomes[TASKS_MAX];
};

static struct timespec later(int64_t ms)
{
    const int64_t at_us = dpot_clock_monotonic_us() + 1000 * ms;
    return (struct timespec){.tv_sec = (time_t)(at_us / 1000000),
                             .tv_nsec = (long)(at_us % 1000000) * 1000};
}

static double seconds_now(void)
{
    return 1e-6 * (double)dpot_clock_monotonic_us();
}

/* ---- under the mutex ---- */

/* True when a task waits; false at the end, or when the tally is due. */
static bool wait_for_work(struct writer *w)
{
    const struct timespec at = later(TALLY_EVERY_S * 1000);
    int failed = 0;
    while (!w->first && !w->is_closing && failed == 0) {
        failed = pthread_cond_timedwait(&w->wake, &w->mutex, &at);
    }
    return w->first != NULL;
}

/* A commit costs one sync for any number of batches. */
static void wait_for_more(struct writer *w)
{
    const struct timespec at = later(w->config.max_delay_ms);
    int failed = w->config.max_delay_ms > 0 ? 0 : 1;
    while (w->n_reports < w->config.max_reports && !w->is_closing && failed == 0) {
        failed = pthread_cond_timedwait(&w->wake, &w->mutex, &at);
    }
}

/* Takes the tasks of the next commit and returns their number. */
static size_t take_tasks(struct writer *w)
{
    size_t n = 0, n_reports = 0;
    while (w->first && n < TASKS_MAX) {
        struct writer_task *task = w->first;
        if (n > 0 && n_reports + task->append.n_reports > w->config.max_reports) {
            break;
        }
        n_reports += task->append.n_reports;
        w->n_reports -= task->append.n_reports;
        w->n_bytes -= task->n_bytes;
        w->tasks[n] = task;
        w->appends[n++] = &task->append;
        w->first = task->next;
    }
    if (!w->first) {
        w->last = NULL;
    }
    (void)pthread_cond_broadcast(&w->room);
    return n;
}

/* ---- without the mutex ---- */

static void give_back(struct writer *w, size_t n, dpot_status status,
                      const struct dpot_error *error)
{
    for (size_t i = 0; i < n; i++) {
        struct writer_task *task = w->tasks[i];
        task->status = status == DPOT_OK ? w->outcomes[i] : status;
        task->error.text[0] = '\0';
        if (task->status != DPOT_OK) {
            task->error = *error;
        }
        task->done(task); /* (W1): the task is not ours any more */
    }
}

static void commit(struct writer *w, size_t n)
{
    struct dpot_error error = {{0}};
    size_t n_reports = 0;
    const double began = seconds_now();
    const dpot_status status =
        store_append_group(w->config.store, w->appends, n, w->outcomes, &error);
    const double seconds = seconds_now() - began;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        n_reports += w->outcomes[i] == DPOT_OK ? w->appends[i]->n_reports : 0;
    }
    (void)pthread_mutex_lock(&w->mutex);
    w->work.n_commits += status == DPOT_OK;
    w->work.n_failures += status != DPOT_OK;
    w->work.n_batches += status == DPOT_OK ? n : 0;
    w->work.seconds += seconds;
    (void)pthread_mutex_unlock(&w->mutex);
    if (status == DPOT_OK && w->config.on_committed) {
        w->config.on_committed(w->config.ctx, n_reports);
    }
    if (status != DPOT_OK && w->config.on_failed) {
        w->config.on_failed(w->config.ctx, &error);
    }
    give_back(w, n, status, &error);
}

/* Notices a store that was changed under the server even without traffic: store_check reports
 * it. */
static void check_store(const struct writer *w)
{
    struct dpot_error ignored;
    (void)!store_check(w->config.store, &ignored);
}

/* On failure the tally waits: those who send reports learn that the store takes no writes. */
static void write_tally(struct writer *w, double *written)
{
    struct tally *tally = w->config.tally;
    const dpot_status status = tally ? tally_save(tally, w->config.store, NULL) : DPOT_OK;
    *written = status == DPOT_OK ? seconds_now() : *written;
}

static bool has_time(struct writer *w)
{
    (void)pthread_mutex_lock(&w->mutex);
    const bool has = !w->first && !w->is_closing;
    (void)pthread_mutex_unlock(&w->mutex);
    return has;
}

static void work_on_store(struct writer *w)
{
    bool has_more = w->config.on_idle != NULL;
    while (has_more && has_time(w)) {
        has_more = w->config.on_idle(w->config.ctx);
    }
}

static void *run(void *ctx)
{
    struct writer *w = ctx;
    double written = seconds_now();
    bool is_over = false;
    while (!is_over) {
        size_t n = 0;
        (void)pthread_mutex_lock(&w->mutex);
        if (wait_for_work(w)) {
            wait_for_more(w);
            n = take_tasks(w);
        }
        is_over = n == 0 && w->is_closing;
        (void)pthread_mutex_unlock(&w->mutex);
        if (n > 0) {
            commit(w, n);
        }
        if (is_over || seconds_now() - written >= TALLY_EVERY_S) {
            check_store(w);
            write_tally(w, &written);
            work_on_store(w);
        }
    }
    return NULL;
}

/* ---- for other threads ---- */

void writer_submit(struct writer *writer, struct writer_task *task)
{
    struct writer_task *last = task;
    size_t n_reports = 0, n_bytes = 0;
    for (struct writer_task *t = task; t; t = t->next) {
        n_reports += t->append.n_reports;
        n_bytes += t->n_bytes;
        last = t;
    }
    (void)pthread_mutex_lock(&writer->mutex);
    while (writer->first && writer->n_bytes + n_bytes > WRITER_BYTES_MAX) {
        (void)pthread_cond_wait(&writer->room, &writer->mutex);
    }
    if (writer->last) {
        writer->last->next = task;
    } else {
        writer->first = task;
    }
    writer->last = last;
    writer->n_reports += n_reports;
    writer->n_bytes += n_bytes;
    (void)pthread_cond_signal(&writer->wake);
    (void)pthread_mutex_unlock(&writer->mutex);
}

void writer_get_work(struct writer *writer, struct writer_work *work)
{
    (void)pthread_mutex_lock(&writer->mutex);
    *work = writer->work;
    (void)pthread_mutex_unlock(&writer->mutex);
}

static void destroy(struct writer *w)
{
    (void)pthread_cond_destroy(&w->wake);
    (void)pthread_cond_destroy(&w->room);
    (void)pthread_mutex_destroy(&w->mutex);
    dpot_free_array(NULL, w, 1, sizeof *w);
}

dpot_status writer_open(const struct writer_config *config, struct writer **writer,
                        struct dpot_error *error)
{
    struct writer *w = dpot_alloc_array(NULL, 1, sizeof *w);
    *writer = NULL;
    if (!w) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the writer");
    }
    w->config = *config;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->wake, &monotonic);
    (void)pthread_cond_init(&w->room, NULL);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&w->mutex, NULL);
    if (pthread_create(&w->thread, NULL, run, w) != 0) {
        destroy(w);
        return dpot_error_set(error, DPOT_ERR_MEMORY,
                              "the thread that writes the store did not start: " DPOT_MORE_THREADS);
    }
    *writer = w;
    return DPOT_OK;
}

void writer_close(struct writer *writer)
{
    if (!writer) {
        return;
    }
    (void)pthread_mutex_lock(&writer->mutex);
    writer->is_closing = true;
    (void)pthread_cond_signal(&writer->wake);
    (void)pthread_mutex_unlock(&writer->mutex);
    (void)pthread_join(writer->thread, NULL);
    destroy(writer);
}
