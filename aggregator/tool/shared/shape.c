#include "tool/shared/shape.h"

#include <stdlib.h>

size_t shape_parse(const char *text, size_t max_dims, size_t max_side, size_t max_cells,
                   size_t *shape)
{
    size_t n = 0, cells = 1;
    while (n < max_dims) {
        char *end = NULL;
        const unsigned long side = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (side < 1 || side > max_side || side > max_cells / cells) {
            return 0;
        }
        shape[n++] = side;
        cells *= side;
        if (*end != 'x') {
            return *end == '\0' ? n : 0;
        }
        text = end + 1;
    }
    return 0;
}
