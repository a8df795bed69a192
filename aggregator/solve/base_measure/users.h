/* Users, each with a distribution over the input points, and what a base measure costs them.
 *
 * A user with distribution mu who reports through the polytope of m pays
 *
 *     P(mu, m) = min { <C, P> :  P 1 = mu,  alpha m <= P' 1 <= beta m },
 *
 * the exact projection of 002. With potentials f on the user's points and g_j = min_i (C_ij - f_i),
 *
 *     P(mu, m) >= sum_i mu_i f_i + sum_j h(g_j) m_j,      h(g) = min(alpha g, beta g)     (U)
 *
 * for every f and every m, with equality for the optimal f: P is convex in m, its tangent at m is
 * the right side (Danskin), and every f proves a bound. For a user at one point this is (D) of
 * solve/base_measure/phi.h. The right side is concave in f, so a mean of potentials proves at least
 * as much as the mean of their tangents.
 *
 * Only the points with mass are stored; time and memory grow with them, not with n_rows. */
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
    double *weights;  /* (n) sum 1 */
    size_t *first;    /* (n + 1) offset of each user's points; first[n] is their total number */
    uint32_t *points; /* (first[n]) */
    double *masses;   /* (first[n]) above 0, sum 1 for each user */
    size_t most;      /* largest number of points of one user */
    const struct dpot_allocator *allocator;
};

/* Uses the rows of `distributions` listed in `chosen` (NULL: the first n_chosen); entries >= 0.
 * `weights` (NULL: equal) has an entry for every row; it is scaled to sum 1 over the chosen ones.
 * DPOT_ERR_RANGE names a user whose masses are not finite, negative or all 0, or says that all
 * weights are 0; DPOT_ERR_ARGUMENT: no users; DPOT_ERR_TOO_LARGE; DPOT_ERR_MEMORY. On failure
 * *users is zeroed. */
struct base_measure_users_config {
    size_t n_rows, n_cols;
    const double *cost; /* (n_rows, n_cols) borrowed for the lifetime of the users; finite, >= 0 */
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

/* One user at each input point whose weight is above 0; distributions, chosen and n_chosen are
 * ignored. The mean cost of these users is the weighted mean of phi_i. */
DPOT_WARN_UNUSED dpot_status base_measure_users_init_points(
    struct base_measure_users *users, const struct base_measure_users_config *config,
    struct dpot_error *error);

void base_measure_users_release(struct base_measure_users *users);

/* Workspace for projecting the users of one set; one thread at a time. */
struct base_measure_projector;
DPOT_WARN_UNUSED dpot_status base_measure_projector_new(const struct base_measure_users *users,
                                                        struct base_measure_projector **projector);
void base_measure_projector_free(struct base_measure_projector *projector);

/* Returns the cost P(mu_u, m) of (U), and fills the potentials and the gradient h(g) unless they
 * are NULL; all up to rounding. m must be in M, up to rounding. */
double base_measure_project(struct base_measure_projector *projector, size_t user,
                            const double *m /* (n_cols) */,
                            double *potentials /* (points of the user) */,
                            double *gradient /* (n_cols) */);

/* The same, approximately: continues from potentials of a nearby measure, at the temperatures of
 * solve/base_measure/newton.h from `warm` down to `cold`. Falls back to the exact method if that
 * fails. */
double base_measure_follow(struct base_measure_projector *projector, size_t user,
                           const double *m /* (n_cols) */, double warm, double cold,
                           double *potentials /* (points of the user), in and out */,
                           double *gradient /* (n_cols) */);

/* The right side of (U) for any potentials: returns sum_i mu_i f_i and fills h(g). */
double base_measure_users_minorant(const struct base_measure_users *users, size_t user,
                                   const double *potentials, double *gradient /* (n_cols) */);

/* The cost to a user of one constant answer `point`: <C_., point, mu>. */
double base_measure_users_constant(const struct base_measure_users *users, size_t user,
                                   size_t point);

#endif
