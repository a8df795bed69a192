/* The master problem of the cutting planes: the minimum of a sum of maxima of tangents.
 *
 *     minimise   sum_G omega_G t_G
 *     over       x >= 0 (n_points) with mass_min <= sum x <= mass_max,  t (n_groups)
 *     such that  t_G >= offset_c + <gradient_c, x>   for every cut c of group G.
 *
 * Solved through its dual, which has one column per cut and one row per point and group, by the
 * revised primal simplex method with an explicit inverse. A new cut is a new column, so the old
 * basis stays feasible and each solve continues from the last one.
 *
 *     maximise   sum_c offset_c w_c + mass_min u - mass_max v
 *     such that  - sum_c gradient_c,o w_c + u - v <= 0 for every point o,
 *                sum_{c in G} w_c = omega_G,   w, u, v >= 0
 *
 * The right sides 0 are replaced by small random positive numbers (`perturbation`), because
 * otherwise most steps are degenerate. Value, x and w are therefore slightly off: x is only the
 * point to evaluate next, and any w >= 0 with the right sums proves a bound by inequality (D) of
 * solve/base_measure/phi.h.
 *
 * Dense float64. The inverse takes 8 (n_points + n_groups)^2 bytes, and a step touches all of it.
 * Not thread-safe. Scale gradients and offsets so that the value and the total mass are about 1.
 * Compared with Clp by tests/bench/base_measure.sh. */
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
    const double *group_weights; /* (n_groups) omega > 0; copied */
    double mass_min, mass_max;   /* 0 < mass_min <= mass_max */
    double perturbation;         /* about its effect on the value; > 0 */
    const struct dpot_linalg *linalg;
    const struct dpot_allocator *allocator;
};

struct base_measure_lp;

/* DPOT_ERR_TOO_LARGE: more than BASE_MEASURE_LP_ROWS_MAX rows; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_lp_new(const struct base_measure_lp_config *config,
                                                 struct base_measure_lp **lp);
void base_measure_lp_free(struct base_measure_lp *lp);

/* Adds a cut; cuts are numbered from 0. The gradient is copied. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_lp_add(struct base_measure_lp *lp, size_t group,
                                                 double offset,
                                                 const double *gradient /* (n_points) */);
size_t base_measure_lp_n_cuts(const struct base_measure_lp *lp);

/* Divides the perturbation by `factor`. Basic values that become negative are set to 0. */
void base_measure_lp_shrink_perturbation(struct base_measure_lp *lp, double factor);

/* Solves, starting at the last basis. Every group must have a cut. *is_optimal is false if
 * `control` (may be NULL) stopped it, at the step limit, or if the basis became singular: the
 * solution is then a feasible dual point that is not optimal. */
void base_measure_lp_solve(struct base_measure_lp *lp, const struct solve_control *control,
                           bool *is_optimal);

size_t base_measure_lp_group(const struct base_measure_lp *lp, size_t cut);

/* The last solution: t of a group, and x >= 0. */
double base_measure_lp_level(const struct base_measure_lp *lp, size_t group);
void base_measure_lp_point(const struct base_measure_lp *lp, double *x /* (n_points) */);

/* w >= 0 of the last solution; or, not perturbed, w of its basis without the perturbation, which is
 * nearer to the optimum except that negative entries are set to 0. Compute the bounds of both. */
void base_measure_lp_weights(struct base_measure_lp *lp, bool is_perturbed,
                             double *w /* (n_cuts) */);
size_t base_measure_lp_n_steps(const struct base_measure_lp *lp); /* since _new */

#endif
