#include "model/metric.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static double distance(enum dpot_metric_id id, uint32_t ring_size, uint32_t dim, const double *a,
                       const double *b)
{
    const struct dpot_metric metric = {id, ring_size};
    return dpot_metric_distance(&metric, dim, a, b);
}

Test(metric, vectors_have_their_euclidean_l1_and_linf_distances)
{
    const double a[] = {1, 2, 3}, b[] = {4, -2, 3};
    cr_assert_float_eq(distance(DPOT_METRIC_EUCLIDEAN, 0, 3, a, b), 5, 1e-12);
    cr_assert_float_eq(distance(DPOT_METRIC_L1, 0, 3, a, b), 7, 1e-12);
    cr_assert_float_eq(distance(DPOT_METRIC_LINF, 0, 3, a, b), 4, 1e-12);
}

Test(metric, cosine_is_one_minus_the_cosine_and_one_from_a_zero_vector)
{
    const double x[] = {2, 0}, y[] = {0, 3}, minus_x[] = {-5, 0}, diagonal[] = {1, 1};
    const double zero[] = {0, 0}, huge[] = {1e300, 1e300}, tiny[] = {1e-300, 0};
    cr_assert_float_eq(distance(DPOT_METRIC_COSINE, 0, 2, x, x), 0, 1e-12);
    cr_assert_float_eq(distance(DPOT_METRIC_COSINE, 0, 2, x, y), 1, 1e-12);
    cr_assert_float_eq(distance(DPOT_METRIC_COSINE, 0, 2, x, minus_x), 2, 1e-12);
    cr_assert_float_eq(distance(DPOT_METRIC_COSINE, 0, 2, x, diagonal), 1 - sqrt(0.5), 1e-12);
    cr_assert_eq(distance(DPOT_METRIC_COSINE, 0, 2, x, zero), 1);
    cr_assert_eq(distance(DPOT_METRIC_COSINE, 0, 2, zero, zero), 1);
    cr_assert_float_eq(distance(DPOT_METRIC_COSINE, 0, 2, huge, tiny), 1 - sqrt(0.5), 1e-12);
}

static double size_of(enum dpot_metric_id id)
{
    return id == DPOT_METRIC_EUCLIDEAN ? 5 : id == DPOT_METRIC_L1 ? 7 : 4;
}

/* Distances scale exactly with powers of two, from the smallest differences that count on. */
Test(metric, distances_of_tiny_and_huge_coordinates_are_right_to_rounding)
{
    const int exponents[] = {-1000, -700, -560, -530, -511, -500, 0, 400, 511, 512, 700, 1020};
    for (size_t i = 0; i < sizeof exponents / sizeof exponents[0]; i++) {
        const double unit = ldexp(1, exponents[i]), zero[] = {0, 0};
        const double a[] = {3 * unit, 4 * unit}, slanted[] = {0.1 * unit, 0.7 * unit};
        for (int k = DPOT_METRIC_EUCLIDEAN; k <= DPOT_METRIC_LINF; k++) {
            const enum dpot_metric_id id = (enum dpot_metric_id)k;
            cr_assert_eq(distance(id, 0, 2, a, zero), size_of(id) * unit, "%d", exponents[i]);
            cr_assert_eq(distance(id, 0, 2, zero, a), size_of(id) * unit);
            cr_assert_eq(distance(id, 0, 2, a, a), 0);
        }
        cr_assert(exponents[i] == -1000 || distance(DPOT_METRIC_EUCLIDEAN, 0, 2, slanted, zero) ==
                                               unit * sqrt(0.1 * 0.1 + 0.7 * 0.7));
    }
    const double far[] = {1e154, 1e154, 1e154, 1e154}, home[] = {0, 0, 0, 0};
    const double most[] = {1.7e308, 1.7e308};
    cr_assert_eq(distance(DPOT_METRIC_EUCLIDEAN, 0, 4, far, home), 2e154);
    cr_assert_eq(distance(DPOT_METRIC_EUCLIDEAN, 0, 2, most, home), INFINITY);
}

Test(metric, different_points_have_a_distance_in_every_metric)
{
    const double a[][2] = {{3e-170, 4e-170}, {1e-290, 0}, {1, 1}, {1e-12, 1}, {1e200, 1}};
    const double b[][2] = {{0, 0}, {0, 1e-290}, {1, 1 + 1e-15}, {0, 1}, {1e200, 1 - 1e-15}};
    for (size_t i = 0; i < 5; i++) {
        for (int k = DPOT_METRIC_EUCLIDEAN; k <= DPOT_METRIC_HAVERSINE; k++) {
            const bool has_angle = k != DPOT_METRIC_COSINE || i == 1 || i == 2 || i == 3;
            const bool is_place = k != DPOT_METRIC_HAVERSINE || i < 4;
            cr_assert(!has_angle || !is_place ||
                          distance((enum dpot_metric_id)k, 0, 2, a[i], b[i]) > 0,
                      "metric %d, pair %zu", k, i);
        }
    }
    const double north[] = {1e-200, 0}, equator[] = {0, 0}, radius = 6371.0088, pi = acos(-1);
    cr_assert_float_eq(distance(DPOT_METRIC_HAVERSINE, 0, 2, north, equator) / 1e-200,
                       radius * pi / 180, 1e-9);
    /* 1 - cos of the angle 1e-9 between them, whose first digit 1 - cos would lose. */
    const double right[] = {1, 0}, turned[] = {1, 1e-9};
    cr_assert_float_eq(distance(DPOT_METRIC_COSINE, 0, 2, right, turned), 5e-19, 1e-24);
}

Test(metric, public_points_have_the_same_distances_by_fewer_steps)
{
    const double scales[] = {0, 5e-324, 1e-200, 1e-160, 1e-150, 1, 1e150, 1e154, 1e200, 1e308};
    for (int k = DPOT_METRIC_EUCLIDEAN; k <= DPOT_METRIC_HAVERSINE; k++) {
        for (size_t i = 0; i < 100; i++) {
            const double s = scales[i / 10], t = scales[i % 10];
            const double a[] = {0.3 * s, -0.7 * t}, b[] = {0.1 * t, 0.9 * s};
            const struct dpot_metric metric = {(enum dpot_metric_id)k, 0};
            cr_assert_eq(dpot_metric_distance_public(&metric, 2, a, b),
                         dpot_metric_distance(&metric, 2, a, b), "metric %d, %g and %g", k, s, t);
        }
    }
}

Test(metric, haversine_is_kilometres_along_great_circles)
{
    const double equator[] = {0, 0}, pole[] = {90, 0}, antipode[] = {0, 180};
    const double new_york[] = {40.7128, -74.0060}, london[] = {51.5074, -0.1278};
    const double east[] = {0, 179}, west[] = {0, -179};
    const double radius = 6371.0088, pi = acos(-1);
    cr_assert_float_eq(distance(DPOT_METRIC_HAVERSINE, 0, 2, equator, pole), radius * pi / 2, 1e-6);
    cr_assert_float_eq(distance(DPOT_METRIC_HAVERSINE, 0, 2, equator, antipode), radius * pi, 1e-6);
    cr_assert_float_eq(distance(DPOT_METRIC_HAVERSINE, 0, 2, new_york, london), 5570.2, 0.5);
    cr_assert_float_eq(distance(DPOT_METRIC_HAVERSINE, 0, 2, east, west), radius * pi / 90, 1e-6);
}

Test(metric, a_place_has_a_latitude_and_a_longitude_in_degrees)
{
    const struct dpot_metric haversine = {DPOT_METRIC_HAVERSINE, 0}, l1 = {DPOT_METRIC_L1, 0};
    const double places[][2] = {{0, 0}, {90, 360}, {-90, -360}, {48.2, 16.4}};
    const double wrong[][2] = {{90.001, 0}, {-91, 0}, {0, 360.5},   {0, -361},
                               {NAN, 0},    {0, NAN}, {INFINITY, 0}};
    const char *const said[] = {"latitude 90.001", "latitude -91", "longitude 360.5",
                                "longitude -361",  "latitude",     "longitude",
                                "latitude inf"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        cr_assert_eq(dpot_metric_check_place(&haversine, places[i], NULL), DPOT_OK);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct dpot_error error = {""};
        cr_assert_eq(dpot_metric_check_place(&haversine, wrong[i], &error), DPOT_ERR_RANGE);
        cr_assert_not_null(strstr(error.text, said[i]), "%s", error.text);
        cr_assert_not_null(strstr(error.text, "(latitude, longitude) in degrees"));
        cr_assert_eq(dpot_metric_check_place(&l1, wrong[i], NULL), DPOT_OK);
    }
}

Test(metric, a_ring_goes_the_shorter_way_round)
{
    for (uint32_t size = 1; size <= 9; size++) {
        for (uint32_t i = 0; i < size; i++) {
            for (uint32_t j = 0; j < size; j++) {
                const double a = i, b = j;
                const uint32_t way = i < j ? j - i : i - j;
                const uint32_t shorter = way < size - way ? way : size - way;
                cr_assert_eq(distance(DPOT_METRIC_RING, size, 1, &a, &b), shorter);
            }
        }
    }
}

Test(metric, distances_are_symmetric_zero_at_home_and_obey_the_triangle)
{
    static const double points[][2] = {{0, 0}, {10, 20}, {-33, 151}, {64, -21}, {1e-9, 3}, {7, 0}};
    for (int id = DPOT_METRIC_EUCLIDEAN; id <= DPOT_METRIC_HAVERSINE; id++) {
        for (size_t i = 0; i < 6; i++) {
            for (size_t j = 0; j < 6; j++) {
                const enum dpot_metric_id m = (enum dpot_metric_id)id;
                const double d = distance(m, 0, 2, points[i], points[j]);
                cr_assert(d >= 0);
                cr_assert_float_eq(d, distance(m, 0, 2, points[j], points[i]), 1e-9);
                for (size_t k = 0; id != DPOT_METRIC_COSINE && k < 6; k++) {
                    cr_assert_leq(distance(m, 0, 2, points[i], points[k]),
                                  d + distance(m, 0, 2, points[j], points[k]) + 1e-9);
                }
            }
        }
    }
}

Test(metric, garbage_gives_some_double)
{
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 0};
    for (int id = DPOT_METRIC_EUCLIDEAN; id <= DPOT_METRIC_RING; id++) {
        for (size_t i = 0; i < 49; i++) {
            const double a[] = {bad[i / 7], bad[i % 7]}, b[] = {bad[i % 7], bad[i / 7]};
            const uint32_t ring_size = id == DPOT_METRIC_RING ? 12 : 0;
            const double d = distance((enum dpot_metric_id)id, ring_size, 2, a, b);
            cr_assert(isnan(d) || !isnan(d));
        }
    }
}

Test(metric, check_names_dimension_and_ring_size)
{
    struct dpot_metric metric = {DPOT_METRIC_EUCLIDEAN, 0};
    cr_assert_eq(dpot_metric_check(&metric, 784), DPOT_OK);
    cr_assert_eq(dpot_metric_check(&metric, 0), DPOT_ERR_SHAPE);
    metric.ring_size = 5;
    cr_assert_eq(dpot_metric_check(&metric, 2), DPOT_ERR_RANGE);
    metric = (struct dpot_metric){DPOT_METRIC_HAVERSINE, 0};
    cr_assert_eq(dpot_metric_check(&metric, 2), DPOT_OK);
    cr_assert_eq(dpot_metric_check(&metric, 3), DPOT_ERR_SHAPE);
    metric = (struct dpot_metric){DPOT_METRIC_RING, 8};
    cr_assert_eq(dpot_metric_check(&metric, 1), DPOT_OK);
    cr_assert_eq(dpot_metric_check(&metric, 2), DPOT_ERR_SHAPE);
    metric.ring_size = 0;
    cr_assert_eq(dpot_metric_check(&metric, 1), DPOT_ERR_RANGE);
    metric.id = (enum dpot_metric_id)7;
    cr_assert_eq(dpot_metric_check(&metric, 1), DPOT_ERR_RANGE);
}

Test(metric, every_name_finds_its_metric)
{
    for (int id = DPOT_METRIC_EUCLIDEAN; id <= DPOT_METRIC_RING; id++) {
        enum dpot_metric_id found = DPOT_METRIC_EUCLIDEAN;
        const char *name = dpot_metric_name((enum dpot_metric_id)id);
        cr_assert_not_null(name);
        cr_assert_eq(dpot_metric_find(name, &found), DPOT_OK);
        cr_assert_eq((int)found, id);
    }
    enum dpot_metric_id found = DPOT_METRIC_L1;
    cr_assert_null(dpot_metric_name((enum dpot_metric_id)99));
    cr_assert_eq(dpot_metric_find("manhattan", &found), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(found, DPOT_METRIC_L1);
}
