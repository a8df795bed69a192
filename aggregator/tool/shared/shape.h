/* Sizes of grids and images, as options give them. */
#ifndef DPOT_TOOL_SHARED_SHAPE_H
#define DPOT_TOOL_SHARED_SHAPE_H

#include <stddef.h>

/* Parses "16x24": 1 to max_dims sizes of 1 to max_side, with a product of at most max_cells.
 * Returns the number of sizes, 0 for any other text. */
size_t shape_parse(const char *text, size_t max_dims, size_t max_side, size_t max_cells,
                   size_t *shape /* (max_dims) */);

#endif
