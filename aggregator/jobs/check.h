/* Checking: are the rows of jobs that are done still those whose results are stored? For `dpotd doctor`.
 *
 * An artifact says of which kind of job it is, about which revision and with which parameters, under a digest
 * that proves it; the row of its job says the same. */
#ifndef DPOT_JOBS_CHECK_H
#define DPOT_JOBS_CHECK_H

#include "store/store.h"

/* Told one sentence with its remedy for each job that does not say what its artifact does (DPOT_ERR_CORRUPT),
 * and, with DPOT_OK, for each without an artifact whose kind this program does not know: that may have been
 * altered, or be of another version, whose store is whole. */
typedef void (*jobs_each_fault)(void *ctx, dpot_status status, const char *sentence);

/* Reads every artifact that a job names, one at a time. One that is damaged or missing is none of this:
 * store_check_artifacts tells it. DPOT_ERR_CORRUPT (a row that cannot be read), DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status jobs_check(struct store *store, jobs_each_fault each, void *ctx,
                                        struct dpot_error *error);

#endif
