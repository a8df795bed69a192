#include "solve/base_measure/phi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8

/* ---- validation and set-up ---- */

static dpot_status check_cost(const struct phi_config *config, struct dpot_error *error)
{
    for (size_t e = 0; e < config->n_rows * config->n_cols; e++) {
        const double c = config->cost[e];
        if (!(c >= 0 && c <= PHI_COST_MAX)) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "the cost of row %zu, column %zu is %g: a cost is a distance to "
                                  "a power, a number from 0 to %g",
                                  e / config->n_cols + 1, e % config->n_cols + 1, c, PHI_COST_MAX);
        }
    }
    return DPOT_OK;
}

static dpot_status check_weights(const struct phi_config *config, struct dpot_error *error)
{
    double sum = 0;
    for (size_t i = 0; config->weights && i < config->n_rows; i++) {
        if (!(config->weights[i] >= 0 && isfinite(config->weights[i]))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "weight %zu is %g: weights are finite and not negative", i + 1,
                                  config->weights[i]);
        }
        sum += config->weights[i];
    }
    if (config->weights && !(sum > 0 && isfinite(sum))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the weights sum to %g: give at least one weight above 0", sum);
    }
    return DPOT_OK;
}

static dpot_status check_config(const struct phi_config *config, struct dpot_error *error)
{
    if (config->n_rows == 0 || config->n_cols == 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "the cost matrix is %zu x %zu: give at least one row and one column",
                              config->n_rows, config->n_cols);
    }
    if (config->n_cols > UINT32_MAX || config->n_rows > SIZE_MAX / 16 / config->n_cols) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the cost matrix is %zu x %zu: give fewer points", config->n_rows,
                              config->n_cols);
    }
    if (!(config->epsilon > 0 && config->epsilon <= PHI_EPSILON_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "epsilon is %g: give a number above 0, at most %g", config->epsilon,
                              PHI_EPSILON_MAX);
    }
    const dpot_status status = check_cost(config, error);
    return status == DPOT_OK ? check_weights(config, error) : status;
}

struct ranked_cost {
    double cost;
    uint32_t col;
};

/* By cost, then by column: the order does not depend on the sorting method. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked_cost *x = a, *y = b;
    if (x->cost != y->cost) {
        return x->cost < y->cost ? -1 : 1;
    }
    return (x->col > y->col) - (x->col < y->col);
}

static void sort_rows(struct phi *phi, struct ranked_cost *row, const struct solve_control *control)
{
    const size_t n = phi->n_cols;
    enum solve_outcome outcome = SOLVE_CONVERGED;
    for (size_t i = 0; i < phi->n_rows; i++) {
        if (solve_control_stops(control, i, phi->n_rows, &outcome)) {
            phi->is_cut = true;
            return;
        }
        for (size_t j = 0; j < n; j++) {
            row[j] = (struct ranked_cost){phi->cost[i * n + j], (uint32_t)j};
        }
        qsort(row, n, sizeof *row, compare_ranked);
        for (size_t r = 0; r < n; r++) {
            phi->sorted_cost[i * n + r] = row[r].cost;
            phi->order[i * n + r] = row[r].col;
        }
        phi->cost_max = fmax(phi->cost_max, row[n - 1].cost);
    }
}

static void copy_weights(struct phi *phi, const double *weights)
{
    double sum = 0;
    for (size_t i = 0; i < phi->n_rows; i++) {
        sum += weights[i];
    }
    for (size_t i = 0; i < phi->n_rows; i++) {
        phi->weights[i] = weights[i] / sum;
    }
}

dpot_status phi_init(struct phi *phi, const struct phi_config *config, struct dpot_error *error)
{
    const struct dpot_allocator *allocator = config->allocator;
    const size_t k = config->n_rows, n = config->n_cols;
    *phi = (struct phi){0};
    const dpot_status status = check_config(config, error);
    if (status != DPOT_OK) {
        return status;
    }
    *phi = (struct phi){.n_rows = k,
                        .n_cols = n,
                        .cost = config->cost,
                        .alpha = exp(-config->epsilon / 2),
                        .beta = exp(config->epsilon / 2),
                        .spread = 2 * sinh(config->epsilon / 2),
                        .linalg = config->linalg ? config->linalg : &dpot_linalg_portable,
                        .allocator = allocator};
    phi->values = dpot_alloc_array(allocator, k, sizeof *phi->values);
    phi->thresholds = dpot_alloc_array(allocator, k, sizeof *phi->thresholds);
    phi->sorted_cost = dpot_alloc_array(allocator, k * n, sizeof *phi->sorted_cost);
    phi->order = dpot_alloc_array(allocator, k * n, sizeof *phi->order);
    phi->weights = config->weights ? dpot_alloc_array(allocator, k, sizeof *phi->weights) : NULL;
    struct ranked_cost *row = dpot_alloc_array(allocator, n, sizeof *row);
    const int is_complete = phi->values && phi->thresholds && phi->sorted_cost && phi->order &&
                            row && (phi->weights || !config->weights);
    if (is_complete) {
        sort_rows(phi, row, config->control);
    }
    if (is_complete && config->weights) {
        copy_weights(phi, config->weights);
    }
    dpot_free_array(allocator, row, n, sizeof *row);
    if (!is_complete) {
        phi_release(phi);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a %zu x %zu cost", k, n);
    }
    return DPOT_OK;
}

void phi_release(struct phi *phi)
{
    const struct dpot_allocator *allocator = phi->allocator;
    const size_t k = phi->n_rows, n = phi->n_cols;
    dpot_free_array(allocator, phi->values, k, sizeof *phi->values);
    dpot_free_array(allocator, phi->thresholds, k, sizeof *phi->thresholds);
    dpot_free_array(allocator, phi->sorted_cost, k * n, sizeof *phi->sorted_cost);
    dpot_free_array(allocator, phi->order, k * n, sizeof *phi->order);
    dpot_free_array(allocator, phi->weights, k, sizeof *phi->weights);
    *phi = (struct phi){0};
}

/* ---- the knapsacks ---- */

/* Mass and cost of the sorted columns r .. r + LANES - 1, in independent lanes. */
static void sum_block(const double *cost, const uint32_t *order, const double *m, double *mass,
                      double *block_cost)
{
    double a[LANES], b[LANES];
    for (size_t l = 0; l < LANES; l++) {
        a[l] = m[order[l]];
        b[l] = a[l] * cost[l];
    }
    *mass = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
    *block_cost = ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7]));
}

/* With q = alpha m + spread r, where r takes `slack` in units of m, the nearest points first:
 *     phi_i = alpha sum_j C_ij m_j + spread (C m before the last column + tau rest of slack).
 * `base` is the first term. Only the columns up to tau are read. */
static double fill_row(const struct phi *phi, size_t i, const double *m, double slack, double base,
                       double *threshold)
{
    const size_t n = phi->n_cols;
    const double *cost = phi->sorted_cost + i * n;
    const uint32_t *order = phi->order + i * n;
    double mass = 0, filled = 0;
    size_t r = 0;
    for (; r + LANES <= n; r += LANES) {
        double block_mass = 0, block_cost = 0;
        sum_block(cost + r, order + r, m, &block_mass, &block_cost);
        if (mass + block_mass >= slack) {
            break;
        }
        mass += block_mass;
        filled += block_cost;
    }
    for (; r + 1 < n && mass + m[order[r]] < slack; r++) {
        mass += m[order[r]];
        filled += m[order[r]] * cost[r];
    }
    *threshold = cost[r < n ? r : n - 1]; /* r == n: slack for all of m, up to rounding */
    return base + phi->spread * (filled + *threshold * (slack - mass));
}

double phi_evaluate(struct phi *phi, const double *m)
{
    double total = 0, mean = 0;
    for (size_t j = 0; j < phi->n_cols; j++) {
        total += m[j];
    }
    /* 1 - alpha total in units of m; a total outside [alpha, beta] by rounding is at its end. */
    const double slack = fmin(fmax((1 - phi->alpha * total) / phi->spread, 0), total);
    phi->linalg->gemv(DPOT_NO_TRANSPOSE, phi->n_rows, phi->n_cols, phi->alpha, phi->cost,
                      phi->n_cols, m, 0, phi->values);
    phi->worst = 0;
    for (size_t i = 0; i < phi->n_rows; i++) {
        phi->values[i] = fill_row(phi, i, m, slack, phi->values[i], &phi->thresholds[i]);
        phi->worst = phi->values[i] > phi->values[phi->worst] ? i : phi->worst;
        mean += phi->weights ? phi->weights[i] * phi->values[i] : 0;
    }
    return phi->weights ? mean : phi->values[phi->worst];
}

/* ---- tangents and bounds ---- */

/* gradient_j += min(alpha d, beta d), d = w C_ij - y. */
void phi_add_row(const struct phi *phi, size_t i, double w, double y, double *restrict gradient)
{
    const double *cost = phi->cost + i * phi->n_cols;
    for (size_t j = 0; j < phi->n_cols; j++) {
        const double d = w * cost[j] - y;
        gradient[j] += d >= 0 ? phi->alpha * d : phi->beta * d;
    }
}

double phi_minorant(const struct phi *phi, const double *w, const double *y, double *gradient)
{
    double offset = 0;
    memset(gradient, 0, phi->n_cols * sizeof *gradient);
    for (size_t i = 0; i < phi->n_rows; i++) {
        if (w[i] != 0 || y[i] != 0) {
            phi_add_row(phi, i, w[i], y[i], gradient);
            offset += y[i];
        }
    }
    return offset;
}

double phi_tangent(const struct phi *phi, double *gradient)
{
    double offset = 0;
    memset(gradient, 0, phi->n_cols * sizeof *gradient);
    if (!phi->weights) {
        phi_add_row(phi, phi->worst, 1, phi->thresholds[phi->worst], gradient);
        return phi->thresholds[phi->worst];
    }
    for (size_t i = 0; i < phi->n_rows; i++) {
        const double y = phi->weights[i] * phi->thresholds[i];
        if (phi->weights[i] > 0) {
            phi_add_row(phi, i, phi->weights[i], y, gradient);
            offset += y;
        }
    }
    return offset;
}

void phi_add_dual(const struct phi *phi, double *w, double *y)
{
    if (!phi->weights) {
        w[phi->worst] += 1;
        y[phi->worst] += phi->thresholds[phi->worst];
        return;
    }
    for (size_t i = 0; i < phi->n_rows; i++) {
        w[i] += phi->weights[i];
        y[i] += phi->weights[i] * phi->thresholds[i];
    }
}

double phi_minorant_least(const struct phi *phi, double offset, const double *gradient)
{
    double least = INFINITY;
    for (size_t j = 0; j < phi->n_cols; j++) {
        least = fmin(least, gradient[j]);
    }
    return offset + least * (least >= 0 ? phi->alpha : phi->beta);
}

double phi_relative_gap(double upper, double lower)
{
    return upper > lower && upper > 0 ? (upper - lower) / upper : 0;
}
