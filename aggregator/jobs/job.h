/* Job kinds: the computations that dpotd runs for analysts. One kind, one file; kinds.c lists them.
 *
 * A kind is glue: it turns a snapshot into arrays, calls solve/, and puts the result into an
 * artifact. It knows no request, no thread and no clock. */
#ifndef DPOT_JOBS_JOB_H
#define DPOT_JOBS_JOB_H

#include "model/artifact.h"
#include "pool/snapshot.h"
#include "solve/run/control.h"
#include "json/json.h"

/* Limits of one job, from the configuration; 0 is the default. */
struct job_limits {
    size_t n_threads;    /* 1: requests come first */
    uint64_t memory_max; /* bytes, JOB_MEMORY_DEFAULT; for kinds that could take more */
};
#define JOB_MEMORY_DEFAULT ((uint64_t)2 << 30)

/* Where a long job saves its state, to resume from after a restart (checkpoint.h). */
struct job_checkpoint {
    const char *path;              /* the job's own file; may not exist yet */
    bool (*is_due)(void *ctx);     /* the interval has passed since the last write */
    void (*on_written)(void *ctx); /* to be called after a write that saved progress */
    void *ctx;
};

struct job_input {
    const struct snapshot *snapshot;
    const json_t *parameters; /* as `complete` made them */
    const struct solve_control *control;
    struct job_limits limits;
    const struct job_checkpoint *checkpoint; /* NULL: there is nowhere to save */
};

struct job_kind {
    const char *name;
    bool needs_pool; /* reads reports: not before the campaign's min_pool is reached */

    bool has_checkpoint; /* writes input->checkpoint when due and when stopped, and resumes from it,
                          * with the same result as an uninterrupted run */

    /* Validates the given parameters (an object) for this campaign and adds every default: the
     * result is stored with the job and in its artifact. Refusals name key, value and remedy.
     * *complete is a new reference, NULL on failure. */
    dpot_status (*complete)(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **complete, struct dpot_error *error);

    /* Checks that the job can run on this campaign and pool, from snapshot, parameters and limits
     * alone. Called before it is queued and before it runs. Optional (NULL: every campaign will
     * do). */
    dpot_status (*check)(const struct job_input *input, struct dpot_error *error);

    /* Fills pool, values, counts, numbers and model of a zeroed artifact, which the caller releases
     * in every case. Polls the control; once that says stop, it returns soon, and the artifact is
     * not used. */
    dpot_status (*run)(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error);
};

/* The rows of the table in kinds.c; callers use job_kind_find. */
extern const struct job_kind job_base_measure;
extern const struct job_kind job_estimate;
extern const struct job_kind job_generator;
extern const struct job_kind job_barycenter;

/* DPOT_ERR_RANGE: no such kind; the sentence lists the names. */
DPOT_WARN_UNUSED dpot_status job_kind_find(const char *name, const struct job_kind **kind,
                                           struct dpot_error *error);

#endif
