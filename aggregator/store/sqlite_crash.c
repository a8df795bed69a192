/* What a crash left: whether the log still has everything that was committed to it.
 *
 * A process that is killed leaves log and index beside the database, and SQLite takes from the log what it
 * finds whole, up to the first frame that is not: without a word when it was cut, altered or removed
 * meanwhile. The index, which is written after the log was synced, remembers how many frames there were
 * (after a power cut it may remember fewer, never more). */
#include "base/alloc.h"
#include "store/sqlite_log.h"
#include "store/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ATTEMPTS 3 /* somebody may be writing */

struct remains {
    char log_path[STORE_PATH_SIZE], index_path[STORE_PATH_SIZE];
    bool has_index;
    uint8_t index_head[SQLITE_LOG_INDEX_HEAD]; /* when it has one */
    struct sqlite_log_index index;             /* likewise */
};

static void look_at_index(struct remains *r)
{
    const int fd = open(r->index_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    r->has_index = fd >= 0 && sqlite_log_read_at(fd, r->index_head, sizeof r->index_head, 0) &&
                   sqlite_log_read_index(r->index_head, &r->index);
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* How many of the frames that the index knows are in the log. DPOT_ERR_MEMORY. */
static dpot_status count_frames(const struct remains *r, int fd, uint32_t *n,
                                struct dpot_error *error)
{
    uint8_t head[SQLITE_LOG_HEAD];
    *n = 0;
    if (!sqlite_log_read_at(fd, head, sizeof head, 0) ||
        memcmp(head + SQLITE_LOG_SALTS, r->index.salts, sizeof r->index.salts) != 0) {
        return DPOT_OK;
    }
    uint8_t *frame = dpot_alloc_array(NULL, 1, SQLITE_LOG_FRAME_MAX);
    if (!frame) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory to read the store's log");
    }
    *n = sqlite_log_count(fd, head, r->index.n_frames, frame);
    dpot_free_array(NULL, frame, 1, SQLITE_LOG_FRAME_MAX);
    return DPOT_OK;
}

static dpot_status refuse(const struct remains *r, const char *path, const char *what,
                          struct dpot_error *error)
{
    return dpot_error_set(
        error, DPOT_ERR_STATE,
        "store %s was not closed the last time (a crash), and its log %s %s since then: reports "
        "that were acknowledged may be in it alone; put it back as it was, or a backup with dpotd "
        "restore, or, to go on with what is left, remove %s-lock (reports that it lacks are then "
        "counted again when they are sent again)",
        path, r->log_path, what, path);
}

/* Without an index it is not known whether anything was in a log that is missing. */
static dpot_status check_log(const struct remains *r, const char *path, struct dpot_error *error)
{
    char what[96];
    uint32_t n = 0;
    if (r->has_index && r->index.n_frames <= r->index.n_copied) {
        return DPOT_OK;
    }
    const int fd = open(r->log_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT ? refuse(r, path, "was removed", error) : DPOT_OK;
    }
    const dpot_status status = r->has_index ? count_frames(r, fd, &n, error) : DPOT_OK;
    (void)close(fd);
    if (status != DPOT_OK || !r->has_index || n >= r->index.n_frames) {
        return status;
    }
    (void)snprintf(what, sizeof what, "was cut, altered or replaced (%u of %u pages are there)", n,
                   r->index.n_frames);
    return refuse(r, path, what, error);
}

dpot_status sqlite_crash_check(const char *path, struct dpot_error *error)
{
    struct remains r, before;
    const int n = snprintf(r.log_path, sizeof r.log_path, "%s-wal", path);
    const int m = snprintf(r.index_path, sizeof r.index_path, "%s-shm", path);
    if (n <= 0 || (size_t)n >= sizeof r.log_path || m <= 0 || (size_t)m >= sizeof r.index_path) {
        return DPOT_OK; /* whoever opens it says that */
    }
    dpot_status status = DPOT_OK;
    look_at_index(&r);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        before = r;
        status = check_log(&r, path, error);
        if (status != DPOT_ERR_STATE) {
            return status;
        }
        look_at_index(&r);
        if (r.has_index == before.has_index &&
            (!r.has_index || memcmp(r.index_head, before.index_head, sizeof r.index_head) == 0)) {
            return status;
        }
    }
    return DPOT_OK; /* it is being written */
}
