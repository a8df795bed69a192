/* The checksum of a block of reports, over all of its row, so that a report whose id, value, round
 * or revision changed on the disk is not taken for what a device sent. It detects accidents:
 * whoever can write the store can write the checksum too. */
#ifndef DPOT_STORE_COMMIT_SUM_H
#define DPOT_STORE_COMMIT_SUM_H

#include "base/crypto.h"

#define COMMIT_SUM_LEN 16

/* A row of table block (seq 0), or of table commits in older schemas. */
struct commit_row {
    const uint8_t *hash; /* (hash_len) campaign hash */
    size_t hash_len;
    int64_t round, seq, format, n_reports;
    const uint8_t *reports; /* (len) packed (store/packed.h) */
    size_t len;
};

/* The first bytes of BLAKE2b-256 over seq, round, format, n_reports and hash_len, each as eight
 * bytes, little-endian, then hash and reports. */
void commit_sum(const struct commit_row *row, uint8_t sum[COMMIT_SUM_LEN]);

#endif
