/* Exports the accepted reports of a revision as plain numbers, by round, then by id. */
#ifndef DPOT_POOL_EXPORT_H
#define DPOT_POOL_EXPORT_H

#include "pool/decode.h"
#include "store/store.h"

#include <stdio.h>

/* Writes n u32 for an index mechanism, or n rows of float64 in `space` (pool/decode.h) for a vector
 * mechanism or a sphere, little-endian. At most 64 MiB of a round and one row are in memory at a
 * time (store_read_pool). The stream is not flushed. DPOT_ERR_SHAPE: coefficients of an index
 * mechanism; DPOT_ERR_IO: writing failed; DPOT_ERR_CORRUPT: a stored report is not of the campaign,
 * or reports are missing, and what was written must not be used; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status export_pool(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                         const struct dpot_campaign *campaign,
                                         enum decode_space space, FILE *stream,
                                         struct dpot_error *error);

/* Writes the group numbers of the same reports in the same order, n u32; zeros in a campaign
 * without groups. Status as above. */
DPOT_WARN_UNUSED dpot_status export_groups(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                           const struct dpot_campaign *campaign, FILE *stream,
                                           struct dpot_error *error);

#endif
