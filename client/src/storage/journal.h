/* The journal: ledger, spool and hardware counter together, and the state of every key.
 *
 * State of a key, which follows from the disk alone:
 *
 *     ledger      spool slot               state     what a submit does
 *     no CHARGE   missing or empty         NONE      everything
 *     CHARGE      empty                    CHARGED   RESUME, then the report under the old charge
 *     CHARGE      a valid report           REPORTED  nothing: the same bytes are sent again
 *     CHARGE      missing or broken        LOST      nothing: settling writes DONE
 *     DONE        any                      DONE      nothing
 *
 * Journal invariants
 * (J1) Every change happens under the folder's lock, after dpot_journal_lock found both files
 *      exactly as this handle left them or opened them anew.
 * (J2) Opening = read, validate, cut torn tails, write the open ends again in place, sync both
 *      files and the folder. Only then is the content trusted.
 * (J3) An I/O error in a change poisons the handle: it writes, samples and sends nothing more.
 * (J4) Fail closed: after a corrupt middle, a broken chain, a missing ledger where there was an
 *      install, a report without charge, or files older than the counter, `is_exhausted` is set for
 *      good.
 * (J5) A slot is durable before its CHARGE, a CHARGE before its report is made, a report before it
 *      is sent, DONE before the report is dropped. Only a withdrawal may drop first, on a disk
 *      without space for a DONE: the report counts as lost.
 * (J6) Data are read at most DPOT_READINGS_MAX times for one report, however often the work on it
 *      is cut off: each reading is in the ledger before it begins.
 *
 * Virtual time. A submit has a public work time W; its work counts as done at the horizon, start +
 * W. The next submit starts at the horizon or at the clock, whichever is later: in a row of submits
 * all times follow from the first start and public numbers. A report is due its drawn delay after
 * its horizon, and nothing is sent before the horizon. A horizon more than DPOT_LEAD_MAX_MS ahead
 * of the clock comes from a clock that was set back since, and does not count. */
#ifndef DPOT_CLIENT_STORAGE_JOURNAL_H
#define DPOT_CLIENT_STORAGE_JOURNAL_H

#include "base/error.h"
#include "storage/ledger.h"
#include "storage/spool.h"

#define DPOT_LEAD_MAX_MS ((int64_t)600 * 1000)
#define DPOT_READINGS_MAX 2 /* the third attempt reports from the public default */
#define DPOT_SPOOL_SHARES 8 /* a campaign may fill one of these shares of the spool's cap */
#define DPOT_SPOOL_AGE_MS ((int64_t)30 * 86400 * 1000) /* kept after its round has closed */

enum dpot_key_state {
    DPOT_KEY_NONE,
    DPOT_KEY_CHARGED,
    DPOT_KEY_REPORTED,
    DPOT_KEY_LOST,
    DPOT_KEY_DONE,
};

struct dpot_journal {
    const struct dpot_filesystem *filesystem;
    const struct dpot_allocator *allocator;
    const struct dpot_counter *counter; /* NULL: none */
    const struct dpot_clock *clock;
    uint32_t send_delay_ms; /* for reports of older releases, which have no drawn delay */
    uint32_t accountant;    /* required of the ledger, enum dpot_accountant */
    struct dpot_install install;
    struct dpot_ledger ledger;
    struct dpot_spool spool;
    uint64_t counter_value;        /* of the hardware, when last read or advanced */
    bool is_loaded;                /* memory is what the disk was when we last released the lock */
    bool is_exhausted;             /* (J4) */
    const char *why_exhausted;     /* a literal */
    const char *why_refused;       /* a literal: why the config does not fit this install */
    bool is_poisoned;              /* (J3) */
    const char *poison_file;       /* the file that failed then, a literal, */
    char poison_why[192];          /* and why */
    size_t n_ended[DPOT_DONE_END]; /* charges ended by this handle since its last pump result, by
                                      enum dpot_done */
};

/* Sets up the struct; reads and writes no file. The keystore key may be NULL. */
void dpot_journal_init(struct dpot_journal *journal, const struct dpot_filesystem *filesystem,
                       const struct dpot_allocator *allocator, const struct dpot_counter *counter,
                       const struct dpot_clock *clock, const uint8_t *keystore_key,
                       size_t keystore_key_len, uint32_t send_delay_ms, uint32_t accountant);
void dpot_journal_release(struct dpot_journal *journal);

/* Takes the folder's lock and makes memory agree with the disk (J1). DPOT_OK with `is_exhausted`
 * set when the ledger cannot be trusted. DPOT_ERR_ARGUMENT (another accountant, no counter),
 * DPOT_ERR_POISONED, DPOT_ERR_BUSY, DPOT_ERR_IO, DPOT_ERR_MEMORY: the lock is not held;
 * a later opening finds every change that was made. */
DPOT_WARN_UNUSED dpot_status dpot_journal_lock(struct dpot_journal *journal,
                                               struct dpot_error *error);

/* DPOT_ERR_POISONED, with a sentence that names the file and the cause. */
dpot_status dpot_journal_explain_poison(const struct dpot_journal *journal,
                                        struct dpot_error *error);

/* Discards what is in memory, poison included: the next lock opens both files anew. Only for
 * opening a handle. */
void dpot_journal_reset(struct dpot_journal *journal);

void dpot_journal_unlock(struct dpot_journal *journal);

/* For journal.c, under the lock: opens both files anew (J2). DPOT_OK with `is_exhausted` set when
 * they cannot be trusted. */
DPOT_WARN_UNUSED dpot_status dpot_journal_open(struct dpot_journal *journal);

/* The hardware counter (0 without one), and the largest value in the two files. */
DPOT_WARN_UNUSED dpot_status dpot_journal_read_counter(struct dpot_journal *journal,
                                                       uint64_t *value);
uint64_t dpot_journal_counter(const struct dpot_journal *journal);

/* The horizon if it is ahead of the clock and counts, else INT64_MIN. */
int64_t dpot_journal_horizon(const struct dpot_journal *journal, int64_t now_ms);

/* A time drawn uniformly from 1 to most_ms > 0, from 8 random bytes. */
uint32_t dpot_journal_draw_delay(const uint8_t random[8], uint32_t most_ms);

/* After a clock was set back: a report whose horizon no longer counts is due its delay from now. */
void dpot_journal_limit_due(struct dpot_journal *journal, int64_t now_ms);

/* max(now, latest time in the ledger). */
int64_t dpot_journal_time(const struct dpot_journal *journal, int64_t now_ms);

enum dpot_key_state dpot_journal_state(const struct dpot_journal *journal,
                                       const struct dpot_key *key);

/* True when the key was charged and its report is lost, or was recorded as lost. */
bool dpot_journal_is_lost(const struct dpot_journal *journal, const struct dpot_key *key);

/* Writes DONE for every key whose slot is lost, and frees slots that are no longer needed: after
 * this every REPORT in the spool waits to be sent. Ends nothing by time. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_journal_settle(struct dpot_journal *journal, int64_t time_ms);

/* Writes DONE for what has ended by `time_ms`: reports never made whose round has closed, and
 * reports DPOT_SPOOL_AGE_MS after that. Only the pump calls it: no other call ends a report,
 * whatever the clock. After dpot_journal_settle, under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_journal_settle_old(struct dpot_journal *journal, int64_t time_ms);

/* The bytes of the spool that one campaign may fill: its share of max_bytes behind the header.
 * max_bytes 0 is no cap: UINT64_MAX. */
uint64_t dpot_journal_share(uint64_t max_bytes);

/* Makes room for a slot under the cap on the spool, by a public rule: while the campaign's slots
 * with the new one exceed its share, the report of the same campaign whose round closes first is
 * dropped, DONE first; other campaigns lose nothing. A file that would exceed max_bytes (0: no cap)
 * is rewritten without its free slots. Nothing to do for a key that has its slot.
 * DPOT_ERR_NO_SPACE, DPOT_ERR_MEMORY: rewriting failed; the dropped reports stay dropped. */
DPOT_WARN_UNUSED dpot_status dpot_journal_make_room(struct dpot_journal *journal,
                                                    const struct dpot_slot_name *name,
                                                    uint64_t max_bytes, int64_t time_ms);

/* Allocates memory, so that the steps below can fail on disk only. */
DPOT_WARN_UNUSED dpot_status dpot_journal_reserve(struct dpot_journal *journal);

/* Steps 3 and 4 of a submit, each durable: an empty slot for the key (one that a crash left is used
 * again, with its draws); the CHARGE, or RESUME for a key that is CHARGED, and the counter's
 * advance. */
DPOT_WARN_UNUSED dpot_status dpot_journal_preallocate(struct dpot_journal *journal,
                                                      const struct dpot_slot_name *name);
DPOT_WARN_UNUSED dpot_status dpot_journal_charge(struct dpot_journal *journal,
                                                 const struct dpot_charge *charge);
DPOT_WARN_UNUSED dpot_status dpot_journal_resume(struct dpot_journal *journal,
                                                 const struct dpot_key *key, int64_t time_ms,
                                                 int64_t horizon_ms);

/* Step 6: writes the report to its slot durably, advances the counter, sets the time of sending. */
DPOT_WARN_UNUSED dpot_status dpot_journal_spool(struct dpot_journal *journal,
                                                const struct dpot_key *key,
                                                const struct dpot_report *report);

/* Sets the time of sending of a slot: its delay after the horizon of its charge; for a report of an
 * older release a fresh delay from now. */
void dpot_journal_set_due(const struct dpot_journal *journal, struct dpot_slot *slot);

/* Step 8, after the answer: DONE, durable; then frees the slot. */
DPOT_WARN_UNUSED dpot_status dpot_journal_finish(struct dpot_journal *journal,
                                                 const struct dpot_key *key, uint8_t done,
                                                 int64_t time_ms);

/* Withdraws consent: DONE for every open key, then CONSENT, which outlives the mark; every slot
 * wiped in place, then cut off. Needs no space: if a DONE cannot be written the wiped slots stay,
 * and the next call tries again. DPOT_ERR_POISONED: not everything may be wiped. */
DPOT_WARN_UNUSED dpot_status dpot_journal_withdraw(struct dpot_journal *journal, int64_t time_ms);

/* Grants consent again: CONSENT, if it was withdrawn. A failure leaves it withdrawn. */
DPOT_WARN_UNUSED dpot_status dpot_journal_grant(struct dpot_journal *journal, int64_t time_ms);

/* Rewrites the spool when enough of it is free. */
DPOT_WARN_UNUSED dpot_status dpot_journal_compact(struct dpot_journal *journal);

/* Folds the ledger if it is long enough; without space it stays as it is. After
 * dpot_journal_settle, under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_journal_fold(struct dpot_journal *journal);

#endif
