/* Job kinds: what the analyst's server can work out. One kind, one file; kinds.c lists them.
 *
 * A kind is glue: it turns a snapshot into arrays, calls solve/, and puts the result into an
 * artifact. It knows no request, no thread and no clock. */
#ifndef DPOT_JOBS_JOB_H
#define DPOT_JOBS_JOB_H

#include "model/artifact.h"
#include "pool/snapshot.h"
#include "solve/run/control.h"
#include "json/json.h"

/* What the operator allows one job; a member that is 0 has its default. */
struct job_limits {
    size_t n_threads;    /* 1: requests come first */
    uint64_t memory_max; /* bytes, JOB_MEMORY_DEFAULT; looked at by kinds that could take more */
};
#define JOB_MEMORY_DEFAULT ((uint64_t)2 << 30)

/* Where a long job may keep its state, to go on from when the server starts again (keep.h). */
struct job_keep {
    const char *path;          /* a file that is the job's own; may not be there yet */
    bool (*is_due)(void *ctx); /* has it been a while since it was written? */
    void (*note)(void *ctx);   /* it has been written, with more done than before */
    void *ctx;
};

struct job_input {
    const struct snapshot *snapshot;
    const json_t *parameters; /* as `complete` made them */
    const struct solve_control *control;
    struct job_limits limits;
    const struct job_keep *keep; /* NULL: nothing can be kept */
};

struct job_kind {
    const char *name;
    bool needs_pool; /* reads reports: not before the campaign's min_pool is reached */

    bool keeps_state; /* writes to input->keep when that says so and when it is stopped, and goes on
                       * from what is there, to the bytes of an uninterrupted run */

    /* Checks the parameters a caller gave (an object) for this campaign and adds every default: what is
     * stored with the job and in its artifact. Sentences name key, value and remedy. *complete is a
     * new reference, NULL on failure. */
    dpot_status (*complete)(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **complete, struct dpot_error *error);

    /* Can this campaign, with the pool it has, have such a job? Looks at snapshot, parameters and
     * limits only. Called before it is queued and before it runs. Optional (NULL: any can). */
    dpot_status (*check)(const struct job_input *input, struct dpot_error *error);

    /* Fills pool, values, counts, numbers and model of a zeroed artifact, which the caller releases in
     * every case. Looks at the control now and then; when that says stop it returns soon, and what
     * is in the artifact does not matter. */
    dpot_status (*run)(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error);
};

/* The rows of the table; use job_kind_find. */
extern const struct job_kind job_base_measure;
extern const struct job_kind job_estimate;
extern const struct job_kind job_generator;
extern const struct job_kind job_barycenter;

/* DPOT_ERR_RANGE with the names there are. */
DPOT_WARN_UNUSED dpot_status job_kind_find(const char *name, const struct job_kind **kind,
                                           struct dpot_error *error);

#endif
