/* Job kinds: what the analyst's server can work out. One kind, one file; kinds.c lists them.
 *
 * A kind is glue: it turns a snapshot into arrays, calls solve/, and puts the result into an
 * artifact. It knows no request, no thread and no clock. */
#ifndef DPOT_JOBS_JOB_H
#define DPOT_JOBS_JOB_H

#include "files/json.h"
#include "model/artifact.h"
#include "pool/snapshot.h"
#include "solve/control.h"

struct job_input {
    const struct snapshot *snapshot;
    const json_t *parameters; /* as `complete` made them */
    const struct solve_control *control;
};

struct job_kind {
    const char *name;
    bool needs_pool; /* reads reports: not before the campaign's min_pool is reached */

    /* Checks the parameters a caller gave (an object) and adds every default: what is stored with
     * the job and in its artifact. Sentences name key, value and remedy. *complete is a new
     * reference, NULL on failure. */
    dpot_status (*complete)(const json_t *given, json_t **complete, struct dpot_error *error);

    /* Can this campaign have such a job? Called before it is queued. Optional (NULL: any can). */
    dpot_status (*check)(const struct dpot_campaign *campaign, struct dpot_error *error);

    /* Fills pool, values, counts and numbers of a zeroed artifact, which the caller releases in
     * every case. Looks at the control now and then; when that says stop it returns soon, and what
     * is in the artifact does not matter. */
    dpot_status (*run)(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error);
};

/* The rows of the table; use job_kind_find. */
extern const struct job_kind job_base_measure;
extern const struct job_kind job_estimate;

/* DPOT_ERR_RANGE with the names there are. */
DPOT_WARN_UNUSED dpot_status job_kind_find(const char *name, const struct job_kind **kind,
                                           struct dpot_error *error);

#endif
