/* Snapshots: a pool as jobs see it, without registry and store.
 *
 * An open pool grows (store.h, T3), so what a job read is named by the number of reports and their
 * checksum: the BLAKE2b-256 over all reports by round, then by id as bytes, in whatever order they
 * came, little-endian, as
 *
 *   index mechanisms    round u32, id[16], index u32
 *   vector mechanisms   round u32, id[16], n_values u32, n_values times i64
 *
 * and in a campaign with groups the group u32 after the id. Reading a closed pool again gives the
 * same checksum.
 *
 * A source is thread-safe. */
#ifndef DPOT_POOL_SNAPSHOT_H
#define DPOT_POOL_SNAPSHOT_H

#include "campaign/registry.h"

/* Borrowed. */
struct snapshot_source {
    struct store *store;
    struct registry *registry;
};

/* A revision and its pool. */
struct snapshot {
    struct store *store;
    const struct dpot_campaign *campaign; /* borrowed for the lifetime of the registry */
    enum revision_state state;            /* when the snapshot was taken */
    uint8_t hash[DPOT_HASH_LEN];
    uint64_t n_accepted; /* when the snapshot was taken */
};

/* Takes a snapshot of a revision by its hash, or by its number in a campaign; number 0: the open
 * revision, else the newest closed one, else the newest draft. DPOT_ERR_NOT_FOUND,
 * DPOT_ERR_CORRUPT, DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status snapshot_take(const struct snapshot_source *source,
                                           const uint8_t hash[DPOT_HASH_LEN],
                                           struct snapshot *snapshot, struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status snapshot_find(const struct snapshot_source *source,
                                           const uint8_t id[DPOT_CAMPAIGN_ID_LEN], uint32_t number,
                                           struct snapshot *snapshot, struct dpot_error *error);

/* DPOT_ERR_STATE below the campaign's min_pool: "not yet: 812 of 1000 accepted reports in revision
 * 2". */
DPOT_WARN_UNUSED dpot_status snapshot_check_ready(const struct snapshot *snapshot,
                                                  struct dpot_error *error);

/* Calls `each` for n_accepted reports, in the order above, and fills the checksum of those that
 * were read. Of a pool that has grown since, the last ones in that order are left out. Ends early,
 * with DPOT_OK and *n_read below n_accepted, when `each` returns non-zero. DPOT_ERR_CORRUPT: the
 * store holds fewer reports than it counted, or one that is not of this campaign, which `each`
 * never sees. */
DPOT_WARN_UNUSED dpot_status snapshot_read(const struct snapshot *snapshot, store_each_report each,
                                           void *ctx, uint64_t *n_read,
                                           uint8_t checksum[DPOT_HASH_LEN],
                                           struct dpot_error *error);

#endif
