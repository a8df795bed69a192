/* The file hook in memory, for virtual devices and tests: a list of named byte arrays. An open file
 * outlives a rename over its name, as on POSIX. */
#include "base/buf.h"
#include "simulation.h"

#include <string.h>

#define NAME_MAX_LEN 63
#define FILE_BYTES_MAX (64u << 20)

struct memory_file {
    char name[NAME_MAX_LEN + 1]; /* "": removed or replaced */
    size_t n_open;
    struct dpot_buf content;
    struct memory_file *next;
};

struct memory_filesystem {
    struct dpot_filesystem base; /* first: the hook's address is ours */
    const struct dpot_allocator *allocator;
    struct memory_file *files;
    bool is_locked;
};

static struct memory_file *find_file(const struct memory_filesystem *fs, const char *name)
{
    struct memory_file *f = fs->files;
    while (f && strcmp(f->name, name) != 0) {
        f = f->next;
    }
    return f;
}

/* Frees files without a name that nobody has open. */
static void collect(struct memory_filesystem *fs)
{
    struct memory_file **link = &fs->files;
    while (*link) {
        struct memory_file *f = *link;
        if (f->name[0] == '\0' && f->n_open == 0) {
            *link = f->next;
            dpot_buf_release(&f->content);
            dpot_free_array(fs->allocator, f, 1, sizeof *f);
        } else {
            link = &f->next;
        }
    }
}

static dpot_status open_file(void *ctx, const char *name, int create, void **file)
{
    struct memory_filesystem *fs = ctx;
    const size_t len = strlen(name);
    if (len == 0 || len > NAME_MAX_LEN) {
        return DPOT_ERR_ARGUMENT;
    }
    struct memory_file *f = find_file(fs, name);
    if (!f && !create) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (!f) {
        f = dpot_alloc_array(fs->allocator, 1, sizeof *f);
        if (!f) {
            return DPOT_ERR_MEMORY;
        }
        memcpy(f->name, name, len + 1);
        dpot_buf_init(&f->content, FILE_BYTES_MAX, fs->allocator);
        f->next = fs->files;
        fs->files = f;
    }
    f->n_open++;
    *file = f;
    return DPOT_OK;
}

static void close_file(void *ctx, void *file)
{
    struct memory_file *f = file;
    f->n_open--;
    collect(ctx);
}

static dpot_status size_file(void *ctx, void *file, uint64_t *size)
{
    (void)ctx;
    const struct memory_file *f = file;
    *size = f->content.len;
    return DPOT_OK;
}

static dpot_status read_at(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    (void)ctx;
    const struct memory_file *f = file;
    if (offset > f->content.len || len > f->content.len - offset) {
        return DPOT_ERR_IO;
    }
    if (len > 0) {
        memcpy(data, f->content.data + offset, len);
    }
    return DPOT_OK;
}

/* Makes the file `size` bytes long, with zeros where it grows. */
static dpot_status set_size(struct memory_file *f, uint64_t size)
{
    if (size > FILE_BYTES_MAX) {
        return DPOT_ERR_IO;
    }
    if (size > f->content.len) {
        const size_t extra = (size_t)size - f->content.len;
        const dpot_status status = dpot_buf_reserve(&f->content, extra);
        if (status != DPOT_OK) {
            return status;
        }
        memset(f->content.data + f->content.len, 0, extra);
    }
    f->content.len = (size_t)size;
    return DPOT_OK;
}

static dpot_status write_at(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    (void)ctx;
    struct memory_file *f = file;
    if (offset > FILE_BYTES_MAX || len > FILE_BYTES_MAX - offset) {
        return DPOT_ERR_IO;
    }
    if (offset + len > f->content.len) {
        const dpot_status status = set_size(f, offset + len);
        if (status != DPOT_OK) {
            return status;
        }
    }
    if (len > 0) {
        memcpy(f->content.data + offset, data, len);
    }
    return DPOT_OK;
}

static dpot_status truncate_file(void *ctx, void *file, uint64_t size)
{
    (void)ctx;
    return set_size(file, size);
}

static dpot_status sync_file(void *ctx, void *file)
{
    (void)ctx;
    (void)file;
    return DPOT_OK;
}

static dpot_status sync_directory(void *ctx)
{
    (void)ctx;
    return DPOT_OK;
}

static dpot_status remove_file(void *ctx, const char *name)
{
    struct memory_file *f = find_file(ctx, name);
    if (!f) {
        return DPOT_ERR_NOT_FOUND;
    }
    f->name[0] = '\0';
    collect(ctx);
    return DPOT_OK;
}

static dpot_status rename_file(void *ctx, const char *from, const char *to)
{
    struct memory_file *f = find_file(ctx, from);
    const size_t len = strlen(to);
    if (!f || len == 0 || len > NAME_MAX_LEN) {
        return f ? DPOT_ERR_ARGUMENT : DPOT_ERR_NOT_FOUND;
    }
    struct memory_file *old = find_file(ctx, to);
    if (old && old != f) {
        old->name[0] = '\0';
    }
    memcpy(f->name, to, len + 1);
    collect(ctx);
    return DPOT_OK;
}

static dpot_status lock_folder(void *ctx)
{
    struct memory_filesystem *fs = ctx;
    if (fs->is_locked) {
        return DPOT_ERR_BUSY;
    }
    fs->is_locked = true;
    return DPOT_OK;
}

static void unlock_folder(void *ctx)
{
    struct memory_filesystem *fs = ctx;
    fs->is_locked = false;
}

dpot_status dpot_filesystem_memory_new(const struct dpot_allocator *allocator,
                                       struct dpot_filesystem **filesystem)
{
    *filesystem = NULL;
    struct memory_filesystem *fs = dpot_alloc_array(allocator, 1, sizeof *fs);
    if (!fs) {
        return DPOT_ERR_MEMORY;
    }
    fs->allocator = allocator;
    fs->base = (struct dpot_filesystem){
        .struct_size = sizeof fs->base,
        .ctx = fs,
        .open = open_file,
        .close = close_file,
        .size = size_file,
        .read_at = read_at,
        .write_at = write_at,
        .truncate = truncate_file,
        .sync = sync_file,
        .sync_directory = sync_directory,
        .rename = rename_file,
        .remove = remove_file,
        .lock = lock_folder,
        .unlock = unlock_folder,
    };
    *filesystem = &fs->base;
    return DPOT_OK;
}

void dpot_filesystem_memory_free(struct dpot_filesystem *filesystem)
{
    if (filesystem) {
        struct memory_filesystem *fs = filesystem->ctx;
        for (struct memory_file *f = fs->files; f; f = f->next) {
            f->name[0] = '\0';
            f->n_open = 0;
        }
        collect(fs);
        dpot_free_array(fs->allocator, fs, 1, sizeof *fs);
    }
}
