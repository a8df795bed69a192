/* The private measure of a set of points ("coreset"): a hierarchical partition of a public box with
 * exact discrete Laplace noise (He, Vershynin and Zhu 2023, corrected).
 *
 * Claim. What coreset_count computes is epsilon-DP (delta 0), epsilon the sum of the budget's
 * levels, under the budget's adjacency: files of the same number n of records that differ in one
 * (replace-one; n, here the size of the result, is public), or files of which one has one record
 * more (add-remove). Proof. Every record counts in one cell of each level, whatever it is:
 * partition_code is a function of that record alone that clamps it into the public box. Box, depth,
 * axes, border and budget do not depend on records. So level j releases counts of l1 sensitivity 2
 * (replace-one) or 1 (add-remove) with noise of scale 2 / epsilon_j or 1 / epsilon_j, drawn exactly
 * in integers, and the levels compose to the sum. All that follows (clamping, consistency, closed
 * cells, points within cells) reads noisy counts only, or public numbers: post-processing. Rounding
 * of coordinates moves a record to a neighbouring cell at most, the same one every time: it costs
 * utility, never privacy.
 *
 * Traps, of which each has been published: scales that do not sum to epsilon; a continuous Laplace
 * draw that is truncated; cells without records that get no noise; a box or a depth taken from the
 * data; points on the upper face that count nowhere. tests/privacy/test_coreset_exact.c holds the
 * law of this code against its claim, and catches each of them.
 *
 * Silence. A refusal follows from public numbers and options (of replace-one: no records), or from
 * noisy counts (more cells with mass than there is room for), so that epsilon covers it. Not
 * covered: how long it takes, and memory that runs out.
 *
 * Coresets of disjoint groups compose in parallel where the group of a record is fixed and public:
 * epsilon for all of them together, not for each. */
#ifndef DPOT_CENTRAL_CORESET_H
#define DPOT_CENTRAL_CORESET_H

#include "central/budget.h"
#include "central/hierarchy.h"
#include "central/partition.h"
#include "central/polygon.h"

/* What is public. */
struct coreset_config {
    struct partition partition; /* checked; its depth is the budget's */
    struct budget budget;
    const struct polygon
        *border; /* of the plane (dim 2), meeting the box; NULL: none. Cells outside
                                     of it get nothing, and points lie in it */
    double
        shrink; /* 0 .. 1: points are uniform in the cell shrunk to this about its centre. It moves
                      points within cells, and the noise of counts not at all */
};

struct coreset {
    const struct coreset_config *config; /* borrowed */
    int64_t size;                   /* the sum of all counts: n under replace-one, else private */
    struct hierarchy_leaves leaves; /* cells with their counts */
    double *lo, *hi;                /* (dim) scratch for the corners of a cell */
};

/* Counts points (n, dim), of which the i-th stands for counts[i] records (NULL: one each). `draw` is fresh
 * randomness of the operating system; anything else voids the claim. DPOT_ERR_SHAPE: no records
 * under replace-one; DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY as hierarchy.h. */
DPOT_WARN_UNUSED dpot_status coreset_count(const struct coreset_config *config,
                                           const double *points, const int64_t *counts, size_t n,
                                           struct exact_draw *draw, struct coreset *coreset,
                                           struct dpot_error *error);
void coreset_release(struct coreset *coreset);

/* The measure as points, one for each unit of `size`, cell by cell; post-processing. */
void coreset_spread(struct coreset *coreset, struct exact_draw *draw,
                    double *points /* (size, dim) */);

/* As one point in each cell, with the cell's share of the mass. */
void coreset_weigh(struct coreset *coreset, struct exact_draw *draw,
                   double *points /* (leaves.n, dim) */, double *weights /* (leaves.n) */);

/* n points drawn independently from it. */
DPOT_WARN_UNUSED dpot_status coreset_sample(struct coreset *coreset, size_t n,
                                            struct exact_draw *draw, double *points /* (n, dim) */);

/* How many of the records lie outside of the box. PRIVATE. */
int64_t coreset_n_outside(const struct partition *partition, const double *points,
                          const int64_t *counts, size_t n);

#endif
