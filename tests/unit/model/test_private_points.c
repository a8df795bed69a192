/* The vectors of one device: unit vectors, at most n_max, total mass one, whatever the data are. */
#include "model/private_points.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static void expect_rows(const double *data, const double *weights, size_t n, size_t n_max,
                        const double *vectors, const double *shares)
{
    struct dpot_private_points points;
    cr_assert_eq(dpot_private_points_init(&points, n_max, 2, NULL), DPOT_OK);
    dpot_private_points_set(&points, data, weights, n, 0);
    for (size_t r = 0; r < n_max; r++) {
        cr_assert_eq(points.measure.measure.support[r], r);
        cr_assert_float_eq(points.measure.measure.weights[r], shares[r], 1e-15);
        cr_assert_float_eq(points.vectors.values[2 * r], vectors[2 * r], 1e-15);
        cr_assert_float_eq(points.vectors.values[2 * r + 1], vectors[2 * r + 1], 1e-15);
    }
    dpot_private_points_release(&points);
}

Test(private_points, vectors_are_divided_by_their_length_and_weights_by_their_sum)
{
    const double data[] = {3, 4, 0, -2}, weights[] = {1, 3};
    const double vectors[] = {.6, .8, 0, -1, 1, 0}, shares[] = {.25, .75, 0};
    expect_rows(data, weights, 2, 3, vectors, shares);
}

Test(private_points, the_heaviest_stay_and_of_equals_the_first)
{
    const double data[] = {1, 0, 0, 1, -1, 0, 0, -1}, weights[] = {1, 2, 1, 5};
    const double vectors[] = {1, 0, 0, 1, 0, -1}, shares[] = {.125, .25, .625};
    expect_rows(data, weights, 4, 3, vectors, shares);
    const double first[] = {1, 0, 0, 1}, halves[] = {.5, .5};
    expect_rows(data, NULL, 4, 2, first, halves);
}

Test(private_points, without_data_or_weight_there_is_the_first_axis)
{
    const double data[] = {0, 1, 0, 1}, weights[] = {-1, NAN};
    const double vectors[] = {1, 0, 1, 0}, shares[] = {1, 0};
    expect_rows(NULL, NULL, 0, 2, vectors, shares);
    expect_rows(NULL, NULL, 5, 2, vectors, shares);
    expect_rows(data, weights, 2, 2, vectors, shares);
    const double infinite[] = {INFINITY, 0};
    expect_rows(data, infinite, 2, 2, vectors, shares);
}

Test(private_points, weights_near_the_ends_of_the_range_are_whole)
{
    const double data[] = {0, 1, 1, 0}, large[] = {DBL_MAX, DBL_MAX}, small[] = {DBL_MIN, DBL_MIN};
    const double vectors[] = {0, 1, 1, 0}, shares[] = {.5, .5};
    expect_rows(data, large, 2, 2, vectors, shares);
    expect_rows(data, small, 2, 2, vectors, shares);
}

Test(unit_vector, any_length_becomes_one_and_invalid_vectors_the_first_axis)
{
    const double scales[] = {5e-324, 1e-300, 1, 1e300, DBL_MAX};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        double x[3] = {-scales[i], scales[i], 0};
        dpot_unit_vector(x, 3);
        cr_assert_float_eq(x[0], -sqrt(.5), 1e-15);
        cr_assert_float_eq(x[1], sqrt(.5), 1e-15);
        cr_assert_eq(x[2], 0);
    }
    const double none[][3] = {{0, 0, 0}, {NAN, 1, 1}, {1, 1, INFINITY}, {-0.0, 0, 0}};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        double x[3];
        memcpy(x, none[i], sizeof x);
        dpot_unit_vector(x, 3);
        cr_assert(x[0] == 1 && x[1] == 0 && x[2] == 0);
    }
}
