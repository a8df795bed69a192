#include "ot/cost.h"

#include "model/weight_key.h"

#include <math.h>
#include <stdbool.h>

#define COST_EXPONENT_MIN 1000 /* costs below 2^-1000 count as 0: no cost is subnormal */

/* The two common powers need no pow(), which otherwise is called for every distance. */
static double raise(double distance, double cost_power, double least)
{
    if (cost_power == 1.0) {
        return distance;
    }
    const double base = dpot_key_choose(distance > least, distance, least);
    const double raised = cost_power == 2.0 ? base * base : pow(base, cost_power);
    return dpot_key_choose(distance > least, raised, 0);
}

/* The smallest distance whose cost does not count as 0. */
static double least_distance(double cost_power)
{
    return exp2(-COST_EXPONENT_MIN / cost_power);
}

void dpot_cost_row(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                   const double *x, const double *v, size_t n_cols, double *row)
{
    const double least = least_distance(cost_power);
    for (size_t j = 0; j < n_cols; j++) {
        row[j] = raise(dpot_metric_distance(metric, dim, x, v + j * dim), cost_power, least);
    }
}

void dpot_cost_matrix(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                      const double *x, size_t n_rows, const double *v, size_t n_cols, double *cost)
{
    const double least = least_distance(cost_power);
    for (size_t k = 0, i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j++, k++) {
            const double distance =
                dpot_metric_distance_public(metric, dim, x + i * dim, v + j * dim);
            cost[k] = raise(distance, cost_power, least);
        }
    }
}

/* Whether two points differ in the metric: in a flat one, in any coordinate. */
static bool is_apart(const struct dpot_metric *metric, uint32_t dim, const double *x,
                     const double *v)
{
    const bool is_flat = metric->id == DPOT_METRIC_EUCLIDEAN || metric->id == DPOT_METRIC_L1 ||
                         metric->id == DPOT_METRIC_LINF;
    bool is_different = false;
    for (uint32_t i = 0; i < dim; i++) {
        is_different |= x[i] < v[i] || x[i] > v[i];
    }
    return is_different && (is_flat || dpot_metric_distance_public(metric, dim, x, v) > 0);
}

bool dpot_cost_find_vanished(const struct dpot_metric *metric, uint32_t dim, const double *x,
                             size_t n_rows, const double *v, size_t n_cols, const double *cost,
                             size_t *entry)
{
    for (size_t k = 0; k < n_rows * n_cols; k++) {
        if (cost[k] == 0 && is_apart(metric, dim, x + k / n_cols * dim, v + k % n_cols * dim)) {
            *entry = k;
            return true;
        }
    }
    return false;
}
