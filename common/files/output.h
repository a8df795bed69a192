/* Writes files that appear whole or not at all.
 *
 *     struct output output;
 *     status = output_open(path, &output, error);
 *     ... fwrite(..., output.stream) ...
 *     status = output_commit(&output, error);          or output_abandon(&output)
 *
 * Bytes go to a temporary file beside the target (temporary.h); commit syncs it and renames it over
 * the target. The new file has owner, group and mode of the one it replaces, as far as this user
 * may set them, and is at no moment open to more users; links are followed. A target that exists
 * and is not a regular file (a pipe, /dev/null) is written directly; "-" is stdout.
 *
 * A target that cannot be renamed over (a file that is mounted alone, a folder that admits no new
 * files) is overwritten in place at commit, from a temporary file in $TMPDIR if need be: a crash in
 * the middle leaves it incomplete, the temporary file beside it or in $TMPDIR whole. */
#ifndef DPOT_FILES_OUTPUT_H
#define DPOT_FILES_OUTPUT_H

#include "base/error.h"
#include "files/temporary.h"

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *stream;
    char *path;                 /* target, links followed; NULL for stdout */
    struct temporary temporary; /* empty: the target is written directly */
};

/* The file that a writer of `path` creates or replaces: links are followed, also one to a file that
 * does not exist yet. To be freed; NULL: out of memory. */
char *output_resolve(const char *path);

/* Refuses before the work what output_open would refuse after it: a folder, a file without write
 * permission. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status output_check(const char *path, struct dpot_error *error);

/* DPOT_ERR_IO (also: the target has no write permission, not even root is let through),
 * DPOT_ERR_MEMORY: *output is zeroed. */
DPOT_WARN_UNUSED dpot_status output_open(const char *path, struct output *output,
                                         struct dpot_error *error);

/* Makes the file durable under its name and releases `output`. DPOT_ERR_IO: the old file, if any,
 * is unchanged; or, if only the folder could not be synced, the new file is there but not
 * durable; or a target that had to be overwritten in place is incomplete, and the sentence names
 * the whole file. */
DPOT_WARN_UNUSED dpot_status output_commit(struct output *output, struct dpot_error *error);

/* Removes the temporary file and releases `output`; a zeroed struct is allowed. */
void output_abandon(struct output *output);

/* Syncs the folder of `path`; false with errno. True also where that is impossible: a folder that
 * may be written but not read, a file system that cannot sync folders. */
bool output_sync_folder(const char *path);

/* Opens, writes (data, len) and commits. */
DPOT_WARN_UNUSED dpot_status output_write(const char *path, const void *data, size_t len,
                                          struct dpot_error *error);

#endif
