/* The journal: ledger, spool and hardware counter as one thing, and the state of every key.
 *
 * State of a key (exact-privacy D). What is on disk decides, nothing else:
 *
 *     ledger      spool slot               state     what a submit does
 *     no CHARGE   missing or empty         NONE      everything
 *     CHARGE      empty                    CHARGED   RESUME, then makes the report under the old charge
 *     CHARGE      a valid report           REPORTED  nothing: the same bytes are sent again
 *     CHARGE      missing or broken        LOST      nothing: settling writes DONE
 *     DONE        any                      DONE      nothing
 *
 * Journal invariants
 * (J1) Every change happens under the folder's lock, after dpot_journal_lock found both files
 *      exactly as this handle left them or opened them anew.
 * (J2) Opening = read, judge, cut torn tails, write the open ends again in place, sync both files
 *      and the folder. Only then is anything believed.
 * (J3) An I/O error in a change poisons the handle: nothing more is written, sampled or sent by it.
 * (J4) Fail closed: a corrupt middle, a broken chain, a missing ledger where there was an install,
 *      a report without charge, files older than the counter. Then `is_exhausted`, for good.
 * (J5) A slot is durable before its CHARGE, a CHARGE before its report is made, a report before it
 *      is sent, DONE before the report is dropped. A withdrawal alone may drop first, on a disk that
 *      has no space for a DONE: what is gone counts as lost, so that nothing comes of it.
 * (J6) Data are read at most DPOT_READINGS_MAX times for one report, however often the work on it is
 *      cut off: each reading is in the ledger before it begins.
 *
 * Virtual time. A submit has a public work time W, and its work counts as done at the horizon: start + W.
 * The next one starts at the horizon or at the clock, whichever is later; so in a row of submits all
 * times follow from the first start and from public numbers. A report is due its drawn delay after its
 * horizon, and before the horizon nothing is sent. A horizon more than DPOT_LEAD_MAX_MS ahead of the
 * clock is of a clock that was set back since: it does not count. */
#ifndef DPOT_CLIENT_STORAGE_JOURNAL_H
#define DPOT_CLIENT_STORAGE_JOURNAL_H

#include "base/error.h"
#include "storage/ledger.h"
#include "storage/spool.h"

#define DPOT_LEAD_MAX_MS ((int64_t)600 * 1000)
#define DPOT_READINGS_MAX 2 /* the third attempt reports from the public default */
#define DPOT_SPOOL_SHARES 8 /* a campaign may have this part of the spool's cap */
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
    uint32_t send_delay_ms; /* for reports of older releases, which have drawn no delay */
    uint32_t accountant;    /* what the ledger must add up by, enum dpot_accountant */
    struct dpot_install install;
    struct dpot_ledger ledger;
    struct dpot_spool spool;
    uint64_t counter_value;    /* of the hardware, as far as we know */
    bool is_loaded;            /* memory says what the disk said when we last let go of the lock */
    bool is_exhausted;         /* (J4) */
    const char *why_exhausted; /* a literal */
    const char *why_refused;   /* a literal: what the caller gave does not go with this install */
    bool is_poisoned;          /* (J3) */
    const char *poison_file;   /* what failed then: a literal, */
    char poison_why[192];      /* and why */
    size_t n_ended[DPOT_DONE_END]; /* charges that this handle has ended, by how; since the last
                                      pump looked */
};

/* Sets up; touches nothing. The keystore key may be NULL. */
void dpot_journal_init(struct dpot_journal *journal, const struct dpot_filesystem *filesystem,
                       const struct dpot_allocator *allocator, const struct dpot_counter *counter,
                       const struct dpot_clock *clock, const uint8_t *keystore_key,
                       size_t keystore_key_len, uint32_t send_delay_ms, uint32_t accountant);
void dpot_journal_release(struct dpot_journal *journal);

/* Takes the folder's lock and makes memory agree with the disk (J1). DPOT_OK with `is_exhausted`
 * set when the ledger cannot be trusted. DPOT_ERR_ARGUMENT (another accountant, no counter), DPOT_ERR_POISONED, DPOT_ERR_BUSY, DPOT_ERR_IO,
 * DPOT_ERR_MEMORY: the lock is not held and nothing was changed that a later opening would miss. */
DPOT_WARN_UNUSED dpot_status dpot_journal_lock(struct dpot_journal *journal,
                                               struct dpot_error *error);

/* DPOT_ERR_POISONED, with a sentence that names the file and the cause. */
dpot_status dpot_journal_explain_poison(const struct dpot_journal *journal,
                                        struct dpot_error *error);

/* Believes nothing of what is in memory any more: the next lock opens both files anew. Ends poison:
 * for opening a handle only. */
void dpot_journal_start_over(struct dpot_journal *journal);

void dpot_journal_unlock(struct dpot_journal *journal);

/* For journal.c, under the lock: opens both files anew (J2). DPOT_OK with `is_exhausted` set when
 * nothing can be believed. */
DPOT_WARN_UNUSED dpot_status dpot_journal_open(struct dpot_journal *journal);

/* The hardware counter (0 without one), and the largest value in the two files. */
DPOT_WARN_UNUSED dpot_status dpot_journal_read_counter(struct dpot_journal *journal,
                                                       uint64_t *value);
uint64_t dpot_journal_counter(const struct dpot_journal *journal);

/* The horizon, when it is ahead of the clock and counts; else INT64_MIN. */
int64_t dpot_journal_horizon(const struct dpot_journal *journal, int64_t now_ms);

/* A time drawn uniformly from 1 to most_ms > 0, from 8 random bytes. */
uint32_t dpot_journal_draw_delay(const uint8_t random[8], uint32_t most_ms);

/* After a clock was set back: a report whose horizon does not count any more is due its delay from now. */
void dpot_journal_hold_to_clock(struct dpot_journal *journal, int64_t now_ms);

/* max(now, latest time in the ledger). */
int64_t dpot_journal_time(const struct dpot_journal *journal, int64_t now_ms);

enum dpot_key_state dpot_journal_state(const struct dpot_journal *journal,
                                       const struct dpot_key *key);

/* True when the key was charged and its report is lost, or ended so. */
bool dpot_journal_is_lost(const struct dpot_journal *journal, const struct dpot_key *key);

/* Writes DONE for every key whose slot is lost, and frees slots that nobody needs: after this a REPORT in the
 * spool is one that waits to be sent. What it ends no clock decides. Under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_journal_settle(struct dpot_journal *journal, int64_t time_ms);

/* Writes DONE for what `time_ms` has ended: reports never made whose round has closed, and reports older than
 * DPOT_SPOOL_AGE_MS after that. For the pump alone: whoever only looks, under whatever clock, ends nothing.
 * After dpot_journal_settle, under the lock. */
DPOT_WARN_UNUSED dpot_status dpot_journal_settle_old(struct dpot_journal *journal, int64_t time_ms);

/* The bytes of the spool that one campaign may take: an equal part of max_bytes behind the header.
 * max_bytes 0 is no cap: UINT64_MAX. */
uint64_t dpot_journal_share(uint64_t max_bytes);

/* The cap on the spool, a public rule: when the slots of the campaign with the new one would take more
 * than its share, reports of the same campaign are dropped, DONE first, those whose round closes first,
 * until they do not; other campaigns lose nothing. A file that would become longer than max_bytes (0: no
 * cap) is rewritten without its free slots. Nothing to do for a key that has its slot.
 * DPOT_ERR_NO_SPACE, DPOT_ERR_MEMORY: the rewriting failed; what was dropped is. */
DPOT_WARN_UNUSED dpot_status dpot_journal_make_room(struct dpot_journal *journal,
                                                    const struct dpot_slot_name *name,
                                                    uint64_t max_bytes, int64_t time_ms);

/* Makes room in memory, so that the steps below can fail on disk only. */
DPOT_WARN_UNUSED dpot_status dpot_journal_reserve(struct dpot_journal *journal);

/* Step 3 of a submit: an empty slot for the key, durable (one left by a crash is taken again, with its
 * draws); and the CHARGE, or for a key that is CHARGED the RESUME, durable. Step 4: the counter goes up. */
DPOT_WARN_UNUSED dpot_status dpot_journal_preallocate(struct dpot_journal *journal,
                                                      const struct dpot_slot_name *name);
DPOT_WARN_UNUSED dpot_status dpot_journal_charge(struct dpot_journal *journal,
                                                 const struct dpot_charge *charge);

DPOT_WARN_UNUSED dpot_status dpot_journal_resume(struct dpot_journal *journal,
                                                 const struct dpot_key *key, int64_t time_ms,
                                                 int64_t horizon_ms);

/* Step 6: the report into the slot, durable, the counter up, and its time of sending. */
DPOT_WARN_UNUSED dpot_status dpot_journal_spool(struct dpot_journal *journal,
                                                const struct dpot_key *key,
                                                const struct dpot_report *report);

/* Sets the time of sending of a slot: delay after the horizon of its charge; a fresh delay from now for a
 * report of an older release. */
void dpot_journal_set_due(const struct dpot_journal *journal, struct dpot_slot *slot);

/* Step 8: DONE, durable; then the slot is freed. */
DPOT_WARN_UNUSED dpot_status dpot_journal_finish(struct dpot_journal *journal,
                                                 const struct dpot_key *key, uint8_t done,
                                                 int64_t time_ms);

/* Withdrawn consent: DONE for every open key, then CONSENT, so that it outlives its mark; every slot wiped in place, the slots cut off. Needs no
 * space: where a DONE cannot be written the wiped slots stay, and it is tried again in the next call.
 * DPOT_ERR_POISONED: not everything may be wiped. */
DPOT_WARN_UNUSED dpot_status dpot_journal_withdraw(struct dpot_journal *journal, int64_t time_ms);

/* Consent is given again: CONSENT, unless it was not withdrawn. A failure leaves it withdrawn. */
DPOT_WARN_UNUSED dpot_status dpot_journal_grant(struct dpot_journal *journal, int64_t time_ms);

/* Rewrites the spool when enough of it is free. */
DPOT_WARN_UNUSED dpot_status dpot_journal_compact(struct dpot_journal *journal);

#endif
