/* The interface of the disk model (disk.c, disk_model.c) for disk_calls.c. Every function is called
 * under disk_lock. */
#ifndef DPOT_TESTS_SUPPORT_DISK_MODEL_H
#define DPOT_TESTS_SUPPORT_DISK_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_file;

#define DISK_PATH_MAX 512

enum disk_fate {
    DISK_WORKS,
    DISK_ERRS,     /* errno is set; nothing happens, or half of a write */
    DISK_TEARS,    /* the same, but half of the bytes are written */
    DISK_SHORTENS, /* half of the bytes are written, and the call returns that count */
};

/* False until a folder is watched: then calls are passed on without the lock (another thread may
 * fork while it is held). */
bool disk_is_on(void);

void disk_lock(void);
void disk_unlock(void);

/* True if the path is in the watched folder; `out` receives the full path. */
bool disk_is_watched(const char *path, char out[DISK_PATH_MAX]);

/* Begins an operation. May not return: the machine stops, unless the operation takes effect first
 * (then disk_end stops it). `grows`: a full disk refuses it. */
enum disk_fate disk_begin(bool grows, bool is_write);
void disk_end(void);

/* Descriptors. */
void disk_opened(int fd, const char *path, bool is_folder);
void disk_closed(int fd);
struct disk_file *disk_file_of(int fd); /* NULL: not watched */
const char *disk_folder_of(int fd);     /* NULL: no watched folder */

/* Changes of the real folder. */
void disk_created(const char *path);
void disk_renamed(const char *from, const char *to);
void disk_linked(const char *from, const char *to);
void disk_removed(const char *path);
void disk_wrote(struct disk_file *file, uint64_t offset, const void *data, size_t len);
void disk_truncated(struct disk_file *file, uint64_t size);
void disk_synced(struct disk_file *file, bool works);
void disk_synced_folder(const char *path, bool works);

#endif
