/* All users at once: the mean of what they pay under a base measure, its tangents, and who pays what.
 *
 *     E(m) = sum_u omega_u P(mu_u, m)                                     (solve/base_measure/users.h)
 *
 * Users are in groups of about the same size, neighbours in their order: one group is one task of the team and gives
 * one tangent. Potentials are kept, so that the next measure starts from them (solve/base_measure/newton.h): values and
 * tangents are then low by a small multiple of the temperature, never high. Exact costs are a call of their own.
 *
 * The same numbers for any number of threads. */
#ifndef DPOT_SOLVE_BASE_MEASURE_CROWD_H
#define DPOT_SOLVE_BASE_MEASURE_CROWD_H

#include "solve/base_measure/users.h"
#include "solve/run/control.h"
#include "solve/run/team.h"

struct base_measure_crowd;

/* At least one group and at most one per user. `users` and `team` (may be NULL) are borrowed. */
DPOT_WARN_UNUSED dpot_status base_measure_crowd_new(const struct base_measure_users *users,
                                                    size_t n_groups, struct team *team,
                                                    struct base_measure_crowd **crowd);
void base_measure_crowd_free(struct base_measure_crowd *crowd);

size_t base_measure_crowd_n_groups(const struct base_measure_crowd *crowd);

/* Sum of the weights of a group's users. */
double base_measure_crowd_weight(const struct base_measure_crowd *crowd, size_t group);

/* How far below the exact optimum potentials may stay, in cost units; 0 (at first): exact, and slower. */
void base_measure_crowd_cool(struct base_measure_crowd *crowd, double temperature);

/* Evaluations look at `control` (borrowed; its cancel, clock and deadline; from every thread of the team) before each
 * user, and end when it says so: what such an evaluation gave is then no value and no tangent. NULL (at first):
 * nobody watches. Exact costs are never cut short. */
void base_measure_crowd_watch(struct base_measure_crowd *crowd,
                              const struct solve_control *control);

/* Whether an evaluation has been cut short since the last watch. */
bool base_measure_crowd_is_stopped(const struct base_measure_crowd *crowd);

/* E(m). For group G, offsets[G] + <gradients[G], m'> is a tangent of sum_{u in G} omega_u P(mu_u, m'); NULL: not
 * wanted, both or none. */
double base_measure_crowd_evaluate(struct base_measure_crowd *crowd, const double *m /* (n_cols) */,
                                   double *offsets /* (n_groups) */,
                                   double *gradients /* (n_groups, n_cols) */);

/* P(mu_u, m) and its gradient, for one user. */
double base_measure_crowd_visit(struct base_measure_crowd *crowd, size_t user, const double *m,
                                double *gradient /* (n_cols) */);

/* The potentials found last, as the users' points are stored: (first[n]). */
const double *base_measure_crowd_potentials(const struct base_measure_crowd *crowd);

/* What any potentials prove: E(m) >= offset + <gradient, m> for every m. Returns the offset. */
double base_measure_crowd_minorant(struct base_measure_crowd *crowd,
                                   const double *potentials /* (first[n]) */,
                                   double *gradient /* (n_cols) */);

/* What every user pays, exactly. The potentials kept become exact too. Returns the weighted mean. */
double base_measure_crowd_costs(struct base_measure_crowd *crowd, const double *m /* (n_cols) */,
                                double *costs /* (n) */);

/* The total mass of the uniform measure under which E is least, to about `tol` of E, and E there by
 * base_measure_crowd_evaluate. Some ten evaluations; one that is stopped gives the best mass so far. */
double base_measure_crowd_uniform(struct base_measure_crowd *crowd, double tol,
                                  double *m /* (n_cols) */);

/* The one answer for everyone that costs E least, and that cost. */
double base_measure_crowd_constant(const struct base_measure_crowd *crowd, size_t *point);

#endif
