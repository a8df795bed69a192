/* What a base measure costs and what its dual point proves, computed again from nothing but the costs: the check that
 * anyone can make. Shares no code with the solvers (solve/base_measure/phi.h, base_measure/planes.h): rows are sorted here one at a
 * time, sums are compensated, and what rounding could have added is taken off the bound.
 *
 *     objective  F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *     bound      F(m) >= Y + sum_j g_j m_j for every m, with  w >= 0, sum w = worst_share, any y, any potentials f:
 *                Y   = sum_i y_i + (1 - worst_share) sum_u omega_u sum_i mu_ui f_ui
 *                g_j = sum_i h(w_i C_ij - y_i) + (1 - worst_share) sum_u omega_u h(min_i (C_ij - f_ui)),
 *                h(g) = min(alpha g, beta g)
 *     so         F >= Y + s min_j g_j,  s = beta where that is negative, alpha where it is not.
 *
 * The users' part of F is left to solve/base_measure/users.h, whose exact projection has a certificate of its own:
 * only its bound is computed here. */
#ifndef DPOT_SOLVE_BASE_MEASURE_CERTIFICATE_H
#define DPOT_SOLVE_BASE_MEASURE_CERTIFICATE_H

#include "solve/base_measure/users.h"
#include "solve/run/team.h"

struct base_measure_certificate {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) */
    double epsilon, worst_share;
    const double *w, *y;                    /* (n_rows); NULL when worst_share is 0 */
    const struct base_measure_users *users; /* NULL when worst_share is 1 */
    const double *potentials;               /* (points of all users) */
};

/* max_i phi_i(m); `worst` (may be NULL) gets the row. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_certificate_worst(
    const struct base_measure_certificate *certificate, const double *m /* (n_cols) */,
    struct team *team, double *value, size_t *worst);

/* The bound. DPOT_ERR_RANGE, with a sentence, when the dual point is none: a weight that is negative or not finite, or
 * weights of another sum than worst_share (beyond 1e-9; they are scaled to it). */
DPOT_WARN_UNUSED dpot_status base_measure_certificate_bound(
    const struct base_measure_certificate *certificate, double *bound, struct dpot_error *error);

/* Whether an objective can be one: not below 0 and not below its bound, both but for rounding, which is taken off what
 * is below 0. DPOT_ERR_STATE, with a sentence: no such measure costs that, whoever computed it is in error. */
DPOT_WARN_UNUSED dpot_status
base_measure_certificate_accept(const struct base_measure_certificate *certificate, double bound,
                                double *objective, struct dpot_error *error);

#endif
