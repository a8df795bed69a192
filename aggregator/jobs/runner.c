#include "jobs/runner.h"

#include "base/clock.h"
#include "jobs/checkpoint.h"
#include "jobs/job_request.h"
#include "proto/wire_artifact.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RETRY_S 2              /* after a failure of the store */
#define PROGRESS_EVERY_MS 2000 /* between writes of the progress */
#define CHECKPOINT_EVERY_MS 60000

struct runner {
    struct runner_config config;
    pthread_t thread;
    pthread_mutex_t mutex; /* taken before the store's lock, never after */
    pthread_cond_t wake;

    /* Under the mutex. */
    bool is_closing;
    bool needs_requeue;        /* the store may still say running of a job that no worker has */
    bool is_working;           /* on `current` */
    bool is_cancelled;         /* `current`, by an admin */
    struct job_record current; /* written by the worker only, which may read it without the mutex */

    /* Of `current`. */
    atomic_bool stop; /* cancelled or closing */
    atomic_uint_least64_t n_done, n_total;
    int64_t progress_ms;   /* when the progress was last written; used by the worker only */
    int64_t checkpoint_ms; /* likewise of the checkpoint */
};

static int64_t now(const struct runner *runner)
{
    return runner->config.clock->now(runner->config.clock->ctx);
}

static void report_change(const struct runner *runner, const struct job_record *record,
                          const struct dpot_error *error)
{
    if (runner->config.on_change) {
        runner->config.on_change(runner->config.ctx, record, error);
    }
}

/* ---- one run ---- */

static void write_progress(struct runner *r)
{
    const int64_t now_ms = now(r);
    struct job_record record = r->current;
    record.n_done = atomic_load(&r->n_done);
    record.n_total = atomic_load(&r->n_total);
    const dpot_status status = store_update_job(r->config.source.store, &record, NULL);
    r->progress_ms =
        status == DPOT_OK ? now_ms : now_ms + PROGRESS_EVERY_MS; /* wait longer after a failure */
}

/* Called in every iteration; writes to the store every PROGRESS_EVERY_MS. */
static void note_progress(void *ctx, size_t n_done, size_t n_total)
{
    struct runner *r = ctx;
    atomic_store(&r->n_done, n_done);
    atomic_store(&r->n_total, n_total);
    if (now(r) - r->progress_ms >= PROGRESS_EVERY_MS) {
        write_progress(r);
    }
}

static bool is_checkpoint_due(void *ctx)
{
    const struct runner *r = ctx;
    const int64_t every_ms =
        r->config.checkpoint_every_ms > 0 ? r->config.checkpoint_every_ms : CHECKPOINT_EVERY_MS;
    const int64_t ago_ms = now(r) - r->checkpoint_ms;
    return ago_ms >= every_ms || ago_ms < 0; /* or the clock was set back */
}

/* (N1): there is progress, so earlier attempts do not count any more. */
static void on_checkpoint(void *ctx)
{
    struct runner *r = ctx;
    r->checkpoint_ms = now(r);
    (void)pthread_mutex_lock(&r->mutex);
    r->current.n_attempts = 1;
    (void)pthread_mutex_unlock(&r->mutex);
    write_progress(r);
}

/* Finds the checkpoint that an earlier run wrote about the same reports (C2); else names a new
 * one. */
static dpot_status find_checkpoint(struct runner *r, const struct snapshot *snapshot,
                                   char path[JOB_CHECKPOINT_PATH_SIZE], struct dpot_error *error)
{
    uint64_t n_reports = 0;
    dpot_status status =
        job_checkpoint_find(r->config.checkpoint_folder, r->current.id, path, &n_reports, error);
    if (status == DPOT_OK && n_reports == snapshot->n_accepted) {
        return DPOT_OK;
    }
    if (status == DPOT_OK) { /* the pool has grown, or the store was restored from a backup */
        job_checkpoint_remove(r->config.checkpoint_folder, r->current.id);
        status = DPOT_ERR_NOT_FOUND;
    }
    return status == DPOT_ERR_NOT_FOUND
               ? job_checkpoint_name(r->config.checkpoint_folder, r->current.id,
                                     snapshot->n_accepted, path, error)
               : status;
}

/* What artifacts of every kind hold. */
static void label(const struct job_record *record, const struct dpot_campaign *campaign,
                  struct dpot_artifact *artifact)
{
    artifact->revision = campaign->revision;
    (void)snprintf(artifact->kind, sizeof artifact->kind, "%s", record->kind);
    (void)snprintf(artifact->program_version, sizeof artifact->program_version, "%s",
                   DPOT_PROGRAM_VERSION);
    (void)snprintf(artifact->parameters, sizeof artifact->parameters, "%s", record->parameters);
    memcpy(artifact->campaign_hash, record->hash, sizeof artifact->campaign_hash);
}

static dpot_status run_kind(struct runner *r, const struct job_kind *kind,
                            const struct job_input *input, struct dpot_buf *bytes,
                            struct dpot_error *error)
{
    struct dpot_artifact artifact = {.n_values = 0};
    label(&r->current, input->snapshot->campaign, &artifact);
    dpot_status status = job_request_check_campaign(kind, input, error);
    if (status == DPOT_OK) {
        status = kind->run(input, &artifact, error);
    }
    if (status == DPOT_OK && !atomic_load(&r->stop)) {
        status = dpot_wire_artifact_encode(&artifact, bytes, error);
    }
    dpot_artifact_release(&artifact);
    return status;
}

/* Runs the current job, without the mutex; `bytes` gets its artifact unless it was stopped. */
static dpot_status run_current(struct runner *r, struct dpot_buf *bytes, struct dpot_error *error)
{
    const struct job_kind *kind = NULL;
    struct snapshot snapshot;
    json_t *parameters = NULL;
    char path[JOB_CHECKPOINT_PATH_SIZE];
    const struct job_checkpoint checkpoint = {path, is_checkpoint_due, on_checkpoint, r};
    const struct solve_control control = {.cancel = &r->stop, .progress = note_progress, .ctx = r};
    struct job_input input = {
        .snapshot = &snapshot, .control = &control, .limits = r->config.limits};
    dpot_status status = job_request_read_kind(r->current.kind, &kind, error);
    if (status == DPOT_OK) {
        status = snapshot_take(&r->config.source, r->current.hash, &snapshot, error);
    }
    if (status == DPOT_OK) {
        status = job_request_read_parameters(kind, snapshot.campaign, r->current.parameters,
                                             &parameters, error);
    }
    if (status == DPOT_OK && kind->has_checkpoint && r->config.checkpoint_folder) {
        status = find_checkpoint(r, &snapshot, path, error);
        input.checkpoint = &checkpoint;
    }
    if (status == DPOT_OK) {
        input.parameters = parameters;
        status = run_kind(r, kind, &input, bytes, error);
    }
    json_decref(parameters);
    return status;
}

/* ---- taking and settling, under the mutex ---- */

/* DPOT_ERR_NOT_FOUND: nothing is queued. */
static dpot_status take_next(struct runner *r, struct dpot_error *error)
{
    struct job_record record;
    struct store *store = r->config.source.store;
    if (r->needs_requeue) {
        const dpot_status status = store_requeue_jobs(store, now(r), error);
        if (status != DPOT_OK) {
            return status;
        }
        r->needs_requeue = false;
    }
    dpot_status status = store_next_job(store, &record, error);
    if (status == DPOT_OK) {
        record.state = JOB_RUNNING;
        record.n_attempts++;
        record.started_ms = now(r);
        status = store_update_job(store, &record, error);
    }
    if (status == DPOT_OK) {
        r->current = record;
        r->is_working = true;
        r->is_cancelled = false;
        r->progress_ms = r->checkpoint_ms = record.started_ms;
        atomic_store(&r->n_done, 0);
        atomic_store(&r->n_total, 0);
        atomic_store(&r->stop, false);
    }
    return status;
}

static void set_failed(struct job_record *record, dpot_status status,
                       const struct dpot_error *error)
{
    record->state = JOB_FAILED;
    (void)snprintf(record->sentence, sizeof record->sentence, "%s",
                   error->text[0] ? error->text : dpot_status_text(status));
}

/* Sets the state of the job that has ended, except for done, which the store sets. */
static void decide(const struct runner *r, dpot_status status, const struct dpot_error *error,
                   struct job_record *record)
{
    record->n_done = atomic_load(&r->n_done);
    record->n_total = atomic_load(&r->n_total);
    record->ended_ms = now(r);
    if (r->is_cancelled) {
        record->state = JOB_CANCELLED;
    } else if (status != DPOT_OK) {
        set_failed(record, status, error);
    } else if (r->is_closing) { /* (N1): the shutdown ended the attempt, which does not count */
        record->state = JOB_QUEUED;
        record->n_done = record->n_total = 0;
        record->started_ms = record->ended_ms = 0;
        record->n_attempts--;
    }
}

/* Writes the state of the job that has ended. When that fails too, it is queued again (N1). */
static void settle(struct runner *r, dpot_status status, const struct dpot_buf *bytes,
                   struct dpot_error *error)
{
    struct job_record record = r->current;
    struct store *store = r->config.source.store;
    decide(r, status, error, &record);
    if (record.state == JOB_RUNNING) {
        status = store_finish_job(store, &record, bytes->data, bytes->len, error);
        if (status != DPOT_OK) {
            set_failed(&record, status, error);
        }
    }
    if (record.state != JOB_DONE) {
        r->needs_requeue = store_update_job(store, &record, NULL) != DPOT_OK;
    }
    r->current = record;
    r->is_working = false;
}

/* ---- the worker ---- */

/* Waits for a signal, or RETRY_S after a failure of the store. */
static void wait_for_work(struct runner *r, bool is_short)
{
    if (!is_short) {
        (void)pthread_cond_wait(&r->wake, &r->mutex);
        return;
    }
    const struct timespec until = {.tv_sec = (time_t)(dpot_clock_monotonic_ms() / 1000) + RETRY_S};
    (void)pthread_cond_timedwait(&r->wake, &r->mutex, &until);
}

/* The mutex is held on entry and on return, but not while the job runs. */
static void work_on_current(struct runner *r)
{
    struct dpot_error error = {{0}};
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    (void)pthread_mutex_unlock(&r->mutex);
    report_change(r, &r->current, NULL);
    const dpot_status status = run_current(r, &bytes, &error);
    (void)pthread_mutex_lock(&r->mutex);
    settle(r, status, &bytes, &error);
    const bool has_ended = r->current.state != JOB_QUEUED && !r->needs_requeue;
    (void)pthread_mutex_unlock(&r->mutex);
    if (has_ended && r->config.checkpoint_folder) {
        job_checkpoint_remove(r->config.checkpoint_folder, r->current.id); /* (C1) */
    }
    report_change(r, &r->current, NULL);
    dpot_buf_release(&bytes);
    (void)pthread_mutex_lock(&r->mutex);
}

static void *run_worker(void *ctx)
{
    struct runner *r = ctx;
    (void)pthread_mutex_lock(&r->mutex);
    while (!r->is_closing) {
        struct dpot_error error = {{0}};
        const dpot_status status = take_next(r, &error);
        if (status == DPOT_OK) {
            work_on_current(r);
        } else if (status == DPOT_ERR_NOT_FOUND) {
            wait_for_work(r, false);
        } else {
            (void)pthread_mutex_unlock(&r->mutex);
            report_change(r, NULL, &error);
            (void)pthread_mutex_lock(&r->mutex);
            if (!r->is_closing) {
                wait_for_work(r, true);
            }
        }
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static void free_runner(struct runner *r)
{
    (void)pthread_cond_destroy(&r->wake);
    (void)pthread_mutex_destroy(&r->mutex);
    dpot_free_array(NULL, r, 1, sizeof *r);
}

dpot_status runner_open(const struct runner_config *config, struct runner **runner,
                        struct dpot_error *error)
{
    *runner = NULL;
    struct runner *r = dpot_alloc_array(NULL, 1, sizeof *r);
    if (!r) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the job runner");
    }
    r->config = *config;
    atomic_init(&r->stop, false);
    atomic_init(&r->n_done, 0);
    atomic_init(&r->n_total, 0);
    (void)pthread_mutex_init(&r->mutex, NULL);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&r->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    dpot_status status = store_requeue_jobs(config->source.store, now(r), error);
    if (status == DPOT_OK && config->checkpoint_folder) {
        job_checkpoint_sweep(config->checkpoint_folder, config->source.store);
    }
    if (status == DPOT_OK && pthread_create(&r->thread, NULL, run_worker, r) != 0) {
        status = dpot_error_set(error, DPOT_ERR_MEMORY,
                                "the thread for jobs did not start: " DPOT_MORE_THREADS);
    }
    if (status != DPOT_OK) {
        free_runner(r);
        return status;
    }
    *runner = r;
    return DPOT_OK;
}

void runner_close(struct runner *runner)
{
    if (!runner) {
        return;
    }
    (void)pthread_mutex_lock(&runner->mutex);
    runner->is_closing = true;
    atomic_store(&runner->stop, true);
    (void)pthread_cond_signal(&runner->wake);
    (void)pthread_mutex_unlock(&runner->mutex);
    (void)pthread_join(runner->thread, NULL);
    free_runner(runner);
}

/* ---- calls of admins ---- */

dpot_status runner_start(struct runner *runner, const char *kind,
                         const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN], uint32_t revision,
                         const json_t *parameters, struct job_record *record,
                         struct dpot_error *error)
{
    dpot_status status = job_request_check(&runner->config.source, kind, campaign_id, revision,
                                           parameters, &runner->config.limits, record, error);
    if (status != DPOT_OK) {
        return status;
    }
    record->created_ms = now(runner);
    (void)pthread_mutex_lock(&runner->mutex);
    status = store_add_job(runner->config.source.store, record, error);
    (void)pthread_cond_signal(&runner->wake);
    (void)pthread_mutex_unlock(&runner->mutex);
    return status;
}

/* Under the mutex. */
static bool is_current(const struct runner *runner, const uint8_t id[JOB_ID_LEN])
{
    return runner->is_working && memcmp(runner->current.id, id, JOB_ID_LEN) == 0;
}

static void copy_current(const struct runner *runner, struct job_record *record)
{
    *record = runner->current;
    record->n_done = atomic_load(&runner->n_done);
    record->n_total = atomic_load(&runner->n_total);
}

/* Puts the progress of the current job into its record from the store. The state of the revision
 * stays the store's: the revision may have been closed since the job began. */
static void overlay_current(const struct runner *runner, struct job_record *record)
{
    const enum revision_state revision_state = record->revision_state;
    copy_current(runner, record);
    record->revision_state = revision_state;
}

dpot_status runner_get(struct runner *runner, const uint8_t id[JOB_ID_LEN],
                       struct job_record *record, struct dpot_error *error)
{
    (void)pthread_mutex_lock(&runner->mutex);
    const dpot_status status = store_get_job(runner->config.source.store, id, record, error);
    if (status == DPOT_OK && is_current(runner, id)) {
        overlay_current(runner, record);
    }
    (void)pthread_mutex_unlock(&runner->mutex);
    return status;
}

/* A listing that is passed on to the caller, with the current job as it is now. */
struct listing {
    struct job_record current;
    bool has_current;
    store_each_job each;
    void *ctx;
};

static int pass_on(void *ctx, const struct job_record *record)
{
    struct listing *listing = ctx;
    const bool is_it =
        listing->has_current && memcmp(listing->current.id, record->id, JOB_ID_LEN) == 0;
    listing->current.revision_state = record->revision_state; /* may have changed */
    return listing->each(listing->ctx,
                         is_it && record->state == JOB_RUNNING ? &listing->current : record);
}

dpot_status runner_list(struct runner *runner, const uint8_t *after, store_each_job each, void *ctx,
                        struct dpot_error *error)
{
    struct listing listing = {.each = each, .ctx = ctx};
    (void)pthread_mutex_lock(&runner->mutex);
    listing.has_current = runner->is_working;
    copy_current(runner, &listing.current);
    (void)pthread_mutex_unlock(&runner->mutex);
    return store_list_jobs(runner->config.source.store, after, pass_on, &listing, error);
}

/* Under the mutex: cancels a job that is not the current one. */
static dpot_status cancel_waiting(struct runner *runner, const uint8_t id[JOB_ID_LEN],
                                  struct job_record *record, struct dpot_error *error)
{
    dpot_status status = store_get_job(runner->config.source.store, id, record, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (record->state != JOB_QUEUED && record->state != JOB_RUNNING) {
        return dpot_error_set(error, DPOT_ERR_STATE, "the job is %s: there is nothing to cancel",
                              job_state_name(record->state));
    }
    record->state = JOB_CANCELLED;
    record->ended_ms = now(runner);
    status = store_update_job(runner->config.source.store, record, error);
    if (status == DPOT_OK && runner->config.checkpoint_folder) {
        job_checkpoint_remove(runner->config.checkpoint_folder, id); /* (C1) */
    }
    return status;
}

dpot_status runner_cancel(struct runner *runner, const uint8_t id[JOB_ID_LEN],
                          struct job_record *record, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    (void)pthread_mutex_lock(&runner->mutex);
    if (is_current(runner, id)) {
        runner->is_cancelled = true; /* (N2) */
        atomic_store(&runner->stop, true);
        copy_current(runner, record);
    } else {
        status = cancel_waiting(runner, id, record, error);
    }
    (void)pthread_mutex_unlock(&runner->mutex);
    return status;
}
