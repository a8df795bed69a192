/* The tally: what became of every report that reached the server.
 *
 *   submitted = accepted + duplicate + rejected[reason] + dropped[reason] + pending
 *
 * at any moment. Submitted are the reports of every batch that could be opened and read; a device that
 * sends again submits again. Dropped are those of batches that were refused whole, pending those on their
 * way to a commit.
 *
 * Accepted, duplicate and rejected are durable with the commit that decides them (store.h) and are read
 * from there at the start. Dropped are written every ten seconds and at the end; what a crash forgets of
 * them is forgotten as submitted too, so that the law holds after every restart.
 *
 * Several threads may use one tally. */
#ifndef DPOT_POOL_TALLY_H
#define DPOT_POOL_TALLY_H

#include "store/store.h"

struct tally;

/* Begins with what the store has counted. DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status tally_new(struct store *store, struct tally **tally,
                                       struct dpot_error *error);
void tally_free(struct tally *tally); /* NULL is allowed */

/* In these a NULL tally counts nothing. `n` reports were read: they are pending until they are judged or
 * dropped. */
void tally_submit(struct tally *tally, size_t n);
void tally_judge(struct tally *tally, const enum dpot_report_status *statuses /* (n) */, size_t n);
void tally_drop(struct tally *tally, enum drop_reason reason, size_t n);

/* A batch was answered with this HTTP status. */
void tally_answer(struct tally *tally, unsigned http_status);

/* Answers that are counted, each by its own number. */
#define TALLY_ANSWERS 7
extern const unsigned tally_answers[TALLY_ANSWERS];

struct tally_counts {
    uint64_t n_submitted;
    struct pool_count judged;
    uint64_t n_dropped[DROP_REASONS];
    uint64_t n_pending;
    uint64_t n_answers[TALLY_ANSWERS]; /* batches, since the start */
};

/* All counts of one moment. */
void tally_get(struct tally *tally, struct tally_counts *counts);

/* Writes what was dropped since the last time; on failure it is kept for the next. */
DPOT_WARN_UNUSED dpot_status tally_save(struct tally *tally, struct store *store,
                                        struct dpot_error *error);

#endif
