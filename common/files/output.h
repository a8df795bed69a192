/* Writes files that appear whole or not at all.
 *
 *     struct output output;
 *     status = output_open(path, &output, error);
 *     ... fwrite(..., output.stream) ...
 *     status = output_commit(&output, error);          or output_abandon(&output)
 *
 * Bytes go to a temporary file beside the target; commit syncs it and renames it over the target. A
 * target that exists and is not a regular file (a pipe, /dev/null) is written directly; "-" is
 * stdout. */
#ifndef DPOT_FILES_OUTPUT_H
#define DPOT_FILES_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *stream;
    char *path;      /* target, links followed; NULL for stdout */
    char *temporary; /* NULL: the target is written directly */
};

/* DPOT_ERR_IO, DPOT_ERR_MEMORY: *output is zeroed. */
DPOT_WARN_UNUSED dpot_status output_open(const char *path, struct output *output,
                                         struct dpot_error *error);

/* Makes the file durable under its name and releases `output`. DPOT_ERR_IO: the old file, if any,
 * is unchanged; or, if only the folder could not be synced, the new file is there but not
 * durable. */
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
