#include "support/disk_model.h"

#include "support/disk_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTOR 512

struct disk_state disk_state;

void disk_must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* The C library's, also where heap.h replaces it: the model never runs out of memory. */
void *disk_realloc(void *pointer, size_t size)
{
    static void *(*resize_memory)(void *, size_t);
    if (!resize_memory) {
        *(void **)&resize_memory = dlsym(dlopen(NULL, RTLD_LAZY), "realloc");
    }
    void *result = resize_memory(pointer, size ? size : 1);
    disk_must(result != NULL);
    return result;
}

/* xorshift64* */
uint64_t disk_draw(void)
{
    disk_state.random ^= disk_state.random >> 12;
    disk_state.random ^= disk_state.random << 25;
    disk_state.random ^= disk_state.random >> 27;
    return disk_state.random * 0x2545f4914f6cdd1dull;
}

/* ---- content ---- */

static void resize(struct disk_file *file, size_t len)
{
    file->durable = disk_realloc(file->durable, len);
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
    if (len > 0) {
        memcpy(file->durable + change->offset, change->data, len);
    }
}

void disk_settle(struct disk_file *file, enum test_loss loss)
{
    for (size_t i = 0; i < file->n_pending; i++) {
        const struct change *change = &file->pending[i];
        size_t len = change->len;
        bool is_kept = loss == TEST_LOSE_NONE;
        if (loss == TEST_LOSE_RANDOM) {
            const uint64_t kind = disk_draw() % 3; /* lost, kept, torn */
            is_kept = kind > 0;
            len = kind == 2 ? disk_draw() % (len / SECTOR + 1) * SECTOR : len;
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
    file->pending = disk_realloc(file->pending, (file->n_pending + 1) * sizeof *file->pending);
    file->pending[file->n_pending++] = change;
}

void disk_wrote(struct disk_file *file, uint64_t offset, const void *data, size_t len)
{
    struct change change = {.offset = offset, .len = len, .data = disk_realloc(NULL, len)};
    memcpy(change.data, data, len);
    record(file, change);
}

void disk_truncated(struct disk_file *file, uint64_t size)
{
    record(file, (struct change){.is_truncation = true, .offset = size});
}

void disk_synced(struct disk_file *file, bool works)
{
    if (!disk_state.plan.lies) {
        disk_settle(file, works ? TEST_LOSE_NONE : TEST_LOSE_RANDOM);
    }
}

struct disk_file *disk_new_file(void)
{
    struct disk_file *file = disk_realloc(NULL, sizeof *file);
    *file = (struct disk_file){.next = disk_state.files};
    disk_state.files = file;
    return file;
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

void disk_put_name(struct names *names, const char *path, struct disk_file *file)
{
    struct name *name = find(names, path);
    if (!name) {
        names->entries = disk_realloc(names->entries, (names->n + 1) * sizeof *names->entries);
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
        disk_put_name(names, change->to, change->file);
    }
}

static void change_names(const char *to, const char *from, struct disk_file *file)
{
    disk_state.changes =
        disk_realloc(disk_state.changes, (disk_state.n_changes + 1) * sizeof *disk_state.changes);
    struct name_change *change = &disk_state.changes[disk_state.n_changes++];
    change->file = file;
    (void)snprintf(change->to, sizeof change->to, "%s", to);
    (void)snprintf(change->from, sizeof change->from, "%s", from);
    apply_change(&disk_state.seen, change);
}

static bool is_in(const char *path, const char *folder)
{
    const size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
}

void disk_settle_names(const char *folder, enum test_loss loss)
{
    size_t n_left = 0;
    for (size_t i = 0; i < disk_state.n_changes; i++) {
        const struct name_change change = disk_state.changes[i];
        if (folder && !is_in(change.to[0] ? change.to : change.from, folder)) {
            disk_state.changes[n_left++] = change;
        } else if (loss == TEST_LOSE_NONE || (loss == TEST_LOSE_RANDOM && disk_draw() % 2)) {
            apply_change(&disk_state.durable, &change);
        }
    }
    disk_state.n_changes = n_left;
}

void disk_created(const char *path)
{
    change_names(path, "", disk_new_file());
}

void disk_renamed(const char *from, const char *to)
{
    const struct name *name = find(&disk_state.seen, from);
    if (name) {
        change_names(to, from, name->file);
    }
}

void disk_linked(const char *from, const char *to)
{
    const struct name *name = find(&disk_state.seen, from);
    if (name) {
        change_names(to, "", name->file);
    }
}

void disk_removed(const char *path)
{
    if (find(&disk_state.seen, path)) {
        change_names("", path, NULL);
    }
}

void disk_synced_folder(const char *path, bool works)
{
    if (!disk_state.plan.lies) {
        disk_settle_names(path, works ? TEST_LOSE_NONE : TEST_LOSE_RANDOM);
    }
}

/* ---- descriptors ---- */

bool disk_is_watched(const char *path, char out[DISK_PATH_MAX])
{
    const size_t len = strlen(disk_state.folder);
    if (len == 0 || strncmp(path, disk_state.folder, len) != 0 || (path[len] && path[len] != '/')) {
        return false;
    }
    const int n = snprintf(out, DISK_PATH_MAX, "%s", path);
    return n > 0 && n < DISK_PATH_MAX;
}

void disk_opened(int fd, const char *path, bool is_folder)
{
    if (fd < 0 || fd >= DISK_DESCRIPTORS) {
        return;
    }
    struct descriptor *d = &disk_state.descriptors[fd];
    const struct name *name = is_folder ? NULL : find(&disk_state.seen, path);
    disk_closed(fd);
    d->file = name ? name->file : NULL;
    if (is_folder) {
        const size_t len = strlen(path) - (path[strlen(path) - 1] == '/');
        d->folder = disk_realloc(NULL, len + 1);
        memcpy(d->folder, path, len);
        d->folder[len] = '\0';
    }
}

void disk_closed(int fd)
{
    if (fd >= 0 && fd < DISK_DESCRIPTORS) {
        free(disk_state.descriptors[fd].folder);
        disk_state.descriptors[fd] = (struct descriptor){NULL, NULL};
    }
}

struct disk_file *disk_file_of(int fd)
{
    return fd >= 0 && fd < DISK_DESCRIPTORS ? disk_state.descriptors[fd].file : NULL;
}

const char *disk_folder_of(int fd)
{
    return fd >= 0 && fd < DISK_DESCRIPTORS ? disk_state.descriptors[fd].folder : NULL;
}
