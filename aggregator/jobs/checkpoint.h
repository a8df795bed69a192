/* Checkpoint files of long jobs: one per job, in a folder beside the store.
 *
 *     FOLDER/<job, 32 hex digits>-<number of reports>.state
 *
 * Invariants
 * (C1) A file exists only while its job has not ended: it is removed when the job ends, and
 *      job_checkpoint_sweep removes at start-up what a killed process left. There is at most one
 *      file per queued or running job, and a second one while it is being replaced.
 * (C2) The name holds the number of reports the job began with. The job resumes when its pool still
 *      has that number, since the reports are then the same (store.h, T3), and starts again when
 *      the pool has grown. The content has a checksum of the reports besides
 *      (generator/checkpoint.h).
 * (C3) Files are replaced atomically (files/output.h), are readable by the server only (the folder
 *      has mode 0700), and hold no report. */
#ifndef DPOT_JOBS_CHECKPOINT_H
#define DPOT_JOBS_CHECKPOINT_H

#include "base/error.h"
#include "store/store.h"

#define JOB_CHECKPOINT_PATH_SIZE 4400

/* Finds the file of a job and the number of reports in its name. DPOT_ERR_NOT_FOUND (without a
 * sentence): it has none. DPOT_ERR_IO: the folder cannot be read. */
DPOT_WARN_UNUSED dpot_status job_checkpoint_find(const char *folder, const uint8_t id[JOB_ID_LEN],
                                                 char path[JOB_CHECKPOINT_PATH_SIZE],
                                                 uint64_t *n_reports, struct dpot_error *error);

/* Builds the path for a job that has no file yet, and creates the folder. DPOT_ERR_IO,
 * DPOT_ERR_RANGE (path too long). */
DPOT_WARN_UNUSED dpot_status job_checkpoint_name(const char *folder, const uint8_t id[JOB_ID_LEN],
                                                 uint64_t n_reports,
                                                 char path[JOB_CHECKPOINT_PATH_SIZE],
                                                 struct dpot_error *error);

/* Removes every file of a job, unfinished ones too. */
void job_checkpoint_remove(const char *folder, const uint8_t id[JOB_ID_LEN]);

/* Removes the files of jobs that have ended or are not in the store, and what a killed writer left
 * (files/temporary.h). Other files stay. */
void job_checkpoint_sweep(const char *folder, struct store *store);

#endif
