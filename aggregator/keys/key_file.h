/* Files with secrets: created atomically with private permissions, and read only if others
 * cannot. */
#ifndef DPOT_KEYS_KEY_FILE_H
#define DPOT_KEYS_KEY_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

#define KEY_FILE_BYTES_MAX ((size_t)1 << 20)
#define KEY_FILE_OTHERS ((mode_t)077) /* group and others */
#define KEY_FILE_WORLD ((mode_t)07)   /* others */

/* Creates `path` with mode 0600 from the text and a final newline, durably and atomically. After a
 * crash a temporary file (files/temporary.h) may be left.
 * DPOT_ERR_EXISTS: the file exists and was not changed. DPOT_ERR_IO: no file is left. */
DPOT_WARN_UNUSED dpot_status key_file_write_new(const char *path, const char *text,
                                                struct dpot_error *error);

/* Appends a line to an existing file, durably: the file is replaced as by files/output.h
 * and keeps owner and mode.
 * DPOT_ERR_IO: the file is unchanged, or has the line but may lose it in a power failure. */
DPOT_WARN_UNUSED dpot_status key_file_append(const char *path, const char *line,
                                             struct dpot_error *error);

/* Appends the content and a NUL, which is not counted in the length.
 * DPOT_ERR_IO: missing or unreadable. DPOT_ERR_DENIED: the mode has one of the `forbidden` bits.
 * DPOT_ERR_MALFORMED: larger than KEY_FILE_BYTES_MAX, or not a regular file. */
DPOT_WARN_UNUSED dpot_status key_file_read(const char *path, mode_t forbidden, struct dpot_buf *out,
                                           struct dpot_error *error);

/* DPOT_ERR_MALFORMED: exists and is not a regular file. (Opening a pipe can block.) */
DPOT_WARN_UNUSED dpot_status key_file_check_plain(const char *path, struct dpot_error *error);

/* DPOT_ERR_DENIED: others can write in the folder, and so replace files that they cannot change.
 * DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status key_file_check_folder(const char *path, struct dpot_error *error);

/* Syncs a folder, so that new names in it survive a power failure. */
DPOT_WARN_UNUSED dpot_status key_file_sync_folder(const char *path, struct dpot_error *error);

#endif
