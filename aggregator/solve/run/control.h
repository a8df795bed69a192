/* Progress, deadline and cancellation of a long solve: one struct for every solver, checked once
 * per outer iteration.
 *
 *     struct solve_control control = {.cancel = &flag, .progress = show, .ctx = bar};
 *     mirror_descent_run(solver, &control, &result);       NULL: no control
 *
 * A stopped solve still returns a valid result; its outcome gives the reason. */
#ifndef DPOT_SOLVE_RUN_CONTROL_H
#define DPOT_SOLVE_RUN_CONTROL_H

#include "dpot/hooks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum solve_outcome {
    SOLVE_CONVERGED = 0,       /* the tolerance asked for was reached */
    SOLVE_ITERATION_LIMIT = 1, /* max_iterations were done first */
    SOLVE_CANCELLED = 2,
    SOLVE_DEADLINE = 3,
    SOLVE_STALLED = 4, /* further iterations would make no progress */
};

struct solve_control {
    const atomic_bool *cancel;      /* NULL: never; may be set by any thread */
    const struct dpot_clock *clock; /* NULL: no deadline */
    int64_t deadline_ms;            /* of that clock */

    /* Called on the solving thread after `n_done` of at most n_total iterations. May be NULL. */
    void (*progress)(void *ctx, size_t n_done, size_t n_total);
    void *ctx;
};

/* Reports progress; returns true if the solve must end, with the reason in *outcome (otherwise
 * unchanged). `control` may be NULL. */
bool solve_control_stops(const struct solve_control *control, size_t n_done, size_t n_total,
                         enum solve_outcome *outcome);

/* Whether the solve must end; reports no progress. `control` may be NULL. */
bool solve_control_must_end(const struct solve_control *control);

/* "converged", "iteration_limit", "cancelled", "deadline", "stalled": as in the JSON results. */
const char *solve_outcome_name(enum solve_outcome outcome);

#endif
