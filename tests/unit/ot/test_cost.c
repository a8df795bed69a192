#include "ot/cost.h"

#include <criterion/criterion.h>
#include <math.h>

Test(cost, is_the_distance_to_the_power_p_row_by_row)
{
    const double x[] = {0, 0, 1, 2}, v[] = {3, 4, 0, 0, 1, 0};
    const struct dpot_metric euclidean = {DPOT_METRIC_EUCLIDEAN, 0};
    double cost[6], row[3];
    dpot_cost_matrix(&euclidean, 1.0, 2, x, 2, v, 3, cost);
    const double distances[] = {5, 0, 1, sqrt(8), sqrt(5), 2};
    for (size_t i = 0; i < 6; i++) {
        cr_assert_float_eq(cost[i], distances[i], 1e-15);
    }
    dpot_cost_matrix(&euclidean, 2.0, 2, x, 2, v, 3, cost);
    dpot_cost_row(&euclidean, 2.0, 2, x + 2, v, 3, row);
    for (size_t j = 0; j < 3; j++) {
        cr_assert_eq(row[j], cost[3 + j], "a row is a row of the matrix");
        cr_assert_float_eq(row[j], distances[3 + j] * distances[3 + j], 1e-14);
    }
    dpot_cost_matrix(&euclidean, 1.5, 2, x, 2, v, 3, cost);
    cr_assert_float_eq(cost[0], pow(5, 1.5), 1e-13);
}

Test(cost, of_the_ring_goes_the_shorter_way_round)
{
    const double position[] = {0, 1, 2, 3, 4, 5};
    const struct dpot_metric ring = {DPOT_METRIC_RING, 6};
    double row[6];
    dpot_cost_row(&ring, 2.0, 1, position, position, 6, row);
    const double expected[] = {0, 1, 4, 9, 4, 1};
    for (size_t j = 0; j < 6; j++) {
        cr_assert_eq(row[j], expected[j]);
    }
}

/* The one cost that vanished is named: points that are equal, or equal in the metric, have none. */
Test(cost, that_is_0_between_different_points_is_found)
{
    const double x[] = {0, 0, 1, 2}, near[] = {1, 2, 3e-170, 4e-170}, turned[] = {2, 4, 0, 1};
    const struct dpot_metric euclidean = {DPOT_METRIC_EUCLIDEAN, 0};
    const struct dpot_metric cosine = {DPOT_METRIC_COSINE, 0};
    double cost[4];
    size_t entry = 9;
    dpot_cost_matrix(&euclidean, 1, 2, x, 2, near, 2, cost);
    cr_assert_float_eq(cost[1] / 1e-170, 5, 1e-14);
    cr_assert_not(dpot_cost_find_vanished(&euclidean, 2, x, 2, near, 2, cost, &entry));
    dpot_cost_matrix(&euclidean, 2, 2, x, 2, near, 2, cost);
    cr_assert(dpot_cost_find_vanished(&euclidean, 2, x, 2, near, 2, cost, &entry));
    cr_assert_eq(entry, 1);
    dpot_cost_matrix(&cosine, 1, 2, x, 2, turned, 2, cost);
    cr_assert_eq(cost[2], 0);
    cr_assert_not(dpot_cost_find_vanished(&cosine, 2, x, 2, turned, 2, cost, &entry));
}
