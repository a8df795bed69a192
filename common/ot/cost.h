/* Ground costs C_ij = d(x_i, v_j)^p. */
#ifndef DPOT_OT_COST_H
#define DPOT_OT_COST_H

#include "model/domain.h"

/* One row: C(x, v_j) for every point of `output`. */
void dpot_cost_row(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                   const double *x /* (dim) */, const double *v /* (n_cols, dim) */, size_t n_cols,
                   double *row /* (n_cols) */);

/* The whole matrix, row-major. */
void dpot_cost_matrix(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                      const double *x /* (n_rows, dim) */, size_t n_rows,
                      const double *v /* (n_cols, dim) */, size_t n_cols,
                      double *cost /* (n_rows, n_cols) */);

#endif
