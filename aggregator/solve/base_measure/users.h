/* Users with a distribution each, and what a base measure costs them.
 *
 * A user with the distribution mu (over the input points) who reports through the polytope of m pays
 *
 *     P(mu, m) = min { <C, P> :  P 1 = mu,  alpha m <= P' 1 <= beta m },
 *
 * the exact projection of 002. With potentials f on the points that she has, and g_j = min_i (C_ij - f_i),
 *
 *     P(mu, m) >= sum_i mu_i f_i + sum_j h(g_j) m_j,      h(g) = min(alpha g, beta g)              (U)
 *
 * for every f and every m, with equality for the optimal f: P is convex in m, its tangent at m is the right side
 * (Danskin), and any f that was ever found proves a bound. For a user at one point it is (D) of solve/base_measure/phi.h.
 * The right side is concave in f, so that a mean of potentials proves at least as much as the mean of
 * their tangents.
 *
 * Only the points that a user has are stored and worked on: time goes with them, not with k. */
#ifndef DPOT_SOLVE_BASE_MEASURE_USERS_H
#define DPOT_SOLVE_BASE_MEASURE_USERS_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct base_measure_users {
    size_t n;              /* users */
    size_t n_rows, n_cols; /* of the cost */
    const double *cost;    /* (n_rows, n_cols) borrowed */
    double epsilon, alpha, beta;
    double *weights;  /* (n) of the mean, sum 1 */
    size_t *first;    /* (n + 1) where a user's points begin; first[n] is their number in all */
    uint32_t *points; /* (first[n]) */
    double *masses;   /* (first[n]) above 0, sum 1 for each user */
    size_t most;      /* points of the user who has most */
    const struct dpot_allocator *allocator;
};

/* Takes those of the rows of `distributions` that `chosen` names (NULL: the first n_chosen), entries not
 * negative. `weights` (NULL: equal) belongs to all rows, and is scaled to sum 1 over those chosen. DPOT_ERR_RANGE
 * names a user whose masses are not finite, negative or all 0, or weights that are all 0; DPOT_ERR_ARGUMENT: nobody;
 * DPOT_ERR_TOO_LARGE; DPOT_ERR_MEMORY. On failure *users is zeroed. */
struct base_measure_users_config {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) borrowed for the life of the users; finite, >= 0 */
    double epsilon;
    const double *distributions; /* (any, n_rows) */
    const double *weights;       /* (any) or NULL */
    const size_t *chosen;        /* (n_chosen) or NULL */
    size_t n_chosen;
    const struct dpot_allocator *allocator;
};
DPOT_WARN_UNUSED dpot_status base_measure_users_init(struct base_measure_users *users,
                                                     const struct base_measure_users_config *config,
                                                     struct dpot_error *error);

/* Users at one point each: all rows whose weight is above 0 (distributions, chosen and n_chosen are not looked at).
 * Their mean is the weighted mean of phi_i. */
DPOT_WARN_UNUSED dpot_status base_measure_users_init_points(
    struct base_measure_users *users, const struct base_measure_users_config *config,
    struct dpot_error *error);

void base_measure_users_release(struct base_measure_users *users);

/* What one thread needs to project users of one such set. */
struct base_measure_projector;
DPOT_WARN_UNUSED dpot_status base_measure_projector_new(const struct base_measure_users *users,
                                                        struct base_measure_projector **projector);
void base_measure_projector_free(struct base_measure_projector *projector);

/* P(mu_u, m) as (U) has it, up to rounding, with the potentials and the gradient h(g) (either may be NULL). m in M
 * up to rounding. */
double base_measure_project(struct base_measure_projector *projector, size_t user,
                            const double *m /* (n_cols) */,
                            double *potentials /* (points of the user) */,
                            double *gradient /* (n_cols) */);

/* The same, nearly: from potentials that were good for another measure, at the temperatures of
 * solve/base_measure/newton.h from `warm` down to `cold`; exact where that is of no use. */
double base_measure_follow(struct base_measure_projector *projector, size_t user,
                           const double *m /* (n_cols) */, double warm, double cold,
                           double *potentials /* (points of the user), in and out */,
                           double *gradient /* (n_cols) */);

/* The right side of (U) without the masses: returns sum_i mu_i f_i and fills h(g), for any potentials. */
double base_measure_users_minorant(const struct base_measure_users *users, size_t user,
                                   const double *potentials, double *gradient /* (n_cols) */);

/* The cost to a user of the answer `point` that is the same for everyone: <C_., point, mu>. */
double base_measure_users_constant(const struct base_measure_users *users, size_t user,
                                   size_t point);

#endif
