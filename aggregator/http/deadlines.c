#include "http/deadlines.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#define LOOK_MS 250

/* A thread that serves connections. */
struct worker {
    pthread_t thread;
    size_t n_open; /* not cut */
};

struct deadline {
    int fd;
    struct worker *worker;
    int64_t at_ms;
    enum deadline_phase phase;
    bool is_cut;
    struct deadline *previous, *next;
};

struct deadlines {
    pthread_mutex_t mutex; /* guards everything below and every entry */
    pthread_cond_t wake;
    pthread_cond_t emptied; /* there is no entry left */
    pthread_t thread;
    bool is_stopping;
    bool is_ending; /* no entry is to stay */
    struct deadline *first;
    struct worker *workers; /* (n_threads), of which n_workers have come */
    size_t n_threads, n_workers;
    size_t n_quiet; /* so many of a thread's may be open before newcomers cost others theirs */
};

int64_t deadlines_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void cut(struct deadline *d)
{
    (void)shutdown(d->fd, SHUT_RDWR);
    d->worker->n_open -= !d->is_cut;
    d->is_cut = true;
    d->at_ms = DEADLINE_NEVER; /* once is enough */
}

static void cut_late(struct deadlines *deadlines, int64_t now_ms)
{
    for (struct deadline *d = deadlines->first; d; d = d->next) {
        if (d->at_ms <= now_ms) {
            cut(d);
        }
    }
}

/* Heads before bodies, and of these the earliest deadline. */
static bool goes_first(const struct deadline *d, const struct deadline *other)
{
    return !other || d->phase < other->phase ||
           (d->phase == other->phase && d->at_ms < other->at_ms);
}

/* For one more. When all that are open wait for us there is nobody to cut: the library's limit holds. */
static void make_room(struct deadlines *deadlines, const struct worker *worker)
{
    struct deadline *victim = NULL;
    if (worker->n_open < deadlines->n_quiet) {
        return;
    }
    for (struct deadline *d = deadlines->first; d; d = d->next) {
        if (d->worker == worker && !d->is_cut && d->phase != DEADLINE_OURS &&
            goes_first(d, victim)) {
            victim = d;
        }
    }
    if (victim) {
        cut(victim);
    }
}

static struct timespec later(int64_t ms)
{
    const int64_t at_ms = deadlines_now() + ms;
    return (struct timespec){.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
}

static void *watch(void *ctx)
{
    struct deadlines *deadlines = ctx;
    (void)pthread_mutex_lock(&deadlines->mutex);
    while (!deadlines->is_stopping) {
        cut_late(deadlines, deadlines_now());
        const struct timespec at = later(LOOK_MS);
        (void)pthread_cond_timedwait(&deadlines->wake, &deadlines->mutex, &at);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    return NULL;
}

/* Frees what is there; no thread runs. */
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

/* The calling thread. Should others than those of the pool ever come, they share the last place. */
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
        cut(d);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    return d;
}

/* One that was cut stays so. */
void deadlines_set(struct deadlines *deadlines, struct deadline *deadline,
                   enum deadline_phase phase, int64_t at_ms)
{
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadline->phase = phase;
    deadline->at_ms = deadline->is_cut ? DEADLINE_NEVER : at_ms;
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
    deadline->worker->n_open -= !deadline->is_cut;
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
    cut_late(deadlines, DEADLINE_NEVER);
    while (deadlines->first && failed == 0) {
        failed = pthread_cond_timedwait(&deadlines->emptied, &deadlines->mutex, &at);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
}
