/* Snapshots: how jobs see a pool, without knowing the registry or the store.
 *
 * A pool only grows while it is open (store.h, T3), so what a job read is named by how many reports
 * it read and by their checksum: the BLAKE2b-256 over every report in the order of reading (by round,
 * then by id as bytes, whatever the order in which they came), little-endian, as
 *
 *   index mechanisms    round u32, id[16], index u32
 *   vector mechanisms   round u32, id[16], n_values u32, n_values times i64
 *
 * and, in a campaign with groups, the group u32 after the id. Reading a closed pool again gives the same checksum. A pool holds one of the two, as
 * its campaign says.
 *
 * Several threads may use one source. */
#ifndef DPOT_POOL_SNAPSHOT_H
#define DPOT_POOL_SNAPSHOT_H

#include "campaign/registry.h"

/* Where snapshots come from; both borrowed. */
struct snapshot_source {
    struct store *store;
    struct registry *registry;
};

/* A revision and its pool. */
struct snapshot {
    struct store *store;
    const struct dpot_campaign *campaign; /* borrowed from the registry for its life */
    enum revision_state state;            /* when the snapshot was taken */
    uint8_t hash[DPOT_HASH_LEN];
    uint64_t n_accepted; /* when the snapshot was taken */
};

/* Of a revision; or of the revision of a campaign with this number, or for 0 of the one that is open,
 * else the newest closed one, else the newest draft. DPOT_ERR_NOT_FOUND, DPOT_ERR_CORRUPT, DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status snapshot_take(const struct snapshot_source *source,
                                           const uint8_t hash[DPOT_HASH_LEN],
                                           struct snapshot *snapshot, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status snapshot_find(const struct snapshot_source *source,
                                           const uint8_t id[DPOT_CAMPAIGN_ID_LEN], uint32_t number,
                                           struct snapshot *snapshot, struct dpot_error *error);

/* DPOT_ERR_STATE "not yet: 812 of 1000 accepted reports in revision 2" below the campaign's min_pool. */
DPOT_WARN_UNUSED dpot_status snapshot_check_ready(const struct snapshot *snapshot,
                                                  struct dpot_error *error);

/* Calls `each` for the first n_accepted reports (of a pool that has grown since, those are not all that there were
 * when the snapshot was taken: which are left out depends on ids alone); ends early, with DPOT_OK and *n_read below
 * n_accepted, when it returns non-zero. `checksum` is of what was read. DPOT_ERR_CORRUPT: the store
 * holds fewer reports than it counted, or a report that is none of this campaign; `each` never
 * sees such a one. */
DPOT_WARN_UNUSED dpot_status snapshot_read(const struct snapshot *snapshot, store_each_report each,
                                           void *ctx, uint64_t *n_read,
                                           uint8_t checksum[DPOT_HASH_LEN],
                                           struct dpot_error *error);

#endif
