/* The Wasserstein mechanism on a sphere: the optimal base measure in closed form (002, Proposition
 * H.1), and the mechanism with a finite codebook of random directions.
 *
 * On S^d = {x in R^(d+1): |x| = 1} with cost |x - y|^p the optimal base measure is alpha sigma,
 * sigma uniform. The report of a point x has the density alpha e^(epsilon/2) on the cap <x, y> >= t
 * and alpha e^(-epsilon/2) elsewhere. With w = (1 - <x, y>)/2, which is Beta(d/2, d/2) under sigma,
 * and |x - y|^p = 2^p w^(p/2):
 *
 *   S(t) = P[w <= w_t]                  the cap's share
 *   U(t) = 2^p E[w^(p/2); w <= w_t]     the cost inside it,  H = U(-1) that of all directions
 *   M(t) = E[1 - 2w; w <= w_t]          its mean along x
 *
 * These are incomplete beta functions, so any d and p can be evaluated.
 *
 * A device has K independent uniform directions instead of the whole sphere (mechanism/codebook.h).
 * The n nearest of them have, in expectation over the codebook, the cost K E[U] and the mean K
 * E[M], where the share of the cap is that of the n-th nearest of K - 1, S ~ Beta(n, K - n).
 * Expected costs and means of the finite mechanism are such integrals; no limit is taken. */
#ifndef DPOT_ACCOUNT_SPHERE_H
#define DPOT_ACCOUNT_SPHERE_H

#include "base/error.h"

#include <stdint.h>

#define SPHERE_DIM_MAX 4096 /* d, the dimension of the sphere itself */

struct sphere {
    double dim;   /* d = coordinates - 1, 1 to SPHERE_DIM_MAX */
    double power; /* p, 1 to 64 */
};

/* The optimum of Proposition H.1. */
struct sphere_optimum {
    double threshold;   /* t* */
    double total_mass;  /* alpha* */
    double cap;         /* S(t*) */
    double cost;        /* W_p^p between a point and its law; the same for every point */
    double mean_cost;   /* H: the cost of a report that carries no information */
    double contraction; /* the mean of a report is c x */
};

/* DPOT_ERR_RANGE: dim, power or epsilon (positive, at most 40) out of range. */
DPOT_WARN_UNUSED dpot_status sphere_solve(const struct sphere *sphere, double epsilon,
                                          struct sphere_optimum *optimum, struct dpot_error *error);

/* The mechanism with K directions and probabilities in [lower, upper]: expectations over the
 * codebook and the draw. */
struct sphere_channel {
    double n_near;      /* directions with the upper probability; may be fractional */
    double cost;        /* E |x - y|^p */
    double contraction; /* c_K: E y = c_K x */
};
void sphere_measure(const struct sphere *sphere, uint32_t n_directions, double lower, double upper,
                    struct sphere_channel *channel);

/* Covariance of a report y of x, given x. The law depends on <x, y> alone, so
 *
 *   Cov(y | x) = along x x' + across (I - x x'),    along = E <x, y>^2 - c^2,
 *   across = (1 - E <x, y>^2) / d,
 *
 * with trace 1 - c^2. E <x, y>^2 follows from the cost of power 4: |x - y|^4 = 4 (1 - <x, y>)^2.
 * Only the dimension of `sphere` is used. */
struct sphere_scatter {
    double along, across, square; /* E <x, y>^2 */
};
void sphere_scatter(const struct sphere *sphere, uint32_t n_directions, double lower, double upper,
                    struct sphere_scatter *scatter);

/* The best total mass for K >= 2 directions: an integer number of them, with the least expected
 * cost, gets the upper probability. The total mass tends to alpha*. sphere and epsilon as in
 * sphere_solve. */
struct sphere_choice {
    double total_mass;
    struct sphere_channel channel;
};
void sphere_choose(const struct sphere *sphere, double epsilon, uint32_t n_directions,
                   struct sphere_choice *choice);

/* Squared error of an estimate of x from one report: E |y/c - x|^2 = 1/c^2 - 1 for a unit vector
 * x. */
double sphere_report_variance(double contraction);

#endif
