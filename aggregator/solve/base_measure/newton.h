/* Potentials of one user, nearly optimal: Newton's method on a smoothed dual.
 *
 * The dual (U) of solve/base_measure/users.h is concave, but has edges. With temperature lambda, both minima of it
 * are made smooth,
 *
 *     D(f) = sum_i mu_i f_i + sum_j m_j h(g_j),
 *     g_j  = - lambda log sum_i exp(- (C_ij - f_i) / lambda),       g_j' = - p_ij,
 *     h(g) = beta g - (beta - alpha) lambda log(1 + exp(g / lambda)),
 *     r_j  = h'(g_j), between alpha and beta: the column's share q_j / m_j
 *
 * and is followed from a warm lambda to a cold one. The potentials fall short of the exact optimum of (U) by a
 * small multiple of lambda, and prove what they prove: (U) holds for any. Time per step: a pass over the
 * user's points times the columns, few exponentials when it is cold. */
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

/* From potentials that are already good at about `warm`, down to `cold` <= warm, both above 0. False when
 * the steps did not get there: the potentials are then no use. */
bool base_measure_newton_run(const struct base_measure_newton *problem, double warm, double cold,
                             double *potentials /* (n), in and out */);

#endif
