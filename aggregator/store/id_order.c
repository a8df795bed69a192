#include "store/id_order.h"

#include <stdlib.h>

static uint64_t load_big(const uint8_t bytes[8])
{
    uint64_t n = 0;
    for (size_t i = 0; i < 8; i++) {
        n = n << 8 | bytes[i];
    }
    return n;
}

struct id_place id_place_make(const uint8_t id[ID_SET_ID_LEN], size_t at)
{
    return (struct id_place){.high = load_big(id), .low = load_big(id + 8), .at = at};
}

int id_place_compare(const struct id_place *a, const struct id_place *b)
{
    return a->high != b->high ? (a->high > b->high) - (a->high < b->high)
                              : (a->low > b->low) - (a->low < b->low);
}

static int compare(const void *a, const void *b)
{
    return id_place_compare(a, b);
}

void id_order_sort(struct id_place *places, size_t n)
{
    qsort(places, n, sizeof *places, compare);
}
