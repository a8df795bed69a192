/* The master problem of the cutting planes: where is a sum of maxima of tangents least?
 *
 *     minimise   sum_G omega_G t_G
 *     over       x >= 0 (n_points) with mass_min <= sum x <= mass_max,  t (n_groups)
 *     such that  t_G >= offset_c + <gradient_c, x>   for every cut c of group G.
 *
 * Its dual has one column per cut and a row per point and group, so that a new cut is a new column and the
 * old basis stays feasible: the revised primal simplex method on the dual, with an explicit inverse, goes on
 * from where it was.
 *
 *     maximise   sum_c offset_c w_c + mass_min u - mass_max v
 *     such that  - sum_c gradient_c,o w_c + u - v <= 0 for every point o,   sum_{c in G} w_c = omega_G,   w, u, v >= 0
 *
 * The right sides 0 are raised by small different amounts (`perturbation`), without which most steps would
 * be of length 0. So the value is a little off, and x and w too: use them as suggestions. x is where to
 * evaluate next, and any w >= 0 with the right sums proves a bound by inequality (D) of solve/base_measure/phi.h, however
 * it was found.
 *
 * Dense float64; the inverse takes 8 (n_points + n_groups)^2 bytes and a step O of that. One thread. Scale gradients
 * and offsets so that the value and the total mass are around 1. */
#ifndef DPOT_SOLVE_BASE_MEASURE_LP_H
#define DPOT_SOLVE_BASE_MEASURE_LP_H

#include "base/alloc.h"
#include "ot/linalg.h"
#include "solve/run/control.h"

#include <stdbool.h>
#include <stddef.h>

#define BASE_MEASURE_LP_ROWS_MAX ((size_t)3000) /* n_points + n_groups: 72 MB for the inverse */

struct base_measure_lp_config {
    size_t n_points, n_groups;
    const double *group_weights; /* (n_groups) omega, above 0; copied */
    double mass_min, mass_max;   /* 0 < mass_min <= mass_max */
    double perturbation;         /* of the value, about; above 0 */
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

struct base_measure_lp;

/* DPOT_ERR_TOO_LARGE above BASE_MEASURE_LP_ROWS_MAX; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_lp_new(const struct base_measure_lp_config *config,
                                                 struct base_measure_lp **lp);
void base_measure_lp_free(struct base_measure_lp *lp);

/* Cuts are numbered in the order in which they come. The gradient is copied. */
DPOT_WARN_UNUSED dpot_status base_measure_lp_add(struct base_measure_lp *lp, size_t group,
                                                 double offset,
                                                 const double *gradient /* (n_points) */);
size_t base_measure_lp_n_cuts(const struct base_measure_lp *lp);

/* Makes the perturbation this many times smaller. Basic values that become negative are taken for 0. */
void base_measure_lp_calm(struct base_measure_lp *lp, double factor);

/* Solves, from the last basis. Every group must have a cut. Ends early when `control` (may be NULL) says so or
 * the numbers have become useless: *is_optimal is then false, and the solution that of a feasible dual
 * point, worth as much as its certificate. */
void base_measure_lp_solve(struct base_measure_lp *lp, const struct solve_control *control,
                           bool *is_optimal);

size_t base_measure_lp_group(const struct base_measure_lp *lp, size_t cut);

/* Of the last solve. */
double base_measure_lp_level(const struct base_measure_lp *lp, size_t group); /* t of the group */
double base_measure_lp_value(const struct base_measure_lp *lp);
void base_measure_lp_point(const struct base_measure_lp *lp, double *x /* (n_points) >= 0 */);

/* w >= 0. The basis says what w is without the perturbation too: closer to the optimum, unless there are negative ones among
 * them, which are cut off. Prove what both prove. */
void base_measure_lp_weights(struct base_measure_lp *lp, bool is_perturbed,
                             double *w /* (n_cuts) */);
size_t base_measure_lp_n_steps(const struct base_measure_lp *lp); /* since _new */

#endif
