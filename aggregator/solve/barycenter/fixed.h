/* Wasserstein barycenters with fixed support: weights b on given points that minimise
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
 * lambda blurs: the plain barycenter of a measure with itself is wider than the measure. The debiased one
 * (Janati et al. 2020) adds a factor d with d K d = b, the same iterations otherwise; it needs a
 * symmetric cost, inputs being outputs. Everything is done on logarithms: any lambda that
 * barycenter_kernel_check lets pass gives finite weights whose sum is 1 to the last digits. */
#ifndef DPOT_SOLVE_BARYCENTER_FIXED_H
#define DPOT_SOLVE_BARYCENTER_FIXED_H

#include "solve/barycenter/kernel.h"
#include "solve/run/control.h"

/* A group. Neighbours that share a kernel are multiplied together: give it a batch of as many. */
struct barycenter_histogram {
    struct barycenter_kernel *kernel; /* all with the same n_out and lambda */
    const double *mass;               /* (n_in) not negative, sum 1 up to 1e-6 */
};

/* Everything is borrowed; kernels' scratch is used. */
struct barycenter_fixed_problem {
    size_t n_groups;
    const struct barycenter_histogram *groups;
    const double *group_weights; /* (n_groups) not negative, sum 1 up to 1e-6; NULL: equal. A group
                                    of weight 0 is left out */
};

struct barycenter_fixed_options {
    bool is_debiased;
    double tol; /* of the residual; 0: exactly max_iterations */
    size_t max_iterations;
    struct team *team;
};

#define BARYCENTER_FIXED_EVERY ((size_t)10) /* iterations between two looks at the residual */

struct barycenter_fixed_result {
    enum solve_outcome outcome;
    size_t iterations;
    size_t n;
    double *weights; /* (n) owned */
    double residual; /* sum_i w_i |column sums of P_i - b|_1; the plans' rows are exact */
    double cost;     /* sum_i w_i <C_i, P_i> */
    double value;    /* with lambda KL(P_i | a_i x rho) */
    double dual;     /* of the plain problem: a lower bound of its optimal value */
    double unregularised_lower; /* certain bounds: below sum_i w_i W(a_i, b') for every b', */
    double unregularised_upper; /* and above it for this b */
    double
        *curve; /* (n_curve) residuals, after every BARYCENTER_FIXED_EVERY iterations and the last;
                        owned */
    size_t n_curve, curve_cap;
};

/* DPOT_ERR_SHAPE / DPOT_ERR_RANGE name what is wrong, DPOT_ERR_MEMORY; *result is then released. A
 * control that stops leaves what there is. */
DPOT_WARN_UNUSED dpot_status barycenter_fixed_solve(const struct barycenter_fixed_problem *problem,
                                                    const struct barycenter_fixed_options *options,
                                                    const struct solve_control *control,
                                                    struct barycenter_fixed_result *result,
                                                    struct dpot_error *error);

/* A zeroed result is allowed. */
void barycenter_fixed_release(struct barycenter_fixed_result *result);

#endif
