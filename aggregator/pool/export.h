/* Exports: the accepted reports of a revision as plain numbers, by round and then in the order of ids. */
#ifndef DPOT_POOL_EXPORT_H
#define DPOT_POOL_EXPORT_H

#include "pool/decode.h"
#include "store/store.h"

#include <stdio.h>

/* Writes to `stream`, little-endian: of an index mechanism n times u32, of a vector mechanism, and of
 * a sphere, n rows of float64 in `space` (pool/decode.h). At most 64 MiB of a round and one row are in memory at a time, however large
 * the pool (store_read_pool). DPOT_ERR_SHAPE: coefficients of an index mechanism; DPOT_ERR_IO: the stream took no more;
 * DPOT_ERR_CORRUPT, also when the pool has lost reports: what is in the stream then is for nobody;
 * DPOT_ERR_MEMORY. The stream is not flushed. */
DPOT_WARN_UNUSED dpot_status export_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                         const struct dpot_campaign *campaign,
                                         enum decode_space space, FILE *stream,
                                         struct dpot_error *error);

/* The numbers of the groups of the same reports in the same order, n times u32; zeros in a campaign without
 * groups. Status as above. */
DPOT_WARN_UNUSED dpot_status export_groups(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                           const struct dpot_campaign *campaign, FILE *stream,
                                           struct dpot_error *error);

#endif
