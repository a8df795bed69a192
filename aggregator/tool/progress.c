#include "tool/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 30
#define FIRST_AFTER_S 1.0 /* a run shorter than this shows nothing */
#define BAR_EVERY_S 0.1
#define LINE_EVERY_S 5.0

double progress_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
}

static void show(const struct progress *p, size_t n_done, double now)
{
    const double share = p->n_total > 0 ? (double)n_done / (double)p->n_total : 1;
    const double left = share > 0 ? (now - p->started) * (1 - share) / share : 0;
    if (!p->is_terminal) {
        (void)fprintf(stderr, "dpot: %s: %zu of %zu, %.0f s left\n", p->label, n_done, p->n_total,
                      left);
        return;
    }
    char bar[BAR_WIDTH + 1];
    const size_t n_full = (size_t)(share * BAR_WIDTH);
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', n_full < BAR_WIDTH ? n_full : BAR_WIDTH);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r%s [%s] %3.0f%% %4.0f s left ", p->label, bar, 100 * share, left);
    (void)fflush(stderr);
}

void progress_step(struct progress *progress, size_t n_done)
{
    if (progress->is_quiet) {
        return;
    }
    const double now = progress_seconds();
    const double pause =
        progress->has_shown ? (progress->is_terminal ? BAR_EVERY_S : LINE_EVERY_S) : FIRST_AFTER_S;
    if (now - progress->last_shown >= pause) {
        show(progress, n_done, now);
        progress->last_shown = now;
        progress->has_shown = true;
    }
}

void progress_end(struct progress *progress)
{
    if (progress->has_shown && progress->is_terminal) {
        (void)fprintf(stderr, "\r%*s\r", BAR_WIDTH + 60, "");
    }
    progress->has_shown = false;
}
