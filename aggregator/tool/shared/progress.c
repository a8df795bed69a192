#include "tool/shared/progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 20
#define LABEL_WIDTH 36 /* so that a bar fits LINE_WIDTH */
#define LINE_WIDTH 78
#define FIRST_AFTER_S 1.0 /* shorter runs show nothing */
#define BAR_EVERY_S 0.1
#define LINE_EVERY_S 5.0
#define TICK_S 0.5

double progress_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The time left if it can be estimated, otherwise the time so far. */
static void write_time(const struct progress *p, double now, char *out, size_t cap)
{
    double left = 0;
    if (eta_left(&p->eta, now, &left)) {
        (void)snprintf(out, cap, "%.0f s left", ceil(left));
    } else {
        (void)snprintf(out, cap, "%.0f s so far", now - p->started);
    }
}

static void show_line(const struct progress *p, const char *time)
{
    (void)fprintf(stderr, "dpot: %s: ", p->label);
    if (p->n_total > 0) {
        (void)fprintf(stderr, "%zu of %zu, ", p->n_done, p->n_total);
    } else if (p->share > 0) {
        (void)fprintf(stderr, "%.0f%%, ", 100 * p->share);
    }
    (void)fprintf(stderr, "%s\n", time);
}

static void show_bar(const struct progress *p, const char *time)
{
    char bar[BAR_WIDTH + 1];
    const size_t n_full = (size_t)(p->share * BAR_WIDTH);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', n_full < BAR_WIDTH ? n_full : BAR_WIDTH);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r%.*s [%s] %3.0f%% %12s ", LABEL_WIDTH, p->label, bar, 100 * p->share,
                  time);
    (void)fflush(stderr);
}

/* The caller holds the mutex. */
static void show_if_due(struct progress *p)
{
    char time[48];
    const double now = progress_seconds();
    const double pause =
        p->has_shown ? (p->is_terminal ? BAR_EVERY_S : LINE_EVERY_S) : FIRST_AFTER_S;
    if (now - p->last_shown < pause) {
        return;
    }
    write_time(p, now, time, sizeof time);
    if (p->is_terminal) {
        show_bar(p, time);
    } else {
        show_line(p, time);
    }
    p->last_shown = now;
    p->has_shown = true;
}

static void *tick(void *argument)
{
    struct progress *p = argument;
    (void)pthread_mutex_lock(&p->mutex);
    while (!p->is_over) {
        const double until = progress_seconds() + TICK_S;
        const struct timespec t = {.tv_sec = (time_t)until,
                                   .tv_nsec = (long)(1e9 * (until - floor(until)))};
        (void)pthread_cond_timedwait(&p->wake, &p->mutex, &t);
        if (!p->is_over) {
            show_if_due(p);
        }
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* On failure there is no ticker: steps are still shown, elapsed time between them is not. */
static void start_ticker(struct progress *p)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return;
    }
    const bool is_ready = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                          pthread_cond_init(&p->wake, &attributes) == 0;
    (void)pthread_condattr_destroy(&attributes);
    if (is_ready && pthread_create(&p->ticker, NULL, tick, p) == 0) {
        p->has_ticker = true;
    } else if (is_ready) {
        (void)pthread_cond_destroy(&p->wake);
    }
}

void progress_init(struct progress *progress, const struct run *run, const char *label,
                   size_t n_total)
{
    const double now = progress_seconds();
    *progress = (struct progress){.label = label,
                                  .n_total = n_total,
                                  .is_quiet = run->is_quiet,
                                  .is_terminal = isatty(STDERR_FILENO) == 1,
                                  .started = now,
                                  .last_shown = now};
    eta_begin(&progress->eta, now);
    if (!progress->is_quiet && pthread_mutex_init(&progress->mutex, NULL) != 0) {
        progress->is_quiet = true;
    }
    if (!progress->is_quiet) {
        start_ticker(progress);
    }
}

void progress_join(struct progress *progress)
{
    if (progress->is_quiet) {
        return;
    }
    (void)pthread_mutex_lock(&progress->mutex);
    eta_join(&progress->eta);
    (void)pthread_mutex_unlock(&progress->mutex);
}

static void advance(struct progress *p, double share)
{
    p->share = fmin(fmax(p->share, share), 1); /* unchanged by a NaN */
    eta_add(&p->eta, progress_seconds(), p->share);
    show_if_due(p);
}

void progress_step_of(struct progress *progress, size_t n_done, size_t n_total)
{
    if (progress->is_quiet) {
        return;
    }
    (void)pthread_mutex_lock(&progress->mutex);
    progress->n_done = n_done;
    progress->n_total = n_total;
    advance(progress, n_total > 0 ? (double)n_done / (double)n_total : 0);
    (void)pthread_mutex_unlock(&progress->mutex);
}

void progress_step(struct progress *progress, size_t n_done)
{
    progress_step_of(progress, n_done, progress->n_total);
}

static void step_of_work(void *ctx, size_t n_done, size_t n_total)
{
    progress_step_of(ctx, n_done, n_total);
}

struct solve_control progress_control(struct progress *progress)
{
    return (struct solve_control){.progress = step_of_work, .ctx = progress};
}

void progress_share(struct progress *progress, double share)
{
    if (progress->is_quiet) {
        return;
    }
    (void)pthread_mutex_lock(&progress->mutex);
    advance(progress, share);
    (void)pthread_mutex_unlock(&progress->mutex);
}

void progress_end(struct progress *progress)
{
    if (progress->is_quiet) {
        return;
    }
    if (progress->has_ticker) {
        (void)pthread_mutex_lock(&progress->mutex);
        progress->is_over = true;
        (void)pthread_cond_signal(&progress->wake);
        (void)pthread_mutex_unlock(&progress->mutex);
        (void)pthread_join(progress->ticker, NULL);
        (void)pthread_cond_destroy(&progress->wake);
    }
    (void)pthread_mutex_destroy(&progress->mutex);
    if (progress->has_shown && progress->is_terminal) {
        (void)fprintf(stderr, "\r%*s\r", LINE_WIDTH, "");
    }
    progress->is_quiet = true; /* a second end does nothing */
}
