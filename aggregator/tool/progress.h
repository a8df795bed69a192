/* Progress on stderr: a bar with the time left on a terminal, plain lines now and then elsewhere,
 * nothing with --quiet. Short runs show nothing. */
#ifndef DPOT_TOOL_PROGRESS_H
#define DPOT_TOOL_PROGRESS_H

#include "tool/command.h"

struct progress {
    const char *label; /* borrowed */
    size_t n_total;
    bool is_quiet;
    bool is_terminal;
    bool has_shown;
    double started; /* seconds of a monotonic clock */
    double last_shown;
};

void progress_init(struct progress *progress, const struct run *run, const char *label,
                   size_t n_total);

/* `n_done` of n_total is done. Cheap; one thread at a time. */
void progress_step(struct progress *progress, size_t n_done);

/* Ends the line. */
void progress_end(struct progress *progress);

/* Seconds of a monotonic clock. */
double progress_seconds(void);

#endif
