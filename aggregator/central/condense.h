/* Reduces a measure on the cells of a partition to fewer points: points that share a cell of a
 * coarser level are replaced by their mean. The level is the finest one that respects a limit on
 * the number of points. On a private measure this is post-processing; on raw records the result is
 * as private as they are. Transport between few points is cheap, and the cost of a measure changes
 * by the variance within cells, which is small compared with the noise. */
#ifndef DPOT_CENTRAL_CONDENSE_H
#define DPOT_CENTRAL_CONDENSE_H

#include <stddef.h>
#include <stdint.h>

/* Condenses points (n, dim) with weights (n) in place; returns the number of points left, at most
 * limit.
 * codes (n): cells of level `depth` (<= 63), ascending; equal codes are allowed. limit: at least 1.
 * A cell of total weight 0 is represented by its first point. */
size_t condense(const uint64_t *codes, size_t n, size_t depth, size_t limit, size_t dim,
                double *points, double *weights);

/* The level used by condense: the finest of 0 .. depth with at most `limit` cells. */
size_t condense_level(const uint64_t *codes, size_t n, size_t depth, size_t limit);

#endif
