#include "model/domain.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct dpot_metric euclidean = {DPOT_METRIC_EUCLIDEAN, 0};

static struct dpot_domain make_grid(void)
{
    const double lo[] = {0, -1}, hi[] = {2, 1};
    const uint32_t shape[] = {2, 4};
    struct dpot_domain grid;
    cr_assert_eq(dpot_domain_init_grid(&grid, 2, lo, hi, shape, NULL), DPOT_OK);
    return grid;
}

Test(domain, grid_points_are_cell_centres_first_coordinate_slowest)
{
    struct dpot_domain grid = make_grid();
    const double expected[] = {.5,  -.75, .5,  -.25, .5,  .25, .5,  .75,
                               1.5, -.75, 1.5, -.25, 1.5, .25, 1.5, .75};
    double points[16], point[2];
    cr_assert_eq(grid.size, 8);
    dpot_domain_points(&grid, points);
    for (size_t i = 0; i < 16; i++) {
        cr_assert_eq(points[i], expected[i]);
    }
    dpot_domain_point(&grid, 5, point);
    cr_assert_eq(point[0], 1.5);
    cr_assert_eq(point[1], -.25);
    dpot_domain_release(&grid);
}

Test(domain, ring_points_are_their_positions)
{
    struct dpot_domain ring;
    double points[5];
    cr_assert_eq(dpot_domain_init_ring(&ring, 5, NULL), DPOT_OK);
    dpot_domain_points(&ring, points);
    for (size_t i = 0; i < 5; i++) {
        cr_assert_eq(points[i], (double)i);
    }
    dpot_domain_release(&ring);
}

Test(domain, listed_points_are_copied_and_a_copy_is_equal)
{
    double points[] = {1, 2, 3, 4, 5, 6};
    struct dpot_domain domain, copy;
    cr_assert_eq(dpot_domain_init_points(&domain, 3, 2, points, NULL, NULL), DPOT_OK);
    points[0] = 99;
    cr_assert_eq(domain.points[0], 1);
    cr_assert_eq(dpot_domain_init_copy(&copy, &domain), DPOT_OK);
    cr_assert_neq(copy.points, domain.points);
    cr_assert(dpot_domain_equal(&copy, &domain));
    copy.points[5] = 7;
    cr_assert_not(dpot_domain_equal(&copy, &domain));
    struct dpot_domain grid = make_grid(), other = make_grid();
    cr_assert(dpot_domain_equal(&grid, &other));
    other.hi[1] = 1.5;
    cr_assert_not(dpot_domain_equal(&grid, &other));
    cr_assert_not(dpot_domain_equal(&grid, &domain));
    dpot_domain_release(&domain);
    dpot_domain_release(&domain);
    dpot_domain_release(&copy);
}

Test(domain, a_bad_grid_is_refused_with_a_sentence)
{
    static const struct {
        uint32_t dim;
        double lo, hi;
        uint32_t shape;
        dpot_status status;
    } cases[] = {
        {1, 0, 0, 4, DPOT_ERR_RANGE},
        {1, 1, 0, 4, DPOT_ERR_RANGE},
        {1, NAN, 1, 4, DPOT_ERR_RANGE},
        {1, 0, INFINITY, 4, DPOT_ERR_RANGE},
        {1, -1e308, 1e308, 4, DPOT_ERR_RANGE},
        {1, 0, 1, 0, DPOT_ERR_SHAPE},
        {0, 0, 1, 4, DPOT_ERR_SHAPE},
        {9, 0, 1, 1, DPOT_ERR_SHAPE},
        {1, 0, 1, 1048577, DPOT_ERR_TOO_LARGE},
        {4, 0, 1, 65536, DPOT_ERR_TOO_LARGE},
        {8, 0, 1, UINT32_MAX, DPOT_ERR_TOO_LARGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double lo[9], hi[9];
        uint32_t shape[9];
        struct dpot_domain grid;
        struct dpot_error error = {{0}};
        for (size_t k = 0; k < 9; k++) {
            lo[k] = cases[i].lo;
            hi[k] = cases[i].hi;
            shape[k] = cases[i].shape;
        }
        cr_assert_eq(dpot_domain_init_grid(&grid, cases[i].dim, lo, hi, shape, &error),
                     cases[i].status, "case %zu", i);
        cr_assert_neq(error.text[0], '\0');
        cr_assert_eq(grid.size, 0);
        dpot_domain_release(&grid);
    }
}

Test(domain, bad_points_and_rings_are_refused_naming_the_value)
{
    const double points[] = {1, 2, NAN, 4};
    struct dpot_domain domain;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_domain_init_points(&domain, 2, 2, points, NULL, &error), DPOT_ERR_RANGE);
    cr_assert_not_null(strstr(error.text, "coordinate 0 of point 1 is nan"), "%s", error.text);
    cr_assert_null(domain.points);
    cr_assert_eq(dpot_domain_init_points(&domain, 0, 2, points, NULL, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_domain_init_points(&domain, 2, 0, points, NULL, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_domain_init_points(&domain, 1, 4097, points, NULL, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_domain_init_points(&domain, 1048577, 1, points, NULL, &error),
                 DPOT_ERR_TOO_LARGE);
    cr_assert_eq(dpot_domain_init_ring(&domain, 0, &error), DPOT_ERR_SHAPE);
    cr_assert_eq(dpot_domain_init_ring(&domain, 1048577, &error), DPOT_ERR_TOO_LARGE);
}

Test(domain, out_of_memory_leaves_nothing_behind)
{
    const double points[] = {1, 2, 3, 4};
    struct test_allocator allocator;
    struct dpot_domain domain, copy;
    test_allocator_init(&allocator);
    test_allocator_fail_at(&allocator, 1);
    cr_assert_eq(dpot_domain_init_points(&domain, 2, 2, points, &allocator.allocator, NULL),
                 DPOT_ERR_MEMORY);
    cr_assert_null(domain.points);
    test_allocator_fail_at(&allocator, 0);
    cr_assert_eq(dpot_domain_init_points(&domain, 2, 2, points, &allocator.allocator, NULL),
                 DPOT_OK);
    test_allocator_fail_at(&allocator, 1);
    cr_assert_eq(dpot_domain_init_copy(&copy, &domain), DPOT_ERR_MEMORY);
    cr_assert_eq(copy.size, 0);
    dpot_domain_release(&domain);
    cr_assert_eq(allocator.bytes, 0);
}

Test(domain, check_catches_what_no_init_call_would_make)
{
    struct dpot_domain grid = make_grid();
    cr_assert_eq(dpot_domain_check(&grid, NULL), DPOT_OK);
    grid.size = 9;
    cr_assert_eq(dpot_domain_check(&grid, NULL), DPOT_ERR_SHAPE);
    struct dpot_domain other = {0};
    cr_assert_eq(dpot_domain_check(&other, NULL), DPOT_ERR_RANGE);
    other = (struct dpot_domain){.type = DPOT_DOMAIN_POINTS, .dim = 1, .size = 1};
    cr_assert_eq(dpot_domain_check(&other, NULL), DPOT_ERR_SHAPE);
    other = (struct dpot_domain){.type = DPOT_DOMAIN_RING, .dim = 2, .size = 3};
    cr_assert_eq(dpot_domain_check(&other, NULL), DPOT_ERR_SHAPE);
}

Test(domain, every_point_is_its_own_nearest)
{
    struct dpot_domain grid = make_grid();
    for (uint32_t i = 0; i < grid.size; i++) {
        double point[2];
        dpot_domain_point(&grid, i, point);
        cr_assert_eq(dpot_domain_nearest(&grid, &euclidean, point), i);
    }
}

Test(domain, ties_go_to_the_lowest_index)
{
    struct dpot_domain grid = make_grid();
    const double middle[] = {1, 0}, edge[] = {.5, -.5};
    cr_assert_eq(dpot_domain_nearest(&grid, &euclidean, middle), 1);
    cr_assert_eq(dpot_domain_nearest(&grid, &euclidean, edge), 0);
    const double twice[] = {3, 3, 3};
    struct dpot_domain domain;
    cr_assert_eq(dpot_domain_init_points(&domain, 3, 1, twice, NULL, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_nearest(&domain, &euclidean, twice), 0);
    dpot_domain_release(&domain);
}

Test(domain, a_point_outside_is_clamped_to_the_nearest)
{
    struct dpot_domain grid = make_grid();
    const double far[] = {100, 100}, corner[] = {-100, -3};
    cr_assert_eq(dpot_domain_nearest(&grid, &euclidean, far), 7);
    cr_assert_eq(dpot_domain_nearest(&grid, &euclidean, corner), 0);
    struct dpot_domain ring;
    const struct dpot_metric metric = {DPOT_METRIC_RING, 10};
    const double x = 9.8;
    cr_assert_eq(dpot_domain_init_ring(&ring, 10, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_nearest(&ring, &metric, &x), 0);
}

Test(domain, nearest_is_total_on_garbage_in_every_metric)
{
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 0};
    struct dpot_domain grid = make_grid(), ring;
    cr_assert_eq(dpot_domain_init_ring(&ring, 6, NULL), DPOT_OK);
    for (int id = DPOT_METRIC_EUCLIDEAN; id <= DPOT_METRIC_RING; id++) {
        const struct dpot_metric metric = {(enum dpot_metric_id)id, id == DPOT_METRIC_RING ? 6 : 0};
        const struct dpot_domain *domain = id == DPOT_METRIC_RING ? &ring : &grid;
        for (size_t i = 0; i < 49; i++) {
            const double x[] = {bad[i / 7], bad[i % 7]};
            cr_assert_lt(dpot_domain_nearest(domain, &metric, x), domain->size);
        }
    }
    /* NaN counts as 0. */
    const double nan_x[] = {NAN, .2}, zero_x[] = {0, .2};
    cr_assert_eq(dpot_domain_nearest(&grid, &euclidean, nan_x),
                 dpot_domain_nearest(&grid, &euclidean, zero_x));
}

Test(domain, the_largest_dimension_fits)
{
    static double points[2 * DPOT_DOMAIN_DIM_MAX];
    for (size_t i = 0; i < DPOT_DOMAIN_DIM_MAX; i++) {
        points[DPOT_DOMAIN_DIM_MAX + i] = 1;
    }
    struct dpot_domain domain;
    cr_assert_eq(dpot_domain_init_points(&domain, 2, DPOT_DOMAIN_DIM_MAX, points, NULL, NULL),
                 DPOT_OK);
    cr_assert_eq(dpot_domain_nearest(&domain, &euclidean, points + DPOT_DOMAIN_DIM_MAX), 1);
    dpot_domain_release(&domain);
}
