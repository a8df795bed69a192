/* What long jobs keep between two runs of dpotd: one file a job, in a folder beside the store.
 *
 *     FOLDER/<job, 32 hex digits>-<reports>.state
 *
 * Invariants
 * (K1) A file is there only while its job has not ended: it is removed with the end, and keep_sweep removes
 *      at the start what a dead process left. A disk holds at most one file of each job that waits or runs,
 *      and while one is written the new beside the old.
 * (K2) The name tells how many reports the job began with: it goes on when its pool has as many, which are
 *      the same then (store.h, T3), and begins again when it has grown; the state itself tells whether they are.
 * (K3) Files appear whole or not at all (files/output.h), are the server's only (mode 0700 of the folder),
 *      and hold no report. */
#ifndef DPOT_JOBS_KEEP_H
#define DPOT_JOBS_KEEP_H

#include "base/error.h"
#include "store/store.h"

#define KEEP_PATH_SIZE 4400

/* The file that a job has, with the number of reports in its name. DPOT_ERR_NOT_FOUND without a sentence:
 * it has none; DPOT_ERR_IO: the folder cannot be read. */
DPOT_WARN_UNUSED dpot_status keep_find(const char *folder, const uint8_t id[JOB_ID_LEN],
                                       char path[KEEP_PATH_SIZE], uint64_t *n_reports,
                                       struct dpot_error *error);

/* The name for a job that has none; makes the folder. DPOT_ERR_IO, DPOT_ERR_RANGE (too long). */
DPOT_WARN_UNUSED dpot_status keep_name(const char *folder, const uint8_t id[JOB_ID_LEN],
                                       uint64_t n_reports, char path[KEEP_PATH_SIZE],
                                       struct dpot_error *error);

/* Removes every file of a job, unfinished ones too. */
void keep_remove(const char *folder, const uint8_t id[JOB_ID_LEN]);

/* Removes the files of jobs that have ended or are not in the store. Files with other names stay. */
void keep_sweep(const char *folder, struct store *store);

#endif
