/* Progress on stderr: a bar on a terminal, occasional lines elsewhere, nothing with --quiet or in
 * short runs. Either has the time left once that can be estimated (eta.h), the elapsed time before.
 * A thread shows the elapsed time while no step is reported, so that no long run is silent.
 *
 *     progress_init(&progress, run, "devices", n);
 *     ... progress_step(&progress, n_done) ...
 *     progress_end(&progress);             also after a failure, before anything else is printed */
#ifndef DPOT_TOOL_SHARED_PROGRESS_H
#define DPOT_TOOL_SHARED_PROGRESS_H

#include "solve/run/control.h"
#include "tool/shared/command.h"
#include "tool/shared/eta.h"

#include <pthread.h>

struct progress {
    const char *label; /* borrowed */
    bool is_quiet;
    bool is_terminal;
    double started; /* seconds of a monotonic clock */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wake;
    bool is_over;
    bool has_shown;
    double last_shown;
    size_t n_done, n_total; /* n_total 0: unknown */
    double share;           /* of the work, done */
    struct eta eta;

    pthread_t ticker;
    bool has_ticker;
};

/* `label` is borrowed; n_total 0: unknown. */
void progress_init(struct progress *progress, const struct run *run, const char *label,
                   size_t n_total);

/* Call before the first step of work that may have begun before: on a server, or resumed. */
void progress_join(struct progress *progress);

/* Reports that `n_done` items are done. Cheap. */
void progress_step(struct progress *progress, size_t n_done);

/* The same, where the total is known only now. */
void progress_step_of(struct progress *progress, size_t n_done, size_t n_total);

/* A control whose progress is shown, for work that counts its own items (solve/run/control.h). */
struct solve_control progress_control(struct progress *progress);

/* Reports a share of the work, 0 to 1, where there is nothing to count. It never goes back. */
void progress_share(struct progress *progress, double share);

/* Takes the bar away and ends the thread. */
void progress_end(struct progress *progress);

/* Seconds of a monotonic clock. */
double progress_seconds(void);

#endif
