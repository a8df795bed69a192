#include "storage/spool_slot.h"

#include "base/buf.h"
#include "model/vector.h"

#include <string.h>

/* Layout of a slot; everything little-endian. The checksums are keyed. Those of the report and of
 * the draws cover the name too, so that neither can be moved to another key; that of the report
 * covers the digest of its values. */
enum {
    NAME_MARK_AT = 0, /* u32 */
    ROUND_AT = 4,     /* u32 */
    HASH_AT = 8,
    CAMPAIGN_AT = 40,
    CLOSES_AT = 56,
    N_VALUES_AT = 64, /* u32 */
    FLAGS_AT = 68,    /* u32 */
    NAME_MAC_AT = 72, /* 32 bytes */
    BODY_AT = DPOT_SPOOL_BODY_AT,
    INDEX_AT = BODY_AT + 4,
    ID_AT = BODY_AT + 8,
    GROUP_AT = BODY_AT + 24,
    TEST_AT = BODY_AT + 28,
    UNUSED_AT = BODY_AT + 32, /* u64, zero; older releases: the start of the submit */
    COUNTER_AT = BODY_AT + 40,
    DIGEST_AT = BODY_AT + 48, /* BLAKE2b-256 of the values; zeros without values */
    BODY_MAC_AT = BODY_AT + 80,
    DRAWS_AT = BODY_AT + 112, /* written with the name; zeros in slots of older releases */
    REPORT_ID_AT = DRAWS_AT,
    DELAY_AT = DRAWS_AT + 16,   /* u32 */
    LEN_MAX_AT = DRAWS_AT + 20, /* u32 */
    DRAWS_MAC_AT = DRAWS_AT + 24,
    DRAWS_MAC_LEN = DPOT_SPOOL_UNIT_LEN - DRAWS_MAC_AT, /* the first bytes of a checksum */
    VALUES_AT = DPOT_SPOOL_UNIT_LEN,                    /* i64 each */
};
enum { MARK_NAME = 0x544f4c53, MARK_REPORT = 0x54504552, MARK_ACK = 0x444b4341 };

enum { FLAG_HAS_LOSSES = 1 };

static const uint8_t no_previous[DPOT_MAC_LEN];

size_t dpot_slot_len(uint32_t n_values)
{
    const size_t bytes = VALUES_AT + sizeof(int64_t) * n_values;
    return (bytes + DPOT_SPOOL_UNIT_LEN - 1) / DPOT_SPOOL_UNIT_LEN * DPOT_SPOOL_UNIT_LEN;
}

dpot_status dpot_slot_init(struct dpot_slot *slot, uint32_t n_values,
                           const struct dpot_allocator *allocator)
{
    *slot = (struct dpot_slot){
        .retry_at_ms = INT64_MIN, .held_until_ms = INT64_MIN, .raw_len = dpot_slot_len(n_values)};
    slot->name.n_values = n_values;
    slot->raw = dpot_alloc_array(allocator, slot->raw_len, 1);
    if (n_values > 0) {
        slot->values = dpot_alloc_array(allocator, n_values, sizeof *slot->values);
    }
    if (!slot->raw || (n_values > 0 && !slot->values)) {
        dpot_slot_release(slot, allocator);
        return DPOT_ERR_MEMORY;
    }
    return DPOT_OK;
}

void dpot_slot_release(struct dpot_slot *slot, const struct dpot_allocator *allocator)
{
    dpot_free_secret(allocator, slot->raw, slot->raw_len, 1);
    dpot_free_secret(allocator, slot->values, slot->name.n_values, sizeof *slot->values);
    *slot = (struct dpot_slot){.retry_at_ms = INT64_MIN, .held_until_ms = INT64_MIN};
}

static void seal_draws(const struct dpot_install *install, const uint8_t *raw,
                       uint8_t mac[DPOT_MAC_LEN])
{
    dpot_mac(install, raw + NAME_MAC_AT, raw + DRAWS_AT, DRAWS_MAC_AT - DRAWS_AT, mac);
}

static void write_draws(const struct dpot_install *install, const struct dpot_slot_name *name,
                        uint8_t *raw)
{
    uint8_t mac[DPOT_MAC_LEN];
    if (!name->has_draws) {
        return;
    }
    memcpy(raw + REPORT_ID_AT, name->report_id, sizeof name->report_id);
    dpot_store_u32(raw + DELAY_AT, name->delay_ms);
    dpot_store_u32(raw + LEN_MAX_AT, name->report_len_max);
    seal_draws(install, raw, mac);
    memcpy(raw + DRAWS_MAC_AT, mac, DRAWS_MAC_LEN);
}

static void read_draws(const struct dpot_install *install, const uint8_t *raw,
                       struct dpot_slot_name *name)
{
    uint8_t mac[DPOT_MAC_LEN];
    seal_draws(install, raw, mac);
    name->has_draws = dpot_secret_equal(mac, raw + DRAWS_MAC_AT, DRAWS_MAC_LEN) &&
                      dpot_load_u32(raw + DELAY_AT) > 0;
    if (name->has_draws) {
        memcpy(name->report_id, raw + REPORT_ID_AT, sizeof name->report_id);
        name->delay_ms = dpot_load_u32(raw + DELAY_AT);
        name->report_len_max = dpot_load_u32(raw + LEN_MAX_AT);
    }
}

void dpot_slot_set_name(const struct dpot_install *install, struct dpot_slot *slot,
                        const struct dpot_slot_name *name)
{
    uint8_t *raw = slot->raw;
    memset(raw, 0, slot->raw_len);
    dpot_store_u32(raw + NAME_MARK_AT, MARK_NAME);
    dpot_store_u32(raw + ROUND_AT, name->key.round);
    memcpy(raw + HASH_AT, name->key.campaign_hash, DPOT_HASH_LEN);
    memcpy(raw + CAMPAIGN_AT, name->campaign_id, sizeof name->campaign_id);
    dpot_store_u64(raw + CLOSES_AT, (uint64_t)name->closes_ms);
    dpot_store_u32(raw + N_VALUES_AT, name->n_values);
    dpot_store_u32(raw + FLAGS_AT, name->has_losses ? FLAG_HAS_LOSSES : 0);
    dpot_mac(install, no_previous, raw, NAME_MAC_AT, raw + NAME_MAC_AT);
    write_draws(install, name, raw);
    slot->name = *name;
    slot->has_name = true;
    slot->content = DPOT_SLOT_EMPTY;
}

bool dpot_slot_read_name(const struct dpot_install *install,
                         const uint8_t unit[DPOT_SPOOL_UNIT_LEN], struct dpot_slot_name *name)
{
    uint8_t mac[DPOT_MAC_LEN];
    dpot_mac(install, no_previous, unit, NAME_MAC_AT, mac);
    if (dpot_load_u32(unit + NAME_MARK_AT) != MARK_NAME ||
        !dpot_secret_equal(mac, unit + NAME_MAC_AT, sizeof mac)) {
        return false;
    }
    memset(name, 0, sizeof *name);
    name->key.round = dpot_load_u32(unit + ROUND_AT);
    memcpy(name->key.campaign_hash, unit + HASH_AT, DPOT_HASH_LEN);
    memcpy(name->campaign_id, unit + CAMPAIGN_AT, sizeof name->campaign_id);
    name->closes_ms = (int64_t)dpot_load_u64(unit + CLOSES_AT);
    name->n_values = dpot_load_u32(unit + N_VALUES_AT);
    name->has_losses = (dpot_load_u32(unit + FLAGS_AT) & FLAG_HAS_LOSSES) != 0;
    read_draws(install, unit, name);
    return name->n_values <= DPOT_VECTOR_DIM_MAX;
}

static bool is_zero(const uint8_t *data, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= data[i];
    }
    return any == 0;
}

/* Draws are valid, or all zero as in slots of older releases. */
static bool are_draws_valid(const struct dpot_slot *slot)
{
    return slot->name.has_draws || is_zero(slot->raw + DRAWS_AT, VALUES_AT - DRAWS_AT);
}

static bool is_empty(const struct dpot_slot *slot)
{
    return is_zero(slot->raw + BODY_AT, DRAWS_AT - BODY_AT) &&
           is_zero(slot->raw + VALUES_AT, slot->raw_len - VALUES_AT);
}

/* The digest of the values in the raw bytes, padding included. */
static void digest_values(const struct dpot_slot *slot, uint8_t digest[DPOT_HASH_LEN])
{
    struct dpot_hasher hasher;
    memset(digest, 0, DPOT_HASH_LEN);
    if (slot->name.n_values > 0) {
        dpot_hasher_init(&hasher);
        dpot_hasher_add(&hasher, slot->raw + VALUES_AT, slot->raw_len - VALUES_AT);
        dpot_hasher_end(&hasher, digest);
    }
}

static void seal_body(const struct dpot_install *install, const uint8_t *raw,
                      uint8_t mac[DPOT_MAC_LEN])
{
    dpot_mac(install, raw + NAME_MAC_AT, raw + BODY_AT, BODY_MAC_AT - BODY_AT, mac);
}

static bool is_body_valid(const struct dpot_install *install, const uint8_t *raw)
{
    uint8_t mac[DPOT_MAC_LEN];
    seal_body(install, raw, mac);
    return dpot_secret_equal(mac, raw + BODY_MAC_AT, sizeof mac);
}

static bool is_report_valid(const struct dpot_install *install, const struct dpot_slot *slot)
{
    uint8_t digest[DPOT_HASH_LEN];
    const uint8_t *raw = slot->raw;
    digest_values(slot, digest);
    return dpot_load_u32(raw + BODY_AT) == MARK_REPORT && is_body_valid(install, raw) &&
           memcmp(digest, raw + DIGEST_AT, sizeof digest) == 0;
}

static void read_report(struct dpot_slot *slot)
{
    const uint8_t *raw = slot->raw;
    struct dpot_report *report = &slot->report;
    memcpy(report->id, raw + ID_AT, sizeof report->id);
    report->index = dpot_load_u32(raw + INDEX_AT);
    report->group = dpot_load_u32(raw + GROUP_AT);
    report->test = dpot_load_u32(raw + TEST_AT) != 0;
    for (uint32_t i = 0; i < slot->name.n_values; i++) {
        slot->values[i] = (int64_t)dpot_load_u64(raw + VALUES_AT + sizeof(int64_t) * i);
    }
    report->n_values = slot->name.n_values;
    report->values = slot->values;
}

uint64_t dpot_slot_parse(const struct dpot_install *install, struct dpot_slot *slot)
{
    const uint8_t *raw = slot->raw;
    struct dpot_slot_name name;
    slot->content = DPOT_SLOT_BROKEN;
    slot->has_name =
        dpot_slot_read_name(install, raw, &name) && dpot_slot_len(name.n_values) == slot->raw_len;
    if (!slot->has_name) {
        return 0;
    }
    slot->name = name;
    if (is_empty(slot) && are_draws_valid(slot)) {
        slot->content = DPOT_SLOT_EMPTY;
    } else if (dpot_load_u32(raw + BODY_AT) == MARK_ACK) {
        slot->content = DPOT_SLOT_FREE;
        return is_body_valid(install, raw) ? dpot_load_u64(raw + COUNTER_AT) : 0;
    } else if (is_report_valid(install, slot) && are_draws_valid(slot)) {
        slot->content = DPOT_SLOT_REPORT;
        read_report(slot);
        return dpot_load_u64(raw + COUNTER_AT);
    }
    return 0;
}

void dpot_slot_set_report(const struct dpot_install *install, struct dpot_slot *slot,
                          const struct dpot_report *report, uint64_t counter)
{
    uint8_t *raw = slot->raw;
    dpot_store_u32(raw + BODY_AT, MARK_REPORT);
    dpot_store_u32(raw + INDEX_AT, report->index);
    memcpy(raw + ID_AT, report->id, sizeof report->id);
    dpot_store_u32(raw + GROUP_AT, report->group);
    dpot_store_u32(raw + TEST_AT, report->test ? 1 : 0);
    dpot_store_u64(raw + COUNTER_AT, counter);
    for (uint32_t i = 0; i < slot->name.n_values; i++) {
        dpot_store_u64(raw + VALUES_AT + sizeof(int64_t) * i, (uint64_t)report->values[i]);
    }
    digest_values(slot, raw + DIGEST_AT);
    seal_body(install, raw, raw + BODY_MAC_AT);
}

void dpot_slot_set_free(struct dpot_slot *slot)
{
    dpot_wipe(slot->raw + BODY_AT, slot->raw_len - BODY_AT);
    if (slot->values) {
        dpot_wipe(slot->values, slot->name.n_values * sizeof *slot->values);
    }
    dpot_wipe(&slot->report, sizeof slot->report);
    dpot_store_u32(slot->raw + BODY_AT, MARK_ACK);
    slot->content = DPOT_SLOT_FREE;
}

void dpot_slot_set_withdrawn(const struct dpot_install *install, struct dpot_slot *slot,
                             uint64_t counter)
{
    dpot_slot_set_free(slot);
    if (!slot->has_name) {
        dpot_wipe(slot->raw, slot->raw_len); /* its content is unknown */
    } else if (counter > 0) {
        dpot_store_u64(slot->raw + COUNTER_AT, counter);
        seal_body(install, slot->raw, slot->raw + BODY_MAC_AT);
    }
}
