#include "central/condense.h"

#include <criterion/criterion.h>

/* Cells of level 3, two points in one of them. */
static const uint64_t codes[] = {0, 1, 4, 5, 5, 7};
#define N 6

Test(condense, the_level_is_the_finest_that_the_limit_allows)
{
    cr_assert_eq(condense_level(codes, N, 3, 100), 3);
    cr_assert_eq(condense_level(codes, N, 3, 5), 3);
    cr_assert_eq(condense_level(codes, N, 3, 4), 2, "0, 2, 3: three cells");
    cr_assert_eq(condense_level(codes, N, 3, 2), 1);
    cr_assert_eq(condense_level(codes, N, 3, 1), 0);
}

Test(condense, a_cell_becomes_its_mean_with_all_its_mass)
{
    double points[] = {0, 10, 1, 10, 4, 10, 5, 20, 5, 30, 7, 0};
    double weights[] = {.1, .3, .1, .1, .2, .2};
    cr_assert_eq(condense(codes, N, 3, 4, 2, points, weights), 3);
    cr_assert_float_eq(points[0], .75, 1e-15);
    cr_assert_float_eq(weights[0], .4, 1e-15);
    cr_assert_float_eq(points[2], 4.75, 1e-14, "%g", points[2]);
    cr_assert_float_eq(points[3], (.1 * 10 + .1 * 20 + .2 * 30) / .4, 1e-13);
    cr_assert_float_eq(weights[1], .4, 1e-15);
    cr_assert(points[4] == 7 && points[5] == 0 && weights[2] == .2);
}

Test(condense, points_within_the_limit_are_kept_and_equal_cells_merged)
{
    double points[] = {0, 1, 2, 3, 5, 6}, weights[] = {1, 1, 1, 1, 3, 1};
    cr_assert_eq(condense(codes, N, 3, 6, 1, points, weights), 5);
    cr_assert(points[0] == 0 && points[2] == 2 && points[3] == 4.5 && points[4] == 6);
}

Test(condense, cells_without_weight_are_kept_as_points_without_weight)
{
    double points[] = {1, 2, 3, 4, 5, 6}, weights[] = {0, 0, 1, 0, 0, 0};
    cr_assert_eq(condense(codes, N, 3, 2, 1, points, weights), 2);
    cr_assert(points[0] == 1 && weights[0] == 0 && points[1] == 3 && weights[1] == 1);
}
