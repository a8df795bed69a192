/* The spool: the device's queue of privatised reports, one slot per key (spool_slot.h).
 *
 * File "spool" = header, then slots. A slot is appended with its name (key, campaign id, end of its
 * round: all public) and a body of zeros, filled in place by REPORT, and emptied by ACK:
 *
 *     slot_append        slot_fill          slot_acknowledge
 *   (no slot) ----> EMPTY ----> REPORT -----------> FREE ----> (gone: spool_compact)
 *                     \            \
 *                      `------------`----> BROKEN  a write that a power cut tore: never repaired,
 *                                                  its key counts as lost
 *
 * Spool invariants
 * (S1) A REPORT is written only under a durable CHARGE of its key (journal.h sees to it), into a
 *      slot that was durable before that charge.
 * (S2) The bytes of a REPORT never change: a retry sends the same id, index and values. They leave only
 *      after the key's DONE is durable.
 * (S3) At most one slot per key is EMPTY or REPORT.
 * (S4) The order of the slots is that of their submits: a public order.
 *
 * Its file is open only while the folder's lock is held. */
#ifndef DPOT_CLIENT_STORAGE_SPOOL_H
#define DPOT_CLIENT_STORAGE_SPOOL_H

#include "storage/spool_slot.h"

#define DPOT_SPOOL_NAME "spool"

/* The spool is rewritten without its free slots when it has this many slots and at least half of
 * them are free: a public rule. */
#define DPOT_SPOOL_COMPACT_SLOTS 32

struct dpot_spool {
    const struct dpot_filesystem *filesystem;
    const struct dpot_allocator *allocator;
    const struct dpot_install *install;
    void *file;              /* open, or NULL */
    struct dpot_slot *slots; /* (n_slots of cap_slots) in the order of the file; owned */
    size_t n_slots;
    size_t cap_slots;
    uint64_t end; /* of the last slot, in the file */
    bool is_torn; /* the file ends in part of a slot that is to be cut off */
    uint8_t header[DPOT_HEADER_LEN];
    uint64_t generation;
    uint64_t counter; /* largest counter value in the file */
    uint8_t install_id[DPOT_INSTALL_ID_LEN];
};

void dpot_spool_init(struct dpot_spool *spool, const struct dpot_filesystem *filesystem,
                     const struct dpot_allocator *allocator, const struct dpot_install *install);
void dpot_spool_release(struct dpot_spool *spool);

/* Forgets every slot; the file is left alone. And frees slots that were taken out of a spool. */
void dpot_spool_forget(struct dpot_spool *spool);
void dpot_spool_free_slots(const struct dpot_allocator *allocator, struct dpot_slot *slots,
                           size_t n_slots, size_t cap_slots);

/* Puts an empty spool in the place of whatever is there, durably. */
DPOT_WARN_UNUSED dpot_status dpot_spool_create(struct dpot_spool *spool, uint64_t counter);

DPOT_WARN_UNUSED dpot_status dpot_spool_open_file(struct dpot_spool *spool);
void dpot_spool_close_file(struct dpot_spool *spool);

/* Reads the whole open file; changes nothing on disk. Slots that do not hold are BROKEN.
 * DPOT_ERR_CORRUPT: the header does not hold; DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_spool_load(struct dpot_spool *spool);

/* Cuts a torn tail off, writes every slot that is not free again in place, and syncs. */
DPOT_WARN_UNUSED dpot_status dpot_spool_repair(struct dpot_spool *spool);

/* True when the open file is byte for byte what this handle left. */
DPOT_WARN_UNUSED dpot_status dpot_spool_is_current(struct dpot_spool *spool, bool *is_current);

/* Makes room in memory for one more slot, so that dpot_spool_append cannot run out. */
DPOT_WARN_UNUSED dpot_status dpot_spool_reserve(struct dpot_spool *spool);

/* Appends an EMPTY slot for name->n_values and makes it durable, folder included. DPOT_ERR_MEMORY:
 * nothing was written. */
DPOT_WARN_UNUSED dpot_status dpot_spool_append(struct dpot_spool *spool,
                                               const struct dpot_slot_name *name);

/* Fills an EMPTY slot in place with a report of its n_values and makes it durable. */
DPOT_WARN_UNUSED dpot_status dpot_spool_fill(struct dpot_spool *spool, size_t slot,
                                             const struct dpot_report *report, uint64_t counter);

/* Frees a slot and overwrites its report. Not synced: that the report may go is in the ledger. */
DPOT_WARN_UNUSED dpot_status dpot_spool_acknowledge(struct dpot_spool *spool, size_t slot);

/* Rewrites the file without its free and broken slots if there are enough of them. `counter` is the
 * largest value known. The order of the others stays; their positions change. */
DPOT_WARN_UNUSED dpot_status dpot_spool_compact(struct dpot_spool *spool, uint64_t counter);

/* Bytes of the slots of one campaign that hold a report or wait for one; NULL: of all campaigns. */
uint64_t dpot_spool_kept_len(const struct dpot_spool *spool, const uint8_t *campaign_id);

/* Rewrites the file without its free and broken slots, as above but however few they are. DPOT_ERR_MEMORY:
 * nothing was changed. */
DPOT_WARN_UNUSED dpot_status dpot_spool_rewrite(struct dpot_spool *spool, uint64_t counter);

/* Of the slots of one campaign that hold a report or wait for one that whose round closes first; of equals
 * the first in the file. SIZE_MAX without any. */
size_t dpot_spool_find_first_to_close(const struct dpot_spool *spool, const uint8_t *campaign_id);

/* Frees every slot in place, durably; needs no space. `counter` is the hardware's value, 0 without
 * one: the slots keep it, because the DONE records that do may be missing. */
DPOT_WARN_UNUSED dpot_status dpot_spool_purge(struct dpot_spool *spool, uint64_t counter);

/* Cuts off all slots, which must be free, durably; needs no space. */
DPOT_WARN_UNUSED dpot_status dpot_spool_cut(struct dpot_spool *spool);

/* The slot that holds the report of `key` or waits for it (REPORT, EMPTY), or SIZE_MAX. */
size_t dpot_spool_find(const struct dpot_spool *spool, const struct dpot_key *key);

#endif
