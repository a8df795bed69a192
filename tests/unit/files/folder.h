/* A fresh folder per test, and files in it from bytes. */
#ifndef DPOT_FILES_FOLDER_H
#define DPOT_FILES_FOLDER_H

#include <stddef.h>

#define FOLDER_PATH_MAX 512

/* Makes the folder; the test ends with folder_remove. */
void folder_make(void);
void folder_remove(void);

/* Path of `name` in the folder; valid until the fourth next call. */
const char *folder_path(const char *name);

/* Writes the bytes to `name` and returns its path. */
const char *folder_write(const char *name, const void *data, size_t len);

/* Makes the pipe `name`, into which a process of its own writes the bytes once it is opened, and
 * returns its path. */
const char *folder_pipe(const char *name, const void *data, size_t len);

/* Reads at most `cap` bytes of `name` and returns how many. */
size_t folder_read(const char *name, void *data, size_t cap);

#endif
