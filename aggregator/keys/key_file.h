/* Files that hold secrets: written whole, new and private; read only when nobody else can. */
#ifndef DPOT_KEYS_KEY_FILE_H
#define DPOT_KEYS_KEY_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <sys/stat.h>

#define KEY_FILE_BYTES_MAX ((size_t)1 << 20)
#define KEY_FILE_OTHERS ((mode_t)077) /* anybody but the owner */
#define KEY_FILE_WORLD ((mode_t)07)   /* anybody but owner and group */
#define KEY_FILE_PARTIAL ".partial"   /* behind the name, while a file is written */

/* Creates `path` with mode 0600 from the text and a final newline, durably; it appears whole or not at all,
 * whenever the machine stops (what is left then is PATH.partial, which the next call replaces).
 * DPOT_ERR_EXISTS: there is such a file, and it was not touched. DPOT_ERR_IO: no file is left. */
DPOT_WARN_UNUSED dpot_status key_file_write_new(const char *path, const char *text,
                                                struct dpot_error *error);

/* Whether PATH.partial, whose whole name this is, was left by a command that was cut off: the one that makes such a
 * file holds a lock on it (fcntl) until it has its name. */
bool key_file_is_unfinished(const char *path);

/* Adds a line at the end of a file that is there, on a line of its own, durably: the file is replaced whole
 * and keeps its mode. DPOT_ERR_IO: it is as it was, or has the line but may lose it in a power cut. */
DPOT_WARN_UNUSED dpot_status key_file_append(const char *path, const char *line,
                                             struct dpot_error *error);

/* Appends the content and a NUL that is not counted. DPOT_ERR_IO: missing or unreadable.
 * DPOT_ERR_DENIED: its mode has one of the `forbidden` bits. DPOT_ERR_MALFORMED: larger than
 * KEY_FILE_BYTES_MAX, or no plain file. */
DPOT_WARN_UNUSED dpot_status key_file_read(const char *path, mode_t forbidden, struct dpot_buf *out,
                                           struct dpot_error *error);

/* DPOT_ERR_MALFORMED: there is something, and it is no plain file: who opens a pipe may wait for ever. */
DPOT_WARN_UNUSED dpot_status key_file_check_plain(const char *path, struct dpot_error *error);

/* DPOT_ERR_DENIED: others can write in the folder, and so put other files in the place of those that
 * they cannot change. DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status key_file_check_folder(const char *path, struct dpot_error *error);

/* Syncs a folder, so that names made in it survive a power cut. */
DPOT_WARN_UNUSED dpot_status key_file_sync_folder(const char *path, struct dpot_error *error);

#endif
