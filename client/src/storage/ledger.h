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
 *                 CHARGE                     DONE
 *     (no record) ------> open (in the spool) ----> finished
 *
 * Ledger invariants
 * (L1) A record is in memory only after it was durable on disk; its seq is its position.
 * (L2) One CHARGE and at most one DONE per key, the DONE after the CHARGE. RESUME only between the
 *      two. The last CONSENT counts.
 * (L3) At most the last record of the file can be torn: each is durable before the next is written.
 * (L4) Times of charges never decrease, and so neither does device time = max(clock, latest
 *      charge). No other record is earlier than the charges before it. A DONE does not move device
 *      time: an answer recorded under a clock that is years ahead must not end the install.
 *
 * The ledger adds up charges; submit.c compares the sums with the caps. The file is open only while
 * the folder's lock is held. */
#ifndef DPOT_CLIENT_STORAGE_LEDGER_H
#define DPOT_CLIENT_STORAGE_LEDGER_H

#include "base/alloc.h"
#include "model/campaign.h"
#include "storage/install.h"

#include <stdbool.h>

#define DPOT_LEDGER_NAME "ledger"
#define DPOT_LEDGER_RECORD_LEN 192

/* Identifies a report: one charge, one report and one end per key. */
struct dpot_key {
    uint8_t campaign_hash[DPOT_HASH_LEN];
    uint32_t round;
};
bool dpot_key_equal(const struct dpot_key *a, const struct dpot_key *b);

/* How a key ended; the number is the status byte of a DONE record and never changes. 1..8 are the
 * server's answers, numbered as enum dpot_report_status. */
enum dpot_done {
    DPOT_DONE_NOT_YET = 0,
    DPOT_DONE_DROPPED_CLOSED = 16,    /* 409 */
    DPOT_DONE_DROPPED_AGE = 17,       /* 30 days after the round closed */
    DPOT_DONE_DROPPED_MALFORMED = 18, /* 400, 413 */
    DPOT_DONE_DROPPED_LOST = 19,      /* spool slot lost, or not filled before the round closed */
    DPOT_DONE_DROPPED_WITHDRAWN = 20, /* the user withdrew consent */
    DPOT_DONE_DROPPED_SPOOL = 21,     /* the spool was full: made room for a newer report */
    DPOT_DONE_END = 22
};

struct dpot_charge {
    struct dpot_key key;
    uint32_t revision; /* of the campaign; 0: unknown, a record of an older release */
    uint8_t signer[DPOT_SIGN_PUBLIC_LEN];
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_privacy cost;
    int64_t time_ms;     /* device time */
    int64_t horizon_ms;  /* when its work counts as done, by the clock; 0: of an older release */
    uint32_t n_readings; /* of the data, at most: 1 for the CHARGE, 1 for each RESUME */
    uint64_t seq;        /* of its record */
    uint8_t done;        /* DPOT_DONE_NOT_YET, or how it ended, */
    int64_t done_ms;     /* when, by the clock at that time, */
    uint64_t done_seq;   /* and in which record */
};

struct dpot_ledger {
    const struct dpot_filesystem *filesystem;
    const struct dpot_allocator *allocator;
    const struct dpot_install *install;
    void *file;                  /* open, or NULL */
    struct dpot_charge *charges; /* (n_charges of cap_charges) in the order of the file; owned */
    size_t n_charges;
    size_t cap_charges;
    uint64_t n_records;
    uint32_t accountant; /* of the header: enum dpot_accountant */
    uint8_t header[DPOT_HEADER_LEN];
    uint8_t last[DPOT_LEDGER_RECORD_LEN]; /* the last record as on disk, when n_records > 0 */
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

/* The position of the charge of `key`, or SIZE_MAX. */
size_t dpot_ledger_find(const struct dpot_ledger *ledger, const struct dpot_key *key);

/* The charge to a revision that the server's last answer to a report of it (409 included) ended, or
 * SIZE_MAX. */
size_t dpot_ledger_last_answer(const struct dpot_ledger *ledger,
                               const uint8_t campaign_hash[DPOT_HASH_LEN]);

/* True when `charge` (its key, revision, signer and campaign id) is to an older revision than a
 * recorded one: by number, or by the order of the charges where a record has no number. */
bool dpot_ledger_is_older(const struct dpot_ledger *ledger, const struct dpot_charge *charge);

/* Sums of what was charged: over everything; after `after_ms`; to one campaign of one signer. */
struct dpot_privacy dpot_ledger_spent(const struct dpot_ledger *ledger);
struct dpot_privacy dpot_ledger_spent_after(const struct dpot_ledger *ledger, int64_t after_ms);
struct dpot_privacy dpot_ledger_spent_campaign(const struct dpot_ledger *ledger,
                                               const uint8_t signer[DPOT_SIGN_PUBLIC_LEN],
                                               const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);

#endif
