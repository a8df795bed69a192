#include "solve/transport/wasserstein.h"

#include "solve/run/draw.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define N 40

static double x[N * 3], y[N * 3];

static void draw(double *points, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) {
        points[i] = (double)draw_uniform(7, stream, i);
    }
}

static void shift(const double *from, size_t n, size_t dim, const double *by, double *to)
{
    for (size_t i = 0; i < n * dim; i++) {
        to[i] = from[i] + by[i % dim];
    }
}

static struct wasserstein exact(const struct point_set *a, const struct point_set *b, size_t dim)
{
    struct wasserstein distance = {-1, -1};
    struct dpot_error error = {""};
    cr_assert_eq(wasserstein_exact(a, b, dim, NULL, &distance, &error), DPOT_OK, "%s", error.text);
    return distance;
}

static double sliced(const struct point_set *a, const struct point_set *b, size_t dim,
                     size_t n_directions, struct team *team)
{
    double distance = -1;
    struct dpot_error error = {""};
    cr_assert_eq(wasserstein_sliced(a, b, dim, n_directions, 1, team, NULL, &distance, &error),
                 DPOT_OK, "%s", error.text);
    return distance;
}

Test(wasserstein, a_shifted_set_is_as_far_as_the_shift)
{
    const double by[3] = {3, -4, 12};
    draw(x, N * 3, 1);
    shift(x, N, 3, by, y);
    const struct point_set a = {N, x, NULL}, b = {N, y, NULL};
    const struct wasserstein distance = exact(&a, &b, 3);
    cr_assert_float_eq(distance.w1, 13, 1e-9);
    cr_assert_float_eq(distance.w2, 13, 1e-9);
    const struct wasserstein itself = exact(&a, &a, 3);
    cr_assert_float_eq(itself.w1, 0, 1e-12);
    cr_assert_float_eq(itself.w2, 0, 1e-12);
}

/* Masses (3/4, 1/4) at 0 and 3 to (1/4, 3/4) at 0 and 4: 1/2 moves by 4 and 1/4 by 1. */
Test(wasserstein, weighted_points_of_a_case_done_by_hand)
{
    const double from[2] = {0, 3}, to[2] = {0, 4}, p[2] = {.75, .25}, q[2] = {.25, .75};
    const struct point_set a = {2, from, p}, b = {2, to, q};
    const struct wasserstein distance = exact(&a, &b, 1);
    cr_assert_float_eq(distance.w1, 2.25, 1e-12);
    cr_assert_float_eq(distance.w2, sqrt(8.25), 1e-12);
    cr_assert_float_eq(sliced(&a, &b, 1, 5, NULL), sqrt(8.25), 1e-12, "a line has one direction");
}

Test(wasserstein, on_a_line_the_sort_and_the_simplex_agree)
{
    double p[N], sum = 0;
    draw(x, N, 1);
    draw(y, N, 2);
    for (size_t i = 0; i < N; i++) {
        p[i] = (double)draw_uniform(7, 3, i);
        sum += p[i];
        y[i] = y[i] - 1.5; /* also negative ones */
    }
    for (size_t i = 0; i < N; i++) {
        p[i] /= sum;
    }
    const struct point_set a = {N, x, p}, b = {N / 3, y, NULL};
    cr_assert_float_eq(sliced(&a, &b, 1, 1, NULL), exact(&a, &b, 1).w2, 1e-12);
}

/* W_2 of a point to a set needs no transport: the mean of squares. */
Test(wasserstein, one_point_is_as_far_as_the_mean_square)
{
    const double origin[3] = {0, 0, 0};
    double squares = 0;
    draw(x, N * 3, 1);
    for (size_t i = 0; i < N * 3; i++) {
        squares += x[i] * x[i] / N;
    }
    const struct point_set a = {N, x, NULL}, b = {1, origin, NULL};
    cr_assert_float_eq(exact(&a, &b, 3).w2, sqrt(squares), 1e-12);
}

/* <u, s>^2 has mean |s|^2 / dim over the sphere. */
Test(wasserstein, the_sliced_distance_of_a_shift_is_the_shift_over_the_root_of_the_dimension)
{
    const double by[3] = {3, -4, 12};
    draw(x, N * 3, 1);
    shift(x, N, 3, by, y);
    const struct point_set a = {N, x, NULL}, b = {N, y, NULL};
    /* of <u, s>^2 / |s|^2 the variance is 4 / 45: over 20000 directions 1% is five sigma */
    cr_assert_float_eq(sliced(&a, &b, 3, 20000, NULL), 13 / sqrt(3), 0.01 * 13 / sqrt(3));
}

Test(wasserstein, threads_do_not_change_the_sliced_distance)
{
    struct team *team = NULL;
    draw(x, N * 3, 1);
    draw(y, N * 3, 2);
    const struct point_set a = {N, x, NULL}, b = {N, y, NULL};
    cr_assert_eq(team_new(3, &team), DPOT_OK);
    cr_assert_eq(sliced(&a, &b, 3, 17, team), sliced(&a, &b, 3, 17, NULL));
    team_free(team);
}

Test(wasserstein, many_points_are_sorted)
{
    const size_t n = 100000;
    double *many = calloc(2 * n, sizeof *many);
    cr_assert_not_null(many);
    for (size_t i = 0; i < n; i++) {
        const size_t place = i * 61 % n; /* 61 and n have no common divisor */
        many[i] = (double)place - 50000;
        many[n + i] = (double)(n - 1 - i) - 50000 + 0.25;
    }
    const struct point_set a = {n, many, NULL}, b = {n, many + n, NULL};
    cr_assert_float_eq(sliced(&a, &b, 1, 1, NULL), 0.25, 1e-6);
    free(many);
}

Test(wasserstein, too_many_pairs_and_numbers_that_are_not_finite_are_refused)
{
    struct wasserstein distance;
    struct dpot_error error = {""};
    const struct point_set huge = {(size_t)1 << 20, x, NULL};
    double bad[2] = {0, NAN};
    const struct point_set broken = {2, bad, NULL};
    cr_assert_eq(wasserstein_exact(&huge, &huge, 1, NULL, &distance, &error), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(wasserstein_exact(&broken, &broken, 1, NULL, &distance, &error), DPOT_ERR_RANGE);
}
