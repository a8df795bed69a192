/* The writer: one thread that stores validated batches, as many in a commit as have arrived.
 *
 * Invariants
 * (W1) `done` is called exactly once for each task, on the writer's thread, after the commit that
 *      holds it or after the failure.
 * (W2) Tasks are committed in the order in which they were submitted.
 * (W3) Waiting tasks take at most WRITER_BYTES_MAX, except those of a single larger submission.
 *      writer_submit blocks until there is room, so memory is bounded by the number of submitting
 *      threads. */
#ifndef DPOT_POOL_WRITER_H
#define DPOT_POOL_WRITER_H

#include "base/error.h"
#include "pool/tally.h"
#include "store/store.h"

#define WRITER_BYTES_MAX ((size_t)64 << 20)

/* One batch. Owned by the submitter, but by the writer from writer_submit until `done`. */
struct writer_task {
    struct store_append append;
    size_t n_bytes; /* about what it holds */
    void (*done)(struct writer_task *task);
    void *ctx;

    dpot_status status;      /* of storing it, as store_append_reports */
    struct dpot_error error; /* if status is not DPOT_OK */

    struct writer_task *next; /* submitted with this one; then for the writer */
};

struct writer_config {
    struct store *store;   /* borrowed */
    struct tally *tally;   /* borrowed; NULL: nothing is counted */
    unsigned max_reports;  /* of a commit, except a single larger batch; >= 1 */
    unsigned max_delay_ms; /* how long a commit waits for more batches; 0: not at all */

    /* Called after each commit, or each failed one, before any `done`. For crash tests and logs;
     * may be NULL. */
    void (*on_committed)(void *ctx, size_t n_reports);
    void (*on_failed)(void *ctx, const struct dpot_error *error);

    /* Called every ten seconds, and again while it returns true and no task waits: for work on the
     * store that can wait. May be NULL. */
    bool (*on_idle)(void *ctx);
    void *ctx;
};

struct writer;

/* Starts the thread. DPOT_ERR_MEMORY: no memory or no thread. */
DPOT_WARN_UNUSED dpot_status writer_open(const struct writer_config *config, struct writer **writer,
                                         struct dpot_error *error);

/* Commits all submitted tasks, stores the tally and ends the thread. No call may be in progress.
 * NULL is allowed. */
void writer_close(struct writer *writer);

/* Submits a task and those linked behind it by `next`, which no other task comes between; may block
 * (W3). `done` may be called before this returns. Thread-safe. */
void writer_submit(struct writer *writer, struct writer_task *task);

/* Counts since writer_open. */
struct writer_work {
    uint64_t n_commits;  /* successful */
    uint64_t n_failures; /* commits that failed, which stored nothing */
    uint64_t n_batches;  /* in successful commits */
    double seconds;      /* spent in the store */
};
void writer_get_work(struct writer *writer, struct writer_work *work);

#endif
