#include "store/commit_sum.h"

#include <string.h>

static void add_number(struct dpot_hasher *hasher, uint64_t n)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(n >> 8 * i);
    }
    dpot_hasher_add(hasher, bytes, sizeof bytes);
}

void commit_sum(const struct commit_row *row, uint8_t sum[COMMIT_SUM_LEN])
{
    struct dpot_hasher hasher;
    uint8_t digest[DPOT_HASH_LEN];
    dpot_hasher_init(&hasher);
    add_number(&hasher, (uint64_t)row->seq);
    add_number(&hasher, (uint64_t)row->round);
    add_number(&hasher, (uint64_t)row->format);
    add_number(&hasher, (uint64_t)row->n_reports);
    add_number(&hasher, row->hash_len);
    if (row->hash_len > 0) {
        dpot_hasher_add(&hasher, row->hash, row->hash_len);
    }
    if (row->len > 0) {
        dpot_hasher_add(&hasher, row->reports, row->len);
    }
    dpot_hasher_end(&hasher, digest);
    memcpy(sum, digest, COMMIT_SUM_LEN);
}
