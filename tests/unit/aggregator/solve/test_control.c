#include "solve/run/control.h"

#include "support/clock.h"

#include <criterion/criterion.h>

Test(control, null_never_stops)
{
    enum solve_outcome outcome = SOLVE_ITERATION_LIMIT;
    const struct solve_control empty = {0};
    cr_assert_not(solve_control_stops(NULL, 1, 2, &outcome));
    cr_assert_not(solve_control_stops(&empty, 1, 2, &outcome));
    cr_assert_eq(outcome, SOLVE_ITERATION_LIMIT);
}

Test(control, stops_at_the_flag_and_at_the_deadline)
{
    enum solve_outcome outcome = SOLVE_CONVERGED;
    struct test_clock clock;
    atomic_bool cancel = false;
    test_clock_init(&clock, 99);
    const struct solve_control control = {
        .cancel = &cancel, .clock = &clock.clock, .deadline_ms = 100};
    cr_assert_not(solve_control_stops(&control, 1, 2, &outcome));
    clock.now_ms = 100;
    cr_assert(solve_control_stops(&control, 1, 2, &outcome));
    cr_assert_eq(outcome, SOLVE_DEADLINE);
    atomic_store(&cancel, true);
    cr_assert(solve_control_stops(&control, 1, 2, &outcome));
    cr_assert_eq(outcome, SOLVE_CANCELLED);
}

Test(control, names_every_outcome)
{
    cr_assert_str_eq(solve_outcome_name(SOLVE_CONVERGED), "converged");
    cr_assert_str_eq(solve_outcome_name(SOLVE_ITERATION_LIMIT), "iteration_limit");
    cr_assert_str_eq(solve_outcome_name(SOLVE_CANCELLED), "cancelled");
    cr_assert_str_eq(solve_outcome_name(SOLVE_DEADLINE), "deadline");
    cr_assert_str_eq(solve_outcome_name(SOLVE_STALLED), "stalled");
}
