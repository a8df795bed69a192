/* The cost of a base measure to its users (002, Theorem 3.5), with subgradients and lower bounds.
 *
 * A user at point i who reports through the polytope of the base measure m pays
 *
 *     phi_i(m) = min { sum_j C_ij q_j :  alpha m_j <= q_j <= beta m_j,  sum_j q_j = 1 },
 *     alpha = exp(-epsilon/2),  beta = exp(epsilon/2),
 *
 * a fractional knapsack: every point gets alpha m_j, and the nearest points get (beta - alpha) m_j
 * more until the mass is one. The objective is the worst case f(m) = max_i phi_i(m), or the mean
 * sum_i w_i phi_i(m) when weights are given. Both are convex in m on
 *
 *     M = { m >= 0 : alpha <= sum_j m_j <= beta },        (alpha = 1/beta)
 *
 * and the total mass is a degree of freedom: in general the best one is not 1.
 *
 * Everything here follows from one inequality. For nonnegative weights w with sum 1 (any for the
 * worst case, the given ones for the mean) and every real y,
 *
 *     f(m) >= sum_i y_i + sum_j g_j m_j,    g_j = sum_i min(alpha d_ij, beta d_ij),
 *                                           d_ij = w_i C_ij - y_i                            (D)
 *
 * (weak duality of the knapsacks). It is tight at m for y_i = w_i tau_i(m), tau_i(m) being the cost
 * at which the greedy filling of row i ends: that is the subgradient of 002, Appendix G. Its
 * minimum over M is a lower bound for every base measure, and proves optimality if it equals f(m).
 *
 *     struct phi phi;
 *     phi_init(&phi, &config, &error);           sorts the rows, once
 *     f = phi_evaluate(&phi, m);                 O(n_rows n_cols)
 *     offset = phi_tangent(&phi, gradient);      f(m') >= offset + <gradient, m'>
 *     phi_release(&phi);
 *
 * Not thread-safe. Float64; the same linear algebra backend gives the same bits. */
#ifndef DPOT_SOLVE_BASE_MEASURE_PHI_H
#define DPOT_SOLVE_BASE_MEASURE_PHI_H

#include "base/alloc.h"
#include "base/error.h"
#include "ot/linalg.h"
#include "solve/run/control.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHI_EPSILON_MAX 100.0 /* exp(epsilon) is far from overflow */
#define PHI_COST_MAX 1e200    /* beta times a cost too */

struct phi_config {
    size_t n_rows, n_cols;            /* users' points, output points */
    const double *cost;               /* (n_rows, n_cols) borrowed; finite, 0 to PHI_COST_MAX */
    double epsilon;                   /* in (0, PHI_EPSILON_MAX] */
    const double *weights;            /* (n_rows) of the mean, scaled to sum 1; NULL: worst case */
    const struct dpot_linalg *linalg; /* NULL: the portable one */
    const struct dpot_allocator *allocator;
    const struct solve_control *control; /* checked once per row; may be NULL */
};

/* Read-only for callers. */
struct phi {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) borrowed */
    double alpha, beta; /* also the least and the largest total mass of a base measure */
    double spread;      /* beta - alpha, without cancellation */
    double cost_max;
    bool is_cut; /* the control stopped the sorting: only phi_release may be called */

    /* Results of the last phi_evaluate. */
    double *values;     /* (n_rows) phi_i(m) */
    double *thresholds; /* (n_rows) tau_i(m) */
    size_t worst;       /* the row with the largest value, the first of several */

    double *weights;     /* (n_rows) sum 1; NULL: worst case */
    double *sorted_cost; /* (n_rows, n_cols) each row ascending */
    uint32_t *order;     /* (n_rows, n_cols) columns of the sorted costs */
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

/* Validates the data and sorts the rows (about the time of 50 evaluations; may end with is_cut).
 * DPOT_ERR_ARGUMENT (no rows, no columns), DPOT_ERR_RANGE (epsilon, a cost or a weight: the message
 * names it), DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. On failure *phi is zeroed. */
DPOT_WARN_UNUSED dpot_status phi_init(struct phi *phi, const struct phi_config *config,
                                      struct dpot_error *error);
void phi_release(struct phi *phi);

/* The objective at m; fills values, thresholds and worst. m is finite, >= 0, and in M up to
 * rounding (further out, the knapsack is filled as far as it goes). Where there is no slack (total
 * mass beta: tau is minus infinity as written in 002) tau_i = min_j C_ij, which is a dual optimum
 * too. */
double phi_evaluate(struct phi *phi, const double *m /* (n_cols) */);

/* The tangent of the objective at the measure last evaluated: returns `offset`, with
 * f(m') >= offset + <gradient, m'> everywhere and equality there. O(n_cols) for the worst case,
 * O(n_rows n_cols) for the mean. */
double phi_tangent(const struct phi *phi, double *gradient /* (n_cols) */);

/* Adds the dual point of that tangent to (w, y). A sum of n of them, divided by n, is a dual point
 * of (D) again, and by concavity proves at least as much as the mean of the n tangents. */
void phi_add_dual(const struct phi *phi, double *w /* (n_rows) */, double *y /* (n_rows) */);

/* g of (D) for any w, y; returns sum_i y_i. Rows with w_i = y_i = 0 take no time. */
double phi_minorant(const struct phi *phi, const double *w /* (n_rows) */,
                    const double *y /* (n_rows) */, double *gradient /* (n_cols) */);

/* One row of phi_minorant: adds min(alpha d, beta d), d = w C_ij - y, to the gradient. */
void phi_add_row(const struct phi *phi, size_t row, double w, double y,
                 double *gradient /* (n_cols) */);

/* min over M of offset + <gradient, m>: all mass on the smallest entry, beta of it if that is
 * negative, otherwise alpha. */
double phi_minorant_least(const struct phi *phi, double offset,
                          const double *gradient /* (n_cols) */);

/* (upper - lower) / upper for costs; 0 when they meet or upper is 0. */
double phi_relative_gap(double upper, double lower);

#endif
