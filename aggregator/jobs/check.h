/* Compares the rows of finished jobs with their artifacts, for `dpotd doctor`.
 *
 * An artifact holds the kind of its job, the revision and the parameters, all covered by its
 * digest. The row of the job must say the same. */
#ifndef DPOT_JOBS_CHECK_H
#define DPOT_JOBS_CHECK_H

#include "store/store.h"

/* Receives one sentence with its remedy for each job that differs from its artifact
 * (DPOT_ERR_CORRUPT), and, with DPOT_OK, for each job without an artifact whose kind is unknown: it
 * may have been altered, or be of another version, which is no fault. */
typedef void (*jobs_each_fault)(void *ctx, dpot_status status, const char *sentence);

/* Reads the artifact of every finished job, one at a time. Artifacts that are damaged or missing
 * are not reported here but by store_check_artifacts. DPOT_ERR_CORRUPT (a row that cannot be read),
 * DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status jobs_check(struct store *store, jobs_each_fault each, void *ctx,
                                        struct dpot_error *error);

#endif
