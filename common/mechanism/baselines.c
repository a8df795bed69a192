#include "mechanism/baselines.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

/* e^-600 is negligible next to the largest term, 1, and not subnormal. */
#define LEAST_EXPONENT (-600.0)

double dpot_kpm_mass(double epsilon, size_t size)
{
    return exp(epsilon / 2) / (exp(epsilon) + (double)size - 1);
}

/* Smallest and largest entry of every column, and the current row. */
struct extremes {
    double *low;  /* (n_cols) */
    double *high; /* (n_cols) */
    double *row;  /* (n_cols) */
};

static void extremes_release(struct extremes *extremes, size_t n_cols,
                             const struct dpot_allocator *allocator)
{
    dpot_free_array(allocator, extremes->low, n_cols, sizeof *extremes->low);
    dpot_free_array(allocator, extremes->high, n_cols, sizeof *extremes->high);
    dpot_free_array(allocator, extremes->row, n_cols, sizeof *extremes->row);
}

static dpot_status extremes_init(struct extremes *extremes, size_t n_cols,
                                 const struct dpot_allocator *allocator, struct dpot_error *error)
{
    extremes->low = dpot_alloc_array(allocator, n_cols, sizeof *extremes->low);
    extremes->high = dpot_alloc_array(allocator, n_cols, sizeof *extremes->high);
    extremes->row = dpot_alloc_array(allocator, n_cols, sizeof *extremes->row);
    if (!extremes->low || !extremes->high || !extremes->row) {
        extremes_release(extremes, n_cols, allocator);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu output points",
                              n_cols);
    }
    for (size_t j = 0; j < n_cols; j++) {
        extremes->low[j] = INFINITY;
        extremes->high[j] = -INFINITY;
    }
    return DPOT_OK;
}

static bool extremes_take_row(struct extremes *extremes, size_t n_cols)
{
    bool is_finite = true;
    for (size_t j = 0; j < n_cols; j++) {
        const double x = extremes->row[j];
        is_finite = is_finite && isfinite(x);
        extremes->low[j] = fmin(extremes->low[j], x);
        extremes->high[j] = fmax(extremes->high[j], x);
    }
    return is_finite;
}

dpot_status dpot_exponential_sensitivity(const struct dpot_cost_rows *cost,
                                         const struct dpot_allocator *allocator,
                                         double *sensitivity, struct dpot_error *error)
{
    struct extremes extremes;
    dpot_status status = extremes_init(&extremes, cost->n_cols, allocator, error);
    if (status != DPOT_OK) {
        return status;
    }
    *sensitivity = 0;
    for (size_t i = 0; status == DPOT_OK && i < cost->n_rows; i++) {
        cost->row(cost->ctx, i, extremes.row);
        if (!extremes_take_row(&extremes, cost->n_cols)) {
            status = dpot_error_set(error, DPOT_ERR_RANGE,
                                    "a cost of input point %zu is not finite: use closer points or "
                                    "a smaller power",
                                    i);
        }
    }
    for (size_t j = 0; j < cost->n_cols; j++) {
        *sensitivity = fmax(*sensitivity, extremes.high[j] - extremes.low[j]);
    }
    extremes_release(&extremes, cost->n_cols, allocator);
    if (status == DPOT_OK && !(*sensitivity > 0 && isfinite(*sensitivity))) {
        status = dpot_error_set(error, DPOT_ERR_RANGE,
                                "the costs differ between inputs by %g at most: the exponential "
                                "mechanism needs a positive finite difference",
                                *sensitivity);
    }
    return status;
}

static double smallest(const double *values, size_t size)
{
    double least = INFINITY;
    for (size_t j = 0; j < size; j++) {
        least = values[j] < least ? values[j] : least; /* NaN is skipped */
    }
    return least;
}

void dpot_exponential_law(double rate, double *q, size_t size)
{
    const double least = smallest(q, size);
    double sum = 0;
    for (size_t j = 0; j < size; j++) {
        const double exponent = -rate * (q[j] - least);
        const double x = exp(exponent > LEAST_EXPONENT ? exponent : LEAST_EXPONENT);
        q[j] =
            ((exponent <= 0) & (exponent >= -DBL_MAX)) ? x : 0; /* 0 for infinite costs and NaN */
        sum += q[j];
    }
    for (size_t j = 0; j < size; j++) {
        q[j] = sum > 0 ? q[j] / sum : 0;
    }
}

/* log q_ij from the costs of row i, in place. */
static void log_law(double rate, double *row, size_t size)
{
    const double least = smallest(row, size);
    double sum = 0;
    for (size_t j = 0; j < size; j++) {
        row[j] = -rate * (row[j] - least);
        sum += exp(row[j]);
    }
    const double log_sum = log(sum);
    for (size_t j = 0; j < size; j++) {
        row[j] -= log_sum;
    }
}

dpot_status dpot_exponential_base_measure(const struct dpot_cost_rows *cost, double rate,
                                          const struct dpot_allocator *allocator, double *m,
                                          struct dpot_error *error)
{
    struct extremes extremes;
    const dpot_status status = extremes_init(&extremes, cost->n_cols, allocator, error);
    if (status != DPOT_OK) {
        return status;
    }
    for (size_t i = 0; i < cost->n_rows; i++) {
        cost->row(cost->ctx, i, extremes.row);
        log_law(rate, extremes.row, cost->n_cols);
        (void)extremes_take_row(&extremes, cost->n_cols);
    }
    for (size_t j = 0; j < cost->n_cols; j++) {
        m[j] = exp((extremes.low[j] + extremes.high[j]) / 2);
    }
    extremes_release(&extremes, cost->n_cols, allocator);
    return DPOT_OK;
}
