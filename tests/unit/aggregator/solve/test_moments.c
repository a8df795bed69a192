#include "solve/transport/moments.h"

#include "ot/symmetric.h"
#include "solve/estimate/coverage.h"
#include "solve/run/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIM 3

static struct moments made(const double *points, size_t n, size_t dim)
{
    struct moments m;
    struct dpot_error error = {""};
    cr_assert_eq(moments_init(points, NULL, n, dim, NULL, &m, &error), DPOT_OK, "%s", error.text);
    return m;
}

static double frechet(const struct moments *a, const struct moments *b)
{
    double distance = -1;
    struct dpot_error error = {""};
    cr_assert_eq(moments_frechet(a, b, &distance, &error), DPOT_OK, "%s", error.text);
    return distance;
}

/* Moments of a Gaussian, given in full. */
static struct moments gaussian(const double *mean, const double *covariance)
{
    static const double two[2 * DIM] = {0};
    struct moments m = made(two, 2, DIM);
    memcpy(m.mean, mean, DIM * sizeof *mean);
    memcpy(m.covariance, covariance, DIM * DIM * sizeof *covariance);
    return m;
}

Test(symmetric, a_matrix_is_the_sum_of_its_parts)
{
    const double whole[9] = {4, 1, -2, 1, 3, 0.5, -2, 0.5, 5};
    double rows[9], values[3], again[3];
    struct dpot_error error = {""};
    memcpy(rows, whole, sizeof rows);
    cr_assert_eq(dpot_symmetric_eigen(3, rows, values, NULL, &error), DPOT_OK, "%s", error.text);
    cr_assert(values[0] <= values[1] && values[1] <= values[2]);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            double sum = 0, dot = 0;
            for (size_t k = 0; k < 3; k++) {
                sum += values[k] * rows[k * 3 + i] * rows[k * 3 + j];
                dot += rows[i * 3 + k] * rows[j * 3 + k];
            }
            cr_assert_float_eq(sum, whole[i * 3 + j], 1e-13);
            cr_assert_float_eq(dot, i == j, 1e-14);
        }
    }
    memcpy(rows, whole, sizeof rows);
    cr_assert_eq(dpot_symmetric_values(3, rows, again, NULL, &error), DPOT_OK);
    for (size_t k = 0; k < 3; k++) {
        cr_assert_float_eq(again[k], values[k], 1e-13);
    }
}

Test(symmetric, what_cannot_be_decomposed_is_refused)
{
    double bad[1] = {NAN}, values[1];
    struct dpot_error error = {""};
    cr_assert_eq(dpot_symmetric_eigen(1, bad, values, NULL, &error), DPOT_ERR_RANGE);
    cr_assert_eq(dpot_symmetric_eigen(0, bad, values, NULL, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(dpot_symmetric_values(DPOT_SYMMETRIC_MAX + 1, bad, values, NULL, &error),
                 DPOT_ERR_TOO_LARGE);
}

Test(moments, mean_and_covariance_of_a_case_done_by_hand)
{
    const double points[8] = {0, 0, 2, 0, 2, 4, 0, 4};
    struct moments m = made(points, 4, 2);
    const double expected[4] = {4.0 / 3, 0, 0, 16.0 / 3};
    cr_assert(m.mean[0] == 1 && m.mean[1] == 2);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_float_eq(m.covariance[i], expected[i], 1e-14);
    }
    moments_release(&m);
}

Test(moments, more_points_than_a_block_have_the_moments_of_their_law)
{
    enum { MANY = 50000 };
    double *points = calloc(MANY, 2 * sizeof *points);
    cr_assert_not_null(points);
    for (size_t i = 0; i < MANY; i++) {
        points[2 * i] = (double)draw_uniform(3, 1, i);
        points[2 * i + 1] = 2 * points[2 * i];
    }
    struct moments m = made(points, MANY, 2);
    cr_assert_float_eq(m.mean[1], 1, 0.02);
    cr_assert_float_eq(m.covariance[0], 1.0 / 12, 0.003); /* ten standard deviations */
    cr_assert_float_eq(m.covariance[1], 2 * m.covariance[0], 1e-12);
    cr_assert_float_eq(m.covariance[3], 4 * m.covariance[0], 1e-12);
    free(points);
    moments_release(&m);
}

/* Diagonal covariances commute: |m - m'|^2 + sum (s - s')^2 of the standard deviations. */
Test(moments, frechet_distance_of_gaussians_that_commute)
{
    const double mean[DIM] = {1, 2, 3}, other[DIM] = {1, 0, 4};
    const double s[9] = {4, 0, 0, 0, 9, 0, 0, 0, 0.25}, t[9] = {1, 0, 0, 0, 16, 0, 0, 0, 4};
    struct moments a = gaussian(mean, s), b = gaussian(other, t);
    cr_assert_float_eq(frechet(&a, &b), 5 + 1 + 1 + 2.25, 1e-12);
    cr_assert_float_eq(frechet(&b, &a), 5 + 1 + 1 + 2.25, 1e-12);
    cr_assert_float_eq(frechet(&a, &a), 0, 1e-12);
    moments_release(&a);
    moments_release(&b);
}

/* T is S = diag(4, 1) turned by 45 degrees. A 2 x 2 root has trace sqrt(tr + 2 sqrt det), and S T
 * has trace 4 * 2.5 + 2.5 and determinant 4 * 4. */
Test(moments, frechet_distance_of_gaussians_that_do_not_commute)
{
    const double zero[DIM] = {0, 0, 0};
    const double s[9] = {4, 0, 0, 0, 1, 0, 0, 0, 1}, t[9] = {2.5, 1.5, 0, 1.5, 2.5, 0, 0, 0, 1};
    struct moments a = gaussian(zero, s), b = gaussian(zero, t);
    const double expected = 6 + 6 - 2 * (sqrt(12.5 + 2 * sqrt(16)) + 1);
    cr_assert_float_eq(frechet(&a, &b), expected, 1e-12);
    moments_release(&a);
    moments_release(&b);
}

/* On lines of directions u and v: traces minus 2 |<u, v>| |s| |t|. */
Test(moments, frechet_distance_of_singular_covariances)
{
    const double zero[DIM] = {0, 0, 0};
    const double s[9] = {4, 0, 0, 0, 0, 0, 0, 0, 0};
    const double t[9] = {4.5, 4.5, 0, 4.5, 4.5, 0, 0, 0, 0};
    struct moments a = gaussian(zero, s), b = gaussian(zero, t);
    cr_assert_float_eq(frechet(&a, &b), 4 + 9 - 2 * sqrt(0.5) * 2 * 3, 1e-9);
    moments_release(&a);
    moments_release(&b);
}

/* One image repeated has no covariance: |m - m'|^2 + tr S. */
Test(moments, frechet_distance_to_a_single_point)
{
    const double mean[DIM] = {1, 2, 3}, point[DIM] = {0, 0, 0};
    const double s[9] = {4, 1, 0, 1, 9, 0, 0, 0, 0.25};
    struct moments a = gaussian(mean, s), b = made(point, 1, DIM);
    cr_assert_float_eq(frechet(&a, &b), 14 + 13.25, 1e-9);
    moments_release(&a);
    moments_release(&b);
}

Test(moments, fewer_points_than_dimensions_are_at_distance_zero_of_themselves)
{
    double points[2 * 50];
    for (size_t i = 0; i < 100; i++) {
        points[i] = (double)draw_uniform(1, 1, i);
    }
    struct moments m = made(points, 2, 50);
    cr_assert_float_eq(frechet(&m, &m), 0, 1e-6);
    moments_release(&m);
}

Test(moments, weights_count_as_copies_do)
{
    const double three[6] = {0, 1, 0, 1, 3, 5}, two[4] = {0, 1, 3, 5};
    const double weights[2] = {2.0 / 3, 1.0 / 3};
    struct moments a = made(three, 3, 2), b;
    cr_assert_eq(moments_init(two, weights, 2, 2, NULL, &b, NULL), DPOT_OK);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_float_eq(b.covariance[i], a.covariance[i] * 2 / 3, 1e-14, "n - 1 against n");
    }
    cr_assert_float_eq(b.mean[1], 7.0 / 3, 1e-14);
    moments_release(&a);
    moments_release(&b);
}

/* With 20000 draws the covariance is within 6 standard deviations, S_ii sqrt(2 / n) on the
 * diagonal. */
Test(moments, draws_have_the_moments_they_were_drawn_from)
{
    enum { MANY = 20000 };
    const double mean[DIM] = {1, 2, 3};
    const double s[9] = {4, 1, 0, 1, 9, 0, 0, 0, 0};
    double *points = calloc(MANY, DIM * sizeof *points), *again = calloc(MANY, DIM * sizeof *again);
    struct moments a = gaussian(mean, s);
    cr_assert(points && again);
    cr_assert_eq(moments_draw(&a, MANY, 5, points, NULL), DPOT_OK);
    cr_assert_eq(moments_draw(&a, MANY, 5, again, NULL), DPOT_OK);
    cr_assert_eq(memcmp(points, again, MANY * DIM * sizeof *points), 0);
    struct moments b = made(points, MANY, DIM);
    for (size_t c = 0; c < DIM; c++) {
        cr_assert_float_eq(b.mean[c], mean[c], 6 * 3 / sqrt(MANY));
        for (size_t d = 0; d < DIM; d++) {
            cr_assert_float_eq(b.covariance[c * DIM + d], s[c * DIM + d], 6 * 9 * 0.01);
        }
    }
    cr_assert_float_eq(b.covariance[8], 0, 1e-12, "no noise where there was none");
    free(points);
    free(again);
    moments_release(&a);
    moments_release(&b);
}

Test(moments, other_dimensions_and_no_points_are_refused)
{
    const double points[4] = {0, 1, 2, 3};
    struct moments a = made(points, 2, 2), b = made(points, 4, 1), c;
    double distance;
    cr_assert_eq(moments_frechet(&a, &b, &distance, NULL), DPOT_ERR_SHAPE);
    cr_assert_eq(moments_init(points, NULL, 0, 2, NULL, &c, NULL), DPOT_ERR_TOO_LARGE);
    moments_release(&a);
    moments_release(&b);
}

Test(coverage, shares_confidence_and_missing_classes)
{
    const float p[12] = {.8F, .1F, .1F, .6F, .2F, .2F, .1F, .9F, 0, .5F, .5F, 0};
    const float even[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct coverage a, b;
    coverage_find(p, NULL, 4, 3, &a);
    cr_assert(a.shares[0] == .75 && a.shares[1] == .25 && a.shares[2] == 0, "ties to the lowest");
    cr_assert(a.n_covered == 2 && a.smallest == 0);
    cr_assert_float_eq(a.confidence, (.8 + .6 + .9 + .5) / 4, 1e-7);
    coverage_find(even, NULL, 3, 3, &b);
    cr_assert(b.n_covered == 3 && b.confidence == 1);
    cr_assert_float_eq(coverage_distance(&a, &b), 0.75 - 1.0 / 3, 1e-12);
}

Test(coverage, weights_are_the_shares)
{
    const float p[4] = {1, 0, 0, 1};
    const double weights[2] = {0.98, 0.02};
    struct coverage c;
    coverage_find(p, weights, 2, 2, &c);
    cr_assert_float_eq(c.shares[0], 0.98, 1e-15);
    cr_assert(c.n_covered == 1 && c.confidence == 1, "2 %% do not cover a class");
}
