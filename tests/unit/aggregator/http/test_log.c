/* Lines of the log, and what becomes of them when nobody takes them. */
#include "http/log.h"
#include "support/clock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MANY_MS 60000

static struct test_clock watch;
static struct log logger;

static void open_on(int fd)
{
    test_clock_init(&watch, INT64_C(1796083200000));
    logger = (struct log){.level = LOG_LEVEL_INFO, .clock = &watch.clock};
    cr_assert_eq(log_sink_open(fd, &watch.clock, &logger.sink), DPOT_OK);
}

/* Closes the log and reads what is in the file. */
static const char *closed_content(FILE *stream)
{
    static char content[100000];
    log_sink_close(logger.sink, MANY_MS);
    rewind(stream);
    content[fread(content, 1, sizeof content - 1, stream)] = '\0';
    return content;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) {
        n++;
    }
    return n;
}

Test(log, a_line_is_pairs_after_time_level_and_event)
{
    FILE *stream = tmpfile();
    open_on(fileno(stream));
    log_write(&logger, LOG_LEVEL_WARNING, "store.check", "status=%d", 503);
    log_write(&logger, LOG_LEVEL_DEBUG, "not.written", "status=%d", 1);
    cr_assert_str_eq(closed_content(stream),
                     "ts=2026-12-01T00:00:00Z level=warning event=store.check status=503\n");
    (void)fclose(stream);
}

Test(log, a_quoted_text_stays_on_its_line)
{
    char quoted[LOG_QUOTED_SIZE], text[2000];
    cr_assert_str_eq(log_quote(quoted, "a\nb\"c\\d\x1b"), "\"a b'c'd \"");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(strlen(log_quote(quoted, text)), LOG_QUOTED_SIZE - 1);
    cr_assert_eq(quoted[LOG_QUOTED_SIZE - 2], '"');
}

Test(log, a_line_that_is_too_long_is_cut)
{
    char text[4000];
    FILE *stream = tmpfile();
    open_on(fileno(stream));
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_write(&logger, LOG_LEVEL_ERROR, "event", "note=%s", text);
    const char *line = closed_content(stream);
    cr_assert_lt(strlen(line), 1025);
    cr_assert_eq(line[strlen(line) - 1], '\n');
    (void)fclose(stream);
}

/* ---- repeats ---- */

static void refuse_many(size_t n, const char *kind)
{
    for (size_t i = 0; i < n; i++) {
        log_write_folded(&logger, LOG_LEVEL_INFO, "http.request", kind, "in=%zu", i);
    }
}

Test(log, repeats_of_strangers_become_a_count)
{
    FILE *stream = tmpfile();
    open_on(fileno(stream));
    refuse_many(1000, "status=404");
    refuse_many(3, "status=503");
    cr_assert_eq(log_sink_get_counts(logger.sink).n_folded, 1000 - LOG_FOLD_KEPT);
    const char *content = closed_content(stream);
    cr_assert_eq(count(content, "status=404"), LOG_FOLD_KEPT + 1);
    cr_assert_eq(count(content, "event=http.request status=404 n_folded=990\n"), 1);
    cr_assert_eq(count(content, "status=503"), 3, "another kind is not hidden");
    (void)fclose(stream);
}

Test(log, a_count_of_repeats_is_told_after_its_minute)
{
    FILE *stream = tmpfile();
    open_on(fileno(stream));
    refuse_many(15, "status=404");
    watch.now_ms += LOG_FOLD_PERIOD_MS;
    refuse_many(1, "status=404");
    const char *content = closed_content(stream);
    const char *told = strstr(content, "n_folded=5\n");
    cr_assert_not_null(told);
    cr_assert_not_null(strstr(told, "status=404 in=0\n"));
    (void)fclose(stream);
}

Test(log, kinds_that_strangers_invent_share_one_place)
{
    FILE *stream = tmpfile();
    open_on(fileno(stream));
    for (int i = 0; i < 1000; i++) {
        char kind[32];
        (void)snprintf(kind, sizeof kind, "status=%d", i);
        refuse_many(1, kind);
    }
    const char *content = closed_content(stream);
    cr_assert_eq(count(content, "in=0\n"), LOG_FOLD_KINDS - 1 + LOG_FOLD_KEPT);
    cr_assert_eq(count(content, "event=other n_folded="), 1);
    (void)fclose(stream);
}

Test(log, at_level_debug_every_line_is_written)
{
    FILE *stream = tmpfile();
    open_on(fileno(stream));
    logger.level = LOG_LEVEL_DEBUG;
    refuse_many(100, "status=404");
    cr_assert_eq(count(closed_content(stream), "status=404"), 100);
    (void)fclose(stream);
}

/* ---- nobody reads ---- */

#define N_LINES 5000 /* more than pipe and buffer hold */

static void write_many(void)
{
    char filling[200];
    memset(filling, 'x', sizeof filling - 1);
    filling[sizeof filling - 1] = '\0';
    for (unsigned i = 0; i < N_LINES; i++) {
        log_write(&logger, LOG_LEVEL_INFO, "event", "i=%u %s", i, filling);
    }
}

/* Reads the other end of a pipe until it is closed. */
struct reader {
    int fd;
    size_t n_lines, n_lost, len;
    char line[2000];
};

static void take_line(struct reader *r)
{
    const char *lost = strstr(r->line, "event=log.lost n_lines=");
    r->n_lines += lost == NULL;
    r->n_lost += lost ? strtoul(lost + strlen("event=log.lost n_lines="), NULL, 10) : 0;
    cr_assert_eq(strncmp(r->line, "ts=", 3), 0, "a torn line: %s", r->line);
}

static void *read_all(void *ctx)
{
    struct reader *r = ctx;
    char c = 0;
    while (read(r->fd, &c, 1) == 1) {
        if (c == '\n') {
            r->line[r->len] = '\0';
            take_line(r);
            r->len = 0;
        } else if (r->len < sizeof r->line - 1) {
            r->line[r->len++] = c;
        }
    }
    return NULL;
}

Test(log, a_pipe_that_nobody_reads_delays_nothing_and_the_loss_is_told)
{
    int ends[2];
    pthread_t thread;
    cr_assert_eq(pipe(ends), 0);
    open_on(ends[1]);
    write_many(); /* returns */
    const uint64_t n_lost = log_sink_get_counts(logger.sink).n_lost;
    cr_assert_gt(n_lost, 0);
    struct reader reader = {.fd = ends[0]};
    cr_assert_eq(pthread_create(&thread, NULL, read_all, &reader), 0);
    log_sink_close(logger.sink, MANY_MS);
    (void)close(ends[1]);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_eq(reader.n_lost, n_lost);
    cr_assert_eq(reader.n_lines + reader.n_lost, N_LINES);
    (void)close(ends[0]);
}

Test(log, closing_does_not_wait_for_a_pipe_that_nobody_reads)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    open_on(ends[1]);
    write_many();
    log_sink_close(logger.sink, 1); /* returns */
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void wait_for_losses(uint64_t n)
{
    const struct timespec pause_a_little = {.tv_nsec = 1000000};
    for (int i = 0; i < MANY_MS && log_sink_get_counts(logger.sink).n_lost < n; i++) {
        (void)nanosleep(&pause_a_little, NULL);
    }
    cr_assert_geq(log_sink_get_counts(logger.sink).n_lost, n);
}

Test(log, lines_that_a_full_disk_refuses_are_counted)
{
    const int fd = open("/dev/full", O_WRONLY);
    cr_assert_geq(fd, 0);
    open_on(fd);
    log_write(&logger, LOG_LEVEL_INFO, "event", "%s", "");
    log_write(&logger, LOG_LEVEL_INFO, "event", "%s", "");
    wait_for_losses(2);
    log_sink_close(logger.sink, MANY_MS);
    (void)close(fd);
}

Test(log, a_pipe_whose_reader_is_gone_kills_nobody)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    (void)close(ends[0]);
    open_on(ends[1]);
    write_many();
    wait_for_losses(N_LINES);
    log_sink_close(logger.sink, MANY_MS);
    (void)close(ends[1]);
}

Test(log, what_a_full_disk_refused_is_told_when_there_is_room)
{
    FILE *stream = tmpfile();
    const int fd = dup(fileno(stream)), full = open("/dev/full", O_WRONLY);
    cr_assert_eq(dup2(full, fd), fd);
    open_on(fd);
    log_write(&logger, LOG_LEVEL_INFO, "first", "%s", "");
    wait_for_losses(1);
    cr_assert_eq(dup2(fileno(stream), fd), fd);
    log_write(&logger, LOG_LEVEL_INFO, "second", "%s", "");
    const char *content = closed_content(stream);
    const char *lost = strstr(content, "event=log.lost n_lines=1 n_total=1\n");
    cr_assert_not_null(lost, "%s", content);
    cr_assert_not_null(strstr(lost, "event=second"));
    cr_assert_null(strstr(content, "event=first"));
    (void)close(fd);
    (void)close(full);
    (void)fclose(stream);
}
