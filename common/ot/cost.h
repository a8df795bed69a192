/* Ground costs C_ij = d(x_i, v_j)^p. Costs below 2^-1000 count as 0; a cost that overflows is
 * infinite. Callers with public points refuse both (dpot_cost_find_vanished). */
#ifndef DPOT_OT_COST_H
#define DPOT_OT_COST_H

#include "model/domain.h"

/* One row: C(x, v_j) for every point of `output`, in the same steps for every x. */
void dpot_cost_row(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                   const double *x /* (dim) */, const double *v /* (n_cols, dim) */, size_t n_cols,
                   double *row /* (n_cols) */);

/* The whole matrix, row-major, of public points: faster. */
void dpot_cost_matrix(const struct dpot_metric *metric, double cost_power, uint32_t dim,
                      const double *x /* (n_rows, dim) */, size_t n_rows,
                      const double *v /* (n_cols, dim) */, size_t n_cols,
                      double *cost /* (n_rows, n_cols) */);

/* Finds an entry of that matrix that is 0 although the two points differ: their distance to this
 * power is too small for a double. */
bool dpot_cost_find_vanished(const struct dpot_metric *metric, uint32_t dim,
                             const double *x /* (n_rows, dim) */, size_t n_rows,
                             const double *v /* (n_cols, dim) */, size_t n_cols,
                             const double *cost /* (n_rows, n_cols) */, size_t *entry);

#endif
