/* The tally: counts what became of every report that reached the server.
 *
 *   submitted = accepted + duplicate + rejected[reason] + dropped[reason] + pending
 *
 * at any moment. Submitted are the reports of every batch that could be opened and read; a device
 * that sends again submits again. Dropped are those of batches refused as a whole, pending those on
 * their way to a commit.
 *
 * Accepted, duplicate and rejected are durable with the commit that decides them (store.h) and are
 * read from the store at the start. Dropped are written every ten seconds and at the end; those
 * that a crash loses are lost from submitted too, so the equation holds after every restart.
 *
 * Thread-safe. */
#ifndef DPOT_POOL_TALLY_H
#define DPOT_POOL_TALLY_H

#include "store/store.h"

struct tally;

/* Starts with the counts of the store. DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status tally_new(struct store *store, struct tally **tally,
                                       struct dpot_error *error);
void tally_free(struct tally *tally); /* NULL is allowed */

/* These count nothing with a NULL tally. tally_submit: `n` reports were read and are pending;
 * tally_commit: they were committed with these statuses; tally_drop: they were dropped. */
void tally_submit(struct tally *tally, size_t n);
void tally_commit(struct tally *tally, const enum dpot_report_status *statuses /* (n) */, size_t n);
void tally_drop(struct tally *tally, enum drop_reason reason, size_t n);

/* Counts a batch by the HTTP status of its answer. */
void tally_answer(struct tally *tally, unsigned http_status);

/* The statuses that are counted. */
#define TALLY_ANSWERS 7
extern const unsigned tally_answers[TALLY_ANSWERS];

struct tally_counts {
    uint64_t n_submitted;
    struct pool_count committed;
    uint64_t n_dropped[DROP_REASONS];
    uint64_t n_pending;
    uint64_t n_answers[TALLY_ANSWERS]; /* batches since the start, by tally_answers */
};

/* Copies all counts of one moment. */
void tally_get(struct tally *tally, struct tally_counts *counts);

/* Stores the counts dropped since the last call; on failure the next call stores them. */
DPOT_WARN_UNUSED dpot_status tally_save(struct tally *tally, struct store *store,
                                        struct dpot_error *error);

#endif
