/* Regions of the plane. */
#include "central/polygon.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* A ring with 7 vertices and a notch, and a hole in it. */
static const double vertices[] = {
    0, 0, 10, 0, 10, 10, 6, 10, 5, 4, 4, 10, 0, 10, /* the notch has its tip at (5, 4) */
    1, 1, 3,  1, 3,  3,  1, 3,                      /* hole */
};
static const double rings[] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};

static void make(struct polygon *polygon)
{
    struct dpot_error error = {""};
    cr_assert_eq(polygon_init(polygon, vertices, rings, 11, &error), DPOT_OK, "%s", error.text);
}

/* Inside by the definition of the two rings. */
static bool is_inside(double x, double y)
{
    const bool in_square = x > 0 && x < 10 && y > 0 && y < 10;
    const bool in_notch = y > 4 && fabs(x - 5) < (y - 4) / 6;
    const bool in_hole = x > 1 && x < 3 && y > 1 && y < 3;
    return in_square && !in_notch && !in_hole;
}

Test(polygon, contains_points_by_the_even_odd_rule)
{
    struct polygon polygon;
    size_t n_inside = 0;
    make(&polygon);
    for (int i = 0; i < 120; i++) {
        for (int j = 0; j < 120; j++) {
            const double point[2] = {i * 0.1003 - 0.9, j * 0.1007 - 0.9};
            cr_assert_eq(polygon_holds(&polygon, point), is_inside(point[0], point[1]), "(%g, %g)",
                         point[0], point[1]);
            n_inside += polygon_holds(&polygon, point);
        }
    }
    cr_assert(n_inside > 8800 && n_inside < 9200);
    const double nowhere[2] = {NAN, NAN}, far[2] = {5, INFINITY};
    cr_assert_not(polygon_holds(&polygon, nowhere));
    cr_assert_not(polygon_holds(&polygon, far));
    polygon_release(&polygon);
}

Test(polygon, intersects_boxes_that_share_a_point)
{
    struct polygon polygon;
    make(&polygon);
    for (int i = 0; i < 24; i++) {
        for (int j = 0; j < 24; j++) {
            const double lo[2] = {i * 0.5 - 1.01, j * 0.5 - 1.01};
            const double hi[2] = {lo[0] + 0.5, lo[1] + 0.5};
            bool has_point = false;
            for (int k = 0; k < 2500; k++) {
                has_point = has_point ||
                            is_inside(lo[0] + (k % 50 + 0.5) / 100, lo[1] + (k / 50 + 0.5) / 100);
            }
            cr_assert_eq(polygon_meets(&polygon, lo, hi), has_point, "(%g, %g)", lo[0], lo[1]);
            if (has_point) {
                double anchor[2];
                polygon_anchor(&polygon, lo, hi, anchor);
                cr_assert(polygon_holds(&polygon, anchor), "(%g, %g)", anchor[0], anchor[1]);
                cr_assert(anchor[0] > lo[0] - 1e-5 && anchor[0] < hi[0] + 1e-5);
                cr_assert(anchor[1] > lo[1] - 1e-5 && anchor[1] < hi[1] + 1e-5);
            }
        }
    }
    const double lo[2] = {-100, -100}, hi[2] = {100, 100};
    cr_assert(polygon_meets(&polygon, lo, hi), "a box around all of it");
    const double hole_lo[2] = {1.5, 1.5}, hole_hi[2] = {2.5, 2.5};
    cr_assert_not(polygon_meets(&polygon, hole_lo, hole_hi));
    polygon_release(&polygon);
}

Test(polygon, a_box_with_a_sliver_of_it_has_an_anchor_inside)
{
    struct polygon polygon;
    double anchor[2];
    const double lo[2] = {10 - 1e-7, 3}, hi[2] = {12, 4};
    make(&polygon);
    cr_assert(polygon_meets(&polygon, lo, hi));
    polygon_anchor(&polygon, lo, hi, anchor);
    cr_assert(polygon_holds(&polygon, anchor));
    cr_assert_float_eq(anchor[0], 10, 1e-5);
    polygon_release(&polygon);
}

Test(polygon, closed_and_open_rings_are_the_same)
{
    const double open[] = {0, 0, 4, 0, 0, 4}, closed[] = {0, 0, 4, 0, 0, 4, 0, 0};
    struct polygon a, b;
    cr_assert_eq(polygon_init(&a, open, NULL, 3, NULL), DPOT_OK);
    cr_assert_eq(polygon_init(&b, closed, NULL, 4, NULL), DPOT_OK);
    cr_assert_eq(a.n_edges, b.n_edges);
    const double point[2] = {1, 1};
    cr_assert(polygon_holds(&a, point) && polygon_holds(&b, point));
    polygon_release(&a);
    polygon_release(&b);
}

Test(polygon, a_ring_that_crosses_itself_has_the_inside_of_the_even_odd_rule)
{
    /* Two triangles that meet in the middle: equal areas of opposite orientation. */
    static const double bow[] = {0, 0, 1, 1, 1, 0, 0, 1};
    struct polygon polygon;
    struct dpot_error error = {""};
    cr_assert_eq(polygon_init(&polygon, bow, NULL, 4, &error), DPOT_OK, "%s", error.text);
    const double left[2] = {0.1, 0.5}, right[2] = {0.9, 0.5}, low[2] = {0.5, 0.1};
    cr_assert(polygon_holds(&polygon, left) && polygon_holds(&polygon, right));
    cr_assert_not(polygon_holds(&polygon, low));
    polygon_release(&polygon);
}

Test(polygon, rings_that_cancel_each_other_are_refused)
{
    static const double twice[] = {0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1};
    static const double two[] = {0, 0, 0, 1, 1, 1};
    struct polygon polygon;
    struct dpot_error error = {""};
    cr_assert_eq(polygon_init(&polygon, twice, two, 6, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "no inside"), "%s", error.text);
    cr_assert_eq(polygon_init(&polygon, twice, NULL, 6, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "no inside"), "%s", error.text);
}

Test(polygon, refuses_polygons_without_area)
{
    const double line[] = {0, 0, 1, 1, 2, 2}, same[] = {1, 1, 1, 1, 1, 1};
    const double bad[] = {0, 0, 1, NAN, 2, 0};
    const double lonely[] = {7, 0, 0}; /* the first ring has one vertex */
    struct polygon polygon;
    struct dpot_error error = {""};
    cr_assert_eq(polygon_init(&polygon, line, NULL, 3, &error), DPOT_ERR_RANGE);
    cr_assert(strstr(error.text, "area"), "%s", error.text);
    cr_assert_eq(polygon_init(&polygon, same, NULL, 3, &error), DPOT_ERR_RANGE);
    cr_assert_eq(polygon_init(&polygon, bad, NULL, 3, &error), DPOT_ERR_RANGE);
    cr_assert_eq(polygon_init(&polygon, vertices, NULL, 2, &error), DPOT_ERR_RANGE);
    cr_assert_eq(polygon_init(&polygon, vertices, lonely, 3, &error), DPOT_ERR_RANGE);
    cr_assert_null(polygon.edges);
}
