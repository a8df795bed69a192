/* Whether the files of an open database are still the ones that it was opened with.
 *
 * SQLite holds its files by descriptor. When somebody removes, replaces or cuts one under it, it goes
 * on: commits "succeed" into a file without a name, and a checkpoint copies whatever the log now holds
 * into the database. So each commit is checked before it begins and again before it is acknowledged
 * (three looks at names, one at the head of the log and one at that of the database: microseconds), and
 * the log is read whole, with its checksums, before anything of it is copied into the database.
 *
 *                    the log's content changed, or the database was cut or has another head
 *      WHOLE ------------------------------------> DAMAGED   for good: nothing is copied from the log
 *      |   ^ -------- a name of the log is lost --> LOST      for good: the log still has everything
 *      v   |
 *      MOVED   the database has no longer its name, until it has it again
 *
 * A state other than WHOLE acknowledges nothing. An index that was cut is no state: it holds nothing that
 * the log does not have, so it is emptied and gets its length back before SQLite touches what is mapped
 * there (a page behind the end of a file kills the process), and SQLite makes it anew.
 *
 * Not thread-safe: the database's lock guards it. */
#ifndef DPOT_STORE_SQLITE_GUARD_H
#define DPOT_STORE_SQLITE_GUARD_H

#include "base/error.h"
#include "store/sqlite_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GUARD_PATH_SIZE 4352
#define GUARD_BASE_HEAD 32 /* bytes of the database that are looked at */

/* The database as it is now. It is read by who has it open: to open and close it once more would drop
 * the locks that SQLite has on it. */
struct guard_base {
    off_t size;
    uint8_t head[GUARD_BASE_HEAD]; /* zeros: it could not be read */
};

enum guard_state { GUARD_WHOLE, GUARD_MOVED, GUARD_LOST, GUARD_DAMAGED };

/* One file as it was opened. */
struct guard_file {
    char path[GUARD_PATH_SIZE];
    dev_t device;
    ino_t number;
};

struct guard {
    bool is_on; /* false: the database is in memory */
    enum guard_state state;
    struct dpot_error why; /* when the state is not GUARD_WHOLE */

    struct guard_file database, log, index; /* "", "-wal", "-shm" */
    int log_fd;                             /* of the log; SQLite locks nothing on it */
    off_t log_size;                         /* after the last commit: it never shrinks */
    uint8_t log_head[SQLITE_LOG_HEAD];      /* likewise; zeros: there was none */
    uint32_t n_frames;                      /* of the log, after the last commit */
    struct guard_base base;                 /* of the database, when it was last looked at */
    off_t index_size;                       /* it never shrinks */

    uint64_t n_commits, n_reports; /* that are in the log and maybe not yet in the database */
};

/* Looks at the files of the database `path`, which SQLite has open, log included. DPOT_ERR_IO; the
 * guard may be released all the same. A zeroed guard is off. */
DPOT_WARN_UNUSED dpot_status guard_init(struct guard *guard, const char *path,
                                        const struct guard_base *base, struct dpot_error *error);
void guard_release(struct guard *guard);

/* The cheap look. DPOT_ERR_IO: GUARD_MOVED or GUARD_LOST; DPOT_ERR_CORRUPT: GUARD_DAMAGED. */
DPOT_WARN_UNUSED dpot_status guard_check(struct guard *guard, const struct guard_base *base,
                                         struct dpot_error *error);

/* Gives an index that was cut its length back, empty; true: it was. What was read through it since then
 * may be old. */
bool guard_mend_index(struct guard *guard);

/* Reads every frame that was committed, as it would be copied, whatever became of the names. Nobody may
 * be writing. DPOT_ERR_CORRUPT: GUARD_DAMAGED; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status guard_check_log(struct guard *guard, struct dpot_error *error);

/* Removes log and index, when they are still ours; after SQLite has closed them. */
void guard_remove_log(struct guard *guard);

/* After a commit: the log has `n_frames` now. */
void guard_note_commit(struct guard *guard, uint32_t n_frames);

/* Everything in the log is in the database as well. */
void guard_note_checkpoint(struct guard *guard);

/* A write to the log failed when all of it was in the database: its head, which is written anew then, may be
 * torn. */
void guard_forget_log(struct guard *guard);

#endif
