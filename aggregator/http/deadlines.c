#include "http/deadlines.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#define LOOK_MS 250

struct deadline {
    int fd;
    int64_t at_ms;
    struct deadline *previous, *next;
};

struct deadlines {
    pthread_mutex_t mutex; /* guards everything below and every entry */
    pthread_cond_t wake;
    pthread_t thread;
    bool is_stopping;
    struct deadline *first;
};

int64_t deadlines_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void cut_late(struct deadlines *deadlines, int64_t now_ms)
{
    for (struct deadline *d = deadlines->first; d; d = d->next) {
        if (d->at_ms <= now_ms) {
            (void)shutdown(d->fd, SHUT_RDWR);
            d->at_ms = DEADLINE_NEVER; /* once is enough */
        }
    }
}

static struct timespec next_look(void)
{
    const int64_t at_ms = deadlines_now() + LOOK_MS;
    return (struct timespec){.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
}

static void *watch(void *ctx)
{
    struct deadlines *deadlines = ctx;
    (void)pthread_mutex_lock(&deadlines->mutex);
    while (!deadlines->is_stopping) {
        cut_late(deadlines, deadlines_now());
        const struct timespec at = next_look();
        (void)pthread_cond_timedwait(&deadlines->wake, &deadlines->mutex, &at);
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    return NULL;
}

dpot_status deadlines_new(struct deadlines **deadlines)
{
    struct deadlines *d = dpot_alloc_array(NULL, 1, sizeof *d);
    *deadlines = NULL;
    if (!d) {
        return DPOT_ERR_MEMORY;
    }
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&d->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&d->mutex, NULL);
    if (pthread_create(&d->thread, NULL, watch, d) != 0) {
        (void)pthread_cond_destroy(&d->wake);
        (void)pthread_mutex_destroy(&d->mutex);
        dpot_free_array(NULL, d, 1, sizeof *d);
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
    (void)pthread_cond_destroy(&deadlines->wake);
    (void)pthread_mutex_destroy(&deadlines->mutex);
    dpot_free_array(NULL, deadlines, 1, sizeof *deadlines);
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
    d->next = deadlines->first;
    if (d->next) {
        d->next->previous = d;
    }
    deadlines->first = d;
    (void)pthread_mutex_unlock(&deadlines->mutex);
    return d;
}

void deadlines_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ms)
{
    (void)pthread_mutex_lock(&deadlines->mutex);
    deadline->at_ms = at_ms;
    (void)pthread_mutex_unlock(&deadlines->mutex);
}

void deadlines_remove(struct deadlines *deadlines, struct deadline *deadline)
{
    (void)pthread_mutex_lock(&deadlines->mutex);
    if (deadline->previous) {
        deadline->previous->next = deadline->next;
    } else {
        deadlines->first = deadline->next;
    }
    if (deadline->next) {
        deadline->next->previous = deadline->previous;
    }
    (void)pthread_mutex_unlock(&deadlines->mutex);
    dpot_free_array(NULL, deadline, 1, sizeof *deadline);
}
