/* Files under a temporary name, until they are complete.
 *
 * The name is FOLDER/.dpot-<16 hex digits>.tmp: short whatever the name of the target, unique by
 * random digits, and created exclusively, so that no two writers share one, also in containers
 * whose process ids are equal. A writer holds a lock (flock) on its file. A file of this name
 * without the lock was left by a killed program: nothing reads it and it may be removed. */
#ifndef DPOT_FILES_TEMPORARY_H
#define DPOT_FILES_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TEMPORARY_NAME_SIZE 27 /* ".dpot-0123456789abcdef.tmp" and the NUL */

struct temporary {
    char *path; /* NULL: none */
    int fd;     /* open for reading and writing */
};

/* Creates a file in the folder of `target`, with the bits of `mode` that the umask allows.
 * False with errno: *t is empty. */
bool temporary_open(const char *target, mode_t mode, struct temporary *t);

/* Closes the file, which has got its final name or is kept. False with errno: closing failed. */
bool temporary_close(struct temporary *t);

/* Removes and closes the file; an empty `t` is allowed. Preserves errno. */
void temporary_remove(struct temporary *t);

/* Whether `name`, without a folder, is one that temporary_open makes. */
bool temporary_is_name(const char *name);

/* Whether no writer holds the file `path`. False if that cannot be found out. */
bool temporary_is_left(const char *path);

/* Removes what killed programs left in `folder`, and for each such NAME also NAME-journal, NAME-wal
 * and NAME-shm. */
void temporary_sweep(const char *folder);

#endif
