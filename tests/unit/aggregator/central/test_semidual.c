/* Tables of potentials, their scores and sensitivity, and the choice by them. */
#include "base/rng_seeded.h"
#include "central/permute_and_flip.h"
#include "central/semidual.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 60

static const double lo[3] = {-1, 0, 2}, hi[3] = {1, 1, 3};
static const struct semidual_grid grid = {.dim = 3, .shape = {3, 4, 5}, .lo = lo, .hi = hi};

static double noise(size_t i)
{
    return (double)(i * 2654435761u % 1000) / 1000;
}

Test(semidual, cells_are_row_major_and_hold_their_centres)
{
    double point[3];
    cr_assert_eq(semidual_grid_size(&grid), CELLS);
    for (size_t c = 0; c < CELLS; c++) {
        semidual_grid_point(&grid, c, point);
        cr_assert_eq(semidual_grid_cell(&grid, point), c);
    }
    semidual_grid_point(&grid, 1, point);
    cr_assert_float_eq(point[2], 2.3, 1e-12, "the last coordinate is the fastest");
    const double beyond[3] = {9, INFINITY, 3}, below[3] = {-9, NAN, 2};
    cr_assert_eq(semidual_grid_cell(&grid, beyond), CELLS - 1);
    cr_assert_eq(semidual_grid_cell(&grid, below), 0);
}

Test(semidual, conjugates_are_the_maxima_of_their_definition)
{
    double f[CELLS], conjugate[CELLS];
    for (size_t c = 0; c < CELLS; c++) {
        f[c] = noise(c);
    }
    cr_assert_eq(semidual_conjugate(&grid, f, conjugate), DPOT_OK);
    for (size_t y = 0; y < CELLS; y++) {
        double at[3], most = -INFINITY;
        semidual_grid_point(&grid, y, at);
        for (size_t x = 0; x < CELLS; x++) {
            double from[3];
            semidual_grid_point(&grid, x, from);
            most = fmax(most, at[0] * from[0] + at[1] * from[1] + at[2] * from[2] - f[x]);
        }
        cr_assert_float_eq(conjugate[y], most, 1e-12);
    }
}

Test(semidual, gradients_of_quadratics_are_exact_inside)
{
    double f[CELLS], gradient[3 * CELLS], point[3];
    for (size_t c = 0; c < CELLS; c++) {
        semidual_grid_point(&grid, c, point);
        f[c] = point[0] * point[0] - 2 * point[1] + 3 * point[2] * point[1];
    }
    semidual_gradient(&grid, f, gradient);
    for (size_t c = 0; c < CELLS; c++) {
        semidual_grid_point(&grid, c, point);
        if (c / 20 == 1) { /* the middle slice of the first axis */
            cr_assert_float_eq(gradient[3 * c], 2 * point[0], 1e-9);
        }
        cr_assert_float_eq(gradient[3 * c + 1], 3 * point[2] - 2, 1e-9);
        cr_assert_float_eq(gradient[3 * c + 2], 3 * point[1], 1e-9);
    }
    const struct semidual_grid flat = {.dim = 1, .shape = {1}, .lo = lo, .hi = hi};
    semidual_gradient(&flat, f, gradient);
    cr_assert_eq(gradient[0], 0, "one cell has no slope");
}

/* Five random candidates. */
static void make(struct semidual *semidual, size_t n_x, size_t n_y, enum adjacency adjacency)
{
    static double potentials[5 * CELLS];
    struct dpot_error error = {""};
    for (size_t e = 0; e < 5 * CELLS; e++) {
        potentials[e] = noise(7 * e + 3) * (double)(1 + e / CELLS);
    }
    cr_assert_eq(semidual_init(semidual, &grid, potentials, 5, n_x, n_y, adjacency, &error),
                 DPOT_OK, "%s", error.text);
}

/* The largest change of a score over all replacements of a record in one cell by one in another. */
static int64_t largest_move(const struct semidual *semidual, bool moves_both)
{
    int64_t counts[2][CELLS] = {{0}}, before[5], after[5], largest = 0;
    for (size_t a = 0; a < CELLS; a += 1) {
        for (size_t b = 0; b < CELLS; b += 1) {
            for (size_t side = 0; side < 2; side++) {
                memset(counts, 0, sizeof counts);
                counts[side][a] = 1;
                counts[1 - side][moves_both ? b : 0] = 1;
                semidual_scores(semidual, counts[0], counts[1], before);
                memset(counts, 0, sizeof counts);
                counts[side][b] = 1;
                counts[1 - side][moves_both ? a : 0] = 1;
                semidual_scores(semidual, counts[0], counts[1], after);
                for (size_t i = 0; i < 5; i++) {
                    const int64_t moved = llabs(after[i] - before[i]);
                    largest = moved > largest ? moved : largest;
                }
            }
        }
    }
    return largest;
}

Test(semidual, the_sensitivity_is_the_largest_move_of_a_score)
{
    const size_t sizes[][2] = {{10, 10}, {7, 300}};
    for (size_t s = 0; s < 2; s++) {
        struct semidual semidual;
        make(&semidual, sizes[s][0], sizes[s][1], ADJACENCY_REPLACE_ONE);
        cr_assert_eq(largest_move(&semidual, false), semidual.sensitivity);
        cr_assert_leq(semidual.sensitivity, CHOICE_SENSITIVITY_MAX);
        semidual_release(&semidual);
        make(&semidual, sizes[s][0], sizes[s][1], ADJACENCY_REPLACE_PAIR);
        cr_assert_leq(largest_move(&semidual, true), semidual.sensitivity);
        semidual_release(&semidual);
    }
}

Test(semidual, equal_candidates_have_equal_scores_and_some_sensitivity)
{
    double potentials[2 * CELLS], point[3];
    struct semidual semidual;
    const int64_t counts[CELLS] = {3, 0, 1};
    int64_t scores[2];
    for (size_t c = 0; c < 2 * CELLS; c++) { /* both equal the baseline */
        semidual_grid_point(&grid, c % CELLS, point);
        potentials[c] = (point[0] * point[0] + point[1] * point[1] + point[2] * point[2]) / 2;
    }
    cr_assert_eq(semidual_init(&semidual, &grid, potentials, 2, 4, 4, ADJACENCY_REPLACE_ONE, NULL),
                 DPOT_OK);
    semidual_scores(&semidual, counts, counts, scores);
    cr_assert_eq(scores[0], scores[1]);
    cr_assert_geq(semidual.sensitivity, 1);
    semidual_release(&semidual);
}

Test(semidual, refuses_candidates_that_are_not_finite)
{
    double potentials[CELLS] = {0};
    struct semidual semidual;
    struct dpot_error error = {""};
    potentials[8] = NAN;
    cr_assert_eq(
        semidual_init(&semidual, &grid, potentials, 1, 4, 4, ADJACENCY_REPLACE_ONE, &error),
        DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "cell 8"), "%s", error.text);
    cr_assert_eq(
        semidual_init(&semidual, &grid, potentials, 0, 4, 4, ADJACENCY_REPLACE_ONE, &error),
        DPOT_ERR_TOO_LARGE);
}

Test(permute_and_flip, takes_the_least_score_when_it_is_far_below_the_others)
{
    struct dpot_rng_seeded seeded;
    struct exact_draw draw;
    size_t order[5];
    const int64_t scores[5] = {CHOICE_SCORE_MAX, 1000, -CHOICE_SCORE_MAX, 0, 5};
    dpot_rng_seeded_init(&seeded, 3, 0);
    exact_draw_init(&draw, &seeded.source);
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(permute_and_flip(scores, 5, 1, CHOICE_EPSILON_ONE, &draw, order), 2);
        cr_assert_eq(permute_and_flip(scores, 1, 1, CHOICE_EPSILON_ONE, &draw, order), 0);
    }
    exact_draw_release(&draw);
}
