/* Nearly optimal potentials of one user: Newton's method on a smoothed dual.
 *
 * The dual (U) of solve/base_measure/users.h is concave but not smooth. A temperature lambda
 * smooths both of its minima,
 *
 *     D(f) = sum_i mu_i f_i + sum_j m_j h(g_j),
 *     g_j  = - lambda log sum_i exp(- (C_ij - f_i) / lambda),       g_j' = - p_ij,
 *     h(g) = beta g - (beta - alpha) lambda log(1 + exp(g / lambda)),
 *     r_j  = h'(g_j), between alpha and beta: the column's share q_j / m_j
 *
 * and the maximum is followed from a warm lambda to a cold one. The potentials are below the
 * optimum of (U) by a small multiple of lambda; (U) holds for any potentials, so their bound is
 * valid. Time per step: n n_cols operations, with few exponentials at a low temperature. */
#ifndef DPOT_SOLVE_BASE_MEASURE_NEWTON_H
#define DPOT_SOLVE_BASE_MEASURE_NEWTON_H

#include <stdbool.h>
#include <stddef.h>

#define BASE_MEASURE_NEWTON_MAX 64 /* points of a user */

struct base_measure_newton {
    size_t n, n_cols;          /* n <= BASE_MEASURE_NEWTON_MAX */
    const double *const *cost; /* (n) rows of n_cols costs */
    const double *mu;          /* (n) */
    const double *m;           /* (n_cols) */
    double alpha, beta;
};

/* Starts from potentials that are good at about `warm`, ends at `cold` <= warm; both > 0. False:
 * Newton's method did not converge, and the potentials must not be used. */
bool base_measure_newton_run(const struct base_measure_newton *problem, double warm, double cold,
                             double *potentials /* (n), in and out */);

#endif
