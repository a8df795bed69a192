/* Consistent private counts on a binary tree of cells: everything of the private measure but its noise.
 *
 * From the root to the leaves, a cell that holds m > 0 (consistent, private) is divided among its two
 * children. Their true counts n get noise each, n' = max(0, n + Y), and both are moved alike until they
 * sum to m (hierarchy_split). A cell that holds 0 is not looked into: its children hold 0 whatever
 * their noise were. That is the only skipping there is, and it follows from private numbers; a cell
 * whose TRUE count is 0 is noised like any other.
 *
 * Some cells may be closed to mass by a public rule (outside of a border): the sibling of a closed cell
 * gets all, without noise. Where both would be closed, neither is. */
#ifndef DPOT_CENTRAL_HIERARCHY_H
#define DPOT_CENTRAL_HIERARCHY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIERARCHY_COUNT_MAX ((int64_t)1 << 61) /* noisy counts are clamped to it: post-processing */
#define HIERARCHY_RECORDS_MAX ((int64_t)1 << 60)
#define HIERARCHY_CELLS_MAX ((size_t)1 << 26) /* with mass, on one level */

/* A cell of the deepest level that has records. */
struct hierarchy_cell {
    uint64_t code;
    int64_t n; /* records in the cells before it */
};

struct hierarchy_records {
    size_t n;                     /* different cells, below 2^32 */
    struct hierarchy_cell *cells; /* (n + 1) codes ascending; the last one's n is the total */
    size_t cap;
};

/* Sorts codes (n) of `depth` bits, of which the i-th stands for counts[i] records (NULL: one each), and
 * adds up equal ones. DPOT_ERR_RANGE: a negative count, or more than HIERARCHY_RECORDS_MAX records in
 * all. DPOT_ERR_TOO_LARGE: 2^32 codes. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status hierarchy_records_init(struct hierarchy_records *records,
                                                    const uint64_t *codes, const int64_t *counts,
                                                    size_t n, size_t depth,
                                                    struct dpot_error *error);
void hierarchy_records_release(struct hierarchy_records *records);

/* How many records there are. Private under add-remove. */
int64_t hierarchy_records_total(const struct hierarchy_records *records);

/* Where noise comes from, and which cells are closed. */
struct hierarchy_rules {
    int64_t (*noise)(void *ctx, size_t level);                 /* |Y| <= 2^62 */
    bool (*is_closed)(void *ctx, size_t level, uint64_t code); /* NULL: none is */
    void *ctx;
};

/* A cell of the deepest level and its count. */
struct hierarchy_leaf {
    uint64_t code;
    int64_t count; /* > 0 */
};

struct hierarchy_leaves {
    size_t n;
    struct hierarchy_leaf *leaves; /* (n) codes ascending, owned */
};
void hierarchy_leaves_release(struct hierarchy_leaves *leaves);

/* The first child's part of m; the second gets the rest. a, b >= 0 are the noisy counts; what is missing
 * or too much is shared equally, the odd one goes to the first, and a child that would fall below 0
 * leaves the rest of it to the other. */
int64_t hierarchy_split(int64_t m, int64_t a, int64_t b);

/* The leaves of a tree whose root holds `root` >= 1. Level by level, from left to right: noise of the
 * left child, then of the right one. DPOT_ERR_TOO_LARGE: more than HIERARCHY_CELLS_MAX cells hold
 * mass. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status hierarchy_count(const struct hierarchy_records *records, size_t depth,
                                             int64_t root, const struct hierarchy_rules *rules,
                                             struct hierarchy_leaves *leaves,
                                             struct dpot_error *error);

#endif
