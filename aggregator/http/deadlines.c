#include "http/deadlines.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#define CHECK_MS 250

/* A thread that serves connections. */
struct worker {
    pthread_t thread;
    size_t n_open; /* connections that were not disconnected */
};

struct deadline {
    int fd;
    struct worker *worker;
    int64_t at_ms;
    enum deadline_phase phase;
    bool is_disconnected;
    struct deadline *previous, *next;
};

struct deadlines {
    pthread_mutex_t mutex; /* guards everything below and every entry */
    pthread_cond_t wake;
    pthread_cond_t emptied; /* no entry is left */
    pthread_t thread;
    bool is_stopping;
    bool is_ending; /* new entries are disconnected, too */
    struct deadline *first;
    struct worker *workers; /* (n_threads), n_workers of them in use */
    size_t n_threads, n_workers;
    size_t n_quiet; /* connections of a thread from which on a new one replaces another */
};

static void disconnect(struct deadline *d)
{
    (void)shutdown(d->fd, SHUT_RDWR);
    d->worker->n_open -= !d->is_disconnected;
    d->is_disconnected = true;
    d->at_ms = DEADLINE_NEVER;
}

static void disconnect_late(struct deadlines *deadlines, int64_t now_ms)
{
    for (struct deadline *d = deadlines->first; d; d = d->next) {
        if (d->at_ms <= now_ms) {
            disconnect(d);
        }
    }
}

/* Heads before bodies, then the earliest deadline. */
static bool goes_first(const struct deadline *d, const struct deadline *other)
{
    return !other || d->phase < other->phase ||
           (d->phase == other->phase && d->at_ms < other->at_ms);
}

/* Makes room for one more. If all open connections wait for the server, none is disconnected, and
 * the library's limit holds. */
static void make_room(struct deadlines *deadlines, const struct worker *worker)
{
    struct deadline *victim = NULL;
    if (worker->n_open < deadlines->n_quiet) {
        return;
    }
    for (struct deadline *d = deadlines->first; d; d = d->next) {
        if (d->worker == worker && !d->is_disconnected && d->phase != DEADLINE_OURS &&
            goes_first(d, victim)) {
            victim = d;
        }
    }
    if (victim) {
        disconnect(victim);
    }
}

static struct timespec later(int64_t ms)
{
    const int64_t at_ms = dpot_clock_monotonic_ms() + ms;
    return (struct timespec){.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
}

static void *watch(void *ctx)
{
    struct deadlines *deadlines = ctx;
    (void)pthread_mutex_lock(&deadlines->mutex);
    while (!deadlines->is_stopping) {
        disconnect_late(deadlines, dpot_clock_monotonic_ms());
        const struct timespec at = later(CHECK_MS);
        (void)pthread_cond_timedwait(&deadlines->wake, &deadlines->mutex, &at);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    return NULL;
}

/* No thread runs. */
static void release(struct deadlines *deadlines)
{
    dpot_free_array(NULL, deadlines->workers, deadlines->n_threads, sizeof *deadlines->workers);
    (void)pthread_cond_destroy(&deadlines->wake);
    (void)pthread_cond_destroy(&deadlines->emptied);
    (void)pthread_mutex_destroy(&deadlines->mutex);
    dpot_free_array(NULL, deadlines, 1, sizeof *deadlines);
}

dpot_status deadlines_new(size_t n_threads, size_t max_connections, struct deadlines **deadlines)
{
    struct deadlines *d = dpot_alloc_array(NULL, 1, sizeof *d);
    *deadlines = NULL;
    if (!d) {
        return DPOT_ERR_MEMORY;
    }
    const size_t n_places = max_connections / n_threads;
    d->n_quiet = n_places - (n_places + 7) / 8;
    d->n_threads = n_threads;
    d->workers = dpot_alloc_array(NULL, n_threads, sizeof *d->workers);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&d->wake, &monotonic);
    (void)pthread_cond_init(&d->emptied, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&d->mutex, NULL);
    if (!d->workers || pthread_create(&d->thread, NULL, watch, d) != 0) {
        release(d);
        return DPOT_ERR_MEMORY;
    }
    *deadlines = d;
    return DPOT_OK;
}

void deadlines_free(struct deadlines *deadlines)
{
    if (!deadlines) {
        return;
    }
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadlines->is_stopping = true;
    (void)pthread_cond_signal(&deadlines->wake);
    (void)pthread_mutex_unlock(&deadlines->mutex);
    (void)pthread_join(deadlines->thread, NULL);
    release(deadlines);
}

/* The calling thread. Threads beyond n_threads share the last entry. */
static struct worker *find_worker(struct deadlines *deadlines)
{
    const pthread_t self = pthread_self();
    for (size_t i = 0; i < deadlines->n_workers; i++) {
        if (pthread_equal(deadlines->workers[i].thread, self)) {
            return &deadlines->workers[i];
        }
    }
    if (deadlines->n_workers < deadlines->n_threads) {
        deadlines->workers[deadlines->n_workers++].thread = self;
    }
    return &deadlines->workers[deadlines->n_workers - 1];
}

struct deadline *deadlines_add(struct deadlines *deadlines, int fd, int64_t at_ms)
{
    struct deadline *d = dpot_alloc_array(NULL, 1, sizeof *d);
    if (!d) {
        return NULL;
    }
    d->fd = fd;
    d->at_ms = at_ms;
    (void)pthread_mutex_lock(&deadlines->mutex);
    d->worker = find_worker(deadlines);
    make_room(deadlines, d->worker);
    d->worker->n_open++;
    d->next = deadlines->first;
    if (d->next) {
        d->next->previous = d;
    }
    deadlines->first = d;
    if (deadlines->is_ending) {
        disconnect(d);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    return d;
}

/* A disconnected entry stays so. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_phase phase, int64_t at_ms)
{
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadline->phase = phase;
    deadline->at_ms = deadline->is_disconnected ? DEADLINE_NEVER : at_ms;
    (void)pthread_mutex_unlock(&deadlines->mutex);
}

void deadlines_enter(struct deadlines *deadlines, struct deadline *deadline,
                     enum deadline_phase phase)
{
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadline->phase = phase;
    (void)pthread_mutex_unlock(&deadlines->mutex);
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadline->worker->n_open -= !deadline->is_disconnected;
    if (deadline->previous) {
        deadline->previous->next = deadline->next;
    } else {
        deadlines->first = deadline->next;
    }
    if (deadline->next) {
        deadline->next->previous = deadline->previous;
    }
    if (!deadlines->first) {
        (void)pthread_cond_signal(&deadlines->emptied);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    dpot_free_array(NULL, deadline, 1, sizeof *deadline);
}

void deadlines_end(struct deadlines *deadlines, int64_t patience_ms)
{
    const struct timespec at = later(patience_ms);
    int failed = 0;
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadlines->is_ending = true;
    disconnect_late(deadlines, DEADLINE_NEVER);
    while (deadlines->first && failed == 0) {
        failed = pthread_cond_timedwait(&deadlines->emptied, &deadlines->mutex, &at);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
}
