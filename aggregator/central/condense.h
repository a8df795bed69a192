/* Fewer points for a measure on the cells of a partition: those that lie in one cell of a coarser level
 * become their mean, as fine as a limit of points allows. Of a private measure this is post-processing;
 * of raw records it is as private as they are. Transport between few points is cheap, and the cost of a
 * measure moves by the variance within cells, which is small beside what noise does. */
#ifndef DPOT_CENTRAL_CONDENSE_H
#define DPOT_CENTRAL_CONDENSE_H

#include <stddef.h>
#include <stdint.h>

/* Points (n, dim) and weights (n) of cells of level `depth` (<= 63), whose codes (n) ascend; equal ones
 * are allowed. In place; the number of points that are left, at most limit >= 1. A cell whose points
 * have no weight becomes its first point. */
size_t condense(const uint64_t *codes, size_t n, size_t depth, size_t limit, size_t dim,
                double *points, double *weights);

/* The level that it takes: the finest of 0 .. depth with at most `limit` cells. */
size_t condense_level(const uint64_t *codes, size_t n, size_t depth, size_t limit);

#endif
