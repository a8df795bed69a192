/* Job requests: from what an admin sends to the record of a job that can be queued, and back from a
 * stored record to what a kind runs with. */
#ifndef DPOT_JOBS_JOB_REQUEST_H
#define DPOT_JOBS_JOB_REQUEST_H

#include "jobs/job.h"

/* Validates a request and fills a queued record with a new id; the caller sets created_ms.
 * revision: its number; 0: the one that snapshot_find selects.
 * parameters: NULL: none.
 * Status as runner_start (jobs/runner.h). */
DPOT_WARN_UNUSED dpot_status job_request_check(const struct snapshot_source *source,
                                               const char *kind,
                                               const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                               uint32_t revision, const json_t *parameters,
                                               const struct job_limits *limits,
                                               struct job_record *record, struct dpot_error *error);

/* Checks that the job can run on the campaign and its pool. Called before a job is queued and again
 * before it runs, since the store may have been altered or be older. Uses snapshot, parameters and
 * limits of the input. */
DPOT_WARN_UNUSED dpot_status job_request_check_campaign(const struct job_kind *kind,
                                                        const struct job_input *input,
                                                        struct dpot_error *error);

/* Finds the kind of a stored job. DPOT_ERR_RANGE: this version has none of that name. */
DPOT_WARN_UNUSED dpot_status job_request_read_kind(const char *name, const struct job_kind **kind,
                                                   struct dpot_error *error);

/* Reads the parameters of a stored job, a new reference. DPOT_ERR_MALFORMED, DPOT_ERR_RANGE or
 * DPOT_ERR_CORRUPT when they are not exactly what job_request_check would store now, naming the
 * first that is unknown, wrong or missing; NULL then. A missing one gets no default: the admin of
 * an older version did not choose it. */
DPOT_WARN_UNUSED dpot_status job_request_read_parameters(const struct job_kind *kind,
                                                         const struct dpot_campaign *campaign,
                                                         const char *text, json_t **parameters,
                                                         struct dpot_error *error);

#endif
