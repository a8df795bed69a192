/* The time left, from scripted clocks. */
#include "tool/shared/eta.h"

#include <criterion/criterion.h>

Test(eta, a_steady_run_is_estimated_exactly)
{
    struct eta eta;
    double left = 0;
    eta_begin(&eta, 1000);
    for (int i = 1; i <= 5000; i++) {
        eta_add(&eta, 1000 + 0.02 * i, i / 5000.0);
        if (eta_left(&eta, 1000 + 0.02 * i, &left)) {
            cr_assert_float_eq(left, 100 - 0.02 * i, 1e-6, "%d: %g", i, left);
        } else {
            cr_assert_lt(i, 101, "known from 2 percent on");
        }
    }
    cr_assert(eta_left(&eta, 1100, &left) && left < 1e-6);
}

/* Two seconds in which nearly nothing is done, then the whole work in eight. */
Test(eta, a_slow_start_gives_no_wild_estimate)
{
    struct eta eta;
    double left = 0;
    size_t n_known = 0;
    eta_begin(&eta, 0);
    for (int i = 1; i <= 1000; i++) {
        const double now = 0.01 * i;
        eta_add(&eta, now, now < 2 ? now * 1e-4 : 2e-4 + (now - 2) / 8 * (1 - 2e-4));
        if (eta_left(&eta, now, &left)) {
            cr_assert_leq(left, 2 * (10 - now) + 1, "after %g s: %g s left", now, left);
            n_known++;
        }
    }
    cr_assert_gt(n_known, 700);
}

Test(eta, a_long_run_has_an_estimate_after_ten_seconds)
{
    struct eta eta;
    double left = 0;
    eta_begin(&eta, 0);
    eta_add(&eta, 9, 9e-6);
    cr_assert_not(eta_left(&eta, 9, &left));
    eta_add(&eta, 10, 1e-5);
    cr_assert(eta_left(&eta, 10, &left));
    cr_assert_float_eq(left, 1e6, 1e5);
}

/* As a job on a server: nothing, then steps far apart. */
Test(eta, the_estimate_runs_down_between_steps_and_never_below_nothing)
{
    struct eta eta;
    double left = 0;
    eta_begin(&eta, 0);
    cr_assert_not(eta_left(&eta, 100, &left), "nothing was done");
    eta_add(&eta, 5, 0.25);
    cr_assert(eta_left(&eta, 5, &left) && left == 15);
    cr_assert(eta_left(&eta, 12, &left) && left == 8);
    cr_assert(eta_left(&eta, 50, &left) && left == 0);
}

Test(eta, a_job_that_was_running_already_is_estimated_from_here)
{
    struct eta eta;
    double left = 0;
    eta_join(&eta);
    cr_assert_not(eta_left(&eta, 0, &left));
    eta_add(&eta, 0.1, 0.5); /* half of it was done before */
    eta_add(&eta, 10, 0.6);
    cr_assert(eta_left(&eta, 10, &left));
    cr_assert_float_eq(left, 39.6, 1, "%g", left);
}
