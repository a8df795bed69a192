/* Small files in the device's folder, as a whole: read, replace, exists. */
#ifndef DPOT_CLIENT_STORAGE_FILES_H
#define DPOT_CLIENT_STORAGE_FILES_H

#include "base/buf.h"
#include "dpot/hooks.h"

#include <stdbool.h>

#define DPOT_FILE_NAME_MAX 63 /* bytes, without the NUL */

/* Appends the whole file to `out`. DPOT_ERR_NOT_FOUND, DPOT_ERR_TOO_LARGE (longer than `out` may
 * grow), DPOT_ERR_IO, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_file_read(const struct dpot_filesystem *filesystem,
                                            const char *name, struct dpot_buf *out);

/* Replaces `name` by (data, len), whole or not at all, durably: writes `name`.new, syncs it,
 * renames it, syncs the folder. DPOT_ERR_IO: the old file is still there, or (when only the last
 * sync failed) the new one, which then may not be durable. */
DPOT_WARN_UNUSED dpot_status dpot_file_replace(const struct dpot_filesystem *filesystem,
                                               const char *name, const void *data, size_t len);

/* The hook's explanation of a DPOT_ERR_IO if it has one, else the text of the status. Borrowed
 * until the next call of the hook. */
const char *dpot_file_why(const struct dpot_filesystem *filesystem, dpot_status status);

/* Whether the file exists. DPOT_ERR_IO: unknown. */
DPOT_WARN_UNUSED dpot_status dpot_file_exists(const struct dpot_filesystem *filesystem,
                                              const char *name, bool *exists);

#endif
