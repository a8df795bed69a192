#include "support/disk.h"

#include "support/disk_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_STOPPED 99
#define EXIT_LEAKED 98

#define CHANGES_MAX 1024

/* The sanitizer's, if there is one. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* By how many bytes the heap changed in the scenes that were searched for leaks. */
static size_t changes[CHANGES_MAX], n_changes;

/* Recursive: what the model itself writes passes through disk_calls.c too. */
static pthread_mutex_t mutex;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_mutex(void)
{
    pthread_mutexattr_t attributes;
    disk_must(pthread_mutexattr_init(&attributes) == 0 &&
              pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0 &&
              pthread_mutex_init(&mutex, &attributes) == 0);
}

bool disk_is_on(void)
{
    return disk_state.folder[0] != '\0';
}

void disk_lock(void)
{
    (void)pthread_once(&once, make_mutex);
    (void)pthread_mutex_lock(&mutex);
}

void disk_unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

static void join(char out[DISK_PATH_MAX], const char *folder, const char *name)
{
    const int len = snprintf(out, DISK_PATH_MAX, "%s/%s", folder, name);
    disk_must(len > 0 && len < DISK_PATH_MAX);
}

/* ---- folders of the real disk ---- */

typedef void each_entry(const char *path, const char *name, bool is_folder, void *ctx);

static void walk(const char *folder, each_entry *each, void *ctx)
{
    DIR *dir = opendir(folder);
    disk_must(dir != NULL);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char path[DISK_PATH_MAX];
        struct stat about;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            join(path, folder, e->d_name);
            disk_must(lstat(path, &about) == 0);
            each(path, e->d_name, S_ISDIR(about.st_mode), ctx);
        }
    }
    (void)closedir(dir);
}

static void remove_entry(const char *path, const char *name, bool is_folder, void *ctx)
{
    (void)name;
    if (is_folder) {
        walk(path, remove_entry, ctx);
    }
    disk_must((is_folder ? rmdir(path) : unlink(path)) == 0);
}

void disk_clear(const char *folder)
{
    if (mkdir(folder, 0700) != 0) {
        disk_must(errno == EEXIST);
        walk(folder, remove_entry, NULL);
    }
}

static uint8_t *read_whole(const char *path, size_t *len)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    disk_must(fd >= 0 && fstat(fd, &about) == 0);
    uint8_t *data = disk_realloc(NULL, (size_t)about.st_size);
    *len = (size_t)about.st_size;
    disk_must(read(fd, data, *len) == (ssize_t)*len);
    (void)close(fd);
    return data;
}

static void write_whole(const char *path, const uint8_t *data, size_t len)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    disk_must(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    (void)close(fd);
}

static void copy_entry(const char *path, const char *name, bool is_folder, void *ctx)
{
    char to[DISK_PATH_MAX];
    join(to, ctx, name);
    if (is_folder) {
        disk_must(mkdir(to, 0700) == 0);
        walk(path, copy_entry, to);
        return;
    }
    size_t len = 0;
    uint8_t *data = read_whole(path, &len);
    write_whole(to, data, len);
    free(data);
}

void disk_copy(const char *from, const char *to)
{
    disk_clear(to);
    walk(from, copy_entry, (void *)to);
}

static void adopt_entry(const char *path, const char *name, bool is_folder, void *ctx)
{
    (void)name;
    if (is_folder) {
        walk(path, adopt_entry, ctx);
        return;
    }
    struct disk_file *file = disk_new_file();
    file->durable = read_whole(path, &file->len);
    disk_put_name(&disk_state.seen, path, file);
    disk_put_name(&disk_state.durable, path, file);
}

static void make_path(char out[DISK_PATH_MAX], const char *path, const char *aside)
{
    const int len = snprintf(out, DISK_PATH_MAX, "%s%s", aside, path + strlen(disk_state.folder));
    disk_must(len > 0 && len < DISK_PATH_MAX);
}

static void make_folder(const char *path, const char *name, bool is_folder, void *ctx)
{
    (void)name;
    if (is_folder) {
        char to[DISK_PATH_MAX];
        make_path(to, path, ctx);
        disk_must(mkdir(to, 0700) == 0);
        walk(path, make_folder, ctx);
    }
}

/* Writes to FOLDER-after what a power cut would leave of it. */
static void leave(enum test_loss loss)
{
    char after[DISK_PATH_MAX];
    const char *folder = disk_state.folder;
    disk_must(snprintf(after, sizeof after, "%s-after", folder) < DISK_PATH_MAX);
    for (struct disk_file *file = disk_state.files; file; file = file->next) {
        disk_settle(file, loss);
    }
    disk_settle_names(NULL, loss);
    disk_clear(after);
    walk(folder, make_folder, after);
    for (size_t i = 0; i < disk_state.durable.n; i++) {
        char to[DISK_PATH_MAX];
        make_path(to, disk_state.durable.entries[i].path, after);
        write_whole(to, disk_state.durable.entries[i].file->durable,
                    disk_state.durable.entries[i].file->len);
    }
}

static void take_over(const char *folder, enum test_loss loss)
{
    char after[DISK_PATH_MAX];
    disk_must(snprintf(after, sizeof after, "%s-after", folder) < DISK_PATH_MAX);
    if (loss != TEST_KILL) {
        disk_clear(folder);
        disk_must(rmdir(folder) == 0 && rename(after, folder) == 0);
    }
}

/* ---- faults ---- */

/* The result that the process writes at its end. */
struct ending {
    size_t n_operations;
    size_t change; /* of the heap, in bytes, if it was searched for leaks */
    unsigned char is_hit, is_new_change;
};

static void report_ending(struct ending ending)
{
    ending.n_operations = disk_state.n_operations;
    ending.is_hit = disk_state.is_hit;
    disk_must(write(disk_state.out, &ending, sizeof ending) == (ssize_t)sizeof ending);
}

static void stop(void)
{
    char folder[DISK_PATH_MAX];
    memcpy(folder, disk_state.folder, sizeof folder);
    disk_state.n_operations = 0;
    if (disk_state.plan.loss != TEST_KILL) {
        leave(
            disk_state.plan.loss); /* writes outside of the folder, which are passed on unchanged */
    }
    report_ending((struct ending){0});
    _exit(EXIT_STOPPED);
}

static enum disk_fate fail(int reason, bool is_write)
{
    errno = reason;
    return is_write && disk_draw() % 2 ? DISK_TEARS : DISK_ERRS;
}

static enum disk_fate cut_short(bool is_write)
{
    disk_state.was_interrupted = !disk_state.was_interrupted;
    if (disk_state.was_interrupted) {
        errno = EINTR;
        return DISK_ERRS;
    }
    return is_write ? DISK_SHORTENS : DISK_WORKS;
}

enum disk_fate disk_begin(bool grows, bool is_write)
{
    const bool is_at = ++disk_state.n_operations == disk_state.plan.at;
    disk_state.is_hit = disk_state.is_hit || is_at;
    switch (disk_state.plan.fault) {
    case DISK_FAILS:
        return is_at ? fail(EIO, is_write) : DISK_WORKS;
    case DISK_FULL:
        return disk_state.is_hit && grows ? fail(ENOSPC, is_write) : DISK_WORKS;
    case DISK_CUT:
        disk_state.stops = is_at && disk_draw() % 2;
        if (is_at && !disk_state.stops) {
            stop();
        }
        return DISK_WORKS;
    case DISK_CROOKED:
        return cut_short(is_write);
    default:
        return DISK_WORKS;
    }
}

void disk_end(void)
{
    if (disk_state.stops) {
        stop();
    }
}

/* ---- running a scene ---- */

void disk_report(unsigned char what)
{
    disk_must(write(disk_state.out, &what, 1) == 1);
}

static size_t heap_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

static bool is_searched(size_t change)
{
    size_t i = 0;
    while (i < n_changes && changes[i] != change) {
        i++;
    }
    return i < n_changes;
}

/* A search stops all threads and reads all memory: it is made once for each change of the heap, not
 * in each of hundreds of children. A leak changes the heap by another size. */
static bool leaks_after(size_t bytes_before, struct ending *ending)
{
    ending->change = heap_bytes() - bytes_before;
    ending->is_new_change = __lsan_do_recoverable_leak_check && !is_searched(ending->change);
    return ending->is_new_change && __lsan_do_recoverable_leak_check() != 0;
}

static void live(const char *folder, const struct disk_plan *plan, void (*scene)(void *ctx),
                 void *ctx, int out)
{
    disk_state.plan = *plan;
    disk_state.random = (plan->seed + 1) * 0x9e3779b97f4a7c15ull;
    disk_state.out = out;
    walk(folder, adopt_entry, NULL);
    (void)snprintf(disk_state.folder, sizeof disk_state.folder, "%s", folder);
    struct ending ending = {0};
    const size_t bytes = heap_bytes();
    scene(ctx);
    const bool leaks = leaks_after(bytes, &ending);
    disk_lock();
    if (plan->loss != TEST_KILL) {
        leave(plan->loss);
    }
    report_ending(ending);
    _exit(leaks ? EXIT_LEAKED : 0);
}

static void ignore_report(int in, struct disk_outcome *outcome)
{
    struct ending ending;
    ssize_t n = 1;
    while (n > 0 && outcome->n_reported < sizeof outcome->reported) {
        n = read(in, outcome->reported + outcome->n_reported,
                 sizeof outcome->reported - outcome->n_reported);
        outcome->n_reported += n > 0 ? (size_t)n : 0;
    }
    disk_must(outcome->n_reported < sizeof outcome->reported);
    if (outcome->n_reported >=
        sizeof ending) { /* the content is invalid after a failure: see `failure` */
        outcome->n_reported -= sizeof ending;
        memcpy(&ending, outcome->reported + outcome->n_reported, sizeof ending);
        outcome->n_operations = ending.n_operations;
        if (ending.is_new_change == 1 && n_changes < CHANGES_MAX) {
            changes[n_changes++] = ending.change;
        }
        outcome->is_hit = ending.is_hit == 1;
    }
}

void disk_run(const char *folder, const struct disk_plan *plan, void (*scene)(void *ctx), void *ctx,
              struct disk_outcome *outcome)
{
    int ends[2], status = 0;
    *outcome = (struct disk_outcome){.n_reported = 0};
    disk_must(strlen(folder) < DISK_PATH_MAX / 2 && pipe(ends) == 0);
    (void)fflush(NULL);
    const pid_t child = fork();
    disk_must(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        live(folder, plan, scene, ctx, ends[1]);
    }
    (void)close(ends[1]);
    ignore_report(ends[0], outcome);
    (void)close(ends[0]);
    disk_must(waitpid(child, &status, 0) == child);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
    outcome->failure = code == EXIT_STOPPED && plan->fault == DISK_CUT ? 0
                       : code == EXIT_LEAKED                           ? 512
                                                                       : code;
    if (outcome->failure == 0 || outcome->failure == 512) {
        take_over(folder, plan->loss);
    }
}
