/* Output files that appear whole or not at all.
 *
 *     struct output output;
 *     status = output_open(path, &output, error);
 *     ... fwrite(..., output.stream) ...
 *     status = output_commit(&output, error);          or output_abandon(&output)
 *
 * Bytes go to a temporary file beside the target; commit syncs it and renames it over the target. A
 * target that exists and is not a regular file (a pipe, /dev/null) is written to directly, and "-"
 * is stdout. */
#ifndef DPOT_FILES_OUTPUT_H
#define DPOT_FILES_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *stream;
    char *path;      /* target, links followed; NULL for stdout */
    char *temporary; /* NULL when the target is written to directly */
};

/* DPOT_ERR_IO with the path and the system's reason; *output is zeroed then. */
DPOT_WARN_UNUSED dpot_status output_open(const char *path, struct output *output,
                                         struct dpot_error *error);

/* Makes the file durable under its name and releases `output`. DPOT_ERR_IO: the old file, if any,
 * is still there; or, when only its folder could not be synced, the new one, which a power cut may take
 * back. */
DPOT_WARN_UNUSED dpot_status output_commit(struct output *output, struct dpot_error *error);

/* Removes the temporary file and releases `output`; a zeroed struct is allowed. */
void output_abandon(struct output *output);

/* Makes the names in the folder of `path` durable; false with errno. A folder that may be written
 * but not read, and a file system that knows no syncing of folders, have done what they can. */
bool output_sync_folder(const char *path);

/* The three in one for bytes at hand. */
DPOT_WARN_UNUSED dpot_status output_write(const char *path, const void *data, size_t len,
                                          struct dpot_error *error);

#endif
