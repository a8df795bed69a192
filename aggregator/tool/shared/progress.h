/* Progress on stderr: a bar with the time left on a terminal, plain lines now and then elsewhere,
 * nothing with --quiet. Short runs show nothing. A thread of its own shows the time that has passed
 * while there is nothing else to tell, so that no long run is silent.
 *
 *     progress_init(&progress, run, "devices", n);
 *     ... progress_step(&progress, n_done) ...
 *     progress_end(&progress);             always, before anything else is printed */
#ifndef DPOT_TOOL_SHARED_PROGRESS_H
#define DPOT_TOOL_SHARED_PROGRESS_H

#include "solve/run/control.h"
#include "tool/shared/command.h"

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
    size_t n_done, n_total; /* n_total 0: not known */
    double share;           /* of the work that is done */

    pthread_t ticker;
    bool has_ticker;
};

/* n_total 0: how much there is to do is not known. */
void progress_init(struct progress *progress, const struct run *run, const char *label,
                   size_t n_total);

/* `n_done` of the total is done. Cheap. */
void progress_step(struct progress *progress, size_t n_done);

/* The same where the total is learnt on the way. */
void progress_step_of(struct progress *progress, size_t n_done, size_t n_total);

/* That as the progress of a solve (solve/run/control.h), where ctx is a struct progress that knows the total. */
void progress_of_solve(void *ctx, size_t n_done, size_t n_total);

/* A share of the work, 0 to 1, where there is nothing to count. It never goes back. */
/* For work that counts its own items: every step says how many there are. */
struct solve_control progress_control(struct progress *progress);

void progress_share(struct progress *progress, double share);

/* Takes the bar away and ends the thread. */
void progress_end(struct progress *progress);

/* Seconds of a monotonic clock. */
double progress_seconds(void);

#endif
