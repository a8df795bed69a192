/* All users together: the mean of what they pay under a base measure, its tangents, and every
 * user's cost.
 *
 *     E(m) = sum_u omega_u P(mu_u, m)          (P of solve/base_measure/users.h)
 *
 * Users are split in order into groups of about equal size; a group is one task of the team and
 * gives one tangent. Potentials are stored and used to start at the next measure
 * (solve/base_measure/newton.h), so values and tangents are below the exact ones by a small
 * multiple of the temperature, and never above. Exact costs have a function of their own.
 *
 * Results do not depend on the number of threads. */
#ifndef DPOT_SOLVE_BASE_MEASURE_CROWD_H
#define DPOT_SOLVE_BASE_MEASURE_CROWD_H

#include "solve/base_measure/users.h"
#include "solve/run/control.h"
#include "solve/run/team.h"

struct base_measure_crowd;

/* 1 <= n_groups <= users. `users` and `team` (may be NULL) are borrowed. */
DPOT_WARN_UNUSED dpot_status base_measure_crowd_new(const struct base_measure_users *users,
                                                    size_t n_groups, struct team *team,
                                                    struct base_measure_crowd **crowd);
void base_measure_crowd_free(struct base_measure_crowd *crowd);

size_t base_measure_crowd_n_groups(const struct base_measure_crowd *crowd);

/* Sum of the weights of a group's users. */
double base_measure_crowd_weight(const struct base_measure_crowd *crowd, size_t group);

/* The temperature: how far below the optimum potentials may stay, in cost units. 0 (initially):
 * exact, slower. */
void base_measure_crowd_set_temperature(struct base_measure_crowd *crowd, double temperature);

/* Evaluations check `control` (borrowed; NULL, the initial state: none) before each user, on every
 * thread of the team, and end when it says so; their value and tangents must then not be used.
 * progress is not called. Exact costs are never interrupted. */
void base_measure_crowd_set_control(struct base_measure_crowd *crowd,
                                    const struct solve_control *control);

/* Whether an evaluation was interrupted since the control was set. */
bool base_measure_crowd_is_stopped(const struct base_measure_crowd *crowd);

/* E(m). For group G, offsets[G] + <gradients[G], m'> is a tangent of sum_{u in G} omega_u P(mu_u,
 * m'). Both arrays may be NULL together. */
double base_measure_crowd_evaluate(struct base_measure_crowd *crowd, const double *m /* (n_cols) */,
                                   double *offsets /* (n_groups) */,
                                   double *gradients /* (n_groups, n_cols) */);

/* P(mu_u, m) and its gradient, for one user, at the current temperature. */
double base_measure_crowd_project(struct base_measure_crowd *crowd, size_t user, const double *m,
                                  double *gradient /* (n_cols) */);

/* The latest potentials, in the order of the users' points: (first[n]). */
const double *base_measure_crowd_potentials(const struct base_measure_crowd *crowd);

/* The bound of any potentials: E(m) >= offset + <gradient, m> for every m. Returns the offset. */
double base_measure_crowd_minorant(struct base_measure_crowd *crowd,
                                   const double *potentials /* (first[n]) */,
                                   double *gradient /* (n_cols) */);

/* Exact cost of every user; the stored potentials become exact too. Returns the weighted mean. */
double base_measure_crowd_costs(struct base_measure_crowd *crowd, const double *m /* (n_cols) */,
                                double *costs /* (n) */);

/* Fills m with the uniform measure whose total mass minimises E, to about `tol` relative, and
 * returns E by base_measure_crowd_evaluate. About ten evaluations; if interrupted, the best mass
 * found so far. */
double base_measure_crowd_uniform(struct base_measure_crowd *crowd, double tol,
                                  double *m /* (n_cols) */);

/* The constant answer that minimises the mean cost of all users; returns that cost. */
double base_measure_crowd_constant(const struct base_measure_crowd *crowd, size_t *point);

#endif
