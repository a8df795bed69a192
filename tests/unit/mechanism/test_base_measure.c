#include "mechanism/sampler.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double epsilons[] = {0.01, 0.5, 1, 4, 12, 20};
#define N_EPSILONS (sizeof epsilons / sizeof epsilons[0])

static uint64_t q32(double epsilon)
{
    uint64_t e = 0;
    cr_assert_eq(dpot_epsilon_from_double(epsilon, &e), DPOT_OK);
    return e;
}

/* Masses of the given total: 0 uniform, 1 linear, 2 geometric down to 2^-30 of the largest. */
static void fill_masses(double *m, size_t size, int shape, double total)
{
    double sum = 0;
    for (size_t j = 0; j < size; j++) {
        const double x = (double)j / (double)size;
        m[j] = shape == 0 ? 1 : shape == 1 ? 1 + (double)j : exp2(-30 * x);
        sum += m[j];
    }
    for (size_t j = 0; j < size; j++) {
        m[j] *= total / sum;
    }
}

static void assert_feasible_at(size_t size, int shape, double epsilon, double position)
{
    double *m = malloc(size * sizeof *m);
    struct dpot_base_measure base_measure = {0, malloc(size * sizeof(uint32_t)), 0};
    struct dpot_error error = {{0}};
    cr_assert(m && base_measure.mass_code);
    fill_masses(m, size, shape, exp(position * dpot_epsilon_to_double(q32(epsilon)) / 2));
    cr_assert_eq(dpot_base_measure_encode(m, size, q32(epsilon), &base_measure, &error), DPOT_OK,
                 "size %zu shape %d epsilon %g position %g: %s", size, shape, epsilon, position,
                 error.text);
    cr_assert_eq(base_measure.size, size);
    free(m);
    free(base_measure.mass_code);
}

Test(base_measure, every_total_mass_from_one_limit_to_the_other_can_be_encoded)
{
    static const size_t sizes[] = {2, 3, 17, 1000, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < N_EPSILONS; k++) {
            for (int shape = 0; shape < 3; shape++) {
                assert_feasible_at(sizes[i], shape, epsilons[k], -1);
                assert_feasible_at(sizes[i], shape, epsilons[k], 0);
                assert_feasible_at(sizes[i], shape, epsilons[k], 1);
            }
        }
    }
}

Test(base_measure, the_largest_size_can_be_encoded_at_the_lower_limit)
{
    assert_feasible_at(DPOT_DOMAIN_SIZE_MAX, 2, 1, -1);
}

Test(base_measure, decoding_gives_the_masses_back)
{
    enum { size = 100 };
    for (size_t k = 0; k < N_EPSILONS; k++) {
        double m[size], again[size];
        uint32_t codes[size];
        struct dpot_base_measure base_measure = {0, codes, 0};
        fill_masses(m, size, 1, 1);
        cr_assert_eq(dpot_base_measure_encode(m, size, q32(epsilons[k]), &base_measure, NULL),
                     DPOT_OK);
        dpot_base_measure_decode(&base_measure, q32(epsilons[k]), again);
        for (size_t j = 0; j < size; j++) {
            cr_assert_float_eq(again[j] / m[j], 1, 1e-6, "epsilon %g: %g for %g", epsilons[k],
                               again[j], m[j]);
        }
    }
}

Test(base_measure, the_largest_mass_has_the_largest_code_and_a_tiny_one_has_code_one)
{
    double m[] = {.5, .25, 1e-15, .25};
    uint32_t codes[4];
    struct dpot_base_measure base_measure = {0, codes, 0};
    cr_assert_eq(dpot_base_measure_encode(m, 4, q32(1), &base_measure, NULL), DPOT_OK);
    cr_assert_eq(codes[0], UINT32_MAX);
    cr_assert_eq(codes[1], 2147483648u);
    cr_assert_eq(codes[2], 1);
    cr_assert_float_eq((double)base_measure.total / ldexp(1, 62), exp(-.5), 1e-12);
}

Test(base_measure, bad_masses_and_totals_are_refused_naming_them)
{
    static const struct {
        double m[3];
        dpot_status status;
        const char *said;
    } cases[] = {
        {{.5, NAN, .5}, DPOT_ERR_RANGE, "the mass of output point 1 (the first is 0) is nan"},
        {{.5, .5, INFINITY}, DPOT_ERR_RANGE, "the mass of output point 2 (the first is 0) is inf"},
        {{-.5, 1, .5}, DPOT_ERR_RANGE, "the mass of output point 0 (the first is 0) is -0.5"},
        {{.5, 0, .5}, DPOT_ERR_RANGE, "the mass of output point 1 (the first is 0) is 0"},
        {{.2, .2, .2}, DPOT_ERR_INFEASIBLE, "total mass 0.6"},
        {{.6, .6, .6}, DPOT_ERR_INFEASIBLE, "total mass 1.8"},
        {{1e308, 1e308, 1e308}, DPOT_ERR_INFEASIBLE, "total mass inf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t codes[3];
        struct dpot_base_measure base_measure = {0, codes, 0};
        struct dpot_error error = {{0}};
        cr_assert_eq(dpot_base_measure_encode(cases[i].m, 3, q32(1), &base_measure, &error),
                     cases[i].status, "case %zu", i);
        cr_assert_not_null(strstr(error.text, cases[i].said), "%s", error.text);
    }
}

Test(base_measure, size_and_epsilon_have_ranges)
{
    const double m[] = {.5, .5};
    uint32_t codes[2];
    struct dpot_base_measure base_measure = {0, codes, 0};
    cr_assert_eq(dpot_base_measure_encode(m, 1, q32(4), &base_measure, NULL), DPOT_ERR_RANGE);
    cr_assert_eq(dpot_base_measure_encode(m, DPOT_DOMAIN_SIZE_MAX + 1, q32(4), &base_measure, NULL),
                 DPOT_ERR_RANGE);
    cr_assert_eq(dpot_base_measure_encode(m, 2, 0, &base_measure, NULL), DPOT_ERR_RANGE);
    cr_assert_eq(dpot_base_measure_encode(m, 2, 20 * DPOT_EPSILON_ONE + 1, &base_measure, NULL),
                 DPOT_ERR_RANGE);
    cr_assert_eq(dpot_base_measure_encode(m, 2, UINT64_MAX, &base_measure, NULL), DPOT_ERR_RANGE);
}
