#include "support/disk.h"

#include "support/disk_model.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_DESCRIPTORS 1024
#define SECTOR 512
#define EXIT_STOPPED 99
#define EXIT_LEAKED 98

/* Of the leak checker, where there is one. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

struct change {
    bool is_truncation;
    uint64_t offset; /* or the new size */
    size_t len;
    uint8_t *data;
};

/* A file, whatever its names. */
struct disk_file {
    uint8_t *durable;
    size_t len;
    struct change *pending;
    size_t n_pending;
};

struct name {
    char path[DISK_PATH_MAX];
    struct disk_file *file;
};

struct names {
    struct name *entries;
    size_t n;
};

/* `to` is made to name `file`, `from` is gone. */
struct name_change {
    char to[DISK_PATH_MAX]; /* "": none */
    char from[DISK_PATH_MAX];
    struct disk_file *file;
};

struct descriptor {
    struct disk_file *file;
    char *folder;
};

static struct {
    char folder[DISK_PATH_MAX]; /* "": nothing is watched */
    struct disk_plan plan;
    uint64_t random;
    size_t n_operations;
    bool is_hit;
    bool stops; /* at the end of the operation that is under way */
    bool was_interrupted;
    int out;
    struct names seen, durable;
    struct name_change *changes;
    size_t n_changes;
    struct descriptor descriptors[N_DESCRIPTORS];
} disk;

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Recursive: what the model itself writes passes through disk_calls.c too. */
static pthread_mutex_t mutex;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_mutex(void)
{
    pthread_mutexattr_t attributes;
    must(pthread_mutexattr_init(&attributes) == 0 &&
         pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0 &&
         pthread_mutex_init(&mutex, &attributes) == 0);
}

bool disk_is_on(void)
{
    return disk.folder[0] != '\0';
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

/* The C library's own, also where heap.h stands before it: the double is never short of memory. */
static void *must_realloc(void *pointer, size_t size)
{
    static void *(*resize_memory)(void *, size_t);
    if (!resize_memory) {
        *(void **)&resize_memory = dlsym(dlopen(NULL, RTLD_LAZY), "realloc");
    }
    void *result = resize_memory(pointer, size ? size : 1);
    must(result != NULL);
    return result;
}

/* xorshift64* */
static uint64_t draw(void)
{
    disk.random ^= disk.random >> 12;
    disk.random ^= disk.random << 25;
    disk.random ^= disk.random >> 27;
    return disk.random * 0x2545f4914f6cdd1dull;
}

static void join(char out[DISK_PATH_MAX], const char *folder, const char *name)
{
    const int len = snprintf(out, DISK_PATH_MAX, "%s/%s", folder, name);
    must(len > 0 && len < DISK_PATH_MAX);
}

/* ---- content ---- */

static void resize(struct disk_file *file, size_t len)
{
    file->durable = must_realloc(file->durable, len);
    if (len > file->len) {
        memset(file->durable + file->len, 0, len - file->len);
    }
    file->len = len;
}

static void apply(struct disk_file *file, const struct change *change, size_t len)
{
    if (change->is_truncation) {
        resize(file, (size_t)change->offset);
        return;
    }
    if (change->offset + len > file->len) {
        resize(file, (size_t)change->offset + len);
    }
    memcpy(file->durable + change->offset, change->data, len);
}

/* Brings to the disk what `loss` lets through, and forgets the rest. Writes tear between sectors. */
static void settle(struct disk_file *file, enum test_loss loss)
{
    for (size_t i = 0; i < file->n_pending; i++) {
        const struct change *change = &file->pending[i];
        size_t len = change->len;
        bool is_kept = loss == TEST_LOSE_NONE;
        if (loss == TEST_LOSE_RANDOM) {
            const uint64_t kind = draw() % 3; /* lost, kept, torn */
            is_kept = kind > 0;
            len = kind == 2 ? draw() % (len / SECTOR + 1) * SECTOR : len;
        }
        if (is_kept) {
            apply(file, change, len);
        }
        free(change->data);
    }
    free(file->pending);
    file->pending = NULL;
    file->n_pending = 0;
}

static void record(struct disk_file *file, struct change change)
{
    file->pending = must_realloc(file->pending, (file->n_pending + 1) * sizeof *file->pending);
    file->pending[file->n_pending++] = change;
}

void disk_wrote(struct disk_file *file, uint64_t offset, const void *data, size_t len)
{
    struct change change = {.offset = offset, .len = len, .data = must_realloc(NULL, len)};
    memcpy(change.data, data, len);
    record(file, change);
}

void disk_truncated(struct disk_file *file, uint64_t size)
{
    record(file, (struct change){.is_truncation = true, .offset = size});
}

void disk_synced(struct disk_file *file, bool works)
{
    if (!disk.plan.lies) {
        settle(file, works ? TEST_LOSE_NONE : TEST_LOSE_RANDOM);
    }
}

/* ---- names ---- */

static struct name *find(const struct names *names, const char *path)
{
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->entries[i].path, path) == 0) {
            return &names->entries[i];
        }
    }
    return NULL;
}

static void put(struct names *names, const char *path, struct disk_file *file)
{
    struct name *name = find(names, path);
    if (!name) {
        names->entries = must_realloc(names->entries, (names->n + 1) * sizeof *names->entries);
        name = &names->entries[names->n++];
        (void)snprintf(name->path, sizeof name->path, "%s", path);
    }
    name->file = file;
}

static void drop(struct names *names, const char *path)
{
    struct name *name = find(names, path);
    if (name) {
        *name = names->entries[--names->n];
    }
}

static void apply_change(struct names *names, const struct name_change *change)
{
    if (change->from[0]) {
        drop(names, change->from);
    }
    if (change->to[0]) {
        put(names, change->to, change->file);
    }
}

static void change_names(const char *to, const char *from, struct disk_file *file)
{
    disk.changes = must_realloc(disk.changes, (disk.n_changes + 1) * sizeof *disk.changes);
    struct name_change *change = &disk.changes[disk.n_changes++];
    change->file = file;
    (void)snprintf(change->to, sizeof change->to, "%s", to);
    (void)snprintf(change->from, sizeof change->from, "%s", from);
    apply_change(&disk.seen, change);
}

static bool is_in(const char *path, const char *folder)
{
    const size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
}

/* `folder` NULL: all of them. */
static void settle_names(const char *folder, enum test_loss loss)
{
    size_t n_left = 0;
    for (size_t i = 0; i < disk.n_changes; i++) {
        const struct name_change change = disk.changes[i];
        if (folder && !is_in(change.to[0] ? change.to : change.from, folder)) {
            disk.changes[n_left++] = change;
        } else if (loss == TEST_LOSE_NONE || (loss == TEST_LOSE_RANDOM && draw() % 2)) {
            apply_change(&disk.durable, &change);
        }
    }
    disk.n_changes = n_left;
}

void disk_created(const char *path)
{
    struct disk_file *file = must_realloc(NULL, sizeof *file);
    *file = (struct disk_file){NULL, 0, NULL, 0};
    change_names(path, "", file);
}

void disk_renamed(const char *from, const char *to)
{
    const struct name *name = find(&disk.seen, from);
    if (name) {
        change_names(to, from, name->file);
    }
}

void disk_linked(const char *from, const char *to)
{
    const struct name *name = find(&disk.seen, from);
    if (name) {
        change_names(to, "", name->file);
    }
}

void disk_removed(const char *path)
{
    if (find(&disk.seen, path)) {
        change_names("", path, NULL);
    }
}

void disk_synced_folder(const char *path, bool works)
{
    if (!disk.plan.lies) {
        settle_names(path, works ? TEST_LOSE_NONE : TEST_LOSE_RANDOM);
    }
}

/* ---- descriptors ---- */

bool disk_is_watched(const char *path, char out[DISK_PATH_MAX])
{
    const size_t len = strlen(disk.folder);
    if (len == 0 || strncmp(path, disk.folder, len) != 0 || (path[len] && path[len] != '/')) {
        return false;
    }
    const int n = snprintf(out, DISK_PATH_MAX, "%s", path);
    return n > 0 && n < DISK_PATH_MAX;
}

void disk_opened(int fd, const char *path, bool is_folder)
{
    if (fd < 0 || fd >= N_DESCRIPTORS) {
        return;
    }
    struct descriptor *d = &disk.descriptors[fd];
    const struct name *name = is_folder ? NULL : find(&disk.seen, path);
    disk_closed(fd);
    d->file = name ? name->file : NULL;
    if (is_folder) {
        const size_t len = strlen(path) - (path[strlen(path) - 1] == '/');
        d->folder = must_realloc(NULL, len + 1);
        memcpy(d->folder, path, len);
        d->folder[len] = '\0';
    }
}

void disk_closed(int fd)
{
    if (fd >= 0 && fd < N_DESCRIPTORS) {
        free(disk.descriptors[fd].folder);
        disk.descriptors[fd] = (struct descriptor){NULL, NULL};
    }
}

struct disk_file *disk_file_of(int fd)
{
    return fd >= 0 && fd < N_DESCRIPTORS ? disk.descriptors[fd].file : NULL;
}

const char *disk_folder_of(int fd)
{
    return fd >= 0 && fd < N_DESCRIPTORS ? disk.descriptors[fd].folder : NULL;
}

/* ---- folders of the real disk ---- */

typedef void each_entry(const char *path, const char *name, bool is_folder, void *ctx);

static void walk(const char *folder, each_entry *each, void *ctx)
{
    DIR *dir = opendir(folder);
    must(dir != NULL);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        char path[DISK_PATH_MAX];
        struct stat about;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            join(path, folder, e->d_name);
            must(lstat(path, &about) == 0);
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
    must((is_folder ? rmdir(path) : unlink(path)) == 0);
}

void disk_clear(const char *folder)
{
    if (mkdir(folder, 0700) != 0) {
        must(errno == EEXIST);
        walk(folder, remove_entry, NULL);
    }
}

static uint8_t *read_whole(const char *path, size_t *len)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    must(fd >= 0 && fstat(fd, &about) == 0);
    uint8_t *data = must_realloc(NULL, (size_t)about.st_size);
    *len = (size_t)about.st_size;
    must(read(fd, data, *len) == (ssize_t)*len);
    (void)close(fd);
    return data;
}

static void write_whole(const char *path, const uint8_t *data, size_t len)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, data, len) == (ssize_t)len);
    (void)close(fd);
}

static void copy_entry(const char *path, const char *name, bool is_folder, void *ctx)
{
    char to[DISK_PATH_MAX];
    join(to, ctx, name);
    if (is_folder) {
        must(mkdir(to, 0700) == 0);
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
    struct disk_file *file = must_realloc(NULL, sizeof *file);
    *file = (struct disk_file){NULL, 0, NULL, 0};
    file->durable = read_whole(path, &file->len);
    put(&disk.seen, path, file);
    put(&disk.durable, path, file);
}

static void make_path(char out[DISK_PATH_MAX], const char *path, const char *aside)
{
    const int len = snprintf(out, DISK_PATH_MAX, "%s%s", aside, path + strlen(disk.folder));
    must(len > 0 && len < DISK_PATH_MAX);
}

static void make_folder(const char *path, const char *name, bool is_folder, void *ctx)
{
    (void)name;
    if (is_folder) {
        char to[DISK_PATH_MAX];
        make_path(to, path, ctx);
        must(mkdir(to, 0700) == 0);
        walk(path, make_folder, ctx);
    }
}

/* Leaves in FOLDER-after what a power cut leaves of it. */
static void leave(enum test_loss loss)
{
    char after[DISK_PATH_MAX];
    const char *folder = disk.folder;
    must(snprintf(after, sizeof after, "%s-after", folder) < DISK_PATH_MAX);
    for (size_t i = 0; i < disk.seen.n; i++) {
        settle(disk.seen.entries[i].file, loss);
    }
    settle_names(NULL, loss);
    disk_clear(after);
    walk(folder, make_folder, after);
    for (size_t i = 0; i < disk.durable.n; i++) {
        char to[DISK_PATH_MAX];
        make_path(to, disk.durable.entries[i].path, after);
        write_whole(to, disk.durable.entries[i].file->durable, disk.durable.entries[i].file->len);
    }
}

static void take_over(const char *folder, enum test_loss loss)
{
    char after[DISK_PATH_MAX];
    must(snprintf(after, sizeof after, "%s-after", folder) < DISK_PATH_MAX);
    if (loss != TEST_KILL) {
        disk_clear(folder);
        must(rmdir(folder) == 0 && rename(after, folder) == 0);
    }
}

/* ---- faults ---- */

/* What the process has to say at its end. */
struct ending {
    size_t n_operations;
    bool is_hit;
};

static void say_ending(void)
{
    const struct ending ending = {disk.n_operations, disk.is_hit};
    must(write(disk.out, &ending, sizeof ending) == (ssize_t)sizeof ending);
}

static void stop(void)
{
    char folder[DISK_PATH_MAX];
    memcpy(folder, disk.folder, sizeof folder);
    disk.n_operations = 0;
    if (disk.plan.loss != TEST_KILL) {
        leave(disk.plan.loss); /* writes outside the folder: those calls only pass on */
    }
    say_ending();
    _exit(EXIT_STOPPED);
}

static enum disk_fate fail(int reason, bool is_write)
{
    errno = reason;
    return is_write && draw() % 2 ? DISK_TEARS : DISK_ERRS;
}

static enum disk_fate be_crooked(bool is_write)
{
    disk.was_interrupted = !disk.was_interrupted;
    if (disk.was_interrupted) {
        errno = EINTR;
        return DISK_ERRS;
    }
    return is_write ? DISK_SHORTENS : DISK_WORKS;
}

enum disk_fate disk_begin(bool grows, bool is_write)
{
    const bool is_at = ++disk.n_operations == disk.plan.at;
    disk.is_hit = disk.is_hit || is_at;
    switch (disk.plan.fault) {
    case DISK_FAILS:
        return is_at ? fail(EIO, is_write) : DISK_WORKS;
    case DISK_FULL:
        return disk.is_hit && grows ? fail(ENOSPC, is_write) : DISK_WORKS;
    case DISK_CUT:
        disk.stops = is_at && draw() % 2;
        if (is_at && !disk.stops) {
            stop();
        }
        return DISK_WORKS;
    case DISK_CROOKED:
        return be_crooked(is_write);
    default:
        return DISK_WORKS;
    }
}

void disk_end(void)
{
    if (disk.stops) {
        stop();
    }
}

/* ---- a life ---- */

void disk_tell(unsigned char what)
{
    must(write(disk.out, &what, 1) == 1);
}

static void live(const char *folder, const struct disk_plan *plan, void (*scene)(void *ctx),
                 void *ctx, int out)
{
    disk.plan = *plan;
    disk.random = (plan->seed + 1) * 0x9e3779b97f4a7c15ull;
    disk.out = out;
    walk(folder, adopt_entry, NULL);
    (void)snprintf(disk.folder, sizeof disk.folder, "%s", folder);
    scene(ctx);
    const bool leaks =
        __lsan_do_recoverable_leak_check != NULL && __lsan_do_recoverable_leak_check() != 0;
    disk_lock();
    if (plan->loss != TEST_KILL) {
        leave(plan->loss);
    }
    say_ending();
    _exit(leaks ? EXIT_LEAKED : 0);
}

static void hear(int in, struct disk_life *life)
{
    struct ending ending;
    ssize_t n = 1;
    while (n > 0 && life->n_told < sizeof life->told) {
        n = read(in, life->told + life->n_told, sizeof life->told - life->n_told);
        life->n_told += n > 0 ? (size_t)n : 0;
    }
    must(life->n_told < sizeof life->told);
    if (life->n_told >= sizeof ending) {
        life->n_told -= sizeof ending;
        memcpy(&ending, life->told + life->n_told, sizeof ending);
        life->n_operations = ending.n_operations;
        life->is_hit = ending.is_hit;
    }
}

void disk_run(const char *folder, const struct disk_plan *plan, void (*scene)(void *ctx), void *ctx,
              struct disk_life *life)
{
    int ends[2], status = 0;
    *life = (struct disk_life){.n_told = 0};
    must(strlen(folder) < DISK_PATH_MAX / 2 && pipe(ends) == 0);
    (void)fflush(NULL);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        live(folder, plan, scene, ctx, ends[1]);
    }
    (void)close(ends[1]);
    hear(ends[0], life);
    (void)close(ends[0]);
    must(waitpid(child, &status, 0) == child);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
    life->failure = code == EXIT_STOPPED && plan->fault == DISK_CUT ? 0
                    : code == EXIT_LEAKED                           ? 512
                                                                    : code;
    if (life->failure == 0 || life->failure == 512) {
        take_over(folder, plan->loss);
    }
}
