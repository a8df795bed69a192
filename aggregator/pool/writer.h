/* The writer: one thread that stores what others have checked, as many batches in a commit as have come.
 *
 * Invariants
 * (W1) `done` is called exactly once for each task, on the writer's thread, after the commit that holds it
 *      or after the failure.
 * (W2) Tasks are committed in the order in which they were submitted.
 * (W3) Tasks that wait take at most WRITER_BYTES_MAX, one task aside: who submits more waits for room, so
 *      that memory is bounded by the number of submitting threads. */
#ifndef DPOT_POOL_WRITER_H
#define DPOT_POOL_WRITER_H

#include "base/error.h"
#include "pool/tally.h"
#include "store/store.h"

#define WRITER_BYTES_MAX ((size_t)64 << 20)

/* One batch on its way. The submitter's, but the writer's from writer_submit until `done`. */
struct writer_task {
    struct store_append append;
    size_t n_bytes; /* that it holds, about */
    void (*done)(struct writer_task *task);
    void *ctx;

    dpot_status status;      /* of its storing, as of store_append_reports */
    struct dpot_error error; /* when that is not DPOT_OK */

    struct writer_task *next; /* the writer's */
};

struct writer_config {
    struct store *store;   /* borrowed */
    struct tally *tally;   /* borrowed; NULL: nobody counts */
    unsigned max_reports;  /* of a commit, one larger batch aside; >= 1 */
    unsigned max_delay_ms; /* a commit waits for company as long; 0: for what came while the one
                              before was written, and no longer */

    /* Called after each commit, and after each that failed, before any `done` (crash tests, logs); may be
     * NULL. */
    void (*on_committed)(void *ctx, size_t n_reports);
    void (*on_failed)(void *ctx, const struct dpot_error *error);

    /* Called every ten seconds, and again as long as it returns true and no task waits: for work on the store
     * that has time. May be NULL. */
    bool (*on_idle)(void *ctx);
    void *ctx;
};

struct writer;

/* Starts the thread. DPOT_ERR_MEMORY: no memory or no thread. */
DPOT_WARN_UNUSED dpot_status writer_open(const struct writer_config *config, struct writer **writer,
                                         struct dpot_error *error);

/* Commits everything that was submitted, writes the tally, and ends the thread. Nobody may submit any
 * more. NULL is allowed. */
void writer_close(struct writer *writer);

/* Hands a task over; may wait (W3). `done` may run before this returns. */
void writer_submit(struct writer *writer, struct writer_task *task);

/* What the writer has done since it was opened. */
struct writer_work {
    uint64_t n_commits;  /* that succeeded */
    uint64_t n_failures; /* commits that did not: nothing of them was stored */
    uint64_t n_batches;  /* in commits that succeeded */
    double seconds;      /* spent in the store */
};
void writer_get_work(struct writer *writer, struct writer_work *work);

#endif
