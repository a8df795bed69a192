/* Objective and lower bound of a base measure, recomputed from the costs and a dual point alone.
 * Shares no code with the solvers (solve/base_measure/phi.h, base_measure/planes.h): rows are
 * sorted one at a time, sums are compensated, and a bound on the rounding error is subtracted from
 * the lower bound.
 *
 *     objective  F(m) = (1 - worst_share) sum_u omega_u P(mu_u, m) + worst_share max_i phi_i(m)
 *     bound      for every m, with w >= 0, sum w = worst_share, any y and any potentials f:
 *                F(m) >= Y + sum_j g_j m_j
 *                Y   = sum_i y_i + (1 - worst_share) sum_u omega_u sum_i mu_ui f_ui
 *                g_j = sum_i h(w_i C_ij - y_i)
 *                      + (1 - worst_share) sum_u omega_u h(min_i (C_ij - f_ui)),
 *                h(g) = min(alpha g, beta g)
 *     so         F >= Y + s min_j g_j,  s = beta if that minimum is negative, else alpha.
 *
 * For the users, only the bound is computed here. Their part of F comes from
 * solve/base_measure/users.h, whose exact projection has its own certificate. */
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

/* max_i phi_i(m); `worst` (may be NULL) receives the row. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_certificate_worst(
    const struct base_measure_certificate *certificate, const double *m /* (n_cols) */,
    struct team *team, double *value, size_t *worst);

/* The lower bound. DPOT_ERR_RANGE, with a message: the dual point is invalid, i.e. a weight is
 * negative or not finite, or the sum of the weights differs from worst_share by more than 1e-9
 * (they are rescaled). */
DPOT_WARN_UNUSED dpot_status base_measure_certificate_bound(
    const struct base_measure_certificate *certificate, double *bound, struct dpot_error *error);

/* Checks an objective against 0 and its bound, up to rounding; a value below 0 within rounding
 * becomes 0. DPOT_ERR_STATE, with a message: no measure can have this objective, so its computation
 * is wrong. */
DPOT_WARN_UNUSED dpot_status
base_measure_certificate_accept(const struct base_measure_certificate *certificate, double bound,
                                double *objective, struct dpot_error *error);

#endif
