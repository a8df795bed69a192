#include "solve/transport/wasserstein.h"

#include "ot/network_simplex.h"

#include <math.h>

#define LANES 4

/* |x - y|^2 by differences: rounding of the expanded square would lose small distances. */
static double squared_distance(const double *restrict x, const double *restrict y, size_t dim)
{
    double sum[LANES] = {0};
    size_t c = 0;
    for (; c + LANES <= dim; c += LANES) {
        for (size_t l = 0; l < LANES; l++) {
            const double diff = x[c + l] - y[c + l];
            sum[l] += diff * diff;
        }
    }
    for (; c < dim; c++) {
        sum[0] += (x[c] - y[c]) * (x[c] - y[c]);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static void fill_costs(const struct point_set *x, const struct point_set *y, size_t dim,
                       double *cost /* (x->n, y->n) */)
{
    for (size_t i = 0; i < x->n; i++) {
        for (size_t j = 0; j < y->n; j++) {
            cost[i * y->n + j] = squared_distance(x->points + i * dim, y->points + j * dim, dim);
        }
    }
}

static void fill_masses(const struct point_set *set, double *mass)
{
    for (size_t i = 0; i < set->n; i++) {
        mass[i] = set->weights ? set->weights[i] : 1.0 / (double)set->n;
    }
}

static dpot_status solve(const double *cost, const double *a, const double *b, size_t n, size_t m,
                         const struct dpot_allocator *allocator, double *value,
                         struct dpot_error *error)
{
    struct dpot_exact_result result;
    const dpot_status status = dpot_exact_ot(cost, a, b, n, m, allocator, &result, error);
    if (status == DPOT_OK) {
        *value = fmax(result.transport_cost, 0);
        dpot_exact_result_release(&result);
    }
    return status;
}

dpot_status wasserstein_exact(const struct point_set *x, const struct point_set *y, size_t dim,
                              const struct dpot_allocator *allocator, struct wasserstein *distance,
                              struct dpot_error *error)
{
    const size_t n = x->n, m = y->n;
    double w1 = 0, w2_squared = 0;
    if (n == 0 || m == 0 || n > WASSERSTEIN_COSTS_MAX / m) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "%zu and %zu points: the exact distance takes up to %zu pairs", n, m,
                              WASSERSTEIN_COSTS_MAX);
    }
    double *cost = dpot_alloc_array(allocator, n * m, sizeof *cost);
    double *mass = dpot_alloc_array(allocator, n + m, sizeof *mass);
    dpot_status status = DPOT_OK;
    if (!cost || !mass) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu x %zu costs", n, m);
    } else {
        fill_costs(x, y, dim, cost);
        fill_masses(x, mass);
        fill_masses(y, mass + n);
        status = solve(cost, mass, mass + n, n, m, allocator, &w2_squared, error);
    }
    if (status == DPOT_OK) {
        for (size_t i = 0; i < n * m; i++) {
            cost[i] = sqrt(cost[i]);
        }
        status = solve(cost, mass, mass + n, n, m, allocator, &w1, error);
    }
    if (status == DPOT_OK) {
        *distance = (struct wasserstein){w1, sqrt(w2_squared)};
    }
    dpot_free_array(allocator, cost, n * m, sizeof *cost);
    dpot_free_array(allocator, mass, n + m, sizeof *mass);
    return status;
}
