/* The job runner: one worker thread runs one job at a time; the others wait in the store.
 *
 *                 start                     the worker takes it
 *      admin ------------> QUEUED ---------------------------------> RUNNING
 *                          |    ^                                    | | | |
 *                   cancel |    |  dpotd stops, or starts again      | | | +-- ok -----> DONE
 *                          |    +------ after it was killed ---------+ | +---- refused -> FAILED
 *                          v                                          |
 *                      CANCELLED <-------------- cancel --------------+
 *
 * Invariants
 * (N1) Queued jobs live in the store, so no job is lost. An interrupted one resumes from its
 *      checkpoint (checkpoint.h) or starts again. It fails when the process has died
 *      JOB_ATTEMPTS_MAX times without progress.
 * (N2) Only the worker changes a running job; a cancel only sets a flag.
 * (N3) A job is done exactly when its artifact is stored (store.h, T4).
 * (N4) Callbacks run on the worker's thread, never under a lock.
 *
 * Several threads may call one runner; one store has one runner. */
#ifndef DPOT_JOBS_RUNNER_H
#define DPOT_JOBS_RUNNER_H

#include "jobs/job.h"

struct runner;

struct runner_config {
    struct snapshot_source source;  /* its members are borrowed */
    const struct dpot_clock *clock; /* borrowed */
    struct job_limits limits;
    const char *checkpoint_folder; /* borrowed; NULL: no checkpoints */
    int64_t checkpoint_every_ms;   /* 0: a minute */

    /* Called when a job begins or ends, and when the store fails (`record` is NULL then). May be
     * NULL. */
    void (*on_change)(void *ctx, const struct job_record *record, const struct dpot_error *error);
    void *ctx;
};

/* Queues again the job that a killed process left running, and starts the worker. DPOT_ERR_IO,
 * DPOT_ERR_BUSY, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status runner_open(const struct runner_config *config, struct runner **runner,
                                         struct dpot_error *error);

/* Stops the running job, which goes back into the queue, and waits for the worker. NULL is
 * accepted. */
void runner_close(struct runner *runner);

/* Queues a job about a revision of a campaign.
 * revision: its number; 0: the open one, else the newest closed one, else the newest draft.
 * parameters: an object, or NULL for none.
 * On failure nothing was queued: DPOT_ERR_MALFORMED, DPOT_ERR_RANGE or DPOT_ERR_SHAPE (kind,
 * parameters, a campaign that the kind does not take), DPOT_ERR_NOT_FOUND (campaign, revision),
 * DPOT_ERR_STATE ("not yet: 812 of 1000 accepted reports"), DPOT_ERR_BUSY (JOB_QUEUED_MAX jobs are
 * queued), ... */
DPOT_WARN_UNUSED dpot_status runner_start(struct runner *runner, const char *kind,
                                          const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                          uint32_t revision, const json_t *parameters,
                                          struct job_record *record, struct dpot_error *error);

/* A job with its present progress. DPOT_ERR_NOT_FOUND. */
DPOT_WARN_UNUSED dpot_status runner_get(struct runner *runner, const uint8_t id[JOB_ID_LEN],
                                        struct job_record *record, struct dpot_error *error);

/* Jobs, newest first, as store_list_jobs. */
DPOT_WARN_UNUSED dpot_status runner_list(struct runner *runner, const uint8_t *after,
                                         store_each_job each, void *ctx, struct dpot_error *error);

/* Cancels a queued job at once. A running one is asked to stop: `record` still says running, the
 * job is cancelled soon after, and its result is dropped. DPOT_ERR_NOT_FOUND; DPOT_ERR_STATE: it
 * has ended. */
DPOT_WARN_UNUSED dpot_status runner_cancel(struct runner *runner, const uint8_t id[JOB_ID_LEN],
                                           struct job_record *record, struct dpot_error *error);

#endif
