#include "http/linger.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK_MS 100
#define BLOCK 16384

struct entry {
    int fd; /* -1: free */
    int64_t until_ms;
    size_t n_discarded;
};

struct lingering {
    pthread_t thread;
    size_t n;
    int64_t patience_ms;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wake;
    bool is_stopping;
    struct entry entries[LINGER_MAX];
};

static void end(struct entry *entry)
{
    (void)close(entry->fd);
    entry->fd = -1;
}

/* Discards what has come; at most a block, so that no peer keeps the thread. */
static void discard(struct entry *entry)
{
    char block[BLOCK];
    const ssize_t n = recv(entry->fd, block, sizeof block, MSG_DONTWAIT);
    const bool is_empty = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    entry->n_discarded += n > 0 ? (size_t)n : 0;
    if ((n <= 0 && !is_empty) || entry->n_discarded > LINGER_BYTES_MAX) {
        end(entry);
    }
}

static void end_late(struct lingering *linger, int64_t now_ms)
{
    for (size_t i = 0; i < LINGER_MAX; i++) {
        if (linger->entries[i].fd >= 0 && linger->entries[i].until_ms <= now_ms) {
            end(&linger->entries[i]);
        }
    }
}

static size_t list_open(const struct lingering *linger, struct pollfd polled[LINGER_MAX])
{
    size_t n_open = 0;
    for (size_t i = 0; i < LINGER_MAX; i++) {
        polled[i] = (struct pollfd){.fd = linger->entries[i].fd, .events = POLLIN};
        n_open += polled[i].fd >= 0;
    }
    return n_open;
}

/* Entries that came in the meantime are read when nothing has come: harmless. */
static void serve(struct lingering *linger, const struct pollfd polled[LINGER_MAX])
{
    for (size_t i = 0; i < LINGER_MAX; i++) {
        if (polled[i].revents != 0 && linger->entries[i].fd >= 0) {
            discard(&linger->entries[i]);
        }
    }
    end_late(linger, dpot_clock_monotonic_ms());
}

static void *run(void *ctx)
{
    struct lingering *linger = ctx;
    struct pollfd polled[LINGER_MAX];
    (void)pthread_mutex_lock(&linger->mutex);
    while (!linger->is_stopping) {
        if (list_open(linger, polled) == 0) {
            (void)pthread_cond_wait(&linger->wake, &linger->mutex);
            continue;
        }
        (void)pthread_mutex_unlock(&linger->mutex);
        (void)poll(polled, LINGER_MAX, CHECK_MS); /* skips free places */
        (void)pthread_mutex_lock(&linger->mutex);
        serve(linger, polled);
    }
    (void)pthread_mutex_unlock(&linger->mutex);
    return NULL;
}

static void release(struct lingering *linger)
{
    (void)pthread_cond_destroy(&linger->wake);
    (void)pthread_mutex_destroy(&linger->mutex);
    dpot_free_array(NULL, linger, 1, sizeof *linger);
}

size_t linger_sockets(size_t max_connections)
{
    const size_t n = max_connections / LINGER_SHARE + 1;
    return n < LINGER_MAX ? n : LINGER_MAX;
}

dpot_status linger_new(size_t n, int64_t patience_ms, struct lingering **linger)
{
    struct lingering *l = dpot_alloc_array(NULL, 1, sizeof *l);
    *linger = NULL;
    if (!l) {
        return DPOT_ERR_MEMORY;
    }
    l->n = n;
    l->patience_ms = patience_ms;
    (void)pthread_mutex_init(&l->mutex, NULL);
    (void)pthread_cond_init(&l->wake, NULL);
    for (size_t i = 0; i < LINGER_MAX; i++) {
        l->entries[i].fd = -1;
    }
    if (pthread_create(&l->thread, NULL, run, l) != 0) {
        release(l);
        return DPOT_ERR_MEMORY;
    }
    *linger = l;
    return DPOT_OK;
}

void linger_free(struct lingering *linger)
{
    if (!linger) {
        return;
    }
    (void)pthread_mutex_lock(&linger->mutex);
    linger->is_stopping = true;
    (void)pthread_cond_signal(&linger->wake);
    (void)pthread_mutex_unlock(&linger->mutex);
    (void)pthread_join(linger->thread, NULL);
    end_late(linger, INT64_MAX);
    release(linger);
}

/* A free entry, or the oldest. */
static struct entry *find_place(struct lingering *linger)
{
    struct entry *oldest = &linger->entries[0];
    for (size_t i = 0; i < linger->n; i++) {
        struct entry *entry = &linger->entries[i];
        if (entry->fd < 0) {
            return entry;
        }
        oldest = entry->until_ms < oldest->until_ms ? entry : oldest;
    }
    end(oldest);
    return oldest;
}

void linger_add(struct lingering *linger, int fd)
{
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) {
        return;
    }
    (void)pthread_mutex_lock(&linger->mutex);
    struct entry *entry = find_place(linger);
    *entry =
        (struct entry){.fd = copy, .until_ms = dpot_clock_monotonic_ms() + linger->patience_ms};
    (void)pthread_cond_signal(&linger->wake);
    (void)pthread_mutex_unlock(&linger->mutex);
}
