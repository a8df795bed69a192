/* Half sweeps of Sinkhorn's method in the log domain: log-sum-exp over a row or a column, relative
 * to the largest term, so that nothing overflows and no row vanishes. Potentials may be minus
 * infinity (mass zero), but not NaN or plus infinity; costs are finite. */
#ifndef DPOT_OT_LOG_SWEEP_H
#define DPOT_OT_LOG_SWEEP_H

#include <stddef.h>

/* row_sum_i = log sum_j exp(h_j - scale cost_ij); minus infinity when every h_j is. */
void dpot_log_sweep_rows(const double *cost /* (n_rows, n_cols) */, size_t n_rows, size_t n_cols,
                         double scale, const double *h /* (n_cols) */,
                         double *row_sum /* (n_rows) */);

/* col_sum_j = log sum_i exp(h_i - scale cost_ij), reading the cost by rows. `largest` is
 * scratch. */
void dpot_log_sweep_cols(const double *cost /* (n_rows, n_cols) */, size_t n_rows, size_t n_cols,
                         double scale, const double *h /* (n_rows) */,
                         double *largest /* (n_cols) */, double *col_sum /* (n_cols) */);

#endif
