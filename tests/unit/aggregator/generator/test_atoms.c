/* A pool merged into weighted points loses only the position within a cell. */
#include "generator/atoms.h"
#include "solve/run/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *make_points(size_t n, size_t dim, double width)
{
    double *points = calloc(n * dim, sizeof *points);
    cr_assert_not_null(points);
    for (size_t i = 0; i < n * dim; i++) {
        points[i] = width * ((double)draw_uniform(3, 5, i) - 0.4);
    }
    return points;
}

static void gather(struct atoms *atoms, const double *points, size_t n, size_t dim, size_t n_most)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(atoms_init(atoms, points, n, dim, n_most, 0.1, NULL, &error), DPOT_OK, "%s",
                 error.text);
}

/* The weights sum to one, and the weighted mean is that of the points, up to float32. */
static void expect_moments(const struct atoms *atoms, const double *points, size_t n)
{
    double total = 0, largest = 1;
    for (size_t a = 0; a < atoms->n; a++) {
        cr_assert_gt(atoms->weights[a], 0);
        total += atoms->weights[a];
    }
    cr_assert_float_eq(total, 1, 1e-12);
    for (size_t c = 0; c < atoms->dim; c++) {
        double mean = 0, found = 0;
        for (size_t i = 0; i < n; i++) {
            mean += points[i * atoms->dim + c] / (double)n;
            largest = fmax(largest, fabs(points[i * atoms->dim + c]));
        }
        for (size_t a = 0; a < atoms->n; a++) {
            found += atoms->weights[a] * (double)atoms->points[a * atoms->dim + c];
        }
        cr_assert_float_eq(found, mean, 2e-7 * largest, "%g and %g", found, mean);
    }
}

Test(atoms, weights_sum_to_one_and_means_are_kept_in_up_to_three_dimensions)
{
    for (size_t dim = 1; dim <= ATOMS_DIM_MAX; dim++) {
        for (size_t n_most = 8; n_most <= 512; n_most *= 4) {
            struct atoms atoms;
            double *points = make_points(1000, dim, 8);
            gather(&atoms, points, 1000, dim, n_most);
            cr_assert(atoms.n >= 1 && atoms.n <= n_most, "%zu of %zu", atoms.n, n_most);
            expect_moments(&atoms, points, 1000);
            atoms_release(&atoms);
            free(points);
        }
    }
}

Test(atoms, a_point_is_within_a_cell_of_some_atom)
{
    struct atoms atoms;
    double *points = make_points(300, 2, 4);
    gather(&atoms, points, 300, 2, 60);
    cr_assert_gt(atoms.width, 0);
    for (size_t i = 0; i < 300; i++) {
        bool is_near = false;
        for (size_t a = 0; a < atoms.n; a++) {
            is_near = is_near ||
                      (fabs((double)atoms.points[2 * a] - points[2 * i]) <= atoms.width &&
                       fabs((double)atoms.points[2 * a + 1] - points[2 * i + 1]) <= atoms.width);
        }
        cr_assert(is_near, "%zu", i);
    }
    atoms_release(&atoms);
    free(points);
}

Test(atoms, the_same_points_give_the_same_bits)
{
    struct atoms a, b;
    double *points = make_points(500, 3, 5);
    gather(&a, points, 500, 3, 100);
    gather(&b, points, 500, 3, 100);
    cr_assert_eq(a.n, b.n);
    cr_assert_arr_eq(a.points, b.points, a.n * 3 * sizeof *a.points);
    cr_assert_arr_eq(a.weights, b.weights, a.n * sizeof *a.weights);
    atoms_release(&a);
    atoms_release(&b);
    free(points);
}

/* A point and its mirror image never share a cell, for any cell width. */
Test(atoms, cells_around_zero_and_their_mirror_images_do_not_merge)
{
    static const double points[] = {0.25, -0.25, 1e-3, -1e-3, 5, -5};
    struct atoms atoms;
    gather(&atoms, points, 6, 1, 2);
    cr_assert_eq(atoms.n, 2);
    cr_assert_eq(atoms.weights[0], 0.5);
    cr_assert_eq(atoms.points[0], -atoms.points[1]);
    atoms_release(&atoms);
}

Test(atoms, fewer_than_one_atom_an_orthant_can_be_requested)
{
    static const double points[] = {1, 1, 1, -1, -1, 1, -1, -1, 2, 2};
    struct atoms atoms;
    gather(&atoms, points, 5, 2, 1);
    cr_assert_eq(atoms.n, 4);
    expect_moments(&atoms, points, 5);
    atoms_release(&atoms);
}

Test(atoms, coincident_points_are_one_atom)
{
    double points[200];
    struct atoms atoms;
    for (size_t i = 0; i < 200; i++) {
        points[i] = i % 2 == 0 ? 0.75 : -3;
    }
    gather(&atoms, points, 100, 2, 50);
    cr_assert_eq(atoms.n, 1);
    cr_assert_eq(atoms.weights[0], 1);
    cr_assert_eq(atoms.points[0], 0.75F);
    cr_assert_eq(atoms.points[1], -3.0F);
    atoms_release(&atoms);
}

Test(atoms, huge_and_tiny_values_are_gathered_and_finite)
{
    static const double points[] = {9e29, -9e29, 1e20, -1e20, 1e-300, -1e-300, 0, 1, 2, 3};
    for (size_t n_most = 2; n_most <= 8; n_most *= 2) {
        struct atoms atoms;
        gather(&atoms, points, 10, 1, n_most);
        cr_assert_leq(atoms.n, n_most);
        for (size_t a = 0; a < atoms.n; a++) {
            cr_assert(isfinite(atoms.points[a]));
        }
        expect_moments(&atoms, points, 10);
        atoms_release(&atoms);
    }
}

Test(atoms, one_report_is_one_atom)
{
    static const double point[] = {1.5, -2.5, 1e-9};
    struct atoms atoms;
    gather(&atoms, point, 1, 3, 4096);
    cr_assert_eq(atoms.n, 1);
    cr_assert_eq(atoms.weights[0], 1);
    cr_assert_eq(atoms.points[1], -2.5F);
    atoms_release(&atoms);
}

Test(atoms, without_gathering_every_report_is_a_point_of_its_own)
{
    struct atoms atoms;
    double *points = make_points(20, 5, 1);
    gather(&atoms, points, 20, 5, 0);
    cr_assert_eq(atoms.n, 20);
    cr_assert_null(atoms.weights);
    cr_assert_eq(atoms.width, 0);
    for (size_t i = 0; i < 100; i++) {
        cr_assert_eq(atoms.points[i], (float)points[i]);
    }
    atoms_release(&atoms);
    free(points);
}

static void refuse(const double *points, size_t n, size_t dim, dpot_status status, const char *word)
{
    static const struct atoms none;
    struct atoms atoms;
    struct dpot_error error = {{0}};
    cr_assert_eq(atoms_init(&atoms, points, n, dim, 16, 1, NULL, &error), status);
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_arr_eq(&atoms, &none, sizeof none);
}

Test(atoms, pools_that_cannot_be_gathered_are_refused_without_a_leak)
{
    double points[8] = {0};
    refuse(points, 2, 4, DPOT_ERR_SHAPE, "4 coordinates: at most 3");
    refuse(points, 0, 2, DPOT_ERR_SHAPE, "empty");
    points[5] = NAN;
    refuse(points, 4, 2, DPOT_ERR_RANGE, "number 2 of report 3 is nan");
    points[5] = -INFINITY;
    refuse(points, 4, 2, DPOT_ERR_RANGE, "-inf");
    points[5] = 1.5e30;
    refuse(points, 4, 2, DPOT_ERR_RANGE, "1.5e+30");
}

Test(atoms, numbers_beyond_a_range_are_moved_to_its_ends)
{
    const double points[] = {-7, 0.25, 9, 0.75, -1, 1e20}, range[] = {-1, 1};
    const float expected[] = {-1, 0.25F, 1, 0.75F, -1, 1};
    struct dpot_error error = {{0}};
    struct atoms atoms;
    double mean = 0;
    cr_assert_eq(atoms_init(&atoms, points, 6, 1, 0, 1, range, &error), DPOT_OK);
    cr_assert_arr_eq(atoms.points, expected, sizeof expected);
    atoms_release(&atoms);
    cr_assert_eq(atoms_init(&atoms, points, 6, 1, 64, 0.5, range, &error), DPOT_OK);
    for (size_t i = 0; i < atoms.n; i++) {
        cr_assert(atoms.points[i] >= -1 && atoms.points[i] <= 1);
        mean += atoms.weights[i] * (double)atoms.points[i];
    }
    cr_assert_float_eq(mean, 1.0 / 6, 1e-6);
    atoms_release(&atoms);
}
