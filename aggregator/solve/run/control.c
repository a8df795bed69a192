#include "solve/run/control.h"

bool solve_control_stops(const struct solve_control *control, size_t n_done, size_t n_total,
                         enum solve_outcome *outcome)
{
    if (!control) {
        return false;
    }
    if (control->progress) {
        control->progress(control->ctx, n_done, n_total);
    }
    if (control->cancel && atomic_load(control->cancel)) {
        *outcome = SOLVE_CANCELLED;
        return true;
    }
    if (control->clock && control->clock->now(control->clock->ctx) >= control->deadline_ms) {
        *outcome = SOLVE_DEADLINE;
        return true;
    }
    return false;
}

bool solve_control_must_end(const struct solve_control *control)
{
    enum solve_outcome outcome = SOLVE_CONVERGED;
    struct solve_control silent = control ? *control : (struct solve_control){.cancel = NULL};
    silent.progress = NULL;
    return solve_control_stops(&silent, 0, 0, &outcome);
}

const char *solve_outcome_name(enum solve_outcome outcome)
{
    switch (outcome) {
    case SOLVE_CONVERGED:
        return "converged";
    case SOLVE_ITERATION_LIMIT:
        return "iteration_limit";
    case SOLVE_CANCELLED:
        return "cancelled";
    case SOLVE_DEADLINE:
        return "deadline";
    case SOLVE_STALLED:
        return "stalled";
    }
    return "unknown";
}
