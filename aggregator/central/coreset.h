/* The private measure of a set of points ("coreset"): a hierarchical partition of a public box with
 * exact discrete Laplace noise (He, Vershynin and Zhu 2023, corrected).
 *
 * Claim. coreset_count is epsilon-DP (delta 0), where epsilon is the sum of the budget's levels,
 * under the budget's adjacency: replace-one (files of the same number n of records that differ in
 * one; n, the size of the result, is public) or add-remove (one file has one record more). Proof.
 * Each record counts in one cell of each level: partition_code depends on that record alone and
 * clamps it into the public box. Box, depth, axes, border and budget do not depend on records. So
 * level j releases counts of l1 sensitivity 2 (replace-one) or 1 (add-remove) with noise of scale
 * 2 / epsilon_j or 1 / epsilon_j, drawn exactly in integers, and the levels compose to the sum. All
 * later steps (clamping, consistency, closed cells, points within cells) read only noisy counts and
 * public numbers: post-processing. Rounding of coordinates can move a record to a neighbouring
 * cell, always the same one: it costs utility, never privacy.
 *
 * Known errors, each of which has been published: scales that do not sum to epsilon; a truncated
 * continuous Laplace draw; no noise for cells without records; a box or a depth taken from the
 * data; points on the upper face that are not counted. tests/privacy/test_coreset_exact.c compares
 * the law of this code with its claim and detects each of them.
 *
 * Silence. Refusals depend on public numbers and options (under replace-one: no records) or on
 * noisy counts (too many cells with mass), so epsilon covers them. Running time and out-of-memory
 * failures are not covered.
 *
 * Coresets of disjoint groups compose in parallel if the group of each record is fixed and public:
 * epsilon holds for all of them together. */
#ifndef DPOT_CENTRAL_CORESET_H
#define DPOT_CENTRAL_CORESET_H

#include "central/budget.h"
#include "central/hierarchy.h"
#include "central/partition.h"
#include "central/polygon.h"

/* Public inputs. */
struct coreset_config {
    struct partition partition; /* must pass partition_check; its depth is the budget's */
    struct budget budget;
    /* In the plane (dim 2), meets the box; NULL: none. Cells outside get no mass; points lie within
     * it. */
    const struct polygon *border;
    /* 0 .. 1: points are uniform in the cell shrunk by this factor about its centre. Affects
     * positions within cells only, not the noise of counts. */
    double shrink;
};

struct coreset {
    const struct coreset_config *config; /* borrowed */
    int64_t size;                        /* sum of all counts: n under replace-one, else private */
    struct hierarchy_leaves leaves;      /* cells of the deepest level and their counts */
    double *lo, *hi;                     /* (dim) scratch: corners of the current cell */
};

/* Counts points (n, dim) and adds the noise. Release the coreset with coreset_release.
 * counts: (n) records at each point; NULL: one each.
 * draw: must be fresh randomness of the operating system; the claim does not hold otherwise.
 * DPOT_ERR_SHAPE: no records under replace-one. DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE,
 * DPOT_ERR_MEMORY: as in hierarchy.h. On failure the coreset is empty. */
DPOT_WARN_UNUSED dpot_status coreset_count(const struct coreset_config *config,
                                           const double *points, const int64_t *counts, size_t n,
                                           struct exact_draw *draw, struct coreset *coreset,
                                           struct dpot_error *error);
void coreset_release(struct coreset *coreset);

/* The measure as `size` points of equal mass, cell by cell. Post-processing. */
void coreset_spread(struct coreset *coreset, struct exact_draw *draw,
                    double *points /* (size, dim) */);

/* The measure as one weighted point in each cell with mass. Post-processing. */
void coreset_weigh(struct coreset *coreset, struct exact_draw *draw,
                   double *points /* (leaves.n, dim) */, double *weights /* (leaves.n) */);

/* n points drawn independently from the measure. */
DPOT_WARN_UNUSED dpot_status coreset_sample(struct coreset *coreset, size_t n,
                                            struct exact_draw *draw, double *points /* (n, dim) */);

/* PRIVATE: the number of records outside of the box. */
int64_t coreset_n_outside(const struct partition *partition, const double *points,
                          const int64_t *counts, size_t n);

#endif
