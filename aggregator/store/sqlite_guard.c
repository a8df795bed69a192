#include "store/sqlite_guard.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the three files ---- */

static dpot_status look(struct guard_file *file, const char *path, const char *tail,
                        struct dpot_error *error)
{
    struct stat info;
    const int n = snprintf(file->path, sizeof file->path, "%s%s", path, tail);
    if (n <= 0 || (size_t)n >= sizeof file->path) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the store's path is too long: %.80s...",
                              path);
    }
    if (lstat(file->path, &info) != 0) {
        return dpot_error_set(error, DPOT_ERR_IO, "looking at %s failed: %s", file->path,
                              strerror(errno));
    }
    file->device = info.st_dev;
    file->number = info.st_ino;
    return DPOT_OK;
}

/* What became of a file's name; NULL: nothing. A link that has its place is another file: who opens the store by
 * it looks for the log beside what it points to. */
static const char *find_loss(const struct guard_file *file)
{
    struct stat info;
    if (lstat(file->path, &info) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? "was removed or renamed" : "cannot be reached";
    }
    return info.st_dev == file->device && info.st_ino == file->number
               ? NULL
               : "was replaced by another file";
}

void guard_remove_log(struct guard *guard)
{
    const struct guard_file *files[] = {&guard->log, &guard->index};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (!find_loss(files[i])) {
            (void)unlink(files[i]->path);
        }
    }
}

/* ---- the log ---- */

static off_t size_of(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 ? info.st_size : -1;
}

static bool has_salts_of(const uint8_t *salts, const struct guard *guard)
{
    return memcmp(salts, guard->log_head + 16, 8) == 0;
}

/* What the log looks like now: its size, and its head when it has one. */
static void note_log(struct guard *guard)
{
    const off_t size = size_of(guard->log_fd);
    guard->log_size = size > guard->log_size ? size : guard->log_size;
    if (!sqlite_log_read_at(guard->log_fd, guard->log_head, sizeof guard->log_head, 0) ||
        !sqlite_log_is_head(guard->log_head)) {
        memset(guard->log_head, 0, sizeof guard->log_head);
    }
}

/* ---- the index ---- */

static void note_index(struct guard *guard)
{
    struct stat info;
    if (stat(guard->index.path, &info) == 0 && info.st_size > guard->index_size) {
        guard->index_size = info.st_size;
    }
}

/* By its name: a descriptor of it that is closed would drop SQLite's locks. Emptied first, because a part
 * that is left would tell that what the lost part knew is not there. */
bool guard_mend_index(struct guard *guard)
{
    struct stat info;
    return guard->is_on && stat(guard->index.path, &info) == 0 &&
           info.st_dev == guard->index.device && info.st_ino == guard->index.number &&
           info.st_size < guard->index_size && truncate(guard->index.path, 0) == 0 &&
           truncate(guard->index.path, guard->index_size) == 0;
}

/* ---- the database (https://sqlite.org/fileformat.html, 1.3) ---- */

#define BASE_FIXED                                                                                 \
    24 /* bytes of the head that stay as they are: magic, page size, versions, fractions */
#define BASE_PAGE_SIZE 16
#define BASE_N_PAGES 28

static bool has_base_head(const struct guard_base *base)
{
    return memcmp(base->head, "SQLite format 3", 16) == 0;
}

/* A database that another program made smaller says so in its head. */
static bool is_cut(const struct guard_base *base)
{
    const off_t len = (off_t)base->head[BASE_PAGE_SIZE] << 8 | base->head[BASE_PAGE_SIZE + 1];
    return !has_base_head(base) ||
           (off_t)sqlite_log_number(base->head + BASE_N_PAGES) * (len == 1 ? 65536 : len) >
               base->size;
}

/* What became of the database's content; NULL: nothing that shows. */
static const char *find_base_damage(const struct guard *guard, const struct guard_base *base)
{
    if (base->size < guard->base.size && is_cut(base)) {
        return "was cut";
    }
    return has_base_head(&guard->base) && memcmp(base->head, guard->base.head, BASE_FIXED) != 0
               ? "was overwritten"
               : NULL;
}

/* ---- opening ---- */

dpot_status guard_init(struct guard *guard, const char *path, const struct guard_base *base,
                       struct dpot_error *error)
{
    *guard = (struct guard){.is_on = true, .log_fd = -1, .base = *base};
    dpot_status status = look(&guard->database, path, "", error);
    if (status == DPOT_OK) {
        status = look(&guard->log, path, "-wal", error);
    }
    if (status == DPOT_OK) {
        status = look(&guard->index, path, "-shm", error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    guard->log_fd = open(guard->log.path, O_RDONLY | O_CLOEXEC);
    if (guard->log_fd < 0) {
        return dpot_error_set(error, DPOT_ERR_IO, "opening %s failed: %s", guard->log.path,
                              strerror(errno));
    }
    note_log(guard);
    note_index(guard);
    return DPOT_OK;
}

void guard_release(struct guard *guard)
{
    if (guard->is_on && guard->log_fd >= 0) {
        (void)close(guard->log_fd);
    }
    *guard = (struct guard){.log_fd = -1};
}

/* ---- states ---- */

static dpot_status tell(const struct guard *guard, struct dpot_error *error)
{
    const dpot_status status = guard->state == GUARD_WHOLE     ? DPOT_OK
                               : guard->state == GUARD_DAMAGED ? DPOT_ERR_CORRUPT
                                                               : DPOT_ERR_IO;
    return status == DPOT_OK ? status : dpot_error_set(error, status, "%s", guard->why.text);
}

/* Without its folder, which devices need not know. */
static const char *name_of(const struct guard_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

static void take_damage(struct guard *guard, const char *what)
{
    guard->state = GUARD_DAMAGED;
    (void)dpot_error_set(
        &guard->why, DPOT_ERR_CORRUPT,
        "the store's log %s %s by another program: nothing more is taken, and %llu "
        "reports of %llu commits since the last checkpoint, which were "
        "acknowledged, may be lost; stop dpotd with SIGTERM (not SIGKILL), which saves what it "
        "can still read as %s.rescued-TIME, and restore that, or a backup if it has more",
        name_of(&guard->log), what, (unsigned long long)guard->n_reports,
        (unsigned long long)guard->n_commits, name_of(&guard->database));
}

static void take_base_damage(struct guard *guard, const char *what)
{
    const char *name = name_of(&guard->database);
    guard->state = GUARD_DAMAGED;
    (void)dpot_error_set(&guard->why, DPOT_ERR_CORRUPT,
                         "the store %s %s by another program: nothing more is taken; stop dpotd "
                         "with SIGTERM (not SIGKILL), which saves what it can still read as "
                         "%s.rescued-TIME, and restore that, or a backup",
                         name, what, name);
}

static void take_loss(struct guard *guard, const struct guard_file *file, const char *what)
{
    guard->state = GUARD_LOST;
    (void)dpot_error_set(&guard->why, DPOT_ERR_IO,
                         "the store's file %s %s while it was in use: nothing more is taken, and "
                         "nothing is lost; stop dpotd with SIGTERM (not SIGKILL), so that it puts "
                         "what it has into %s, and start it again",
                         name_of(file), what, name_of(&guard->database));
}

static void take_move(struct guard *guard, const char *what)
{
    const char *name = name_of(&guard->database);
    guard->state = GUARD_MOVED;
    (void)dpot_error_set(&guard->why, DPOT_ERR_IO,
                         "the store %s %s while it was in use: nothing more is taken; put the file "
                         "back under its name, or, when it was removed, stop dpotd with SIGTERM "
                         "(not SIGKILL), which saves it as %s.rescued-TIME, and restore that",
                         name, what, name);
}

/* More than once, because another process may be writing it at the moment. */
static bool has_head(const struct guard *guard)
{
    uint8_t head[SQLITE_LOG_HEAD];
    for (int attempt = 0; attempt < 3; attempt++) {
        if (sqlite_log_read_at(guard->log_fd, head, sizeof head, 0) && sqlite_log_is_head(head)) {
            return true;
        }
    }
    return false;
}

static void look_at_log(struct guard *guard)
{
    const bool had_head = guard->n_frames > 0 || sqlite_log_number(guard->log_head) != 0;
    if (size_of(guard->log_fd) < guard->log_size) {
        take_damage(guard, "was cut");
    } else if (had_head && !has_head(guard)) {
        take_damage(guard, "was overwritten");
    }
}

static void look_at_base(struct guard *guard, const struct guard_base *base)
{
    const char *damage = find_base_damage(guard, base);
    if (damage) {
        take_base_damage(guard, damage);
    } else {
        guard->base = *base;
    }
}

dpot_status guard_check(struct guard *guard, const struct guard_base *base,
                        struct dpot_error *error)
{
    if (!guard->is_on || guard->state == GUARD_DAMAGED) {
        return tell(guard, error);
    }
    look_at_log(guard);
    if (guard->state != GUARD_DAMAGED) {
        look_at_base(guard, base);
    }
    if (guard->state == GUARD_DAMAGED || guard->state == GUARD_LOST) {
        return tell(guard, error);
    }
    guard->state = GUARD_WHOLE;
    const char *loss = find_loss(&guard->database);
    const char *log_loss = find_loss(&guard->log);
    const char *index_loss = find_loss(&guard->index);
    if (loss) {
        take_move(guard, loss);
    } else if (log_loss) {
        take_loss(guard, &guard->log, log_loss);
    } else if (index_loss) {
        take_loss(guard, &guard->index, index_loss);
    }
    return tell(guard, error);
}

/* A log with other salts was begun anew by another process, which is done only when all of the former
 * one is in the database. */
dpot_status guard_check_log(struct guard *guard, struct dpot_error *error)
{
    uint8_t head[SQLITE_LOG_HEAD];
    if (guard->is_on && guard->state != GUARD_DAMAGED) {
        look_at_log(guard);
    }
    if (guard->state == GUARD_DAMAGED) {
        return tell(guard, error);
    }
    if (!guard->is_on || guard->n_frames == 0 ||
        !sqlite_log_read_at(guard->log_fd, head, sizeof head, 0) ||
        !has_salts_of(head + 16, guard)) {
        return DPOT_OK;
    }
    uint8_t *frame = dpot_alloc_array(NULL, 1, SQLITE_LOG_FRAME_MAX);
    if (!frame) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory to read the store's log");
    }
    if (sqlite_log_count(guard->log_fd, guard->log_head, guard->n_frames, frame) !=
        guard->n_frames) {
        take_damage(guard, "was overwritten");
    }
    dpot_free_array(NULL, frame, 1, SQLITE_LOG_FRAME_MAX);
    return guard->state == GUARD_DAMAGED ? tell(guard, error) : DPOT_OK;
}

/* ---- what is known ---- */

void guard_note_commit(struct guard *guard, uint32_t n_frames)
{
    if (guard->is_on) {
        note_log(guard);
        note_index(guard);
        guard->n_frames = n_frames;
    }
}

void guard_forget_log(struct guard *guard)
{
    guard->n_frames = 0;
    memset(guard->log_head, 0, sizeof guard->log_head);
}

void guard_note_checkpoint(struct guard *guard)
{
    guard->n_commits = 0;
    guard->n_reports = 0;
}
