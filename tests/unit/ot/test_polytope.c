#include "ot/polytope.h"

#include "problem.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#define N_MAX 64

/* Always inside of the bounds; mass one up to rounding if the polytope is not empty. */
static void check_q(const struct dpot_polytope *polytope, const double *q, const char *what)
{
    double lower = 0.0, upper = 0.0, sum = 0.0;
    for (size_t j = 0; j < polytope->size; j++) {
        cr_assert(q[j] >= polytope->lower[j] && q[j] <= polytope->upper[j],
                  "%s: q[%zu] = %.17g outside [%.17g, %.17g]", what, j, q[j], polytope->lower[j],
                  polytope->upper[j]);
        lower += polytope->lower[j];
        upper += polytope->upper[j];
        sum += q[j];
    }
    if (lower <= 1.0 && upper >= 1.0) {
        cr_assert_float_eq(sum, 1.0, 4 * DBL_EPSILON * (double)(polytope->size + 8),
                           "%s: mass %.17g", what, sum);
    }
}

/* Random bounds within exp(+-epsilon/2) of a random base measure of mass `scale`. */
static void random_bounds(uint64_t *state, size_t n, double epsilon, double scale, double *lower,
                          double *upper)
{
    random_measure(state, lower, n, 0);
    for (size_t j = 0; j < n; j++) {
        upper[j] = scale * lower[j] * exp(epsilon / 2.0);
        lower[j] *= scale * exp(-epsilon / 2.0);
    }
}

Test(polytope, projection_clips_a_scaled_measure_at_one_common_theta)
{
    uint64_t state = 1;
    double lower[N_MAX], upper[N_MAX], log_s[N_MAX], s[N_MAX], q[N_MAX], q_linear[N_MAX];
    for (int trial = 0; trial < 2000; trial++) {
        const size_t n = 2 + (size_t)(uniform_next(&state) * (N_MAX - 2));
        random_bounds(&state, n, 0.01 + 4.0 * uniform_next(&state), 1.0, lower, upper);
        for (size_t j = 0; j < n; j++) {
            log_s[j] = 10.0 * (uniform_next(&state) - 0.5);
            s[j] = exp(log_s[j]);
        }
        const struct dpot_polytope polytope = {n, lower, upper};
        const double theta = dpot_polytope_project_kl(&polytope, log_s, 0.0, DPOT_STEPS_ALL, q);
        const double scale =
            dpot_polytope_project_kl_linear(&polytope, s, 1.0, DPOT_STEPS_ALL, q_linear);
        check_q(&polytope, q, "log");
        check_q(&polytope, q_linear, "linear");
        for (size_t j = 0; j < n; j++) {
            const double clipped = fmin(fmax(exp(theta) * s[j], lower[j]), upper[j]);
            cr_assert_float_eq(q[j], clipped, 1e-14);
            cr_assert_float_eq(q_linear[j], q[j], 1e-13);
            cr_assert_float_eq(fmin(fmax(scale * s[j], lower[j]), upper[j]), q[j], 1e-13);
        }
    }
}

Test(polytope, no_other_point_of_it_has_a_smaller_divergence)
{
    uint64_t state = 2;
    double lower[8], upper[8], log_s[8], q[8];
    for (int trial = 0; trial < 500; trial++) {
        random_bounds(&state, 8, 1.0, 1.0, lower, upper);
        for (size_t j = 0; j < 8; j++) {
            log_s[j] = 4.0 * uniform_next(&state);
        }
        const struct dpot_polytope polytope = {8, lower, upper};
        (void)dpot_polytope_project_kl(&polytope, log_s, 3.0, DPOT_STEPS_ALL, q);
        /* The derivative of KL(q|s) along mass moved from j to k is log(q_k/s_k) - log(q_j/s_j). */
        for (size_t j = 0; j < 8; j++) {
            for (size_t k = 0; k < 8; k++) {
                if (q[j] > lower[j] + 1e-12 && q[k] < upper[k] - 1e-12) {
                    cr_assert_geq(log(q[k]) - log_s[k] - log(q[j]) + log_s[j], -1e-11);
                }
            }
        }
    }
}

Test(polytope, projection_is_safe_for_any_range_of_the_measure_and_any_start)
{
    static const double spans[] = {0, 1, 700, 1e6, 1e300};
    static const double starts[] = {0, 1, -50, 1e6, -1e6, 1e308, NAN, INFINITY, -INFINITY};
    static const double odd[] = {NAN, -INFINITY, INFINITY, 1e308, -1e308};
    static const double epsilons[] = {0, 1e-9, 0.01, 1, 20};
    uint64_t state = 3;
    double lower[N_MAX], upper[N_MAX], log_s[N_MAX], s[N_MAX], q[N_MAX];
    for (size_t trial = 0; trial < 20000; trial++) {
        const size_t n = 1 + trial % N_MAX;
        const double epsilon = epsilons[trial % 5];
        const double scale = trial % 3 == 0 ? 1.0 : trial % 3 == 1 ? exp(epsilon / 2.0) : 0.7;
        random_bounds(&state, n, epsilon, scale, lower, upper);
        for (size_t j = 0; j < n; j++) {
            log_s[j] = spans[trial / 7 % 5] * (2.0 * uniform_next(&state) - 1.0);
            if (uniform_next(&state) < 0.1) {
                log_s[j] = odd[(size_t)(uniform_next(&state) * 5.0)];
            }
            if (uniform_next(&state) < 0.05) {
                lower[j] = 0.0;
            }
            s[j] = exp(log_s[j]);
        }
        const struct dpot_polytope polytope = {n, lower, upper};
        const double theta =
            dpot_polytope_project_kl(&polytope, log_s, starts[trial % 9], DPOT_STEPS_ALL, q);
        cr_assert(isfinite(theta));
        check_q(&polytope, q, "log");
        const double t =
            dpot_polytope_project_kl_linear(&polytope, s, starts[trial % 9], DPOT_STEPS_ALL, q);
        cr_assert(isfinite(t) && t > 0.0);
        check_q(&polytope, q, "linear");
    }
}

Test(polytope, of_one_point_is_that_point)
{
    uint64_t state = 4;
    double m[10], log_s[10], q[10];
    random_measure(&state, m, 10, 0);
    for (size_t j = 0; j < 10; j++) {
        log_s[j] = 100.0 * uniform_next(&state);
    }
    const struct dpot_polytope polytope = {10, m, m};
    (void)dpot_polytope_project_kl(&polytope, log_s, 0.0, DPOT_STEPS_ALL, q);
    cr_assert_eq(l1_distance(q, m, 10), 0.0);
}

Test(polytope, that_is_empty_gives_the_nearest_bound)
{
    const double lower[] = {0.5, 0.6}, upper[] = {0.7, 0.8}, log_s[] = {0, 1};
    const double low[] = {0.1, 0.1}, high[] = {0.2, 0.3};
    double q[2];
    (void)dpot_polytope_project_kl(&(struct dpot_polytope){2, lower, upper}, log_s, 0.0,
                                   DPOT_STEPS_ALL, q);
    cr_assert(q[0] == 0.5 && q[1] == 0.6);
    (void)dpot_polytope_project_kl(&(struct dpot_polytope){2, low, high}, log_s, 0.0,
                                   DPOT_STEPS_ALL, q);
    cr_assert(q[0] == 0.2 && q[1] == 0.3);
}

Test(polytope, warm_start_at_the_solution_repeats_it_to_the_last_bit)
{
    uint64_t state = 5;
    double lower[40], upper[40], s[40], q[40], again[40];
    random_bounds(&state, 40, 2.0, 1.0, lower, upper);
    random_measure(&state, s, 40, 0);
    const struct dpot_polytope polytope = {40, lower, upper};
    const double scale = dpot_polytope_project_kl_linear(&polytope, s, 1.0, DPOT_STEPS_ALL, q);
    cr_assert_eq(dpot_polytope_project_kl_linear(&polytope, s, scale, DPOT_STEPS_ALL, again),
                 scale);
    cr_assert_eq(l1_distance(q, again, 40), 0.0);
}

/* The steps that the sweeps between the first and the last use. */
Test(polytope, a_few_steps_from_a_near_start_find_the_same_point)
{
    uint64_t state = 6;
    double lower[N_MAX], upper[N_MAX], s[N_MAX], log_s[N_MAX], q[N_MAX], near[N_MAX];
    size_t n_exact = 0;
    for (int trial = 0; trial < 1000; trial++) {
        random_bounds(&state, N_MAX, 0.1 + 4.0 * uniform_next(&state), 1.0, lower, upper);
        for (size_t j = 0; j < N_MAX; j++) {
            log_s[j] = 10.0 * (uniform_next(&state) - 0.5);
            s[j] = exp(log_s[j]);
        }
        const struct dpot_polytope polytope = {N_MAX, lower, upper};
        const double scale = dpot_polytope_project_kl_linear(&polytope, s, 1.0, DPOT_STEPS_ALL, q);
        const double start = scale * (0.8 + 0.4 * uniform_next(&state));
        (void)dpot_polytope_project_kl_linear(&polytope, s, start, DPOT_STEPS_NEAR, near);
        n_exact += l1_distance(q, near, N_MAX) < 1e-13;
        cr_assert_lt(l1_distance(q, near, N_MAX), 0.01);
        (void)dpot_polytope_project_kl(&polytope, log_s, log(start), DPOT_STEPS_NEAR, near);
        n_exact += l1_distance(q, near, N_MAX) < 1e-12;
        cr_assert_lt(l1_distance(q, near, N_MAX), 0.01);
    }
    cr_assert_gt(n_exact, 1990, "%zu of 2000", n_exact);
}

/* Breakpoints between which Newton's method would cycle, and many at one place. */
Test(polytope, all_steps_find_theta_among_breakpoints_of_any_kind)
{
    uint64_t state = 7;
    double lower[N_MAX], upper[N_MAX], s[N_MAX], q[N_MAX];
    for (int trial = 0; trial < 3000; trial++) {
        const double span = trial % 3 == 0 ? 1e-9 : trial % 3 == 1 ? 30.0 : 600.0;
        random_bounds(&state, N_MAX, trial % 4 == 0 ? 1e-6 : 3.0, 1.0, lower, upper);
        for (size_t j = 0; j < N_MAX; j++) {
            const double x =
                trial % 5 == 0 ? floor(4.0 * uniform_next(&state)) / 4.0 : uniform_next(&state);
            s[j] = exp(span * (x - 0.5));
        }
        const struct dpot_polytope polytope = {N_MAX, lower, upper};
        const double scale = dpot_polytope_project_kl_linear(&polytope, s, 1e-3, DPOT_STEPS_ALL, q);
        check_q(&polytope, q, "linear");
        for (size_t j = 0; j < N_MAX; j++) {
            cr_assert_float_eq(q[j], fmin(fmax(scale * s[j], lower[j]), upper[j]), 1e-13,
                               "trial %d", trial);
        }
    }
}
