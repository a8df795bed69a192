#include "http/log_sink.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RING_SIZE ((size_t)64 << 10)
#define CHUNK_SIZE 4096 /* PIPE_BUF on Linux: a pipe takes it whole */
#define CHECK_MS 100    /* how often a writer that waits looks whether it is to end */
#define FOLD_CHECK_MS 1000
#define END_MS 500 /* for a thread that is not held up to end, after the patience */

struct log_sink {
    int fd;
    const struct dpot_clock *clock;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wake, idle;
    char ring[RING_SIZE];
    uint64_t head, tail; /* bytes put and taken since the start */
    uint64_t gap_at;     /* where in the bytes the lost lines are missing, if n_lost > n_told */
    uint64_t n_lost, n_told, n_folded;
    uint64_t n_telling; /* n_told once the present write succeeds */
    struct log_fold fold;
    int64_t end_by_ms;
    bool is_failing; /* the last write failed: the loss is told with the next line */
    bool is_torn;    /* the last write ended inside a line */
    bool is_writing; /* outside the mutex */
    bool is_closing, has_ended, is_abandoned;
};

static int64_t now_ms(const struct log_sink *sink)
{
    return sink->clock->now(sink->clock->ctx);
}

static struct timespec monotonic_at(int64_t at_ms)
{
    return (struct timespec){.tv_sec = (time_t)(at_ms / 1000),
                             .tv_nsec = (long)(at_ms % 1000) * 1000000};
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += text[i] == '\n';
    }
    return n;
}

static void lose(struct log_sink *sink, uint64_t n_lines, uint64_t at)
{
    if (sink->n_lost == sink->n_telling) {
        sink->gap_at = at;
    }
    sink->n_lost += n_lines;
}

/* ---- putting; the mutex is held ---- */

static void append(struct log_sink *sink, const char *lines, size_t len)
{
    if (len > RING_SIZE - (size_t)(sink->head - sink->tail)) {
        lose(sink, count_lines(lines, len), sink->head);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        sink->ring[(sink->head + i) % RING_SIZE] = lines[i];
    }
    sink->head += len;
    (void)pthread_cond_signal(&sink->wake);
}

static void append_event(struct log_sink *sink, const char *text, const char *count, uint64_t n)
{
    char line[LOG_KIND_SIZE + 100], ts[DPOT_RFC3339_SIZE];
    dpot_time_format(now_ms(sink), ts);
    const int len =
        snprintf(line, sizeof line, "ts=%s %s %s=%llu\n", ts, text, count, (unsigned long long)n);
    append(sink, line, (size_t)len);
}

static void append_folded(struct log_sink *sink, bool is_last)
{
    struct log_kind over;
    while (log_fold_next(&sink->fold, now_ms(sink), is_last, &over)) {
        append_event(sink, over.text, "n_folded", over.n_folded);
    }
}

void log_sink_put(struct log_sink *sink, const char *lines, size_t len)
{
    (void)pthread_mutex_lock(&sink->mutex);
    append(sink, lines, len);
    (void)pthread_mutex_unlock(&sink->mutex);
}

bool log_sink_admit(struct log_sink *sink, const char *kind)
{
    (void)pthread_mutex_lock(&sink->mutex);
    append_folded(sink, false);
    const bool is_admitted = log_fold_admit(&sink->fold, kind, now_ms(sink));
    sink->n_folded += !is_admitted;
    (void)pthread_mutex_unlock(&sink->mutex);
    return is_admitted;
}

struct log_counts log_sink_get_counts(struct log_sink *sink)
{
    struct log_counts counts = {0, 0};
    if (sink) {
        (void)pthread_mutex_lock(&sink->mutex);
        counts = (struct log_counts){sink->n_lost, sink->n_folded};
        (void)pthread_mutex_unlock(&sink->mutex);
    }
    return counts;
}

/* ---- writing ---- */

/* What one write takes: how many lines were lost here, if any were, and lines. */
struct chunk {
    char text[CHUNK_SIZE + 1];
    size_t len;
    size_t told_len; /* of the beginning that tells the loss; 0: none */
    uint64_t n_told; /* lost lines that have been told once it is written */
};

static bool is_gap_next(const struct log_sink *sink)
{
    return sink->n_lost > sink->n_told && sink->gap_at <= sink->tail;
}

static void tell_loss(struct log_sink *sink, struct chunk *chunk)
{
    char ts[DPOT_RFC3339_SIZE];
    dpot_time_format(now_ms(sink), ts);
    chunk->len += (size_t)snprintf(chunk->text + chunk->len, CHUNK_SIZE - chunk->len,
                                   "ts=%s level=warning event=log.lost n_lines=%llu n_total=%llu\n",
                                   ts, (unsigned long long)(sink->n_lost - sink->n_told),
                                   (unsigned long long)sink->n_lost);
    chunk->told_len = chunk->len;
    chunk->n_told = sink->n_telling = sink->n_lost;
}

/* Whole lines, up to the next gap. */
static void take_lines(struct log_sink *sink, struct chunk *chunk)
{
    const bool has_gap = sink->n_lost > chunk->n_told && sink->gap_at > sink->tail;
    const size_t n = (size_t)((has_gap ? sink->gap_at : sink->head) - sink->tail);
    size_t whole = 0;
    for (size_t i = 0; i < n && chunk->len + i < CHUNK_SIZE; i++) {
        const char c = sink->ring[(sink->tail + i) % RING_SIZE];
        chunk->text[chunk->len + i] = c;
        whole = c == '\n' ? i + 1 : whole;
    }
    chunk->len += whole;
    sink->tail += whole;
}

/* The mutex is held. */
static void take(struct log_sink *sink, struct chunk *chunk)
{
    *chunk = (struct chunk){.n_told = sink->n_told};
    if (sink->is_torn) {
        chunk->text[chunk->len++] = '\n';
    }
    if (is_gap_next(sink)) {
        tell_loss(sink, chunk);
    }
    take_lines(sink, chunk);
}

/* Accounts for a chunk of which `done` bytes were written. The mutex is held. A loss that was not
 * told is told after the lost lines of this chunk, together with them. */
static void settle(struct log_sink *sink, const struct chunk *chunk, size_t done)
{
    const bool is_told = done >= chunk->told_len;
    const bool is_untouched = done == 0 && chunk->text[0] == '\n'; /* of a torn line */
    const size_t from = is_told ? done + is_untouched : chunk->told_len;
    const size_t n_lines = count_lines(chunk->text + from, chunk->len - from);
    sink->is_failing = done < chunk->len;
    if (done > 0) {
        sink->is_torn = chunk->text[done - 1] != '\n';
    }
    if (is_told) {
        sink->n_told = chunk->n_told;
    }
    sink->n_lost += n_lines;
    if (sink->is_failing && sink->n_lost > sink->n_told) {
        sink->gap_at = sink->tail;
        sink->n_telling = sink->n_told;
    }
}

static bool is_time_up(struct log_sink *sink)
{
    (void)pthread_mutex_lock(&sink->mutex);
    const bool is_up = sink->is_closing && dpot_clock_monotonic_ms() >= sink->end_by_ms;
    (void)pthread_mutex_unlock(&sink->mutex);
    return is_up;
}

/* The number of bytes written: fewer than `len` after a failure, or when the time is up. */
static size_t write_whole(struct log_sink *sink, const char *text, size_t len)
{
    size_t done = 0;
    while (done < len) {
        struct pollfd descriptor = {.fd = sink->fd, .events = POLLOUT};
        if (poll(&descriptor, 1, CHECK_MS) == 0) {
            if (is_time_up(sink)) {
                return done;
            }
            continue;
        }
        const ssize_t n = write(sink->fd, text + done, len - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            return done;
        }
    }
    return done;
}

/* Called and returns with the mutex held; it is free meanwhile. */
static void write_chunk(struct log_sink *sink)
{
    struct chunk chunk;
    take(sink, &chunk);
    sink->is_writing = true;
    (void)pthread_mutex_unlock(&sink->mutex);
    const size_t done = write_whole(sink, chunk.text, chunk.len);
    (void)pthread_mutex_lock(&sink->mutex);
    sink->is_writing = false;
    settle(sink, &chunk, done);
    (void)pthread_cond_signal(&sink->idle);
}

/* After a failure nothing is tried without a new line. */
static bool has_work(const struct log_sink *sink)
{
    return sink->head > sink->tail || (is_gap_next(sink) && !sink->is_failing);
}

/* False: the end. */
static bool wait_for_work(struct log_sink *sink)
{
    while (!has_work(sink) && !sink->is_closing) {
        if (sink->fold.n == 0) {
            (void)pthread_cond_wait(&sink->wake, &sink->mutex);
        } else {
            const struct timespec at = monotonic_at(dpot_clock_monotonic_ms() + FOLD_CHECK_MS);
            (void)pthread_cond_timedwait(&sink->wake, &sink->mutex, &at);
            append_folded(sink, false);
        }
    }
    return has_work(sink) && !(sink->is_closing && dpot_clock_monotonic_ms() >= sink->end_by_ms);
}

static void release(struct log_sink *sink)
{
    (void)pthread_cond_destroy(&sink->wake);
    (void)pthread_cond_destroy(&sink->idle);
    (void)pthread_mutex_destroy(&sink->mutex);
    dpot_free_array(NULL, sink, 1, sizeof *sink);
}

/* No signal reaches the thread: a pipe without a reader is a failed write. */
static void *run(void *ctx)
{
    struct log_sink *sink = ctx;
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    (void)pthread_mutex_lock(&sink->mutex);
    while (wait_for_work(sink)) {
        write_chunk(sink);
    }
    sink->has_ended = true;
    const bool is_abandoned = sink->is_abandoned;
    (void)pthread_cond_signal(&sink->idle);
    (void)pthread_mutex_unlock(&sink->mutex);
    if (is_abandoned) {
        release(sink);
    }
    return NULL;
}

/* ---- opening and closing ---- */

dpot_status log_sink_open(int fd, const struct dpot_clock *clock, struct log_sink **sink)
{
    struct log_sink *s = dpot_alloc_array(NULL, 1, sizeof *s);
    *sink = NULL;
    if (!s) {
        return DPOT_ERR_MEMORY;
    }
    s->fd = fd;
    s->clock = clock;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->wake, &monotonic);
    (void)pthread_cond_init(&s->idle, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&s->mutex, NULL);
    if (pthread_create(&s->thread, NULL, run, s) != 0) {
        release(s);
        return DPOT_ERR_MEMORY;
    }
    *sink = s;
    return DPOT_OK;
}

void log_sink_flush(struct log_sink *sink, int64_t patience_ms)
{
    const struct timespec at = monotonic_at(dpot_clock_monotonic_ms() + patience_ms);
    int failed = 0;
    (void)pthread_mutex_lock(&sink->mutex);
    while ((sink->head > sink->tail || sink->is_writing) && failed == 0) {
        failed = pthread_cond_timedwait(&sink->idle, &sink->mutex, &at);
    }
    (void)pthread_mutex_unlock(&sink->mutex);
}

/* Waits until the thread has ended; false: it is held up, and frees the sink if it ever returns. */
static bool wait_for_end(struct log_sink *sink)
{
    const struct timespec at = monotonic_at(sink->end_by_ms + END_MS);
    int failed = 0;
    while (!sink->has_ended && failed == 0) {
        failed = pthread_cond_timedwait(&sink->idle, &sink->mutex, &at);
    }
    sink->is_abandoned = !sink->has_ended;
    return sink->has_ended;
}

void log_sink_close(struct log_sink *sink, int64_t patience_ms)
{
    if (!sink) {
        return;
    }
    (void)pthread_mutex_lock(&sink->mutex);
    append_folded(sink, true);
    sink->is_closing = true;
    sink->end_by_ms = dpot_clock_monotonic_ms() + patience_ms;
    (void)pthread_cond_signal(&sink->wake);
    const pthread_t thread = sink->thread;
    const bool has_ended = wait_for_end(sink);
    (void)pthread_mutex_unlock(&sink->mutex);
    if (has_ended) {
        (void)pthread_join(thread, NULL);
        release(sink);
    } else {
        (void)pthread_detach(thread);
    }
}
