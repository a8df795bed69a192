/* How a long solve is watched and stopped: one struct for every solver, looked at once per outer
 * iteration.
 *
 *     struct solve_control control = {.cancel = &flag, .progress = show, .ctx = bar};
 *     mirror_descent_run(solver, &control, &result);       NULL: nobody watches
 *
 * A solve that is stopped still leaves a valid result, and its outcome says why it ended. */
#ifndef DPOT_SOLVE_RUN_CONTROL_H
#define DPOT_SOLVE_RUN_CONTROL_H

#include "dpot/hooks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum solve_outcome {
    SOLVE_CONVERGED = 0,       /* the tolerance asked for was reached */
    SOLVE_ITERATION_LIMIT = 1, /* all iterations were done first */
    SOLVE_CANCELLED = 2,
    SOLVE_DEADLINE = 3,
    SOLVE_STALLED = 4, /* neither: more iterations would change nothing that counts */
};

struct solve_control {
    const atomic_bool *cancel;      /* NULL: never; may be set by any thread */
    const struct dpot_clock *clock; /* NULL: no deadline */
    int64_t deadline_ms;            /* of that clock */

    /* `n_done` of at most n_total iterations are done; on the thread that solves. NULL: none. */
    void (*progress)(void *ctx, size_t n_done, size_t n_total);
    void *ctx;
};

/* After an iteration: reports progress, and returns true when the solve must end, with the reason
 * in *outcome (unchanged otherwise). `control` may be NULL. */
bool solve_control_stops(const struct solve_control *control, size_t n_done, size_t n_total,
                         enum solve_outcome *outcome);

/* Whether the solve must end, asked between phases whose progress is not what is counted. */
bool solve_control_must_end(const struct solve_control *control);

/* "converged", "iteration_limit", "cancelled", "deadline", "stalled": the words of the JSON results. */
const char *solve_outcome_name(enum solve_outcome outcome);

#endif
