/* The order of ids: as bytes, the first being the most significant. Pools are read and blocks are
 * stored in this order, so that nothing keeps the order in which reports arrived (T7). */
#ifndef DPOT_STORE_ID_ORDER_H
#define DPOT_STORE_ID_ORDER_H

#include "store/id_set.h"

/* An id and the position of its report. */
struct id_place {
    uint64_t high, low; /* the id, as two big-endian numbers */
    size_t at;
};

struct id_place id_place_make(const uint8_t id[ID_SET_ID_LEN], size_t at);

/* Negative, 0 or positive, as memcmp of the two ids. */
int id_place_compare(const struct id_place *a, const struct id_place *b);

void id_order_sort(struct id_place *places, size_t n);

#endif
