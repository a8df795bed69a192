/* The checksum of one commit: all of its row, so that a report whose id, value, round or revision changed on
 * the disk is no longer taken for what a device sent. Against accidents: who can write the store can write
 * the sum as well. */
#ifndef DPOT_STORE_COMMIT_SUM_H
#define DPOT_STORE_COMMIT_SUM_H

#include "base/crypto.h"

#define COMMIT_SUM_LEN 16

/* A row of the table commits. */
struct commit_row {
    const uint8_t *hash; /* (hash_len) of the revision */
    size_t hash_len;
    int64_t round, seq, format, n_reports;
    const uint8_t *reports; /* (len) as packed */
    size_t len;
};

/* The first bytes of the BLAKE2b-256 of the numbers, little-endian in eight bytes each, and what is left. */
void commit_sum(const struct commit_row *row, uint8_t sum[COMMIT_SUM_LEN]);

#endif
