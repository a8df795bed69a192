/* Deconvolution with unusual pools, wrong numbers, failed allocations, and domains. */
#include "spikes.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- unusual pools ---- */

Test(deconvolve_inputs, one_report_or_a_constant_pool_gives_its_own_place)
{
    for (size_t dim = 1; dim <= 4; dim++) {
        for (int noise = 0; noise < 2; noise++) {
            for (size_t n = 1; n <= 50; n += 49) {
                const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.5);
                struct deconvolve_config config = make(&density, n, dim, 1);
                config.max_iterations = 20;
                struct deconvolve_result result;
                for (size_t i = 0; i < n * dim; i++) {
                    pool[i] = 0.4;
                }
                config.support_size = 1;
                config.moves = true;
                support[0] = support[1] = support[2] = support[3] = -0.2;
                struct deconvolve *solver = solve(&config, &result);
                for (size_t j = 0; j < dim; j++) {
                    cr_assert_float_eq(result.support[j], 0.4, 0.1); /* a cell is 0.125 wide */
                }
                deconvolve_free(solver);
            }
        }
    }
}

Test(deconvolve_inputs, pools_far_outside_are_counted_and_end_at_the_border)
{
    const double places[] = {50, 1e6, 1e300, -1e300};
    for (size_t dim = 1; dim <= 4; dim++) {
        for (int noise = 0; noise < 2; noise++) {
            for (size_t p = 0; p < 4; p++) {
                const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.5);
                struct deconvolve_config config = make(&density, 100, dim, 1);
                config.max_iterations = 20;
                struct deconvolve_result result;
                for (size_t i = 0; i < 100 * dim; i++) {
                    pool[i] = places[p];
                }
                config.support_size = 5;
                config.moves = true;
                deconvolve_spread(&config.domain, dim, 5, 0, support);
                struct deconvolve *solver = solve(&config, &result);
                double sum = 0, at_border = 0;
                cr_assert_eq(result.n_beyond, 100);
                cr_assert(isfinite(result.log_likelihood));
                for (size_t l = 0; l < 5; l++) {
                    const double x = result.support[l * dim] * copysign(1, places[p]);
                    sum += result.weights[l];
                    at_border += x > 0.99 ? result.weights[l] : 0;
                }
                cr_assert_float_eq(sum, 1, 1e-12);
                cr_assert_gt(at_border, 0.9, "%zu %d %zu: %g", dim, noise, p, at_border);
                deconvolve_free(solver);
            }
        }
    }
}

Test(deconvolve_inputs, reports_at_opposite_corners_of_a_narrow_noise_do_not_underflow)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_GAUSSIAN, 0.02);
    struct deconvolve_config config = make(&density, 400, 2, 1);
    struct deconvolve_result result;
    seed(1);
    for (size_t i = 0; i < 400; i++) {
        pool[2 * i] = (i % 2 ? 1 : -1) + draw(DPOT_NOISE_GAUSSIAN, 0.02);
        pool[2 * i + 1] = (i % 4 < 2 ? 1 : -1) + draw(DPOT_NOISE_GAUSSIAN, 0.02);
    }
    config.support_size = 2;
    support[0] = support[1] = -1;
    support[2] = support[3] = 1; /* two of the four corners have no point */
    struct deconvolve *solver = solve(&config, &result);
    cr_assert(isfinite(result.log_likelihood));
    cr_assert_float_eq(result.weights[0] + result.weights[1], 1, 1e-12);
    cr_assert(result.weights[0] > 0.2 && result.weights[1] > 0.2);
    deconvolve_free(solver);
}

static void expect_refused(const struct deconvolve_config *config, dpot_status status,
                           const char *word)
{
    struct deconvolve *solver = NULL;
    struct dpot_error error = {""};
    cr_assert_eq(deconvolve_new(config, &solver, &error), status, "%s", error.text);
    cr_assert_null(solver);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
}

Test(deconvolve_inputs, wrong_numbers_are_refused_by_name)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_GAUSSIAN, 0.5);
    struct deconvolve_config good = make(&density, 10, 2, 1), bad;
    good.support_size = 2;
    memset(support, 0, sizeof support);
    memset(pool, 0, sizeof pool);
    bad = good;
    bad.n = 0;
    expect_refused(&bad, DPOT_ERR_SHAPE, "0 reports");
    bad = good;
    bad.support_size = 0;
    expect_refused(&bad, DPOT_ERR_RANGE, "0 points");
    bad.support_size = DECONVOLVE_SUPPORT_MAX + 1;
    expect_refused(&bad, DPOT_ERR_RANGE, "65537 points");
    bad = good;
    bad.max_iterations = 0;
    expect_refused(&bad, DPOT_ERR_RANGE, "0 iterations");
    bad = good;
    bad.tol = NAN;
    expect_refused(&bad, DPOT_ERR_RANGE, "tolerance");
    bad = good;
    bad.domain.l2_radius = INFINITY;
    expect_refused(&bad, DPOT_ERR_RANGE, "radius");
    pool[3] = NAN;
    expect_refused(&good, DPOT_ERR_RANGE, "report 2, coordinate 2");
    pool[3] = 0;
    support[1] = INFINITY;
    expect_refused(&good, DPOT_ERR_RANGE, "support point 1, coordinate 2");
    support[1] = 0;
    hi[1] = -2;
    expect_refused(&good, DPOT_ERR_RANGE, "coordinate 2 of the domain");
    hi[1] = NAN;
    expect_refused(&good, DPOT_ERR_RANGE, "coordinate 2 of the domain");
}

Test(deconvolve_inputs, domains_too_wide_to_square_are_refused_and_nearly_so_stay_finite)
{
    for (int noise = 0; noise < 2; noise++) {
        const struct dpot_noise_density density = density_of((enum dpot_noise)noise, 0.5);
        struct deconvolve_config config = make(&density, 40, 2, 1);
        struct deconvolve_result result;
        config.support_size = 4;
        config.max_iterations = 5;
        config.moves = true;
        for (size_t i = 0; i < 80; i++) {
            pool[i] = i % 3 ? 2e139 : -2e139;
        }
        lo[0] = lo[1] = -2e139;
        hi[0] = hi[1] = 2e139;
        deconvolve_spread(&config.domain, 2, 4, 0, support);
        struct deconvolve *solver = solve(&config, &result);
        cr_assert(isfinite(result.log_likelihood));
        cr_assert_float_eq(
            result.weights[0] + result.weights[1] + result.weights[2] + result.weights[3], 1, 1e-9);
        deconvolve_free(solver);
        hi[1] = 1e300;
        expect_refused(&config, DPOT_ERR_RANGE, "coordinate 2 of the domain goes from -2e+139");
    }
}

Test(deconvolve_inputs, any_allocation_may_fail)
{
    const struct dpot_noise_density density = density_of(DPOT_NOISE_GAUSSIAN, 0.5);
    for (size_t dim = 2; dim <= 4; dim += 2) {
        struct test_allocator heap;
        struct deconvolve *solver = NULL;
        struct deconvolve_config config = make(&density, 10, dim, 1);
        dpot_status status = DPOT_ERR_MEMORY;
        size_t n_failed = 0;
        config.support_size = 3;
        config.moves = true;
        memset(pool, 0, sizeof pool);
        memset(support, 0, sizeof support);
        for (size_t i = 1; status == DPOT_ERR_MEMORY; i++) {
            test_allocator_init(&heap);
            test_allocator_fail_at(&heap, i);
            config.allocator = &heap.allocator;
            status = deconvolve_new(&config, &solver, NULL);
            n_failed += status == DPOT_ERR_MEMORY;
            if (status == DPOT_OK) {
                struct deconvolve_result result;
                deconvolve_run(solver, NULL, &result);
                deconvolve_free(solver);
            }
            cr_assert_eq(heap.bytes, 0);
        }
        cr_assert_eq(status, DPOT_OK);
        cr_assert_gt(n_failed, 8);
    }
}

/* ---- domains ---- */

Test(deconvolve_inputs, points_are_put_at_the_nearest_of_the_domain)
{
    const double side[2] = {5, 5}, minus[2] = {-5, -5};
    struct deconvolve_domain disc = {.lo = minus, .hi = side, .l2_radius = 5};
    struct deconvolve_domain diamond = {.lo = minus, .hi = side, .l1_radius = 5};
    double x[2] = {30, 40};
    deconvolve_clamp(&disc, 2, x);
    cr_assert_float_eq(x[0], 3, 1e-12);
    cr_assert_float_eq(x[1], 4, 1e-12);
    x[0] = 6;
    x[1] = -4;
    deconvolve_clamp(&diamond, 2, x); /* both shrink by 2.5 */
    cr_assert_float_eq(x[0], 3.5, 1e-9);
    cr_assert_float_eq(x[1], -1.5, 1e-9);
    x[0] = 60;
    x[1] = -4;
    deconvolve_clamp(&diamond, 2, x);
    cr_assert_float_eq(x[0], 5, 1e-9);
    cr_assert_float_eq(x[1], 0, 1e-9);
}

Test(deconvolve_inputs, supports_start_evenly_inside_the_domain)
{
    const double side[2] = {1, 1}, minus[2] = {-1, -1};
    const struct deconvolve_domain disc = {.lo = minus, .hi = side, .l2_radius = 1};
    const struct deconvolve_domain box = {.lo = minus, .hi = side};
    size_t n_quadrant[4] = {0};
    double other[2];
    deconvolve_spread(&disc, 2, 400, 0, support);
    for (size_t l = 0; l < 400; l++) {
        cr_assert_leq(hypot(support[2 * l], support[2 * l + 1]), 1);
        n_quadrant[2 * (support[2 * l] > 0) + (support[2 * l + 1] > 0)]++;
    }
    for (size_t q = 0; q < 4; q++) {
        cr_assert(n_quadrant[q] >= 95 && n_quadrant[q] <= 105);
    }
    deconvolve_spread(&disc, 2, 1, 1, other);
    cr_assert_neq(other[0], support[0], "the seed shifts them");
    const uint32_t shape[2] = {2, 4};
    cr_assert_eq(deconvolve_grid(&box, 2, shape, support), 8);
    cr_assert_eq(support[0], -0.5);
    cr_assert_eq(support[1], -0.75);
    cr_assert_eq(support[15], 0.75);
    cr_assert_eq(deconvolve_grid(&disc, 2, shape, NULL), 8);
    const uint32_t fine[2] = {100, 100};
    cr_assert_float_eq((double)deconvolve_grid(&disc, 2, fine, NULL), 1e4 * acos(-1) / 4, 30);
}
