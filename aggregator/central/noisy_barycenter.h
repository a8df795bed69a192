/* Wasserstein barycenters by noisy free-support iterations from a public start.
 *
 *     x_(t+1) = clamp( sum_i w_i T_i(x_t) + N(0, sigma^2) )
 *     T_i(x)_j = mean of what group i sends to x_j
 *
 * for m atoms of equal weights and T steps, fixed in advance. x_0 is public and every later x_t is
 * released, so each step is a noisy function of the records and a public x_t: a record affects only
 * the T_i of its group, and only through the plan to a public x_t. (The published mechanism adds
 * noise to the final barycenter only. There, one record can change the plans of all groups, so it
 * is not private: tests/privacy/test_noisy_barycenter.c.)
 *
 * Claim. noisy_barycenter_run is rho-zCDP when one record of one group is replaced by any other;
 * numbers of records, groups, weights, lattice, m, T and start are public. With D the diameter of
 * the lattice, the l2 sensitivity of a step is
 *
 *     any plans:            sqrt(m) D max_i w_i
 *     the exact plan:       sqrt(m) D max_i w_i min(1, m / n_i)
 *
 * Proof. First bound: every T_i(x)_j is a mean of points of the lattice (or x_j if the plan is not
 * valid). Second bound: take the optimal flow of group i without the record, to atoms whose
 * capacity is reduced by what the record gave them; it is optimal there. Add the new record by
 * successive shortest paths: 1 / n_i of mass along simple paths, each of which visits an atom once,
 * so every atom gives up and receives at most 1 / n_i of its 1 / m, and its mean moves by at most D
 * m / n_i. The result is an optimal flow of the neighbour, and so the one computed there, because
 * the optimal flow is unique for any records: costs are a function of (value, atom) and ties are
 * broken (integer_plan.h). No run needs a certificate, and no run is refused because of its
 * records. Sums over records are integers and are then rounded to a grid, each T_i(x)_ja by at most
 * 1, so the vector to which noise is added moves by at most sqrt(m) D ... + 2 sqrt(m dim) grid
 * steps. The noise is an exact discrete Gaussian; the zCDP of T steps adds up. Clamping and
 * averaging are post-processing.
 *
 * Silence. Failures depend only on options and public numbers (noisy_scale_init). Running time and
 * out-of-memory failures are not covered. */
#ifndef DPOT_CENTRAL_NOISY_BARYCENTER_H
#define DPOT_CENTRAL_NOISY_BARYCENTER_H

#include "central/discrete_gaussian.h"
#include "central/integer_plan.h"
#include "central/lattice.h"

#define NOISY_SUPPORT_MAX 1024
#define NOISY_ITERATIONS_MAX 10000
#define NOISY_ENTRIES_MAX ((size_t)1 << 26) /* support times dim */

/* Inputs. All are public except the records. */
struct noisy_config {
    const struct lattice *lattice;
    size_t n_groups;
    const struct integer_group *groups; /* sorted, distinct values; totals are public */
    const double *weights;              /* (n_groups) >= 0, sum 1; NULL: equal */
    size_t support;
    size_t iterations;
    bool is_exact; /* true: the second bound; false: the first */
    double rho;    /* for all iterations together */
};

/* The noise of each step. */
struct noisy_scale {
    double sensitivity; /* l2 sensitivity of a step in lattice units, without rounding */
    int log2_grid;      /* a grid step is 2^log2_grid units */
    uint64_t sigma;     /* in grid steps */
    double mu;          /* sensitivity with rounding, divided by sigma */
    double rho_spent;   /* rounded up; at most rho */
};

/* Computes the noise scale; reads only the totals of the groups.
 * DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, with a message: invalid sizes, or rho so small that sigma is
 * too large. */
DPOT_WARN_UNUSED dpot_status noisy_scale_init(struct noisy_scale *scale,
                                              const struct noisy_config *config,
                                              struct dpot_error *error);

/* PRIVATE: the vector (m, dim), in grid steps, to which one step from `atoms` (m, dim) adds noise.
 * The config has passed noisy_scale_init. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status noisy_means(const struct noisy_config *config,
                                         const struct noisy_scale *scale, const int32_t *atoms,
                                         uint64_t salt, int64_t *means);

/* Runs all steps from the public start (m, dim), in units. path (iterations, m, dim) gets x_1, x_2,
 * ... in units; all of it may be published. DPOT_ERR_MEMORY: path is zeroed. */
DPOT_WARN_UNUSED dpot_status noisy_barycenter_run(const struct noisy_config *config,
                                                  const struct noisy_scale *scale,
                                                  const int32_t *start, struct exact_draw *draw,
                                                  double *path);

#endif
