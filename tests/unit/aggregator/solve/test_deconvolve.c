/* Deconvolution: properties of EM, and its results where the truth is known. */
#include "spikes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Mass and mean of the first coordinate on either side of 0. */
struct halves {
    double mass[2], mean[2];
};

static struct halves halves_of(const struct deconvolve_result *result, size_t m, size_t dim)
{
    struct halves h = {{0, 0}, {0, 0}};
    for (size_t l = 0; l < m; l++) {
        const double x = result->support[l * dim];
        h.mass[x > 0] += result->weights[l];
        h.mean[x > 0] += result->weights[l] * x;
    }
    h.mean[0] /= h.mass[0];
    h.mean[1] /= h.mass[1];
    return h;
}

Test(deconvolve, finds_two_spikes_on_a_line_with_free_points)
{
    for (int noise = 0; noise < 2; noise++) {
        const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.8);
        struct deconvolve_config config = make(&density, N_MAX, 1, 3);
        struct deconvolve_result result;
        draw_spikes(density.noise, 0.8, N_MAX, 1);
        config.support_size = 2;
        config.moves = true;
        deconvolve_spread(&config.domain, 1, 2, 1, support);
        struct deconvolve *solver = solve(&config, &result);
        const struct halves h = halves_of(&result, 2, 1);
        /* Standard errors are about 0.02 and 0.006. */
        cr_assert_float_eq(h.mean[0], -1, 0.1);
        cr_assert_float_eq(h.mean[1], 1, 0.05);
        cr_assert_float_eq(h.mass[0], 0.3, 0.03);
        cr_assert_eq(result.outcome, SOLVE_CONVERGED);
        cr_assert_gt(result.n_cells, 0);
        deconvolve_free(solver);
    }
}

Test(deconvolve, of_fixed_points_finds_only_weights)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_LAPLACE, 0.5);
    struct deconvolve_config config = make(&density, N_MAX, 1, 2);
    struct deconvolve_result result;
    const uint32_t shape[1] = {40};
    draw_spikes(DPOT_NOISE_LAPLACE, 0.5, N_MAX, 1);
    config.support_size = deconvolve_grid(&config.domain, 1, shape, support);
    cr_assert_eq(config.support_size, 40);
    struct deconvolve *solver = solve(&config, &result);
    double near = 0, sum = 0;
    cr_assert_eq(memcmp(result.support, support, 40 * sizeof *support), 0);
    for (size_t l = 0; l < 40; l++) {
        sum += result.weights[l];
        near += fabs(fabs(support[l]) - 1) < 0.2 ? result.weights[l] : 0;
    }
    cr_assert_float_eq(sum, 1, 1e-12);
    cr_assert_gt(near, 0.9);
    const struct halves h = halves_of(&result, 40, 1);
    cr_assert_float_eq(h.mass[0], 0.3, 0.02);
    deconvolve_free(solver);
}

/* Two and three coordinates; beyond three reports are not binned. */
Test(deconvolve, finds_two_spikes_in_any_dimension)
{
    for (size_t dim = 2; dim <= 5; dim++) {
        for (int noise = 0; noise < 2; noise++) {
            const size_t n = dim > 3 ? 2000 : N_MAX;
            const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.7);
            struct deconvolve_config config = make(&density, n, dim, 1.5);
            struct deconvolve_result result;
            draw_spikes(density.noise, 0.7, n, dim);
            config.support_size = 8;
            config.moves = true;
            config.max_iterations = dim == 3 ? 20 : 60;
            deconvolve_spread(&config.domain, dim, 8, 3, support);
            struct deconvolve *solver = solve(&config, &result);
            const struct halves h = halves_of(&result, 8, dim);
            cr_assert_eq(result.n_cells > 0, dim <= 3);
            cr_assert_float_eq(h.mean[0], -1, 0.12, "%zu %d %g", dim, noise, h.mean[0]);
            cr_assert_float_eq(h.mean[1], 1, 0.12, "%zu %d %g", dim, noise, h.mean[1]);
            cr_assert_float_eq(h.mass[0], 0.3, 0.05, "%zu %d %g", dim, noise, h.mass[0]);
            deconvolve_free(solver);
        }
    }
}

static void assert_never_falls(const struct deconvolve_result *result)
{
    for (size_t t = 0; t < result->iterations; t++) {
        const double slack = 1e-12 * fabs(result->curve[t]);
        cr_assert_geq(result->curve[t + 1], result->curve[t] - slack, "step %zu", t);
    }
    cr_assert_eq(result->log_likelihood, result->curve[result->iterations]);
    cr_assert_gt(result->log_likelihood, result->curve[0]);
}

Test(deconvolve, log_likelihood_never_falls)
{
    for (size_t dim = 1; dim <= 4; dim++) {
        for (int noise = 0; noise < 2; noise++) {
            for (int ball = 0; ball < 3; ball++) {
                const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.6);
                struct deconvolve_config config = make(&density, 1000, dim, 1);
                struct deconvolve_result result;
                draw_spikes(density.noise, 0.6, 1000, dim);
                config.domain.l1_radius = ball == 1 ? 1 : 0;
                config.domain.l2_radius = ball == 2 ? 1 : 0;
                config.support_size = 12;
                config.moves = true;
                config.tol = 0;
                config.max_iterations = 30;
                deconvolve_spread(&config.domain, dim, 12, 5, support);
                struct deconvolve *solver = solve(&config, &result);
                assert_never_falls(&result);
                cr_assert_eq(result.iterations, 30);
                cr_assert_eq(result.outcome, SOLVE_ITERATION_LIMIT);
                for (size_t l = 0; l < 12; l++) {
                    double x[DIM_MAX];
                    memcpy(x, result.support + l * dim, dim * sizeof *x);
                    deconvolve_clamp(&config.domain, dim, x);
                    for (size_t j = 0; j < dim; j++) {
                        cr_assert_float_eq(x[j], result.support[l * dim + j], 1e-12);
                    }
                }
                deconvolve_free(solver);
            }
        }
    }
}

/* L of the binned pool computed from its definition: the law of the cell of every report. */
Test(deconvolve, log_likelihood_is_that_of_the_binned_pool)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_LAPLACE, 1);
    struct deconvolve_config config = make(&density, 500, 1, 1);
    struct deconvolve_result result;
    draw_spikes(DPOT_NOISE_LAPLACE, 1, 500, 1);
    config.support_size = 3;
    config.moves = true;
    config.max_iterations = 7;
    config.tol = 0;
    support[0] = -0.9;
    support[1] = 0.1;
    support[2] = 0.5;
    struct deconvolve *solver = solve(&config, &result);
    double sum = 0;
    for (size_t i = 0; i < 500; i++) {
        /* Cells of a quarter of the scale, from 14 scales below the domain. */
        const double first = -15 + 0.25 * floor((pool[i] + 15) / 0.25);
        double law = 0;
        cr_assert(pool[i] > -15 && pool[i] < 15);
        for (size_t l = 0; l < 3; l++) {
            law += result.weights[l] * dpot_noise_density_interval(&density, first, first + 0.25,
                                                                   result.support[l], NULL);
        }
        sum += log(law);
    }
    cr_assert_float_eq(result.log_likelihood, sum, 1e-9 * fabs(sum));
    deconvolve_free(solver);
}

/* Reports of a grid so coarse that every output is a cell: the cells are the outputs. */
Test(deconvolve, outputs_of_a_coarse_grid_are_the_cells)
{
    struct dpot_noise_density density;
    struct deconvolve_result result;
    cr_assert_eq(dpot_noise_density_init(&density, DPOT_NOISE_GAUSSIAN, 1, 0.25, NULL), DPOT_OK);
    struct deconvolve_config config = make(&density, 1000, 1, 1);
    draw_spikes(DPOT_NOISE_GAUSSIAN, 1, 1000, 1);
    for (size_t i = 0; i < 1000; i++) {
        pool[i] = 0.25 * floor(pool[i] / 0.25 + 0.5);
    }
    config.support_size = 2;
    config.max_iterations = 3;
    config.tol = 0;
    support[0] = -1;
    support[1] = 1;
    struct deconvolve *solver = solve(&config, &result);
    double sum = 0;
    for (size_t i = 0; i < 1000; i++) {
        double law = 0;
        for (size_t l = 0; l < 2; l++) {
            law += result.weights[l] * dpot_noise_density_interval(&density, pool[i] - 0.125,
                                                                   pool[i] + 0.125,
                                                                   result.support[l], NULL);
        }
        sum += log(law);
    }
    cr_assert_float_eq(result.log_likelihood, sum, 1e-9 * fabs(sum));
    deconvolve_free(solver);
}

/* Both forms of the E step on the same pool: the same result except for the size of the cells. With
 * a wide domain the solver does not bin the pool. */
Test(deconvolve, binning_changes_little)
{
    for (int noise = 0; noise < 2; noise++) {
        const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.5);
        struct deconvolve_result binned, plain;
        draw_spikes(density.noise, 0.5, 4000, 1);
        struct deconvolve_config config = make(&density, 4000, 1, 3);
        config.support_size = 2;
        config.moves = true;
        config.tol = 0;
        config.max_iterations = 300;
        support[0] = -0.5;
        support[1] = 0.5;
        struct deconvolve *a = solve(&config, &binned);
        lo[0] = -300;
        hi[0] = 300;
        struct deconvolve *b = solve(&config, &plain);
        cr_assert_gt(binned.n_cells, 0);
        cr_assert_eq(plain.n_cells, 0);
        for (size_t l = 0; l < 2; l++) {
            /* A tenth of the standard error of a mean of 1200 reports, and of a share of them. */
            cr_assert_float_eq(binned.support[l], plain.support[l], noise == 0 ? 0.03 : 0.01);
            cr_assert_float_eq(binned.weights[l], plain.weights[l], 0.005);
        }
        deconvolve_free(a);
        deconvolve_free(b);
    }
}

Test(deconvolve, is_the_same_for_any_number_of_threads_and_run_again)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_LAPLACE, 0.5);
    for (size_t dim = 2; dim <= 4; dim += 2) {
        struct deconvolve_config config = make(&density, 2000, dim, 1);
        struct deconvolve_result one, four;
        struct team *team = NULL;
        draw_spikes(DPOT_NOISE_LAPLACE, 0.5, 2000, dim);
        config.support_size = 70;
        config.moves = true;
        config.max_iterations = 12;
        config.tol = 0;
        deconvolve_spread(&config.domain, dim, 70, 5, support);
        struct deconvolve *a = solve(&config, &one);
        cr_assert_eq(team_new(4, &team), DPOT_OK);
        config.team = team;
        struct deconvolve *b = solve(&config, &four);
        deconvolve_run(b, NULL, &four);
        cr_assert_eq(memcmp(one.support, four.support, 70 * dim * sizeof(double)), 0);
        cr_assert_eq(memcmp(one.weights, four.weights, 70 * sizeof(double)), 0);
        cr_assert_eq(memcmp(one.curve, four.curve, 13 * sizeof(double)), 0);
        deconvolve_free(a);
        deconvolve_free(b);
        team_free(team);
    }
}

static atomic_bool cancel;

static void cancel_after_three(void *ctx, size_t n_done, size_t n_total)
{
    *(size_t *)ctx = n_done;
    cr_assert_eq(n_total, 2000);
    atomic_store(&cancel, n_done >= 3);
}

Test(deconvolve, a_cancelled_run_returns_the_result_of_its_last_step)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_LAPLACE, 0.5);
    struct deconvolve_config config = make(&density, 2000, 1, 2);
    struct deconvolve_result result;
    struct deconvolve *solver = NULL;
    size_t n_seen = 0;
    const struct solve_control control = {
        .cancel = &cancel, .progress = cancel_after_three, .ctx = &n_seen};
    draw_spikes(DPOT_NOISE_LAPLACE, 0.5, 2000, 1);
    config.support_size = 9;
    deconvolve_spread(&config.domain, 1, 9, 0, support);
    cr_assert_eq(deconvolve_new(&config, &solver, NULL), DPOT_OK);
    deconvolve_run(solver, &control, &result);
    cr_assert_eq(result.outcome, SOLVE_CANCELLED);
    cr_assert_eq(result.iterations, 3);
    cr_assert_eq(n_seen, 3);
    double sum = 0;
    for (size_t l = 0; l < 9; l++) {
        sum += result.weights[l];
    }
    cr_assert_float_eq(sum, 1, 1e-12);
    deconvolve_free(solver);
}

Test(deconvolve, waits_for_fifty_steps_and_then_for_a_small_gain)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_GAUSSIAN, 0.5);
    struct deconvolve_config config = make(&density, 100, 1, 1);
    struct deconvolve_result result;
    draw_spikes(DPOT_NOISE_GAUSSIAN, 0.5, 100, 1);
    config.support_size = 1;
    support[0] = 0.2; /* one fixed point: the first step gains nothing */
    struct deconvolve *solver = solve(&config, &result);
    cr_assert_eq(result.iterations, 50);
    cr_assert_eq(result.outcome, SOLVE_CONVERGED);
    cr_assert_eq(result.gain, 0);
    deconvolve_free(solver);
}
