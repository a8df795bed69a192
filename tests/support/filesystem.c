#include "support/filesystem.h"

#include <stdlib.h>
#include <string.h>

/* A write or truncation that may not be on the disk. */
struct pending {
    bool is_truncation;
    uint64_t offset; /* or the new size */
    size_t len;
    uint8_t *data;
};

struct content {
    uint8_t *data;
    size_t len;
};

struct test_inode {
    struct content cached;
    struct content durable;
    struct pending *pending;
    size_t n_pending;
    struct test_inode *next;
};

struct open_file {
    struct test_inode *inode;
    char name[64];
};

static void *must_realloc(void *pointer, size_t size)
{
    void *result = realloc(pointer, size ? size : 1);
    if (!result) {
        abort();
    }
    return result;
}

/* xorshift64*: chooses the subset that survives a power cut. */
static uint64_t draw(struct test_filesystem *fs)
{
    fs->random ^= fs->random >> 12;
    fs->random ^= fs->random << 25;
    fs->random ^= fs->random >> 27;
    return fs->random * 0x2545f4914f6cdd1dull;
}

/* ---- content ---- */

static void content_resize(struct content *content, size_t len)
{
    content->data = must_realloc(content->data, len);
    if (len > content->len) {
        memset(content->data + content->len, 0, len - content->len);
    }
    content->len = len;
}

static void content_write(struct content *content, uint64_t offset, const void *data, size_t len)
{
    if (offset + len > content->len) {
        content_resize(content, (size_t)offset + len);
    }
    if (len > 0) {
        memcpy(content->data + offset, data, len);
    }
}

static void content_copy(struct content *to, const struct content *from)
{
    content_resize(to, from->len);
    if (from->len > 0) {
        memcpy(to->data, from->data, from->len);
    }
}

static void apply(struct content *content, const struct pending *change, size_t len)
{
    if (change->is_truncation) {
        content_resize(content, (size_t)change->offset);
    } else {
        content_write(content, change->offset, change->data, len);
    }
}

static void forget_pending(struct test_inode *inode)
{
    for (size_t i = 0; i < inode->n_pending; i++) {
        free(inode->pending[i].data);
    }
    free(inode->pending);
    inode->pending = NULL;
    inode->n_pending = 0;
}

/* Makes durable what `loss` allows, and discards the rest. */
static void settle_inode(struct test_filesystem *fs, struct test_inode *inode, enum test_loss loss)
{
    for (size_t i = 0; i < inode->n_pending; i++) {
        const struct pending *change = &inode->pending[i];
        size_t len = loss == TEST_LOSE_NONE ? change->len : 0;
        bool is_kept = loss == TEST_LOSE_NONE;
        if (loss == TEST_LOSE_RANDOM) {
            const uint64_t kind = draw(fs) % 3; /* lost, kept, torn */
            is_kept = kind > 0;
            len = kind == 2 && change->len > 0 ? (size_t)(draw(fs) % change->len) : change->len;
        }
        if (is_kept) {
            apply(&inode->durable, change, len);
        }
    }
    forget_pending(inode);
}

static void record(struct test_inode *inode, struct pending change)
{
    inode->pending = must_realloc(inode->pending, (inode->n_pending + 1) * sizeof *inode->pending);
    inode->pending[inode->n_pending++] = change;
    apply(&inode->cached, &change, change.len);
}

/* ---- names ---- */

static struct test_name *find_name(struct test_name *names, const char *name)
{
    for (size_t i = 0; i < TEST_NAMES_MAX; i++) {
        if (strcmp(names[i].name, name) == 0 && name[0]) {
            return &names[i];
        }
    }
    return NULL;
}

static void copy_name(char out[64], const char *name)
{
    const size_t len = strlen(name);
    if (len >= 64) {
        abort();
    }
    memcpy(out, name, len + 1);
}

static void set_name(struct test_name *names, const char *name, struct test_inode *inode)
{
    struct test_name *entry = find_name(names, name);
    for (size_t i = 0; !entry && i < TEST_NAMES_MAX; i++) {
        entry = names[i].name[0] ? NULL : &names[i];
    }
    if (!entry) {
        abort();
    }
    copy_name(entry->name, name);
    entry->inode = inode;
}

static void apply_change(struct test_name *names, const struct test_name_change *change)
{
    struct test_name *old = change->from[0] ? find_name(names, change->from) : NULL;
    if (old) {
        old->name[0] = '\0';
    }
    if (change->to[0]) {
        set_name(names, change->to, change->inode);
    }
}

static void change_names(struct test_filesystem *fs, const char *to, const char *from,
                         struct test_inode *inode)
{
    struct test_name_change change = {.inode = inode};
    copy_name(change.to, to);
    copy_name(change.from, from);
    fs->changes = must_realloc(fs->changes, (fs->n_changes + 1) * sizeof *fs->changes);
    fs->changes[fs->n_changes++] = change;
    apply_change(fs->cached, &change);
}

static void settle_names(struct test_filesystem *fs, enum test_loss loss)
{
    for (size_t i = 0; i < fs->n_changes; i++) {
        if (loss == TEST_LOSE_NONE || (loss == TEST_LOSE_RANDOM && draw(fs) % 2)) {
            apply_change(fs->durable, &fs->changes[i]);
        }
    }
    fs->n_changes = 0;
}

/* ---- faults ---- */

/* The fate of an operation. */
enum fate { FATE_WORKS, FATE_NEVER_HAPPENS, FATE_HAPPENS_UNHEARD, FATE_FAILS };

static enum fate begin_operation(struct test_filesystem *fs)
{
    if (fs->is_down) {
        return FATE_NEVER_HAPPENS;
    }
    fs->n_operations++;
    if (fs->cut_at && --fs->cut_at == 0) {
        fs->is_down = true;
        return fs->cut_takes_effect ? FATE_HAPPENS_UNHEARD : FATE_NEVER_HAPPENS;
    }
    return fs->fail_at && --fs->fail_at == 0 ? FATE_FAILS : FATE_WORKS;
}

static dpot_status end_operation(enum fate fate)
{
    return fate == FATE_WORKS ? DPOT_OK : DPOT_ERR_IO;
}

static bool sync_fails(struct test_filesystem *fs)
{
    fs->n_syncs++;
    return fs->fail_sync_at && --fs->fail_sync_at == 0;
}

/* ---- the hook ---- */

static struct test_inode *new_inode(struct test_filesystem *fs)
{
    struct test_inode *inode = calloc(1, sizeof *inode);
    if (!inode) {
        abort();
    }
    inode->next = fs->inodes;
    fs->inodes = inode;
    return inode;
}

static dpot_status open_hook(void *ctx, const char *name, int create, void **file)
{
    struct test_filesystem *fs = ctx;
    struct test_name *entry = find_name(fs->cached, name);
    if (fs->is_down) {
        return DPOT_ERR_IO;
    }
    if (!entry && !create) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (!entry && fs->has_no_names) {
        return DPOT_ERR_NO_SPACE;
    }
    if (!entry) {
        const enum fate fate = begin_operation(fs);
        if (fate != FATE_NEVER_HAPPENS && fate != FATE_FAILS) {
            change_names(fs, name, "", new_inode(fs));
        }
        if (fate != FATE_WORKS) {
            return DPOT_ERR_IO;
        }
        entry = find_name(fs->cached, name);
    }
    struct open_file *opened = must_realloc(NULL, sizeof *opened);
    opened->inode = entry->inode;
    copy_name(opened->name, name);
    *file = opened;
    return DPOT_OK;
}

static void close_hook(void *ctx, void *file)
{
    (void)ctx;
    free(file);
}

static dpot_status size_hook(void *ctx, void *file, uint64_t *size)
{
    const struct test_filesystem *fs = ctx;
    const struct open_file *f = file;
    *size = f->inode->cached.len;
    return fs->is_down ? DPOT_ERR_IO : DPOT_OK;
}

static dpot_status read_hook(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    const struct test_filesystem *fs = ctx;
    const struct open_file *f = file;
    const struct content *content = &f->inode->cached;
    if (fs->is_down || offset > content->len || len > content->len - offset) {
        return DPOT_ERR_IO;
    }
    if (len > 0) {
        memcpy(data, content->data + offset, len);
    }
    if (fs->on_read) {
        fs->on_read(f->name, offset, data, len);
    }
    return DPOT_OK;
}

static void record_write(struct test_inode *inode, uint64_t offset, const void *data, size_t len)
{
    struct pending change = {.offset = offset, .len = len, .data = must_realloc(NULL, len)};
    if (len > 0) {
        memcpy(change.data, data, len);
    }
    record(inode, change);
}

static dpot_status write_hook(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    struct test_filesystem *fs = ctx;
    struct open_file *f = file;
    const bool grows = offset + len > f->inode->cached.len;
    const enum fate fate = begin_operation(fs);
    if (fate == FATE_NEVER_HAPPENS) {
        return DPOT_ERR_IO;
    }
    if ((fs->is_full && grows) || fate == FATE_FAILS) {
        record_write(f->inode, offset, data, len / 2);
        return fate == FATE_FAILS ? DPOT_ERR_IO : DPOT_ERR_NO_SPACE;
    }
    if (grows || !fs->ignores_writes) {
        record_write(f->inode, offset, data, len);
    }
    return end_operation(fate);
}

static dpot_status truncate_hook(void *ctx, void *file, uint64_t size)
{
    struct test_filesystem *fs = ctx;
    struct open_file *f = file;
    const enum fate fate = begin_operation(fs);
    if (fate == FATE_NEVER_HAPPENS || fate == FATE_FAILS) {
        return DPOT_ERR_IO;
    }
    record(f->inode, (struct pending){.is_truncation = true, .offset = size});
    return end_operation(fate);
}

static dpot_status sync_hook(void *ctx, void *file)
{
    struct test_filesystem *fs = ctx;
    struct open_file *f = file;
    const enum fate fate = begin_operation(fs);
    if (fate == FATE_NEVER_HAPPENS) {
        return DPOT_ERR_IO;
    }
    if (sync_fails(fs) || fate == FATE_FAILS) {
        settle_inode(fs, f->inode, TEST_LOSE_RANDOM); /* and the cache is marked clean */
        return DPOT_ERR_IO;
    }
    if (!fs->lies_about || strcmp(fs->lies_about, f->name) != 0) {
        settle_inode(fs, f->inode, TEST_LOSE_NONE);
    }
    return end_operation(fate);
}

static dpot_status sync_directory_hook(void *ctx)
{
    struct test_filesystem *fs = ctx;
    const enum fate fate = begin_operation(fs);
    if (fate == FATE_NEVER_HAPPENS || fate == FATE_FAILS || sync_fails(fs)) {
        return DPOT_ERR_IO;
    }
    settle_names(fs, TEST_LOSE_NONE);
    return end_operation(fate);
}

static dpot_status rename_hook(void *ctx, const char *from, const char *to)
{
    struct test_filesystem *fs = ctx;
    const enum fate fate = begin_operation(fs);
    const struct test_name *entry = find_name(fs->cached, from);
    if (fs->has_no_names && entry) {
        return DPOT_ERR_NO_SPACE;
    }
    const bool is_lost = fate == FATE_NEVER_HAPPENS || fate == FATE_FAILS;
    if (is_lost || !entry) {
        return is_lost ? DPOT_ERR_IO : DPOT_ERR_NOT_FOUND;
    }
    change_names(fs, to, from, entry->inode);
    return end_operation(fate);
}

static dpot_status remove_hook(void *ctx, const char *name)
{
    struct test_filesystem *fs = ctx;
    const enum fate fate = begin_operation(fs);
    const bool is_lost = fate == FATE_NEVER_HAPPENS || fate == FATE_FAILS;
    if (is_lost || !find_name(fs->cached, name)) {
        return is_lost ? DPOT_ERR_IO : DPOT_ERR_NOT_FOUND;
    }
    change_names(fs, "", name, NULL);
    return end_operation(fate);
}

static dpot_status lock_hook(void *ctx)
{
    struct test_filesystem *fs = ctx;
    if (fs->is_down || fs->is_locked) {
        return fs->is_down ? DPOT_ERR_IO : DPOT_ERR_BUSY;
    }
    fs->is_locked = true;
    return DPOT_OK;
}

static void unlock_hook(void *ctx)
{
    struct test_filesystem *fs = ctx;
    fs->is_locked = false;
}

/* ---- functions for tests ---- */

void test_filesystem_init(struct test_filesystem *fs, uint64_t seed)
{
    *fs = (struct test_filesystem){.random = seed * 0x9e3779b97f4a7c15ull + 1};
    fs->filesystem = (struct dpot_filesystem){
        .struct_size = sizeof fs->filesystem,
        .ctx = fs,
        .open = open_hook,
        .close = close_hook,
        .size = size_hook,
        .read_at = read_hook,
        .write_at = write_hook,
        .truncate = truncate_hook,
        .sync = sync_hook,
        .sync_directory = sync_directory_hook,
        .rename = rename_hook,
        .remove = remove_hook,
        .lock = lock_hook,
        .unlock = unlock_hook,
    };
}

void test_filesystem_release(struct test_filesystem *fs)
{
    while (fs->inodes) {
        struct test_inode *inode = fs->inodes;
        fs->inodes = inode->next;
        forget_pending(inode);
        free(inode->cached.data);
        free(inode->durable.data);
        free(inode);
    }
    free(fs->changes);
    *fs = (struct test_filesystem){0};
}

void test_filesystem_cut_at(struct test_filesystem *fs, size_t n, bool takes_effect)
{
    fs->cut_at = n;
    fs->cut_takes_effect = takes_effect;
}

void test_filesystem_fail_sync_at(struct test_filesystem *fs, size_t n)
{
    fs->fail_sync_at = n;
}

void test_filesystem_fail_at(struct test_filesystem *fs, size_t n)
{
    fs->fail_at = n;
}

void test_filesystem_restart(struct test_filesystem *fs, enum test_loss loss)
{
    fs->is_down = false;
    fs->is_locked = false;
    fs->cut_at = 0;
    if (loss == TEST_KILL) {
        return;
    }
    for (struct test_inode *inode = fs->inodes; inode; inode = inode->next) {
        settle_inode(fs, inode, loss);
        content_copy(&inode->cached, &inode->durable);
    }
    settle_names(fs, loss);
    memcpy(fs->cached, fs->durable, sizeof fs->cached);
}

const uint8_t *test_filesystem_cached(const struct test_filesystem *fs, const char *name,
                                      size_t *len)
{
    const struct test_name *entry = find_name((struct test_name *)fs->cached, name);
    *len = entry ? entry->inode->cached.len : 0;
    return entry ? entry->inode->cached.data : NULL;
}

const uint8_t *test_filesystem_durable(const struct test_filesystem *fs, const char *name,
                                       size_t *len)
{
    const struct test_name *entry = find_name((struct test_name *)fs->durable, name);
    *len = entry ? entry->inode->durable.len : 0;
    return entry ? entry->inode->durable.data : NULL;
}

void test_filesystem_put(struct test_filesystem *fs, const char *name, const void *data, size_t len)
{
    struct test_inode *inode = new_inode(fs);
    content_write(&inode->cached, 0, data, len);
    content_write(&inode->durable, 0, data, len);
    set_name(fs->cached, name, inode);
    set_name(fs->durable, name, inode);
}

void test_filesystem_delete(struct test_filesystem *fs, const char *name)
{
    struct test_name *cached = find_name(fs->cached, name);
    struct test_name *durable = find_name(fs->durable, name);
    if (cached) {
        cached->name[0] = '\0';
    }
    if (durable) {
        durable->name[0] = '\0';
    }
}
