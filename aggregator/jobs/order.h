/* Orders: from an admin's words to the record of a job that can be queued. */
#ifndef DPOT_JOBS_ORDER_H
#define DPOT_JOBS_ORDER_H

#include "jobs/job.h"

/* Checks kind, parameters (NULL: none), campaign and pool, and fills a queued record with a new id;
 * created_ms is the caller's. Status as runner_start (jobs/runner.h). */
DPOT_WARN_UNUSED dpot_status order_check(const struct snapshot_source *source, const char *kind,
                                         const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                                         const json_t *parameters, struct job_record *record,
                                         struct dpot_error *error);

#endif
