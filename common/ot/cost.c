#include "ot/cost.h"

#include <math.h>

#define COST_EXPONENT_MIN 1000 /* costs below 2^-1000 count as 0: no cost is subnormal */

/* The two common powers need no pow(), which otherwise is called for every distance. */
static double raise(double distance, double cost_power, double least)
{
    if (cost_power == 1.0) {
        return distance;
    }
    if (cost_power == 2.0) {
        return distance * distance;
    }
    const double raised = pow(distance > least ? distance : least, cost_power);
    return distance > least ? raised : distance - distance;
}

void dpot_cost_row(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                   const double *x, const double *v, size_t n_cols, double *row)
{
    const double least = exp2(-COST_EXPONENT_MIN / cost_power);
    for (size_t j = 0; j < n_cols; j++) {
        row[j] = raise(dpot_metric_distance(metric, dim, x, v + j * dim), cost_power, least);
    }
}

void dpot_cost_matrix(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                      const double *x, size_t n_rows, const double *v, size_t n_cols, double *cost)
{
    for (size_t i = 0; i < n_rows; i++) {
        dpot_cost_row(metric, cost_power, dim, x + i * dim, v, n_cols, cost + i * n_cols);
    }
}
