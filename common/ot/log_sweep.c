#include "ot/log_sweep.h"

#include <float.h>
#include <math.h>

/* Instead of minus infinity, so that (-inf) - largest is -inf and not NaN. */
#define NO_TERM (-DBL_MAX)

/* exp(x) for x <= 0, but e^-500 below that: such terms are beyond the last bit of any sum, and
 * their exponentials could be subnormal. */
static double term_of(double x)
{
    return exp(x > -500.0 ? x : -500.0);
}

static double log_sum_of_row(const double *cost, size_t n, double scale, const double *h)
{
    double largest = NO_TERM;
    for (size_t j = 0; j < n; j++) {
        const double term = h[j] - scale * cost[j];
        largest = term > largest ? term : largest;
    }
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) {
        sum += term_of(h[j] - scale * cost[j] - largest);
    }
    return largest > NO_TERM ? largest + log(sum) : -INFINITY;
}

void dpot_log_sweep_rows(const double *cost, size_t n_rows, size_t n_cols, double scale,
                         const double *h, double *row_sum)
{
    for (size_t i = 0; i < n_rows; i++) {
        row_sum[i] = log_sum_of_row(cost + i * n_cols, n_cols, scale, h);
    }
}

void dpot_log_sweep_cols(const double *cost, size_t n_rows, size_t n_cols, double scale,
                         const double *h, double *restrict largest, double *restrict col_sum)
{
    for (size_t j = 0; j < n_cols; j++) {
        largest[j] = NO_TERM;
        col_sum[j] = 0.0;
    }
    for (size_t i = 0; i < n_rows; i++) {
        const double *row = cost + i * n_cols;
        for (size_t j = 0; j < n_cols; j++) {
            const double term = h[i] - scale * row[j];
            largest[j] = term > largest[j] ? term : largest[j];
        }
    }
    for (size_t i = 0; i < n_rows; i++) {
        const double *row = cost + i * n_cols;
        for (size_t j = 0; j < n_cols; j++) {
            col_sum[j] += term_of(h[i] - scale * row[j] - largest[j]);
        }
    }
    for (size_t j = 0; j < n_cols; j++) {
        col_sum[j] = largest[j] > NO_TERM ? largest[j] + log(col_sum[j]) : -INFINITY;
    }
}
