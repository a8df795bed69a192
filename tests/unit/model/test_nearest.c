/* The nearest point of a domain, against integers of any length: every distance in these tests is
 * compared by a schoolbook sum that shares no code with the function under test. */
#include "model/nearest.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the reference: coordinates m 2^(24 s), one digit each ---- */

#define BASE 16777216.0
#define PLACES 40
#define DIGITS (2 * PLACES + 4)

struct coordinate {
    int64_t digit; /* |digit| < 2^24 */
    int place;
};

struct whole {
    int64_t digit[DIGITS];
};

static double to_double(struct coordinate c)
{
    return ldexp((double)c.digit, 24 * c.place);
}

static void add_product(struct whole *sum, int64_t sign, struct coordinate a, struct coordinate b)
{
    sum->digit[a.place + b.place] += sign * a.digit * b.digit;
}

static int sign_of(struct whole sum)
{
    int sign = 0;
    int64_t carry = 0;
    for (int i = 0; i < DIGITS; i++) {
        const int64_t value = sum.digit[i] + carry;
        const int64_t rest = ((value % 16777216) + 16777216) % 16777216;
        carry = (value - rest) / 16777216;
        sign = rest != 0 ? 1 : sign;
    }
    return carry < 0 ? -1 : sign;
}

static const struct coordinate one = {1, 0};

static int compare(struct coordinate a, struct coordinate b)
{
    struct whole sum = {{0}};
    add_product(&sum, 1, a, one);
    add_product(&sum, -1, b, one);
    return sign_of(sum);
}

static void add_distance(struct whole *sum, enum dpot_metric_id metric, int64_t sign,
                         struct coordinate x, struct coordinate p)
{
    if (metric == DPOT_METRIC_EUCLIDEAN) {
        add_product(sum, sign, x, x);
        add_product(sum, -2 * sign, x, p);
        add_product(sum, sign, p, p);
    } else {
        const int64_t way = compare(x, p) >= 0 ? sign : -sign;
        add_product(sum, way, x, one);
        add_product(sum, -way, p, one);
    }
}

#define DIM_MAX 3
#define POINTS_MAX 40

/* The sign of d(x, p) - d(x, q). */
static int compare_distances(enum dpot_metric_id metric, uint32_t dim, const struct coordinate *x,
                             const struct coordinate *p, const struct coordinate *q)
{
    struct whole sum = {{0}};
    if (metric != DPOT_METRIC_LINF) {
        for (uint32_t i = 0; i < dim; i++) {
            add_distance(&sum, metric, 1, x[i], p[i]);
            add_distance(&sum, metric, -1, x[i], q[i]);
        }
        return sign_of(sum);
    }
    uint32_t worst[2] = {0, 0};
    const struct coordinate *const points[2] = {p, q};
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 1; i < dim; i++) {
            struct whole gap = {{0}};
            add_distance(&gap, metric, 1, x[i], points[k][i]);
            add_distance(&gap, metric, -1, x[worst[k]], points[k][worst[k]]);
            worst[k] = sign_of(gap) > 0 ? i : worst[k];
        }
    }
    add_distance(&sum, metric, 1, x[worst[0]], p[worst[0]]);
    add_distance(&sum, metric, -1, x[worst[1]], q[worst[1]]);
    return sign_of(sum);
}

static uint32_t find_nearest(enum dpot_metric_id metric, uint32_t dim, uint32_t n,
                             struct coordinate points[][DIM_MAX], const struct coordinate *x)
{
    uint32_t nearest = 0;
    for (uint32_t j = 1; j < n; j++) {
        nearest = compare_distances(metric, dim, x, points[j], points[nearest]) < 0 ? j : nearest;
    }
    return nearest;
}

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

/* Small numbers, for many ties. */
static struct coordinate draw_coordinate(uint32_t spread)
{
    const int64_t digit = (int64_t)draw(2 * spread + 1) - spread;
    return (struct coordinate){digit, 0};
}

static struct coordinate draw_far(void)
{
    struct coordinate c = {(int64_t)draw(33554431) - 16777215, (int)draw(PLACES)};
    if (draw(2)) {
        c = draw_coordinate(40); /* near: the other coordinates are huge */
    }
    if (draw(4) == 0) {
        c.place = 2; /* 2^48 and more: doubles have no halves there */
    }
    return c;
}

/* The rule of lists: a coordinate counts as at most 1,024 extents from the first point's. Exact
 * here, where the extent is rounded down to a power of two. */
static struct coordinate bring_near(struct coordinate x, struct coordinate first, int64_t extent)
{
    const struct coordinate lo = {first.digit - 1024 * extent, first.place};
    const struct coordinate hi = {first.digit + 1024 * extent, first.place};
    return compare(x, lo) < 0 ? lo : compare(x, hi) > 0 ? hi : x;
}

static int64_t extent_of(struct coordinate points[][DIM_MAX], uint32_t n, uint32_t dim)
{
    int64_t extent = 0, power = 1;
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = 0; i < dim; i++) {
            const int64_t way = points[j][i].digit - points[0][i].digit;
            extent = llabs(way) > extent ? llabs(way) : extent;
        }
    }
    for (; 2 * power <= extent; power *= 2) {
    }
    return power;
}

static const enum dpot_metric_id exact[] = {DPOT_METRIC_EUCLIDEAN, DPOT_METRIC_L1,
                                            DPOT_METRIC_LINF};

static void check_list(enum dpot_metric_id id, uint32_t dim, uint32_t n, uint32_t spread, int place)
{
    const struct dpot_metric metric = {id, 0};
    struct coordinate points[POINTS_MAX][DIM_MAX];
    double values[POINTS_MAX * DIM_MAX];
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = 0; i < dim; i++) {
            points[j][i] = draw_coordinate(spread);
            points[j][i].place = place;
            values[j * dim + i] = to_double(points[j][i]);
        }
    }
    struct dpot_domain domain;
    const int64_t extent = extent_of(points, n, dim);
    struct dpot_nearest nearest;
    cr_assert_eq(dpot_domain_init_points(&domain, n, dim, values, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_nearest_init(&nearest, &domain, &metric, NULL), DPOT_OK);
    for (size_t t = 0; t < 60; t++) {
        struct coordinate x[DIM_MAX];
        double value[DIM_MAX];
        for (uint32_t i = 0; i < dim; i++) {
            x[i] = t % 2 ? draw_far() : draw_coordinate(2 * spread);
            x[i].place = t % 2 && x[i].place > place ? x[i].place : place;
            value[i] = to_double(x[i]);
        }
        for (uint32_t i = 0; i < dim; i++) {
            x[i] = bring_near(x[i], points[0][i], extent);
        }
        const uint32_t expected = find_nearest(id, dim, n, points, x);
        const uint32_t got = dpot_domain_nearest(&domain, &metric, value);
        cr_assert_eq(got, expected, "%s, x = (%g, ...): %u, the nearest is %u",
                     dpot_metric_name(id), value[0], got, expected);
        cr_assert_eq(dpot_nearest_find(&nearest, value), got, "prepared or not");
    }
    dpot_nearest_release(&nearest);
    dpot_domain_release(&domain);
}

Test(nearest, in_a_list_is_the_nearest_of_all_by_whole_numbers)
{
    for (size_t k = 0; k < 3; k++) {
        for (uint32_t t = 0; t < 30; t++) {
            check_list(exact[k], 1 + t % DIM_MAX, 2 + draw(POINTS_MAX - 2), t % 4 ? 20 : 4000,
                       t % 5 == 0 ? (int)draw(PLACES) : 0);
        }
    }
}

/* Cells of width 2: centres are odd whole numbers. */
static void check_grid(enum dpot_metric_id id, const uint32_t *shape, uint32_t dim)
{
    const struct dpot_metric metric = {id, 0};
    struct coordinate points[POINTS_MAX][DIM_MAX];
    double lo[DIM_MAX], hi[DIM_MAX];
    struct dpot_domain grid;
    for (uint32_t i = 0; i < dim; i++) {
        lo[i] = -6;
        hi[i] = lo[i] + 2.0 * shape[i];
    }
    cr_assert_eq(dpot_domain_init_grid(&grid, dim, lo, hi, shape, NULL), DPOT_OK);
    cr_assert_leq(grid.size, POINTS_MAX);
    for (uint32_t j = 0; j < grid.size; j++) {
        double point[DIM_MAX];
        dpot_domain_point(&grid, j, point);
        for (uint32_t i = 0; i < dim; i++) {
            points[j][i] = (struct coordinate){(int64_t)point[i], 0};
            cr_assert_eq(point[i], floor(point[i]));
        }
    }
    for (size_t t = 0; t < 500; t++) {
        struct coordinate x[DIM_MAX];
        double value[DIM_MAX];
        for (uint32_t i = 0; i < dim; i++) {
            x[i] = t % 2 ? draw_far() : draw_coordinate(20);
            value[i] = to_double(x[i]);
        }
        /* On every axis; in linf other points may be as near and have lower numbers. */
        const uint32_t got = dpot_domain_nearest(&grid, &metric, value);
        const uint32_t expected = find_nearest(DPOT_METRIC_L1, dim, grid.size, points, x);
        cr_assert_eq(got, expected, "%s, x = (%g, %g)", dpot_metric_name(id), value[0],
                     dim > 1 ? value[1] : 0);
        const uint32_t first = find_nearest(id, dim, grid.size, points, x);
        cr_assert_eq(compare_distances(id, dim, x, points[got], points[first]), 0);
    }
}

Test(nearest, on_a_grid_is_the_nearest_of_all_by_whole_numbers)
{
    static const uint32_t line[] = {17}, plane[] = {5, 7}, space[] = {2, 4, 5};
    for (size_t k = 0; k < 3; k++) {
        check_grid(exact[k], line, 1);
        check_grid(exact[k], plane, 2);
        check_grid(exact[k], space, 3);
    }
}

/* A reported case: at 5e16 neighbouring doubles are further apart than cells. */
Test(nearest, far_away_is_the_edge_and_never_the_first_point)
{
    static const double far[] = {1e3, 5e16, 9.1e16, 1e18, 1e100, 1e300, DBL_MAX, INFINITY};
    const double lo[] = {24.5, -125}, hi[] = {49.4, -66.9};
    const uint32_t shape[] = {16, 24};
    struct dpot_domain grid, list, ring;
    double points[16 * 24 * 2];
    cr_assert_eq(dpot_domain_init_grid(&grid, 2, lo, hi, shape, NULL), DPOT_OK);
    dpot_domain_points(&grid, points);
    cr_assert_eq(dpot_domain_init_points(&list, grid.size, 2, points, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_ring(&ring, 24, NULL), DPOT_OK);
    for (size_t k = 0; k < 2; k++) { /* linf has ties out there, which the reference above covers */
        const struct dpot_metric metric = {exact[k], 0};
        for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
            const double both[] = {far[i], far[i]}, east[] = {points[0], far[i]};
            const double south[] = {-far[i], points[1]};
            cr_assert_eq(dpot_domain_nearest(&grid, &metric, both), 16 * 24 - 1);
            cr_assert_eq(dpot_domain_nearest(&list, &metric, both), 16 * 24 - 1);
            cr_assert_eq(dpot_domain_nearest(&grid, &metric, east), 23);
            cr_assert_eq(dpot_domain_nearest(&list, &metric, east), 23, "%g", far[i]);
            cr_assert_eq(dpot_domain_nearest(&grid, &metric, south), 0);
            cr_assert_eq(dpot_domain_nearest(&ring, &metric, &far[i]), 23);
        }
    }
    dpot_domain_release(&list);
}

/* A box clamps to its edge, a list in the plane does not: the clamped point (0, 60) would be nearer
 * to the second point. */
Test(nearest, in_a_list_is_not_that_of_the_point_clamped_to_the_box)
{
    const double points[] = {0, 0, -1, 100};
    const double x[] = {1e16, 60}, far_x[] = {1e30, 60};
    const struct dpot_metric metric = {DPOT_METRIC_EUCLIDEAN, 0};
    struct dpot_domain list;
    cr_assert_eq(dpot_domain_init_points(&list, 2, 2, points, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_nearest(&list, &metric, x), 0);
    cr_assert_eq(dpot_domain_nearest(&list, &metric, far_x), 0);
    dpot_domain_release(&list);
}

/* Lists so small or so large that squared distances in doubles would underflow or overflow. */
Test(nearest, does_not_depend_on_the_unit_of_length)
{
    const double line[] = {-3, 0.5, 7};
    static const struct {
        double x;
        uint32_t nearest;
    } cases[] = {{-9, 0}, {-1.3, 0}, {-1.2, 1}, {3.7, 1}, {3.8, 2}, {1e9, 2}, {-INFINITY, 0}};
    for (int exponent = -900; exponent <= 1000; exponent += 100) {
        for (size_t k = 0; k < 3; k++) {
            const struct dpot_metric metric = {exact[k], 0};
            double points[3];
            struct dpot_domain list;
            for (size_t j = 0; j < 3; j++) {
                points[j] = ldexp(line[j], exponent);
            }
            cr_assert_eq(dpot_domain_init_points(&list, 3, 1, points, NULL, NULL), DPOT_OK);
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                const double x = ldexp(cases[i].x, exponent);
                cr_assert_eq(dpot_domain_nearest(&list, &metric, &x), cases[i].nearest, "2^%d: %g",
                             exponent, cases[i].x);
            }
            dpot_domain_release(&list);
        }
    }
}

Test(nearest, on_a_ring_is_exact_after_any_number_of_turns_up_to_2_52)
{
    const struct dpot_metric metric = {DPOT_METRIC_RING, 10};
    struct dpot_domain ring;
    cr_assert_eq(dpot_domain_init_ring(&ring, 10, NULL), DPOT_OK);
    static const struct {
        double x;
        uint32_t nearest;
    } cases[] = {
        {9.5, 0},        {-0.5, 0},     {9.4999999999999982, 9}, {-0.50000000000000011, 9},
        {-1e-300, 0},    {2.5, 2},      {4e15 + 8, 8},           {-4e15 - 8, 2},
        {1e18 + 128, 0}, {INFINITY, 0}, {-INFINITY, 0},          {NAN, 0},
        {5e-324, 0},     {7, 7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(dpot_domain_nearest(&ring, &metric, &cases[i].x), cases[i].nearest, "%.17g",
                     cases[i].x);
    }
}

Test(nearest, on_earth_clamps_latitudes_and_goes_round_in_longitude)
{
    const double lo[] = {24.5, -125}, hi[] = {49.4, -66.9};
    const uint32_t shape[] = {16, 24};
    const struct dpot_metric metric = {DPOT_METRIC_HAVERSINE, 0};
    struct dpot_domain grid;
    cr_assert_eq(dpot_domain_init_grid(&grid, 2, lo, hi, shape, NULL), DPOT_OK);
    for (uint32_t j = 0; j < grid.size; j++) {
        double place[2], turned[2];
        dpot_domain_point(&grid, j, place);
        turned[0] = place[0];
        turned[1] = place[1] + 360 * 1024.0;
        cr_assert_eq(dpot_domain_nearest(&grid, &metric, place), j);
        cr_assert_eq(dpot_domain_nearest(&grid, &metric, turned), j);
    }
    static const double far[] = {90, 91, 1e18, INFINITY};
    const double pole[] = {90, -100};
    for (size_t i = 0; i < 4; i++) {
        const double x[] = {far[i], -100};
        cr_assert_eq(dpot_domain_nearest(&grid, &metric, x),
                     dpot_domain_nearest(&grid, &metric, pole));
    }
    const double nowhere[] = {30, INFINITY}, greenwich[] = {30, 0}, nan_east[] = {30, NAN};
    cr_assert_eq(dpot_domain_nearest(&grid, &metric, nowhere),
                 dpot_domain_nearest(&grid, &metric, greenwich));
    cr_assert_eq(dpot_domain_nearest(&grid, &metric, nan_east),
                 dpot_domain_nearest(&grid, &metric, greenwich));
}

/* The closed form of grids against great circles to every cell, anywhere on earth. */
Test(nearest, on_a_grid_on_earth_is_the_nearest_of_all_by_great_circles)
{
    static const double boxes[][4] = {
        {24.5, 49.4, -125, -66.9}, {-90, 90, -180, 180}, {-60, -20, 300, 359}, {60, 90, -10, 200}};
    const uint32_t shape[] = {7, 12};
    const struct dpot_metric metric = {DPOT_METRIC_HAVERSINE, 0};
    for (size_t k = 0; k < sizeof boxes / sizeof boxes[0]; k++) {
        const double lo[] = {boxes[k][0], boxes[k][2]}, hi[] = {boxes[k][1], boxes[k][3]};
        struct dpot_domain grid;
        cr_assert_eq(dpot_domain_init_grid(&grid, 2, lo, hi, shape, NULL), DPOT_OK);
        for (size_t t = 0; t < 1000; t++) {
            const double x[] = {(double)draw(18001) / 100 - 90, (double)draw(72001) / 100 - 360};
            double cell[2], least = INFINITY;
            for (uint32_t j = 0; j < grid.size; j++) {
                dpot_domain_point(&grid, j, cell);
                least = fmin(least, dpot_metric_distance(&metric, 2, x, cell));
            }
            dpot_domain_point(&grid, dpot_domain_nearest(&grid, &metric, x), cell);
            cr_assert_leq(dpot_metric_distance(&metric, 2, x, cell), least + 1e-6, "%g, %g", x[0],
                          x[1]);
        }
    }
}

Test(nearest, in_a_list_on_earth_is_the_nearest_by_great_circles)
{
    double points[200];
    const struct dpot_metric metric = {DPOT_METRIC_HAVERSINE, 0};
    for (size_t j = 0; j < 100; j++) {
        points[2 * j] = (double)draw(18001) / 100 - 90;
        points[2 * j + 1] = (double)draw(36001) / 100 - 180;
    }
    struct dpot_domain list;
    cr_assert_eq(dpot_domain_init_points(&list, 100, 2, points, NULL, NULL), DPOT_OK);
    for (size_t t = 0; t < 500; t++) {
        const double x[] = {(double)draw(18001) / 100 - 90, (double)draw(72001) / 100 - 360};
        double least = INFINITY;
        for (uint32_t j = 0; j < list.size; j++) {
            least = fmin(least, dpot_metric_distance(&metric, 2, x, points + 2 * j));
        }
        const uint32_t nearest = dpot_domain_nearest(&list, &metric, x);
        cr_assert_leq(dpot_metric_distance(&metric, 2, x, points + 2 * nearest), least + 1e-6);
    }
    dpot_domain_release(&list);
}

Test(nearest, in_direction_does_not_know_lengths)
{
    const double points[] = {1, 0, 1, 1, 0, 1, -1, 0};
    const struct dpot_metric metric = {DPOT_METRIC_COSINE, 0};
    static const double lengths[] = {1e-300, 1, 5e16, 1e18, 1e300, DBL_MAX};
    struct dpot_domain list;
    cr_assert_eq(dpot_domain_init_points(&list, 4, 2, points, NULL, NULL), DPOT_OK);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            const double x[] = {lengths[i] * points[2 * j], lengths[i] * points[2 * j + 1]};
            cr_assert_eq(dpot_domain_nearest(&list, &metric, x), j, "%g", lengths[i]);
        }
    }
    const double up[] = {1e300, INFINITY}, diagonal[] = {INFINITY, INFINITY}, none[] = {0, NAN};
    cr_assert_eq(dpot_domain_nearest(&list, &metric, up), 2);
    cr_assert_eq(dpot_domain_nearest(&list, &metric, diagonal), 1);
    cr_assert_eq(dpot_domain_nearest(&list, &metric, none), 0);
    dpot_domain_release(&list);
}
