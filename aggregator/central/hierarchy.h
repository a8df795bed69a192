/* Consistent private counts on a binary tree of cells: all of the private measure except its noise.
 *
 * From the root to the leaves, a cell of (consistent, private) mass m > 0 is divided among its two
 * children. Noise is added to their true counts n, n' = max(0, n + Y), and both are shifted equally
 * until they sum to m (hierarchy_split). A cell of mass 0 is not expanded: its children have mass 0
 * whatever their noise is. This is the only case that is skipped, and it follows from private
 * numbers; a cell whose TRUE count is 0 gets noise like any other.
 *
 * A public rule may close cells to mass (outside of a border): the sibling of a closed cell gets
 * all the mass, without noise. If both children would be closed, neither is. */
#ifndef DPOT_CENTRAL_HIERARCHY_H
#define DPOT_CENTRAL_HIERARCHY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* noisy counts are clamped to this: post-processing */
#define HIERARCHY_COUNT_MAX ((int64_t)1 << 61)
#define HIERARCHY_RECORDS_MAX ((int64_t)1 << 60)
#define HIERARCHY_CELLS_MAX ((size_t)1 << 26) /* cells with mass on one level */

/* A cell of the deepest level with at least one record. */
struct hierarchy_cell {
    uint64_t code;
    int64_t n; /* records in all cells before this one */
};

struct hierarchy_records {
    size_t n;                     /* number of different cells, below 2^32 */
    struct hierarchy_cell *cells; /* (n + 1) codes ascending; the last n is the total */
    size_t cap;
};

/* Sorts codes (n) of `depth` bits and merges equal ones.
 * counts: (n) records of each code; NULL: one each.
 * DPOT_ERR_RANGE: a negative count, or more than HIERARCHY_RECORDS_MAX records in total.
 * DPOT_ERR_TOO_LARGE: n is 2^32 or more. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status hierarchy_records_init(struct hierarchy_records *records,
                                                    const uint64_t *codes, const int64_t *counts,
                                                    size_t n, size_t depth,
                                                    struct dpot_error *error);
void hierarchy_records_release(struct hierarchy_records *records);

/* The number of records. Private under add-remove. */
int64_t hierarchy_records_total(const struct hierarchy_records *records);

/* The source of noise and the rule that closes cells. */
struct hierarchy_rules {
    int64_t (*noise)(void *ctx, size_t level);                 /* |Y| <= 2^62 */
    bool (*is_closed)(void *ctx, size_t level, uint64_t code); /* NULL: no cell is closed */
    void *ctx;
};

/* A cell of the deepest level and its private count. */
struct hierarchy_leaf {
    uint64_t code;
    int64_t count; /* > 0 */
};

struct hierarchy_leaves {
    size_t n;
    struct hierarchy_leaf *leaves; /* (n) codes ascending, owned */
};
void hierarchy_leaves_release(struct hierarchy_leaves *leaves);

/* The first child's part of m; the second child gets the rest. a, b >= 0 are the noisy counts. The
 * surplus or deficit is shared equally, an odd unit goes to the first child, and a child that would
 * fall below 0 leaves the rest to the other. */
int64_t hierarchy_split(int64_t m, int64_t a, int64_t b);

/* Computes the leaves of a tree whose root has mass `root` >= 1. Order of the noise: level by
 * level, from left to right, left child before right.
 * DPOT_ERR_TOO_LARGE: more than HIERARCHY_CELLS_MAX cells of a level have mass. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status hierarchy_count(const struct hierarchy_records *records, size_t depth,
                                             int64_t root, const struct hierarchy_rules *rules,
                                             struct hierarchy_leaves *leaves,
                                             struct dpot_error *error);

#endif
