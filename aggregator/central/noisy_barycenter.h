/* Wasserstein barycenters by noisy free-support iterations from a public start.
 *
 *     x_(t+1) = clamp( sum_i w_i T_i(x_t) + N(0, sigma^2) ),   T_i(x)_j = mean of what group i sends to x_j
 *
 * for m atoms of equal weights and T steps, fixed in advance. x_0 is public and every x_t after it
 * is released, so that each step is a noisy function of records and a public x_t: one record of one
 * group reaches one T_i, and only through the plan to a public x_t. (The published mechanism adds
 * noise to the final barycenter only, where one record can turn the plans of all groups at once: it
 * is not private, tests/privacy/test_noisy_barycenter.c.)
 *
 * Claim. noisy_barycenter_run is rho-zCDP when one record of one group is replaced by any other;
 * numbers of records, groups, weights, lattice, m, T and start are public. With D the diameter of
 * the lattice, the l2 sensitivity of a step is
 *
 *     any plans:            sqrt(m) D max_i w_i
 *     the exact plan:       sqrt(m) D max_i w_i min(1, m / n_i)
 *
 * Proof. Every T_i(x)_j is a mean of points of the lattice (or x_j, should a plan not be one),
 * which is the first bound. For the second: take the optimal flow of group i without the record, to
 * atoms less what it gave them; it is optimal there. Add the new record by successive shortest
 * paths: 1 / n_i of mass along simple paths, each of which meets an atom once, so that every atom
 * gives up and receives at most 1 / n_i of its 1 / m, and its mean moves by at most D m / n_i. What
 * comes out is an optimal flow of the neighbour, hence the one that is computed there, because
 * there is only one for any records: costs are a function of (value, atom) and have no ties
 * (integer_plan.h). So nothing needs to be proved in a run, and no run is refused for its records.
 * Sums over records are integers; what becomes of them is rounded to a grid, each T_i(x)_ja by at
 * most 1, so that the vector that noise is added to moves by sqrt(m) D ... + 2 sqrt(m dim) grid
 * steps at most. The noise is an exact discrete Gaussian; T steps of zCDP add up. Clamping,
 * averaging: post-processing.
 *
 * Silence. What can go wrong is known from the options and the public numbers alone
 * (noisy_scale_init), but for memory. Not covered: how long it takes, and memory that runs out. */
#ifndef DPOT_CENTRAL_NOISY_BARYCENTER_H
#define DPOT_CENTRAL_NOISY_BARYCENTER_H

#include "central/discrete_gaussian.h"
#include "central/integer_plan.h"
#include "central/lattice.h"

#define NOISY_SUPPORT_MAX 1024
#define NOISY_ITERATIONS_MAX 10000
#define NOISY_ENTRIES_MAX ((size_t)1 << 26) /* support times dim */

/* What is public, but for the records. */
struct noisy_config {
    const struct lattice *lattice;
    size_t n_groups;
    const struct integer_group *groups; /* sorted, each value once; totals are public */
    const double *weights;              /* (n_groups) >= 0, sum 1; NULL: equal */
    size_t support;
    size_t iterations;
    bool is_exact; /* the second bound; else the first */
    double rho;    /* of all iterations together */
};

/* The noise of every step. */
struct noisy_scale {
    double sensitivity; /* of a step, in units of the lattice, without rounding */
    int log2_grid;      /* the grid is 2^log2_grid units */
    uint64_t sigma;     /* grid steps */
    double mu;          /* sensitivity with rounding, over sigma */
    double rho_spent;   /* rounded up; at most rho */
};

/* DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE with a sentence: sizes, rho so small that sigma does not fit.
 * Of the groups it reads the totals alone. */
DPOT_WARN_UNUSED dpot_status noisy_scale_init(struct noisy_scale *scale,
                                              const struct noisy_config *config,
                                              struct dpot_error *error);

/* PRIVATE: what noise is added to in one step from `atoms` (m, dim): grid steps, (m, dim). The
 * config has passed noisy_scale_init. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status noisy_means(const struct noisy_config *config,
                                         const struct noisy_scale *scale, const int32_t *atoms,
                                         uint64_t salt, int64_t *means);

/* All steps. start (m, dim) is public, in units. path (iterations, m, dim) gets x_1, x_2, ... in units:
 * all of it may be published. DPOT_ERR_MEMORY: path is zeroed. */
DPOT_WARN_UNUSED dpot_status noisy_barycenter_run(const struct noisy_config *config,
                                                  const struct noisy_scale *scale,
                                                  const int32_t *start, struct exact_draw *draw,
                                                  double *path);

#endif
