#include "account/calibrate.h"
#include "account/gaussian.h"
#include "base/splitmix.h"
#include "mechanism/acceptance.h"
#include "mechanism/quantize.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define L DPOT_MECHANISM_LAPLACE
#define G DPOT_MECHANISM_GAUSSIAN

/* A reproducible number below n. */
static double below(uint64_t *state, double n)
{
    return splitmix_unit(state) * n;
}

static struct calibrate_request ball(enum dpot_mechanism_id mechanism, double epsilon, double delta,
                                     enum dpot_vector_set set, uint32_t dim, double radius)
{
    return (struct calibrate_request){.mechanism = mechanism,
                                      .epsilon = epsilon,
                                      .delta = delta,
                                      .is_simulation = epsilon > 20,
                                      .set = set,
                                      .dim = dim,
                                      .radius = radius};
}

static struct calibrate_request box(enum dpot_mechanism_id mechanism, double epsilon, double delta,
                                    uint32_t dim, uint32_t n_sides, const double *lo,
                                    const double *hi)
{
    struct calibrate_request request = ball(mechanism, epsilon, delta, DPOT_VECTOR_BOX, dim, 0);
    request.n_sides = n_sides;
    request.lo = lo;
    request.hi = hi;
    return request;
}

/* Checks the integers as a device does. */
static void expect_accepted(const struct calibrate_request *request,
                            const struct dpot_vector_domain *vector,
                            const struct calibration *found)
{
    struct dpot_sensitivity sensitivity;
    struct dpot_gauss_row row;
    uint64_t epsilon_q32 = 0;
    cr_assert_eq(dpot_sensitivity_compute(vector, &sensitivity, NULL), DPOT_OK);
    cr_assert_eq(dpot_epsilon_from_double(request->epsilon, &epsilon_q32), DPOT_OK);
    cr_assert_leq(found->epsilon_q32, epsilon_q32);
    if (request->mechanism == L) {
        cr_assert(dpot_laplace_accepts(&sensitivity, found->epsilon_q32, found->noise.scale_log2));
        cr_assert_not(
            dpot_laplace_accepts(&sensitivity, found->epsilon_q32 - 1, found->noise.scale_log2),
            "it is the least");
        return;
    }
    cr_assert_eq(dpot_gauss_row(found->noise.certificate_row, &row), DPOT_OK);
    cr_assert(dpot_gaussian_accepts(&sensitivity, &row, found->noise.scale_log2, vector->dim));
    cr_assert_eq(row.epsilon_q32, found->epsilon_q32);
    cr_assert_eq(row.delta_q64, found->delta_q64);
    cr_assert_leq(ldexp((double)row.delta_q64, -64), request->delta);
}

/* Checks the contract of calibrate.h for one request. */
static struct calibration expect_calibrated(const struct calibrate_request *request)
{
    struct dpot_vector_domain vector;
    struct calibration found;
    struct dpot_error error = {""};
    cr_assert_eq(calibrate(request, NULL, &vector, &found, &error), DPOT_OK,
                 "epsilon %g, delta %g, dim %u, set %d: %s", request->epsilon, request->delta,
                 request->dim, (int)request->set, error.text);
    cr_assert_eq(dpot_vector_domain_check(&vector, &error), DPOT_OK, "%s", error.text);
    expect_accepted(request, &vector, &found);
    cr_assert_eq(found.scale, ldexp(vector.grid_step, (int)found.noise.scale_log2));
    cr_assert(found.loss < 0.02 && found.loss > -0.01, "loss %g", found.loss);
    dpot_vector_domain_release(&vector);
    return found;
}

Test(calibrate, gives_the_published_integers)
{
    struct dpot_vector_domain vector;
    struct calibration found;
    struct calibrate_request request = ball(L, 1, 0, DPOT_VECTOR_L1_BALL, 784, 20);
    cr_assert_eq(calibrate(&request, NULL, &vector, &found, NULL), DPOT_OK);
    cr_assert_eq(found.noise.scale_log2, 18);
    cr_assert_eq(vector.radius, 131071);
    dpot_vector_domain_release(&vector);
    request = ball(G, 1, 0x1p-20, DPOT_VECTOR_L2_BALL, 784, 20);
    cr_assert_eq(calibrate(&request, NULL, &vector, &found, NULL), DPOT_OK);
    cr_assert_eq(found.noise.scale_log2, 15);
    cr_assert_eq(vector.radius, 3868);
    dpot_vector_domain_release(&vector);
}

Test(calibrate, balls_are_accepted_by_a_device_and_lose_less_than_2_percent)
{
    static const double deltas[] = {1e-4, 1e-5, 1e-6, 0x1p-20, 0x1p-24, 0x1p-30, 0x1p-40};
    static const uint32_t dims[] = {1, 2, 100, 784, 20000, DPOT_VECTOR_DIM_MAX};
    for (size_t d = 0; d < 6; d++) {
        for (double epsilon = 0.1; epsilon <= 20; epsilon *= 1.7) {
            for (int set = DPOT_VECTOR_L1_BALL; set <= DPOT_VECTOR_L2_BALL; set++) {
                struct calibrate_request request =
                    ball(L, epsilon, 0, (enum dpot_vector_set)set, dims[d], 0.37);
                (void)expect_calibrated(&request);
                /* The l1 ball is rounded in l1 steps, which needs more than Gaussian noise
                 * allows. */
                if (set == DPOT_VECTOR_L1_BALL && dims[d] > 784) {
                    continue;
                }
                for (size_t i = 0; i < 7; i++) {
                    request = ball(G, epsilon, deltas[i], (enum dpot_vector_set)set, dims[d], 4e5);
                    (void)expect_calibrated(&request);
                }
            }
        }
    }
}

Test(calibrate, boxes_of_all_shapes_are_accepted_and_lose_less_than_2_percent)
{
    double lo[50], hi[50];
    uint64_t state = 7;
    for (int trial = 0; trial < 150; trial++) {
        const uint32_t dim = 1 + (uint32_t)trial % 50;
        const double unit = pow(10, trial % 13 - 6);
        const double epsilon = 0.1 + below(&state, 16);
        for (uint32_t j = 0; j < dim; j++) {
            lo[j] = unit * (below(&state, 10) - 5);
            hi[j] = lo[j] + unit * (0.2 + below(&state, 3.3));
            hi[j] = j > 0 && below(&state, 9) < 1 ? lo[j] : hi[j]; /* a coordinate without width */
        }
        struct calibrate_request request = box(L, epsilon, 0, dim, dim, lo, hi);
        (void)expect_calibrated(&request);
        request = box(G, epsilon, 1e-5, dim, dim, lo, hi);
        (void)expect_calibrated(&request);
        request = box(L, epsilon, 0, 784, 1, lo, hi);
        (void)expect_calibrated(&request);
        request = box(G, epsilon, 1e-6, 784, 1, lo, hi);
        (void)expect_calibrated(&request);
    }
}

/* So clipping to the ball on the device changes no point of it. */
Test(calibrate, rounding_a_point_of_the_ball_never_leaves_it)
{
    double x[40];
    int64_t z[40], clipped[40];
    uint64_t state = 3;
    for (int trial = 0; trial < 4000; trial++) {
        const bool is_l1 = trial % 2;
        struct dpot_vector_domain vector;
        struct calibration found;
        const struct calibrate_request request =
            is_l1 ? ball(L, 1 + trial % 7, 0, DPOT_VECTOR_L1_BALL, 40, 3)
                  : ball(G, 1 + trial % 7, 1e-6, DPOT_VECTOR_L2_BALL, 40, 3);
        double norm = 0;
        for (size_t j = 0; j < 40; j++) {
            x[j] = trial % 3 ? below(&state, 2) - 1 : j % 2 ? 1 : -1;
            norm += is_l1 ? fabs(x[j]) : x[j] * x[j];
        }
        norm = is_l1 ? norm : sqrt(norm);
        for (size_t j = 0; j < 40; j++) {
            x[j] *= 3 / norm; /* on the sphere */
        }
        cr_assert_eq(calibrate(&request, NULL, &vector, &found, NULL), DPOT_OK);
        dpot_quantize_round(vector.inverse_step, x, 40, z);
        memcpy(clipped, z, sizeof z);
        dpot_quantize_enforce(&vector, clipped);
        cr_assert_eq(memcmp(clipped, z, sizeof z), 0, "trial %d", trial);
        dpot_vector_domain_release(&vector);
    }
}

Test(calibrate, takes_the_coarsest_grid_that_meets_the_limit)
{
    for (double epsilon = 0.2; epsilon < 20; epsilon *= 2.3) {
        const struct calibrate_request l1 = ball(L, epsilon, 0, DPOT_VECTOR_L1_BALL, 100, 1);
        const struct calibration found = expect_calibrated(&l1);
        /* R is epsilon 2^k / 2 and must be 128 dim. */
        const double radius = ldexp(epsilon, (int)found.noise.scale_log2) / 2;
        cr_assert(radius >= 12800 && radius < 2 * 12801, "%g", radius);
    }
}

Test(calibrate, a_noise_factor_gives_that_much_more_noise)
{
    for (double factor = 1; factor < 4; factor += 0.37) {
        struct calibrate_request request = ball(G, 5, 1e-6, DPOT_VECTOR_L2_BALL, 784, 20);
        request.noise_factor = factor;
        const struct calibration found = expect_calibrated(&request);
        cr_assert_float_eq(found.scale / found.continuous_scale, factor, 0.02 * factor);
    }
}

Test(calibrate, noise_is_no_less_than_the_continuous_mechanism_needs)
{
    /* For a ball, whose grid set is never smaller than the ball. */
    for (double epsilon = 0.1; epsilon <= 20; epsilon *= 1.31) {
        struct calibrate_request request = ball(G, epsilon, 1e-5, DPOT_VECTOR_L2_BALL, 30, 1);
        struct calibration found = expect_calibrated(&request);
        cr_assert_leq(gaussian_log_delta(epsilon, found.diameter / found.scale), log(1e-5));
        request = ball(L, epsilon, 0, DPOT_VECTOR_L1_BALL, 30, 1);
        found = expect_calibrated(&request);
        cr_assert_leq(found.diameter / found.scale, epsilon);
    }
}

static void expect_refused(const struct calibrate_request *request, dpot_status expected,
                           const char *sentence)
{
    struct dpot_vector_domain vector;
    struct calibration found;
    struct dpot_error error = {""};
    const dpot_status status = calibrate(request, NULL, &vector, &found, &error);
    cr_assert_eq(status, expected, "%d: %s", status, error.text);
    cr_assert_not_null(strstr(error.text, sentence), "%s", error.text);
    cr_assert_null(vector.lo);
    cr_assert_eq(vector.dim, 0);
}

Test(calibrate, wrong_requests_are_refused_with_value_and_remedy)
{
    const double lo[] = {0, 0}, hi[] = {1, 1e-14}, nan[] = {NAN, 0}, far[] = {1e14, 0},
                 farther[] = {1e14 + 1, 1};
    const struct {
        struct calibrate_request request;
        dpot_status status;
        const char *sentence;
    } cases[] = {
        {ball(DPOT_MECHANISM_WPM, 1, 0, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "only laplace"},
        {ball(L, 0, 0, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "epsilon is 0"},
        {ball(L, NAN, 0, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "epsilon is"},
        {ball(L, 1e-10, 0, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "at least 1e-9"},
        {ball(L, 513, 0, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "at most 512"},
        {ball(G, 41, 1e-6, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "at most 40"},
        {ball(G, 0.01, 1e-6, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "epsilon at least 0.1"},
        {ball(G, 1, 1e-13, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "2^-40"},
        {ball(G, 1, 1e-300, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "2^-40"},
        {ball(L, 1, 1e-6, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "leave it out"},
        {ball(G, 1, 0, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "delta is 0"},
        {ball(G, 1, 1, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "delta is 1"},
        {ball(G, 1, NAN, DPOT_VECTOR_L2_BALL, 2, 1), DPOT_ERR_RANGE, "delta is"},
        {ball(L, 1, 0, DPOT_VECTOR_L1_BALL, 0, 1), DPOT_ERR_RANGE, "dim is 0"},
        {ball(L, 1, 0, DPOT_VECTOR_L1_BALL, 2, -1), DPOT_ERR_RANGE, "radius is -1"},
        {ball(L, 1, 0, DPOT_VECTOR_L1_BALL, 2, INFINITY), DPOT_ERR_RANGE, "radius is inf"},
        {ball(L, 1, 0, DPOT_VECTOR_L1_BALL, 2, 1e-300), DPOT_ERR_RANGE, "grid_step is"},
        {ball(L, 1, 0, (enum dpot_vector_set)9, 2, 1), DPOT_ERR_RANGE, "set 9"},
        {ball(L, 40, 0, DPOT_VECTOR_L1_BALL, 2, 1), DPOT_ERR_RANGE, "below 31.9"},
        {ball(L, 1e-8, 0, DPOT_VECTOR_L1_BALL, 1000, 1), DPOT_ERR_RANGE,
         "no grid serves this ball"},
        {box(L, 1, 0, 2, 2, nan, hi), DPOT_ERR_RANGE, "side 0"},
        {box(L, 1, 0, 2, 2, hi, lo), DPOT_ERR_RANGE, "lo <= hi"},
        {box(L, 1, 0, 2, 2, lo, lo), DPOT_ERR_RANGE, "single point"},
        {box(L, 1, 0, 3, 2, lo, hi), DPOT_ERR_SHAPE, "2 sides for 3"},
        {box(L, 1, 0, 2, 2, lo, hi), DPOT_ERR_RANGE, "like widths"},
        {box(L, 1, 0, 2, 2, far, farther), DPOT_ERR_RANGE, "near 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_refused(&cases[i].request, cases[i].status, cases[i].sentence);
    }
    struct calibrate_request request = ball(L, 21, 0, DPOT_VECTOR_L1_BALL, 2, 1);
    request.is_simulation = false;
    expect_refused(&request, DPOT_ERR_EPSILON, "devices take at most 20");
    request = ball(L, 1, 0, DPOT_VECTOR_L1_BALL, 2, 1);
    request.noise_factor = 0.5;
    expect_refused(&request, DPOT_ERR_RANGE, "noise factor is 0.5");
}

Test(calibrate, every_failed_allocation_is_survived)
{
    const double lo[] = {0, 1}, hi[] = {2, 3};
    const struct calibrate_request request = box(L, 1, 0, 2, 2, lo, hi);
    for (size_t n = 0;; n++) {
        struct test_allocator heap;
        struct dpot_vector_domain vector;
        struct calibration found;
        test_allocator_init(&heap);
        test_allocator_fail_at(&heap, n + 1);
        const dpot_status status = calibrate(&request, &heap.allocator, &vector, &found, NULL);
        dpot_vector_domain_release(&vector);
        cr_assert_eq(heap.bytes, 0, "leak at allocation %zu", n);
        if (status == DPOT_OK) {
            cr_assert_eq(n, 2);
            return;
        }
        cr_assert_eq(status, DPOT_ERR_MEMORY);
    }
}

Test(calibrate, a_diameter_alone_has_integers_too)
{
    struct calibrate_bare bare;
    struct dpot_gauss_row row;
    cr_assert_eq(calibrate_bare(L, 2, 0, 3, &bare, NULL), DPOT_OK);
    cr_assert_eq(bare.scale, ldexp(bare.grid_step, (int)bare.noise.scale_log2));
    cr_assert_geq(bare.grid_step * (double)bare.grid_diameter, 3);
    cr_assert(bare.scale >= 1.5 && bare.scale < 1.5 * (1 + 1e-9), "%.17g", bare.scale);
    const struct dpot_sensitivity l1 = {.l1 = bare.grid_diameter, .widest = 1};
    cr_assert(dpot_laplace_accepts(&l1, (uint64_t)2 << 32, bare.noise.scale_log2));

    cr_assert_eq(calibrate_bare(G, 2, 1e-6, 3, &bare, NULL), DPOT_OK);
    cr_assert_eq(dpot_gauss_row(bare.noise.certificate_row, &row), DPOT_OK);
    struct dpot_sensitivity l2 = {.l2_squared =
                                      dpot_u128_mul(bare.grid_diameter, bare.grid_diameter)};
    cr_assert(dpot_gaussian_accepts(&l2, &row, bare.noise.scale_log2, bare.dim_max));
    l2.l2_squared = dpot_u128_mul(bare.grid_diameter + 1, bare.grid_diameter + 1);
    cr_assert_not(dpot_gaussian_accepts(&l2, &row, bare.noise.scale_log2, 1), "it is the largest");
    const double sigma = gaussian_scale(2, 1e-6, 3);
    cr_assert(bare.scale >= sigma && bare.scale < 1.011 * sigma, "%g, %g", bare.scale, sigma);
}
