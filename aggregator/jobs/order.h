/* Orders: from an admin's words to the record of a job that can be queued. */
#ifndef DPOT_JOBS_ORDER_H
#define DPOT_JOBS_ORDER_H

#include "jobs/job.h"

/* Checks kind, parameters (NULL: none), campaign, number of the revision (0: as snapshot_find) and pool, and fills a queued record with a new id;
 * created_ms is the caller's. Status as runner_start (jobs/runner.h). */
DPOT_WARN_UNUSED dpot_status order_check(const struct snapshot_source *source, const char *kind,
                                         const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                         uint32_t revision, const json_t *parameters,
                                         const struct job_limits *limits, struct job_record *record,
                                         struct dpot_error *error);

/* Can this job be run on the campaign as it is? Asked before a job is queued and again before it
 * runs: what lies in the store may be altered or older. Of the input, snapshot, parameters and limits. */
DPOT_WARN_UNUSED dpot_status order_check_campaign(const struct job_kind *kind,
                                                  const struct job_input *input,
                                                  struct dpot_error *error);

/* The kind of a stored job. DPOT_ERR_RANGE: this version has none of that name. */
DPOT_WARN_UNUSED dpot_status order_read_kind(const char *name, const struct job_kind **kind,
                                             struct dpot_error *error);

/* The parameters of a stored job, a new reference. DPOT_ERR_MALFORMED, DPOT_ERR_RANGE or
 * DPOT_ERR_CORRUPT when they are not what order_check would write now, naming the first that is unknown,
 * wrong or missing; NULL then. Nothing is guessed: a parameter that an older version did not know has no
 * value that its admin chose. */
DPOT_WARN_UNUSED dpot_status order_read_parameters(const struct job_kind *kind,
                                                   const struct dpot_campaign *campaign,
                                                   const char *text, json_t **parameters,
                                                   struct dpot_error *error);

#endif
