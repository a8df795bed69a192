/* Whether the disk of a store has room.
 *
 * Not asked of SQLite: its log keeps the room that it once had, so that on a full disk some writes still
 * succeed; and a log that a trial makes longer stays so. A file beside it, without a name from the start,
 * leaves nothing, however the program ends. */
#include "store/sqlite_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_PATH_SIZE 4352
#define ROOM_BYTES ((size_t)4 << 20)
#define ROOM_BLOCK ((size_t)64 << 10)

/* Random bytes, because some file systems store zeros without space. False with errno. */
static bool write_room(int fd)
{
    uint8_t block[ROOM_BLOCK];
    for (size_t done = 0; done < ROOM_BYTES;) {
        dpot_random_bytes(block, sizeof block);
        const ssize_t n = write(fd, block, sizeof block);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0; /* a network's disk may tell only now */
}

dpot_status sqlite_room_try(const char *path, struct dpot_error *error)
{
    char name[ROOM_PATH_SIZE];
    const int len = snprintf(name, sizeof name, "%s-room-XXXXXX", path);
    const int fd = len > 0 && len < ROOM_PATH_SIZE ? mkstemp(name) : -1;
    bool has_room = fd >= 0;
    if (has_room) {
        (void)unlink(name);
        has_room = write_room(fd);
    }
    const int reason = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return has_room ? DPOT_OK
                    : dpot_error_set(error, DPOT_ERR_IO,
                                     "the store's folder does not take %zu MiB more (%s): %s",
                                     ROOM_BYTES >> 20, path,
                                     reason == EACCES || reason == EROFS
                                         ? "it is not writable: make it so"
                                         : "free space on the disk or raise the limit");
}
