/* The spool: the queue of privatised reports on the device, one slot per key (spool_slot.h).
 *
 * File "spool" = header, then slots. A slot is appended with its name (key, campaign id, end of its
 * round: all public) and a body of zeros, filled in place by REPORT, and emptied by ACK:
 *
 *          append       fill         acknowledge       compact
 *   (no slot) --> EMPTY ----> REPORT -----------> FREE -------> (no slot)
 *                     \            \
 *                      `------------`----> BROKEN  a write torn by a power cut: never repaired, its
 *                                                  key counts as lost
 *
 * Spool invariants
 * (S1) A REPORT is written only under a durable CHARGE of its key (journal.h ensures it), into a
 *      slot that was durable before that charge.
 * (S2) The bytes of a REPORT never change: a retry sends the same id, index and values. They are
 *      freed only after the key's DONE is durable.
 * (S3) At most one slot per key is EMPTY or REPORT.
 * (S4) The slots are in the order of their submits: a public order.
 *
 * The file is open only while the folder's lock is held. */
#ifndef DPOT_CLIENT_STORAGE_SPOOL_H
#define DPOT_CLIENT_STORAGE_SPOOL_H

#include "storage/spool_slot.h"

#define DPOT_SPOOL_NAME "spool"

/* A spool of at least this many slots, half of them free, is rewritten without the free ones: a
 * public rule. */
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
    bool is_torn; /* the file ends in part of a slot, to be cut off */
    uint8_t header[DPOT_HEADER_LEN];
    uint64_t generation;
    uint64_t counter; /* largest counter value in the file */
    uint8_t install_id[DPOT_INSTALL_ID_LEN];
};

void dpot_spool_init(struct dpot_spool *spool, const struct dpot_filesystem *filesystem,
                     const struct dpot_allocator *allocator, const struct dpot_install *install);
void dpot_spool_release(struct dpot_spool *spool);

/* Frees every slot in memory; does not touch the file. */
void dpot_spool_clear(struct dpot_spool *spool);

/* Frees slots that were taken out of a spool. */
void dpot_spool_free_slots(const struct dpot_allocator *allocator, struct dpot_slot *slots,
                           size_t n_slots, size_t cap_slots);

/* Replaces the file by an empty spool, durably. */
DPOT_WARN_UNUSED dpot_status dpot_spool_create(struct dpot_spool *spool, uint64_t counter);

DPOT_WARN_UNUSED dpot_status dpot_spool_open_file(struct dpot_spool *spool);
void dpot_spool_close_file(struct dpot_spool *spool);

/* Reads the whole open file; changes nothing on disk. Invalid slots are BROKEN. DPOT_ERR_CORRUPT:
 * the header is invalid; DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_spool_load(struct dpot_spool *spool);

/* Cuts a torn tail off, rewrites in place every slot that is not free, and syncs. */
DPOT_WARN_UNUSED dpot_status dpot_spool_repair(struct dpot_spool *spool);

/* True when the open file is byte for byte what this handle left. */
DPOT_WARN_UNUSED dpot_status dpot_spool_is_current(struct dpot_spool *spool, bool *is_current);

/* Allocates memory for one more slot, so that dpot_spool_append cannot run out. */
DPOT_WARN_UNUSED dpot_status dpot_spool_reserve(struct dpot_spool *spool);

/* Appends an EMPTY slot for name->n_values durably, folder included. DPOT_ERR_MEMORY: nothing was
 * written. */
DPOT_WARN_UNUSED dpot_status dpot_spool_append(struct dpot_spool *spool,
                                               const struct dpot_slot_name *name);

/* Fills an EMPTY slot in place with a report of its n_values, durably. */
DPOT_WARN_UNUSED dpot_status dpot_spool_fill(struct dpot_spool *spool, size_t slot,
                                             const struct dpot_report *report, uint64_t counter);

/* Frees a slot and overwrites its report. Not synced: the ledger has its DONE. */
DPOT_WARN_UNUSED dpot_status dpot_spool_acknowledge(struct dpot_spool *spool, size_t slot);

/* Rewrites the file without its free and broken slots if there are enough of them. `counter` is the
 * largest value known. The live slots keep their order and change position. */
DPOT_WARN_UNUSED dpot_status dpot_spool_compact(struct dpot_spool *spool, uint64_t counter);

/* Bytes of the live slots (EMPTY or REPORT) of one campaign; NULL: of all campaigns. */
uint64_t dpot_spool_live_len(const struct dpot_spool *spool, const uint8_t *campaign_id);

/* As dpot_spool_compact, however few slots are free. DPOT_ERR_MEMORY: nothing was changed. */
DPOT_WARN_UNUSED dpot_status dpot_spool_rewrite(struct dpot_spool *spool, uint64_t counter);

/* The live slot of one campaign whose round closes first; of equals the first in the file.
 * SIZE_MAX: none. */
size_t dpot_spool_find_first_to_close(const struct dpot_spool *spool, const uint8_t *campaign_id);

/* Frees every slot in place, durably; needs no space. `counter` is the hardware's value, 0 without
 * one: the slots keep it, because the DONE records, which have it too, may be missing. */
DPOT_WARN_UNUSED dpot_status dpot_spool_purge(struct dpot_spool *spool, uint64_t counter);

/* Cuts off all slots durably; they must be free. Needs no space. */
DPOT_WARN_UNUSED dpot_status dpot_spool_cut(struct dpot_spool *spool);

/* The live slot of `key`, or SIZE_MAX. */
size_t dpot_spool_find(const struct dpot_spool *spool, const struct dpot_key *key);

#endif
