#include "spool.h"

#include "base/buf.h"
#include "files.h"

#include <string.h>

static const char magic[] = "DPOTSPL1";

/* Layout of a slot; everything little-endian. Both checksums are keyed; that of the report covers
 * the name too, so that a report cannot be moved to another key. */
enum {
    NAME_MARK_AT = 0, /* u32 */
    ROUND_AT = 4,     /* u32 */
    HASH_AT = 8,
    CAMPAIGN_AT = 40,
    CLOSES_AT = 56,
    NAME_MAC_AT = 64, /* 32 bytes, then 8 zero bytes */
    BODY_AT = DPOT_SPOOL_BODY_AT,
    INDEX_AT = BODY_AT + 4,
    ID_AT = BODY_AT + 8,
    GROUP_AT = BODY_AT + 24,
    TEST_AT = BODY_AT + 28,
    START_AT = BODY_AT + 32,
    COUNTER_AT = BODY_AT + 40,
    BODY_MAC_AT = BODY_AT + 48,
};
enum { MARK_NAME = 0x544f4c53, MARK_REPORT = 0x54504552, MARK_ACK = 0x444b4341 };

static const uint8_t no_previous[DPOT_MAC_LEN];

void dpot_spool_init(struct dpot_spool *spool, const struct dpot_filesystem *filesystem,
                     const struct dpot_allocator *allocator, const struct dpot_install *install)
{
    *spool =
        (struct dpot_spool){.filesystem = filesystem, .allocator = allocator, .install = install};
}

void dpot_spool_release(struct dpot_spool *spool)
{
    dpot_spool_close_file(spool);
    dpot_free_array(spool->allocator, spool->slots, spool->cap_slots, sizeof *spool->slots);
    spool->slots = NULL;
    spool->n_slots = spool->cap_slots = 0;
}

static uint64_t slot_offset(size_t slot)
{
    return DPOT_HEADER_LEN + (uint64_t)slot * DPOT_SPOOL_SLOT_LEN;
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

static void write_name(const struct dpot_install *install, const struct dpot_slot_name *name,
                       uint8_t *raw)
{
    memset(raw, 0, DPOT_SPOOL_SLOT_LEN);
    dpot_store_u32(raw + NAME_MARK_AT, MARK_NAME);
    dpot_store_u32(raw + ROUND_AT, name->key.round);
    memcpy(raw + HASH_AT, name->key.campaign_hash, DPOT_HASH_LEN);
    memcpy(raw + CAMPAIGN_AT, name->campaign_id, sizeof name->campaign_id);
    dpot_store_u64(raw + CLOSES_AT, (uint64_t)name->closes_ms);
    dpot_mac(install, no_previous, raw, NAME_MAC_AT, raw + NAME_MAC_AT);
}

static bool read_name(const struct dpot_install *install, const uint8_t *raw,
                      struct dpot_slot_name *name)
{
    uint8_t mac[DPOT_MAC_LEN];
    dpot_mac(install, no_previous, raw, NAME_MAC_AT, mac);
    if (dpot_load_u32(raw + NAME_MARK_AT) != MARK_NAME ||
        !dpot_secret_equal(mac, raw + NAME_MAC_AT, sizeof mac)) {
        return false;
    }
    name->key.round = dpot_load_u32(raw + ROUND_AT);
    memcpy(name->key.campaign_hash, raw + HASH_AT, DPOT_HASH_LEN);
    memcpy(name->campaign_id, raw + CAMPAIGN_AT, sizeof name->campaign_id);
    name->closes_ms = (int64_t)dpot_load_u64(raw + CLOSES_AT);
    return true;
}

static bool is_zero(const uint8_t *data, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= data[i];
    }
    return any == 0;
}

static bool report_holds(const struct dpot_install *install, const uint8_t *raw)
{
    uint8_t mac[DPOT_MAC_LEN];
    dpot_mac(install, raw + NAME_MAC_AT, raw + BODY_AT, BODY_MAC_AT - BODY_AT, mac);
    return dpot_load_u32(raw + BODY_AT) == MARK_REPORT &&
           dpot_secret_equal(mac, raw + BODY_MAC_AT, sizeof mac);
}

/* Fills `slot` from its raw bytes; returns the counter value in it. */
static uint64_t parse(const struct dpot_install *install, struct dpot_slot *slot)
{
    const uint8_t *raw = slot->raw;
    slot->retry_at_ms = INT64_MIN;
    slot->has_name = read_name(install, raw, &slot->name);
    slot->content = DPOT_SLOT_BROKEN;
    if (!slot->has_name) {
        return 0;
    }
    if (is_zero(raw + BODY_AT, DPOT_SPOOL_SLOT_LEN - BODY_AT)) {
        slot->content = DPOT_SLOT_EMPTY;
    } else if (dpot_load_u32(raw + BODY_AT) == MARK_ACK) {
        slot->content = DPOT_SLOT_FREE;
    } else if (report_holds(install, raw)) {
        slot->content = DPOT_SLOT_REPORT;
        memcpy(slot->report.id, raw + ID_AT, sizeof slot->report.id);
        slot->report.index = dpot_load_u32(raw + INDEX_AT);
        slot->report.group = dpot_load_u32(raw + GROUP_AT);
        slot->report.test = dpot_load_u32(raw + TEST_AT) != 0;
        slot->start_ms = (int64_t)dpot_load_u64(raw + START_AT);
        return dpot_load_u64(raw + COUNTER_AT);
    }
    return 0;
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

static dpot_status load_slots(struct dpot_spool *spool, uint64_t n)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    for (uint64_t i = 0; i < n; i++) {
        dpot_status status = dpot_spool_reserve(spool);
        if (status != DPOT_OK) {
            return status;
        }
        struct dpot_slot *slot = &spool->slots[spool->n_slots];
        memset(slot, 0, sizeof *slot);
        status = fs->read_at(fs->ctx, spool->file, slot_offset(spool->n_slots), slot->raw,
                             sizeof slot->raw);
        if (status != DPOT_OK) {
            return status;
        }
        const uint64_t counter = parse(spool->install, slot);
        spool->counter = counter > spool->counter ? counter : spool->counter;
        spool->n_slots++;
    }
    return DPOT_OK;
}

/* A last slot without a name is a torn append: its charge cannot have been written (S1). */
static void drop_torn_tail(struct dpot_spool *spool)
{
    while (spool->n_slots > 0 && !spool->slots[spool->n_slots - 1].has_name) {
        spool->n_slots--;
        spool->is_torn = true;
    }
}

dpot_status dpot_spool_load(struct dpot_spool *spool)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    spool->n_slots = 0;
    spool->counter = 0;
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, spool->file, &size);
    if (status == DPOT_OK) {
        status = load_header(spool, size);
    }
    if (status == DPOT_OK) {
        spool->is_torn = (size - DPOT_HEADER_LEN) % DPOT_SPOOL_SLOT_LEN != 0;
        status = load_slots(spool, (size - DPOT_HEADER_LEN) / DPOT_SPOOL_SLOT_LEN);
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
        status = fs->truncate(fs->ctx, spool->file, slot_offset(spool->n_slots));
    }
    /* In place and byte for byte: after a sync that failed the cache may hold what the disk does
     * not, with the page marked clean. */
    for (size_t i = 0; status == DPOT_OK && i < spool->n_slots; i++) {
        if (spool->slots[i].content != DPOT_SLOT_FREE) {
            status = fs->write_at(fs->ctx, spool->file, slot_offset(i), spool->slots[i].raw,
                                  DPOT_SPOOL_SLOT_LEN);
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

dpot_status dpot_spool_is_current(struct dpot_spool *spool, bool *is_current)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    uint8_t block[DPOT_SPOOL_SLOT_LEN > DPOT_HEADER_LEN ? DPOT_SPOOL_SLOT_LEN : DPOT_HEADER_LEN];
    uint64_t size = 0;
    dpot_status status = fs->size(fs->ctx, spool->file, &size);
    *is_current = false;
    if (status != DPOT_OK || size != slot_offset(spool->n_slots)) {
        return status;
    }
    status = fs->read_at(fs->ctx, spool->file, 0, block, DPOT_HEADER_LEN);
    bool is_same = status == DPOT_OK && memcmp(block, spool->header, DPOT_HEADER_LEN) == 0;
    for (size_t i = 0; is_same && i < spool->n_slots; i++) {
        status = fs->read_at(fs->ctx, spool->file, slot_offset(i), block, DPOT_SPOOL_SLOT_LEN);
        is_same = status == DPOT_OK && memcmp(block, spool->slots[i].raw, DPOT_SPOOL_SLOT_LEN) == 0;
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
    *slot = (struct dpot_slot){
        .content = DPOT_SLOT_EMPTY, .has_name = true, .name = *name, .retry_at_ms = INT64_MIN};
    write_name(spool->install, name, slot->raw);
    status = fs->write_at(fs->ctx, spool->file, slot_offset(spool->n_slots), slot->raw,
                          sizeof slot->raw);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, spool->file);
    }
    if (status == DPOT_OK) {
        status = fs->sync_directory(fs->ctx);
    }
    if (status == DPOT_OK) {
        spool->n_slots++;
    }
    return status;
}

dpot_status dpot_spool_fill(struct dpot_spool *spool, size_t slot_index,
                            const struct dpot_report *report, int64_t start_ms, uint64_t counter)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    struct dpot_slot *slot = &spool->slots[slot_index];
    uint8_t *raw = slot->raw;
    dpot_store_u32(raw + BODY_AT, MARK_REPORT);
    dpot_store_u32(raw + INDEX_AT, report->index);
    memcpy(raw + ID_AT, report->id, sizeof report->id);
    dpot_store_u32(raw + GROUP_AT, report->group);
    dpot_store_u32(raw + TEST_AT, report->test ? 1 : 0);
    dpot_store_u64(raw + START_AT, (uint64_t)start_ms);
    dpot_store_u64(raw + COUNTER_AT, counter);
    dpot_mac(spool->install, raw + NAME_MAC_AT, raw + BODY_AT, BODY_MAC_AT - BODY_AT,
             raw + BODY_MAC_AT);
    dpot_status status = fs->write_at(fs->ctx, spool->file, slot_offset(slot_index) + BODY_AT,
                                      raw + BODY_AT, DPOT_SPOOL_SLOT_LEN - BODY_AT);
    if (status == DPOT_OK) {
        status = fs->sync(fs->ctx, spool->file);
    }
    if (status == DPOT_OK) {
        slot->content = DPOT_SLOT_REPORT;
        slot->report = *report;
        slot->start_ms = start_ms;
        spool->counter = counter > spool->counter ? counter : spool->counter;
    }
    return status;
}

dpot_status dpot_spool_acknowledge(struct dpot_spool *spool, size_t slot_index)
{
    const struct dpot_filesystem *fs = spool->filesystem;
    struct dpot_slot *slot = &spool->slots[slot_index];
    dpot_wipe(slot->raw + BODY_AT, DPOT_SPOOL_SLOT_LEN - BODY_AT);
    dpot_wipe(&slot->report, sizeof slot->report);
    dpot_store_u32(slot->raw + BODY_AT, MARK_ACK);
    slot->content = DPOT_SLOT_FREE;
    return fs->write_at(fs->ctx, spool->file, slot_offset(slot_index) + BODY_AT,
                        slot->raw + BODY_AT, DPOT_SPOOL_SLOT_LEN - BODY_AT);
}

static bool is_kept(const struct dpot_slot *slot)
{
    return slot->content == DPOT_SLOT_EMPTY || slot->content == DPOT_SLOT_REPORT;
}

/* The bytes of a new spool of the next generation, with the kept slots only. */
static dpot_status build(const struct dpot_spool *spool, uint64_t counter, struct dpot_buf *out)
{
    const struct dpot_header next = {.counter = counter, .generation = spool->generation + 1};
    uint8_t header[DPOT_HEADER_LEN];
    dpot_header_encode(spool->install, magic, &next, header);
    dpot_status status = dpot_buf_append(out, header, sizeof header);
    for (size_t i = 0; status == DPOT_OK && i < spool->n_slots; i++) {
        if (is_kept(&spool->slots[i])) {
            status = dpot_buf_append(out, spool->slots[i].raw, DPOT_SPOOL_SLOT_LEN);
        }
    }
    return status;
}

/* Follows in memory what dpot_file_replace did on disk. */
static dpot_status take_over(struct dpot_spool *spool, const struct dpot_buf *content)
{
    size_t n = 0;
    for (size_t i = 0; i < spool->n_slots; i++) {
        if (is_kept(&spool->slots[i])) {
            spool->slots[n++] = spool->slots[i];
        }
    }
    spool->n_slots = n;
    spool->generation++;
    memcpy(spool->header, content->data, DPOT_HEADER_LEN);
    dpot_spool_close_file(spool);
    return dpot_spool_open_file(spool);
}

dpot_status dpot_spool_compact(struct dpot_spool *spool, uint64_t counter)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < spool->n_slots; i++) {
        n_kept += is_kept(&spool->slots[i]);
    }
    if (spool->n_slots < DPOT_SPOOL_COMPACT_SLOTS || 2 * n_kept > spool->n_slots) {
        return DPOT_OK;
    }
    struct dpot_buf content;
    dpot_buf_init(&content, DPOT_HEADER_LEN + n_kept * DPOT_SPOOL_SLOT_LEN, spool->allocator);
    dpot_status status = build(spool, counter, &content);
    if (status == DPOT_OK) {
        status = dpot_file_replace(spool->filesystem, DPOT_SPOOL_NAME, content.data, content.len);
    }
    if (status == DPOT_OK) {
        status = take_over(spool, &content);
    }
    dpot_buf_release(&content);
    return status;
}

size_t dpot_spool_find(const struct dpot_spool *spool, const struct dpot_key *key)
{
    for (size_t i = 0; i < spool->n_slots; i++) {
        const struct dpot_slot *slot = &spool->slots[i];
        if (is_kept(slot) && dpot_key_equal(&slot->name.key, key)) {
            return i;
        }
    }
    return SIZE_MAX;
}
