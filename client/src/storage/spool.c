#include "storage/spool.h"

#include "base/buf.h"
#include "storage/files.h"

#include <string.h>

static const char magic[] = "DPOTSPL2";

#define COMPARE_LEN 1024 /* bytes of the file that are compared at once */

void dpot_spool_init(struct dpot_spool *spool, const struct dpot_filesystem *filesystem,
                     const struct dpot_allocator *allocator, const struct dpot_install *install)
{
    *spool =
        (struct dpot_spool){.filesystem = filesystem, .allocator = allocator, .install = install};
}

void dpot_spool_release(struct dpot_spool *spool)
{
    dpot_spool_close_file(spool);
    dpot_spool_free_slots(spool->allocator, spool->slots, spool->n_slots, spool->cap_slots);
    spool->slots = NULL;
    spool->n_slots = spool->cap_slots = 0;
}

void dpot_spool_free_slots(const struct dpot_allocator *allocator, struct dpot_slot *slots,
                           size_t n_slots, size_t cap_slots)
{
    for (size_t i = 0; i < n_slots; i++) {
        dpot_slot_release(&slots[i], allocator);
    }
    dpot_free_array(allocator, slots, cap_slots, sizeof *slots);
}

void dpot_spool_clear(struct dpot_spool *spool)
{
    for (size_t i = 0; i < spool->n_slots; i++) {
        dpot_slot_release(&spool->slots[i], spool->allocator);
    }
    spool->n_slots = 0;
    spool->end = DPOT_HEADER_LEN;
}

dpot_status dpot_spool_create(struct dpot_spool *spool, uint64_t counter)
{
    uint8_t header[DPOT_HEADER_LEN];
    dpot_header_encode(spool->install, magic, &(struct dpot_header){.counter = counter}, header);
    return dpot_file_replace(spool->filesystem, DPOT_SPOOL_NAME, header, sizeof header);
}

dpot_status dpot_spool_open_file(struct dpot_spool *spool)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    return fs->open(fs->ctx, DPOT_SPOOL_NAME, 0, &spool->file);
}

void dpot_spool_close_file(struct dpot_spool *spool)
{
    if (spool->file) {
        spool->filesystem->close(spool->filesystem->ctx, spool->file);
        spool->file = NULL;
    }
}

static dpot_status load_header(struct dpot_spool *spool, uint64_t size)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    if (size < DPOT_HEADER_LEN) {
        return DPOT_ERR_CORRUPT;
    }
    dpot_status status = fs->read_at(fs->ctx, spool->file, 0, spool->header, DPOT_HEADER_LEN);
    struct dpot_header header = {0};
    if (status == DPOT_OK) {
        status =
            dpot_header_decode(spool->install, magic, spool->header, &header, spool->install_id);
    }
    spool->counter = header.counter;
    spool->generation = header.generation;
    return status;
}

/* Reads the slot at spool->end, which has at least one unit left in the file; *is_whole is false
 * when the file ends inside it. */
static dpot_status load_slot(struct dpot_spool *spool, uint64_t size, bool *is_whole)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    uint8_t unit[DPOT_SPOOL_UNIT_LEN];
    struct dpot_slot_name name;
    dpot_status status = fs->read_at(fs->ctx, spool->file, spool->end, unit, sizeof unit);
    if (status != DPOT_OK) {
        return status;
    }
    /* A unit without a valid name is a slot by itself: the next slot may begin behind it. */
    const bool has_name = dpot_slot_read_name(spool->install, unit, &name);
    const uint32_t n_values = has_name ? name.n_values : 0;
    *is_whole = size - spool->end >= dpot_slot_len(n_values);
    if (!*is_whole) {
        return DPOT_OK;
    }
    status = dpot_spool_reserve(spool);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_slot *slot = &spool->slots[spool->n_slots];
    status = dpot_slot_init(slot, n_values, spool->allocator);
    if (status != DPOT_OK) {
        return status;
    }
    slot->offset = spool->end;
    spool->n_slots++;
    spool->end += slot->raw_len;
    status = fs->read_at(fs->ctx, spool->file, slot->offset, slot->raw, slot->raw_len);
    if (status == DPOT_OK) {
        const uint64_t counter = dpot_slot_parse(spool->install, slot);
        spool->counter = counter > spool->counter ? counter : spool->counter;
    }
    return status;
}

static dpot_status load_slots(struct dpot_spool *spool, uint64_t size)
{
    dpot_status status = DPOT_OK;
    bool is_whole = true;
    while (status == DPOT_OK && is_whole && size - spool->end >= DPOT_SPOOL_UNIT_LEN) {
        status = load_slot(spool, size, &is_whole);
    }
    spool->is_torn = spool->end != size;
    return status;
}

/* Drops last slots without a valid name: torn appends, whose charges cannot have been written
 * (S1). */
static void drop_torn_tail(struct dpot_spool *spool)
{
    while (spool->n_slots > 0 && !spool->slots[spool->n_slots - 1].has_name) {
        spool->n_slots--;
        spool->end = spool->slots[spool->n_slots].offset;
        dpot_slot_release(&spool->slots[spool->n_slots], spool->allocator);
        spool->is_torn = true;
    }
}

dpot_status dpot_spool_load(struct dpot_spool *spool)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    dpot_spool_clear(spool);
    spool->counter = 0;
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, spool->file, &size);
    if (status == DPOT_OK) {
        status = load_header(spool, size);
    }
    if (status == DPOT_OK) {
        status = load_slots(spool, size);
    }
    if (status == DPOT_OK) {
        drop_torn_tail(spool);
    }
    return status;
}

dpot_status dpot_spool_repair(struct dpot_spool *spool)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    dpot_status status = DPOT_OK;
    if (spool->is_torn) {
        status = fs->truncate(fs->ctx, spool->file, spool->end);
    }
    /* After a failed sync the cache may hold bytes that are not on disk, with the page marked
     * clean: only writing them again makes the next sync store them. */
    for (size_t i = 0; status == DPOT_OK && i < spool->n_slots; i++) {
        if (spool->slots[i].content != DPOT_SLOT_FREE) {
            const struct dpot_slot *slot = &spool->slots[i];
            status = fs->write_at(fs->ctx, spool->file, slot->offset, slot->raw, slot->raw_len);
        }
    }
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, spool->file);
    }
    if (status == DPOT_OK) {
        spool->is_torn = false;
    }
    return status;
}

/* Compares (data, len) with the file at `offset`. */
static dpot_status compare(const struct dpot_spool *spool, uint64_t offset, const uint8_t *data,
                           size_t len, bool *is_same)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    uint8_t block[COMPARE_LEN];
    dpot_status status = DPOT_OK;
    *is_same = true;
    for (size_t at = 0; status == DPOT_OK && *is_same && at < len; at += sizeof block) {
        const size_t n = len - at < sizeof block ? len - at : sizeof block;
        status = fs->read_at(fs->ctx, spool->file, offset + at, block, n);
        *is_same = status == DPOT_OK && memcmp(block, data + at, n) == 0;
    }
    return status;
}

dpot_status dpot_spool_is_current(struct dpot_spool *spool, bool *is_current)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, spool->file, &size);
    *is_current = false;
    if (status != DPOT_OK || size != spool->end) {
        return status;
    }
    bool is_same = false;
    status = compare(spool, 0, spool->header, DPOT_HEADER_LEN, &is_same);
    for (size_t i = 0; is_same && i < spool->n_slots; i++) {
        const struct dpot_slot *slot = &spool->slots[i];
        status = compare(spool, slot->offset, slot->raw, slot->raw_len, &is_same);
    }
    *is_current = is_same;
    return status;
}

dpot_status dpot_spool_reserve(struct dpot_spool *spool)
{
    if (spool->n_slots < spool->cap_slots) {
        return DPOT_OK;
    }
    const size_t cap = spool->cap_slots ? 2 * spool->cap_slots : 2;
    struct dpot_slot *slots = dpot_resize_array(spool->allocator, spool->slots, spool->cap_slots,
                                                cap, sizeof *spool->slots);
    if (!slots) {
        return DPOT_ERR_MEMORY;
    }
    spool->slots = slots;
    spool->cap_slots = cap;
    return DPOT_OK;
}

dpot_status dpot_spool_append(struct dpot_spool *spool, const struct dpot_slot_name *name)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    dpot_status status = dpot_spool_reserve(spool);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_slot *slot = &spool->slots[spool->n_slots];
    status = dpot_slot_init(slot, name->n_values, spool->allocator);
    if (status != DPOT_OK) {
        return status;
    }
    dpot_slot_set_name(spool->install, slot, name);
    slot->offset = spool->end;
    status = fs->write_at(fs->ctx, spool->file, slot->offset, slot->raw, slot->raw_len);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, spool->file);
    }
    if (status == DPOT_OK) {
        status = fs->sync_directory(fs->ctx);
    }
    if (status != DPOT_OK) {
        dpot_slot_release(slot, spool->allocator);
        return status;
    }
    spool->n_slots++;
    spool->end += slot->raw_len;
    return DPOT_OK;
}

/* Writes everything behind the name in place. */
static dpot_status write_body(struct dpot_spool *spool, const struct dpot_slot *slot)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    return fs->write_at(fs->ctx, spool->file, slot->offset + DPOT_SPOOL_BODY_AT,
                        slot->raw + DPOT_SPOOL_BODY_AT, slot->raw_len - DPOT_SPOOL_BODY_AT);
}

dpot_status dpot_spool_fill(struct dpot_spool *spool, size_t slot_index,
                            const struct dpot_report *report, uint64_t counter)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    struct dpot_slot *slot = &spool->slots[slot_index];
    dpot_slot_set_report(spool->install, slot, report, counter);
    dpot_status status = write_body(spool, slot);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, spool->file);
    }
    if (status == DPOT_OK) {
        (void)dpot_slot_parse(spool->install, slot); /* the bytes written are what is sent */
        spool->counter = counter > spool->counter ? counter : spool->counter;
    }
    return status;
}

dpot_status dpot_spool_acknowledge(struct dpot_spool *spool, size_t slot_index)
{
    struct dpot_slot *slot = &spool->slots[slot_index];
    dpot_slot_set_free(slot);
    return write_body(spool, slot);
}

static bool is_live(const struct dpot_slot *slot)
{
    return slot->content == DPOT_SLOT_EMPTY || slot->content == DPOT_SLOT_REPORT;
}

/* The bytes of a new spool of the next generation, with the live slots. */
static dpot_status build(const struct dpot_spool *spool, uint64_t counter, struct dpot_buf *out)
{
    const struct dpot_header next = {.counter = counter, .generation = spool->generation + 1};
    uint8_t header[DPOT_HEADER_LEN];
    dpot_header_encode(spool->install, magic, &next, header);
    dpot_status status = dpot_buf_append(out, header, sizeof header);
    for (size_t i = 0; status == DPOT_OK && i < spool->n_slots; i++) {
        if (is_live(&spool->slots[i])) {
            status = dpot_buf_append(out, spool->slots[i].raw, spool->slots[i].raw_len);
        }
    }
    return status;
}

/* Does in memory what dpot_file_replace did on disk. */
static dpot_status follow_rewrite(struct dpot_spool *spool, const struct dpot_buf *content)
{
    size_t n = 0;
    spool->end = DPOT_HEADER_LEN;
    for (size_t i = 0; i < spool->n_slots; i++) {
        struct dpot_slot *slot = &spool->slots[i];
        if (is_live(slot)) {
            slot->offset = spool->end;
            spool->end += slot->raw_len;
            spool->slots[n++] = *slot;
        } else {
            dpot_slot_release(slot, spool->allocator);
        }
    }
    spool->n_slots = n;
    spool->generation++;
    memcpy(spool->header, content->data, DPOT_HEADER_LEN);
    dpot_spool_close_file(spool);
    return dpot_spool_open_file(spool);
}

static bool is_live_of(const struct dpot_slot *slot, const uint8_t *campaign_id)
{
    return is_live(slot) &&
           (!campaign_id || memcmp(slot->name.campaign_id, campaign_id, DPOT_CAMPAIGN_ID_LEN) == 0);
}

uint64_t dpot_spool_live_len(const struct dpot_spool *spool, const uint8_t *campaign_id)
{
    uint64_t len = 0;
    for (size_t i = 0; i < spool->n_slots; i++) {
        len += is_live_of(&spool->slots[i], campaign_id) ? spool->slots[i].raw_len : 0;
    }
    return len;
}

dpot_status dpot_spool_rewrite(struct dpot_spool *spool, uint64_t counter)
{
    struct dpot_buf content;
    dpot_buf_init(&content, DPOT_HEADER_LEN + (size_t)dpot_spool_live_len(spool, NULL),
                  spool->allocator);
    dpot_status status = build(spool, counter, &content);
    if (status == DPOT_OK) {
        status = dpot_file_replace(spool->filesystem, DPOT_SPOOL_NAME, content.data, content.len);
    }
    if (status == DPOT_OK) {
        status = follow_rewrite(spool, &content);
    }
    dpot_buf_release(&content);
    return status;
}

dpot_status dpot_spool_compact(struct dpot_spool *spool, uint64_t counter)
{
    size_t n_live = 0;
    for (size_t i = 0; i < spool->n_slots; i++) {
        n_live += is_live(&spool->slots[i]);
    }
    if (spool->n_slots < DPOT_SPOOL_COMPACT_SLOTS || 2 * n_live > spool->n_slots) {
        return DPOT_OK;
    }
    return dpot_spool_rewrite(spool, counter);
}

size_t dpot_spool_find_first_to_close(const struct dpot_spool *spool, const uint8_t *campaign_id)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < spool->n_slots; i++) {
        const struct dpot_slot *slot = &spool->slots[i];
        if (is_live_of(slot, campaign_id) &&
            (first == SIZE_MAX || slot->name.closes_ms < spool->slots[first].name.closes_ms)) {
            first = i;
        }
    }
    return first;
}

static dpot_status wipe_slot(struct dpot_spool *spool, struct dpot_slot *slot, uint64_t counter)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    dpot_slot_set_withdrawn(spool->install, slot, counter);
    return slot->has_name
               ? write_body(spool, slot)
               : fs->write_at(fs->ctx, spool->file, slot->offset, slot->raw, slot->raw_len);
}

/* Removes the copy that an interrupted rewrite may have left. */
static dpot_status remove_copy(const struct dpot_spool *spool)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    const dpot_status status = fs->remove(fs->ctx, DPOT_SPOOL_NAME ".new");
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

dpot_status dpot_spool_purge(struct dpot_spool *spool, uint64_t counter)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    dpot_status status = remove_copy(spool);
    bool is_changed = false;
    for (size_t i = 0; status == DPOT_OK && i < spool->n_slots; i++) {
        if (spool->slots[i].content != DPOT_SLOT_FREE) {
            status = wipe_slot(spool, &spool->slots[i], counter);
            is_changed = true;
        }
    }
    return status == DPOT_OK && is_changed ? fs->sync(fs->ctx, spool->file) : status;
}

dpot_status dpot_spool_cut(struct dpot_spool *spool)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    dpot_status status = fs->truncate(fs->ctx, spool->file, DPOT_HEADER_LEN);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, spool->file);
    }
    if (status == DPOT_OK) {
        dpot_spool_clear(spool);
    }
    return status;
}

size_t dpot_spool_find(const struct dpot_spool *spool, const struct dpot_key *key)
{
    for (size_t i = 0; i < spool->n_slots; i++) {
        const struct dpot_slot *slot = &spool->slots[i];
        if (is_live(slot) && dpot_key_equal(&slot->name.key, key)) {
            return i;
        }
    }
    return SIZE_MAX;
}
