#include "model/measure.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static struct dpot_private_measure set_measure(size_t n_max, const double *histogram, size_t size)
{
    double scratch[64];
    struct dpot_private_measure measure;
    cr_assert_leq(size, 64);
    memcpy(scratch, histogram, size * sizeof *scratch);
    cr_assert_eq(dpot_private_measure_init(&measure, n_max, NULL), DPOT_OK);
    dpot_private_measure_set(&measure, scratch, size);
    for (size_t i = 0; i < size; i++) {
        cr_assert_eq(scratch[i], 0, "the histogram is wiped");
    }
    return measure;
}

static void assert_rows(const struct dpot_private_measure *measure, size_t n,
                        const uint32_t *support, const double *weights)
{
    cr_assert_eq(measure->measure.support_size, n);
    for (size_t r = 0; r < n; r++) {
        cr_assert_eq(measure->measure.support[r], support[r], "row %zu", r);
        cr_assert_eq(measure->measure.weights[r], weights[r], "row %zu is %.17g", r,
                     measure->measure.weights[r]);
    }
}

Test(private_measure, a_histogram_is_normalised_and_padded_to_n_max_rows)
{
    const double histogram[] = {0, 1, 0, 2, 1};
    struct dpot_private_measure measure = set_measure(5, histogram, 5);
    assert_rows(&measure, 5, (uint32_t[]){1, 3, 4, 0, 0}, (double[]){.25, .5, .25, 0, 0});
    dpot_private_measure_release(&measure);
}

Test(private_measure, only_the_heaviest_stay_ties_to_the_lowest_index)
{
    const double histogram[] = {1, 2, 1, 4, 2, 1, 2};
    struct dpot_private_measure measure = set_measure(3, histogram, 7);
    assert_rows(&measure, 3, (uint32_t[]){1, 3, 4}, (double[]){.25, .5, .25});
    dpot_private_measure_release(&measure);
    measure = set_measure(5, histogram, 7);
    assert_rows(&measure, 5, (uint32_t[]){0, 1, 3, 4, 6},
                (double[]){1. / 11, 2. / 11, 4. / 11, 2. / 11, 2. / 11});
    dpot_private_measure_release(&measure);
}

Test(private_measure, garbage_entries_count_as_nothing)
{
    const double histogram[] = {NAN, -1, INFINITY, -INFINITY, 3, -0.0, 1};
    struct dpot_private_measure measure = set_measure(4, histogram, 7);
    assert_rows(&measure, 4, (uint32_t[]){4, 6, 0, 0}, (double[]){.75, .25, 0, 0});
    dpot_private_measure_release(&measure);
}

Test(private_measure, no_data_gives_the_public_default_spread_evenly)
{
    const double histogram[] = {0, 0, NAN, 0, -1, 0, 0, 0, 0, INFINITY};
    struct dpot_private_measure measure = set_measure(4, histogram, 10);
    assert_rows(&measure, 4, (uint32_t[]){0, 2, 5, 7}, (double[]){.25, .25, .25, .25});
    dpot_private_measure_release(&measure);
    measure = set_measure(4, histogram, 2);
    assert_rows(&measure, 4, (uint32_t[]){0, 1, 0, 0}, (double[]){.5, .5, 0, 0});
    dpot_private_measure_release(&measure);
}

Test(private_measure, weights_at_the_ends_of_the_double_range_still_sum_to_one)
{
    const double large[] = {DBL_MAX, DBL_MAX, 1, DBL_MAX / 2};
    struct dpot_private_measure measure = set_measure(4, large, 4);
    cr_assert_float_eq(measure.measure.weights[0], .4, 1e-15);
    cr_assert_float_eq(measure.measure.weights[2], .2, 1e-15);
    dpot_private_measure_release(&measure);
    const double small[] = {DBL_MIN, 0, 3 * DBL_MIN};
    measure = set_measure(3, small, 3);
    assert_rows(&measure, 3, (uint32_t[]){0, 2, 0}, (double[]){.25, .75, 0});
    dpot_private_measure_release(&measure);
}

Test(private_measure, weights_too_small_beside_the_largest_count_as_nothing)
{
    const double histogram[] = {0x1p-40, 0x1.fffffffffffffp-41, 5e-324, 1, DBL_MIN};
    struct dpot_private_measure measure = set_measure(5, histogram, 5);
    assert_rows(&measure, 5, (uint32_t[]){0, 3, 0, 0, 0},
                (double[]){0x1p-40 / (1 + 0x1p-40), 1 / (1 + 0x1p-40), 0, 0, 0});
    dpot_private_measure_release(&measure);
    const double subnormal[] = {0, 5e-324, DBL_MIN / 2, 0};
    measure = set_measure(2, subnormal, 4);
    assert_rows(&measure, 2, (uint32_t[]){0, 2}, (double[]){.5, .5}); /* no data */
    dpot_private_measure_release(&measure);
}

/* The threshold may be decided by any bit of a double. */
Test(private_measure, the_selection_distinguishes_neighbouring_doubles)
{
    for (int exponent = -1000; exponent <= 1000; exponent += 125) {
        double histogram[40];
        uint32_t heaviest[5] = {3, 11, 19, 27, 35};
        for (size_t i = 0; i < 40; i++) {
            histogram[i] = ldexp(i % 8 == 3 ? 1 + DBL_EPSILON : 1, exponent);
        }
        struct dpot_private_measure measure = set_measure(5, histogram, 40);
        assert_rows(&measure, 5, heaviest, (double[]){.2, .2, .2, .2, .2});
        dpot_private_measure_release(&measure);
    }
}

/* The rule of measure.h, by counting for each entry how many precede it. */
static size_t expect_rows(const double *histogram, size_t size, size_t n_max, uint32_t *support)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        size_t before = 0;
        for (size_t j = 0; j < size; j++) {
            before += histogram[j] > histogram[i] || (histogram[j] == histogram[i] && j < i);
        }
        if (histogram[i] > 0 && before < n_max) {
            support[n++] = (uint32_t)i;
        }
    }
    return n;
}

Test(private_measure, the_selection_obeys_its_rule_on_many_histograms)
{
    uint64_t state = 12345;
    for (size_t trial = 0; trial < 3000; trial++) {
        double histogram[64], sum = 0;
        uint32_t support[64];
        const size_t size = 1 + trial % 64, n_max = 1 + trial % 11;
        for (size_t i = 0; i < size; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            histogram[i] = (double)(state >> 61);
        }
        histogram[0] += 1;
        const size_t n = expect_rows(histogram, size, n_max, support);
        struct dpot_private_measure measure = set_measure(n_max, histogram, size);
        for (size_t r = 0; r < n; r++) {
            sum += histogram[support[r]];
        }
        for (size_t r = 0; r < n_max; r++) {
            cr_assert_eq(measure.measure.support[r], r < n ? support[r] : 0);
            cr_assert_float_eq(measure.measure.weights[r], r < n ? histogram[support[r]] / sum : 0,
                               1e-15);
        }
        dpot_private_measure_release(&measure);
    }
}

Test(private_measure, setting_allocates_nothing_and_can_be_repeated)
{
    struct test_allocator allocator;
    struct dpot_private_measure measure;
    test_allocator_init(&allocator);
    cr_assert_eq(dpot_private_measure_init(&measure, 3, &allocator.allocator), DPOT_OK);
    test_allocator_fail_at(&allocator, 1);
    for (size_t i = 0; i < 3; i++) {
        double histogram[] = {0, 0, 0};
        histogram[i] = 2;
        dpot_private_measure_set(&measure, histogram, 3);
        assert_rows(&measure, 3, (uint32_t[]){(uint32_t)i, 0, 0}, (double[]){1, 0, 0});
    }
    dpot_private_measure_release(&measure);
    cr_assert_eq(allocator.bytes, 0);
}

Test(measure, out_of_memory_leaves_it_zeroed)
{
    for (size_t n = 1; n <= 2; n++) {
        struct test_allocator allocator;
        struct dpot_private_measure measure;
        test_allocator_init(&allocator);
        test_allocator_fail_at(&allocator, n);
        cr_assert_eq(dpot_private_measure_init(&measure, 10, &allocator.allocator),
                     DPOT_ERR_MEMORY);
        cr_assert_null(measure.measure.support);
        cr_assert_eq(allocator.bytes, 0);
        dpot_private_measure_release(&measure);
    }
}

Test(weights, a_probability_passes_and_is_made_to_sum_to_one)
{
    double weights[] = {.25, .25, .5000001};
    cr_assert_eq(dpot_weights_check(weights, 3, 0, NULL), DPOT_OK);
    cr_assert_float_eq(weights[0] + weights[1] + weights[2], 1, 1e-15);
    double counts[] = {1, 3};
    cr_assert_eq(dpot_weights_check(counts, 2, 1, NULL), DPOT_OK);
    cr_assert_eq(counts[0], .25);
}

Test(weights, the_first_bad_entry_or_the_sum_is_named)
{
    struct dpot_error error = {{0}};
    double negative[] = {.5, -.25, NAN};
    cr_assert_eq(dpot_weights_check(negative, 3, 0, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "weight 1 is -0.25"), "%s", error.text);
    double nan_weight[] = {.5, NAN};
    cr_assert_eq(dpot_weights_check(nan_weight, 2, 1, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "weight 1 is nan"), "%s", error.text);
    double sum[] = {.5, .25};
    cr_assert_eq(dpot_weights_check(sum, 2, 0, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "0.75"), "%s", error.text);
    double zeros[] = {0, 0};
    cr_assert_eq(dpot_weights_check(zeros, 2, 1, &error), DPOT_ERR_RANGE);
    cr_assert_eq(dpot_weights_check(zeros, 0, 1, &error), DPOT_ERR_RANGE);
    double huge[] = {DBL_MAX, DBL_MAX};
    cr_assert_eq(dpot_weights_check(huge, 2, 1, &error), DPOT_ERR_RANGE);
}
