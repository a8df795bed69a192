/* Wasserstein barycenters with fixed support. Finds weights b on given points that minimise
 *
 *     sum_i w_i min over plans P_i from a_i to b of  <C_i, P_i> + lambda KL(P_i | a_i x rho),
 *
 * rho equal weights on the support, by iterative Bregman projections (Benamou et al. 2015); for any
 * cost, and on grids (solve/barycenter/kernel.h).
 *
 *     struct barycenter_histogram groups[] = {{kernel, a1}, {kernel, a2}};
 *     struct barycenter_fixed_problem problem = {.n_groups = 2, .groups = groups};
 *     struct barycenter_fixed_options options = {.max_iterations = 1000, .tol = 1e-9};
 *     barycenter_fixed_solve(&problem, &options, NULL, &result, &error);
 *     barycenter_fixed_release(&result);
 *
 * lambda blurs: the plain barycenter of a single measure is wider than the measure. The debiased
 * one (Janati et al. 2020) adds a factor d with d K d = b to the same iterations; it needs a
 * symmetric cost with inputs equal to outputs, and one kernel for all groups. All computation is in
 * logarithms: any lambda that passes barycenter_kernel_check gives finite weights with sum 1 up to
 * rounding.
 *
 * The residual is what the equations of b miss, in mass: sum_i w_i |column sums of P_i - b|_1, the
 * rows of the plans P_i being exact, and for the debiased barycenter also |d K d - b|_1. */
#ifndef DPOT_SOLVE_BARYCENTER_FIXED_H
#define DPOT_SOLVE_BARYCENTER_FIXED_H

#include "solve/barycenter/kernel.h"
#include "solve/run/control.h"

/* A group. Consecutive groups with the same kernel are one batch: make n_batch at least their
 * number. */
struct barycenter_histogram {
    struct barycenter_kernel *kernel; /* all with equal n_out and lambda */
    const double *mass;               /* (n_in) >= 0, sum 1 up to 1e-6 */
};

/* Everything is borrowed; the kernels' scratch is used. */
struct barycenter_fixed_problem {
    size_t n_groups;
    const struct barycenter_histogram *groups;
    const double *group_weights; /* (n_groups) >= 0, sum 1 up to 1e-6; NULL: equal; 0: ignored */
};

struct barycenter_fixed_options {
    bool is_debiased;
    double tol; /* of the residual; 0: exactly max_iterations */
    size_t max_iterations;
    struct team *team;
};

#define BARYCENTER_FIXED_EVERY ((size_t)10) /* iterations between residuals */

struct barycenter_fixed_result {
    enum solve_outcome outcome;
    size_t iterations;
    size_t n;
    double *weights;            /* (n) owned */
    double residual;            /* of the equations that b solves, below; the last of the curve */
    double cost;                /* sum_i w_i <C_i, P_i> */
    double value;               /* with lambda KL(P_i | a_i x rho) */
    double dual;                /* of the plain problem: a lower bound of its optimal value */
    double unregularised_lower; /* <= sum_i w_i W(a_i, b') for every b', certified */
    double unregularised_upper; /* >= the same for this b, certified */
    double *curve; /* (n_curve) residuals every BARYCENTER_FIXED_EVERY iterations and at the end;
                      owned */
    size_t n_curve, curve_cap;
};

/* DPOT_ERR_SHAPE or DPOT_ERR_RANGE with a message; DPOT_ERR_MEMORY. On failure *result is released.
 * If `control` stops it: the result so far. */
DPOT_WARN_UNUSED dpot_status barycenter_fixed_solve(const struct barycenter_fixed_problem *problem,
                                                    const struct barycenter_fixed_options *options,
                                                    const struct solve_control *control,
                                                    struct barycenter_fixed_result *result,
                                                    struct dpot_error *error);

/* May be zeroed. */
void barycenter_fixed_release(struct barycenter_fixed_result *result);

#endif
