/* The ledger: the durable, append-only record of what this device has been charged.
 *
 * File "ledger" = header, then records of 192 bytes, each with a keyed BLAKE2b over the record and
 * the checksum before it (a chain):
 *
 *     CHARGE  seq, campaign hash, round, revision, signing key, campaign id, E, delta, rho, G,
 *             time, counter, horizon
 *     RESUME  seq, campaign hash, round, time, counter, horizon: the data are read once more under
 *             the old CHARGE
 *     DONE    seq, campaign hash, round, final status, time, counter
 *     CONSENT seq, withdrawn or granted again, time, counter
 *
 * When enough charges have ended the file is folded: replaced, whole or not at all, by one that
 * begins with
 *
 *     SUMS     seq, number of records that folding wrote, ends of reports, sums, latest charge,
 *              counter, horizon
 *     CAMPAIGN seq, signing key, campaign id, sums, newest revision and round, last answer
 *     SPANS    seq, three spans of time and their sums (ledger_sums.h)
 *     CHARGE   seq, as above, and the number of readings: charges that have not ended
 *
 * and goes on with records as before. Its header says DPOTLDG2, so that one without SUMS is not
 * taken for a short one that was never folded.
 *
 *                 CHARGE                     DONE
 *     (no record) ------> open (in the spool) ----> finished
 *
 * Ledger invariants
 * (L1) A record is in memory only after it was durable on disk; its seq is its position, counted on
 *      over foldings.
 * (L2) One CHARGE and at most one DONE per key, the DONE after the CHARGE. RESUME only between the
 *      two. The last CONSENT counts.
 * (L3) At most the last record of the file can be torn: each is durable before the next is written.
 *      What folding wrote is never torn.
 * (L4) Times of charges never decrease, and so neither does device time = max(clock, latest
 *      charge). No other record is earlier than the charges before it. A DONE does not move device
 *      time: an answer recorded under a clock that is years ahead must not end the install.
 *
 * The ledger adds up charges; submit.c compares the sums with the caps. The file is open only while
 * the folder's lock is held. */
#ifndef DPOT_CLIENT_STORAGE_LEDGER_H
#define DPOT_CLIENT_STORAGE_LEDGER_H

#include "storage/install.h"
#include "storage/ledger_sums.h"

#include <stdbool.h>

#define DPOT_LEDGER_NAME "ledger"
#define DPOT_LEDGER_RECORD_LEN 192
#define DPOT_LEDGER_TAIL_MAX 128 /* records behind the sums, besides one per open charge */

struct dpot_ledger {
    const struct dpot_filesystem *filesystem;
    const struct dpot_allocator *allocator;
    const struct dpot_install *install;
    void *file;                  /* open, or NULL */
    struct dpot_charge *charges; /* (n_charges of cap_charges) in the file, in its order; owned */
    size_t n_charges;
    size_t cap_charges;
    struct dpot_ledger_sums sums; /* over all charges, folded ones too */
    uint64_t first_seq;           /* of the first record in the file */
    uint64_t fold_end;            /* seq behind the part that folding wrote; 0: never folded */
    uint64_t n_records;           /* ever written: the next seq */
    uint32_t tail_max;            /* records behind fold_end; DPOT_LEDGER_TAIL_MAX but in tests */
    uint32_t accountant;          /* of the header: enum dpot_accountant */
    bool is_folded;               /* the header says so */
    uint8_t header[DPOT_HEADER_LEN];
    uint8_t last[DPOT_LEDGER_RECORD_LEN]; /* the last record as on disk, if there is one */
    bool is_withdrawn;                    /* the last CONSENT withdraws it */
    bool is_torn;                         /* the file ends in a torn record, to be cut off */
    int64_t latest_ms;                    /* time of the last charge; INT64_MIN without one */
    int64_t horizon_ms;                   /* of the last CHARGE or RESUME; 0: none */
    uint64_t counter;                     /* largest counter value in the file */
    uint8_t install_id[DPOT_INSTALL_ID_LEN];
};

void dpot_ledger_init(struct dpot_ledger *ledger, const struct dpot_filesystem *filesystem,
                      const struct dpot_allocator *allocator, const struct dpot_install *install);
void dpot_ledger_release(struct dpot_ledger *ledger);

/* Writes the first, empty ledger of an install durably, for one accountant. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_create(struct dpot_ledger *ledger, uint32_t accountant,
                                                uint64_t counter);

/* Open: DPOT_ERR_NOT_FOUND, DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_open_file(struct dpot_ledger *ledger);
void dpot_ledger_close_file(struct dpot_ledger *ledger);

/* Forgets all charges, in memory. */
void dpot_ledger_clear(struct dpot_ledger *ledger);

/* Reads and validates the whole open file; changes nothing on disk. DPOT_ERR_CORRUPT: the header,
 * the chain, the order or a record in the middle is wrong. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_load(struct dpot_ledger *ledger);

/* Cuts a torn tail off, writes the last record (or the header) again in place, and syncs: after
 * this what was loaded is durable. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_repair(struct dpot_ledger *ledger);

/* True when the open file is byte for byte what this handle left (by its length and the last link
 * of the chain). */
DPOT_WARN_UNUSED dpot_status dpot_ledger_is_current(struct dpot_ledger *ledger, bool *is_current);

/* Allocates memory for one more charge, so that dpot_ledger_charge cannot run out. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_reserve(struct dpot_ledger *ledger);

/* Appends a CHARGE durably, folder included; charge->done is not read. DPOT_ERR_IO: it may or may
 * not be on disk; the caller poisons the handle. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_charge(struct dpot_ledger *ledger,
                                                const struct dpot_charge *charge, uint64_t counter);

/* Appends RESUME for an open charge, whose data are read again, durably. DPOT_ERR_IO as above. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_resume(struct dpot_ledger *ledger, size_t charge,
                                                int64_t time_ms, int64_t horizon_ms,
                                                uint64_t counter);

/* Appends DONE for an open charge durably. DPOT_ERR_IO as above. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_finish(struct dpot_ledger *ledger, size_t charge,
                                                uint8_t done, int64_t time_ms, uint64_t counter);

/* Appends CONSENT durably. DPOT_ERR_IO as above. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_set_consent(struct dpot_ledger *ledger, bool is_withdrawn,
                                                     int64_t time_ms, uint64_t counter);

/* Whether the file has so many records more than it has open charges that it should be folded: a
 * public rule. */
bool dpot_ledger_is_foldable(const struct dpot_ledger *ledger);

/* Folds the open file. The spool must durably hold no report of a charge that has ended.
 * DPOT_ERR_NO_SPACE: nothing was changed. DPOT_ERR_IO: it may or may not be folded; the caller
 * poisons the handle. */
DPOT_WARN_UNUSED dpot_status dpot_ledger_fold(struct dpot_ledger *ledger);

/* The position of the charge of `key`; SIZE_MAX: there is none, or it was folded. */
size_t dpot_ledger_find(const struct dpot_ledger *ledger, const struct dpot_key *key);

/* The campaign that the charge of `key` was folded into; NULL: it was not folded. Rounds before the
 * last that was charged count as folded, for device time is past them. */
const struct dpot_ledger_campaign *dpot_ledger_find_folded(const struct dpot_ledger *ledger,
                                                           const struct dpot_key *key);

/* True when `charge` (its key, revision, signer and campaign id) is to an older revision than a
 * recorded one: by number, or by the order of the charges where a record has no number. */
bool dpot_ledger_is_older(const struct dpot_ledger *ledger, const struct dpot_charge *charge);

#endif
