/* The binary partition of a public box: level j = 1, 2, ... halves axis (j - 1) mod dim of every
 * cell.
 *
 * The code of a cell of level j has j bits: the halves on the way from the root, the first one in
 * the most significant bit. Only the code of a point depends on data, and only on that point. */
#ifndef DPOT_CENTRAL_PARTITION_H
#define DPOT_CENTRAL_PARTITION_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARTITION_DIM_MAX 1024

struct partition {
    size_t dim;
    size_t depth;     /* 1 .. BUDGET_DEPTH_MAX */
    const double *lo; /* (dim) borrowed */
    const double *hi; /* (dim) */
};

/* DPOT_ERR_RANGE unless dim is 1 .. PARTITION_DIM_MAX, lo < hi, and hi - lo is finite. */
DPOT_WARN_UNUSED dpot_status partition_check(const struct partition *partition,
                                             struct dpot_error *error);

/* The cell of the deepest level that contains the point. A point outside of the box counts at the
 * nearest face, a point on an upper face in the last cell, NaN as lo. */
uint64_t partition_code(const struct partition *partition, const double *point /* (dim) */);

/* Whether the point lies in the closed box. */
bool partition_holds(const struct partition *partition, const double *point);

/* The corners of a cell of level 0 .. depth. */
void partition_cell(const struct partition *partition, size_t level, uint64_t code,
                    double *lo /* (dim) */, double *hi);

#endif
