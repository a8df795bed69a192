#include "store/id_set.h"

#include "base/buf.h"
#include "base/compiler.h"
#include "base/crypto.h"

#include <string.h>

#define SLOTS_MIN 8u
#define PLACE_BITS 24u /* of the hash, below the 8 that choose the table; limits its slots */
#define SLOTS_MAX (1u << PLACE_BITS)

static const uint8_t zero_id[ID_SET_ID_LEN];

void id_set_init(struct id_set *set, const struct dpot_allocator *allocator)
{
    *set = (struct id_set){.allocator = allocator};
    dpot_random_bytes(set->key, sizeof set->key);
}

void id_set_release(struct id_set *set)
{
    for (size_t i = 0; set->segments && i < ID_SET_SEGMENTS; i++) {
        struct id_segment *segment = &set->segments[i];
        dpot_free_array(set->allocator, segment->slots, segment->n_slots, ID_SET_ID_LEN);
    }
    dpot_free_array(set->allocator, set->segments, ID_SET_SEGMENTS, sizeof *set->segments);
    *set = (struct id_set){.allocator = set->allocator};
}

size_t id_set_bytes(const struct id_set *set)
{
    const size_t tables = set->segments ? ID_SET_SEGMENTS * sizeof *set->segments : 0;
    return tables + set->n_slots * ID_SET_ID_LEN;
}

/* ---- the hash ---- */

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void sip_take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

uint64_t id_set_hash(const uint64_t key[2], const uint8_t id[ID_SET_ID_LEN])
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    sip_take(v, dpot_load_u64(id));
    sip_take(v, dpot_load_u64(id + 8));
    sip_take(v, (uint64_t)ID_SET_ID_LEN << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) {
        sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- tables ---- */

static struct id_segment *segment_of(const struct id_set *set, uint64_t hash)
{
    return &set->segments[hash >> 56];
}

static uint32_t place_of(const struct id_segment *segment, uint64_t hash)
{
    const uint64_t place = hash >> 32 & (SLOTS_MAX - 1);
    return (uint32_t)(place * segment->n_slots >> PLACE_BITS);
}

static uint8_t *slot_at(const struct id_segment *segment, uint32_t i)
{
    return segment->slots + (size_t)i * ID_SET_ID_LEN;
}

static uint32_t next(const struct id_segment *segment, uint32_t i)
{
    return i + 1 == segment->n_slots ? 0 : i + 1;
}

/* By words of 64 bits: this runs for every slot of every probe. */
static bool is_equal(const uint8_t *a, const uint8_t *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

static bool is_free(const uint8_t *slot)
{
    return is_equal(slot, zero_id);
}

/* The slot that holds the id, or the free one where it belongs. */
static uint32_t find_slot(const struct id_segment *segment, uint64_t hash, const uint8_t *id)
{
    uint32_t i = place_of(segment, hash);
    while (!is_free(slot_at(segment, i)) && !is_equal(slot_at(segment, i), id)) {
        i = next(segment, i);
    }
    return i;
}

static dpot_status grow(struct id_set *set, struct id_segment *segment)
{
    const uint32_t n = segment->n_slots;
    struct id_segment larger = {.n_slots = n < SLOTS_MIN ? SLOTS_MIN : n + n / 2,
                                .n_used = segment->n_used};
    if (larger.n_slots > SLOTS_MAX) {
        return DPOT_ERR_MEMORY;
    }
    larger.slots = dpot_alloc_array(set->allocator, larger.n_slots, ID_SET_ID_LEN);
    if (!larger.slots) {
        return DPOT_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *id = slot_at(segment, i);
        if (!is_free(id)) {
            const uint32_t to = find_slot(&larger, id_set_hash(set->key, id), id);
            memcpy(slot_at(&larger, to), id, ID_SET_ID_LEN);
        }
    }
    dpot_free_array(set->allocator, segment->slots, n, ID_SET_ID_LEN);
    set->n_slots += larger.n_slots - n;
    *segment = larger;
    return DPOT_OK;
}

/* At most three quarters of the slots are used, so that every probe ends. */
static dpot_status make_room(struct id_set *set, struct id_segment *segment)
{
    return (uint64_t)4 * (segment->n_used + 1) > (uint64_t)3 * segment->n_slots ? grow(set, segment)
                                                                                : DPOT_OK;
}

static dpot_status make_tables(struct id_set *set)
{
    if (!set->segments) {
        set->segments = dpot_alloc_array(set->allocator, ID_SET_SEGMENTS, sizeof *set->segments);
    }
    return set->segments ? DPOT_OK : DPOT_ERR_MEMORY;
}

static uint64_t square_root(uint64_t n)
{
    uint64_t root = 0;
    while ((root + 1) * (root + 1) <= n) {
        root++;
    }
    return root;
}

/* Slots for the share of one table in n ids: their number deviates by its square root, and hardly
 * ever by four times that. A table that gets more of them grows. */
static uint64_t share_of(uint64_t n)
{
    const uint64_t mean = n / ID_SET_SEGMENTS + 1;
    const uint64_t slots = 4 * (mean + 4 * square_root(mean)) / 3 + SLOTS_MIN;
    return slots < SLOTS_MAX ? slots : SLOTS_MAX;
}

void id_set_reserve(struct id_set *set, uint64_t n)
{
    const uint32_t n_slots = (uint32_t)share_of(n < UINT32_MAX ? n : UINT32_MAX);
    if (set->n_slots > 0 || make_tables(set) != DPOT_OK) {
        return;
    }
    for (size_t i = 0; i < ID_SET_SEGMENTS; i++) {
        struct id_segment *segment = &set->segments[i];
        segment->slots = dpot_alloc_array(set->allocator, n_slots, ID_SET_ID_LEN);
        segment->n_slots = segment->slots ? n_slots : 0;
        set->n_slots += segment->n_slots;
    }
}

uint64_t id_set_prefetch(const struct id_set *set, const uint8_t id[ID_SET_ID_LEN])
{
    const uint64_t hash = id_set_hash(set->key, id);
    if (set->segments && segment_of(set, hash)->n_slots > 0) {
        const struct id_segment *segment = segment_of(set, hash);
        DPOT_PREFETCH(slot_at(segment, place_of(segment, hash)));
    }
    return hash;
}

dpot_status id_set_insert(struct id_set *set, const uint8_t id[ID_SET_ID_LEN], uint64_t hash,
                          bool *is_new)
{
    if (is_free(id)) {
        *is_new = !set->has_zero;
        set->has_zero = true;
        return DPOT_OK;
    }
    if (make_tables(set) != DPOT_OK) {
        return DPOT_ERR_MEMORY;
    }
    struct id_segment *segment = segment_of(set, hash);
    if (make_room(set, segment) != DPOT_OK) {
        return DPOT_ERR_MEMORY;
    }
    uint8_t *slot = slot_at(segment, find_slot(segment, hash, id));
    *is_new = is_free(slot);
    if (*is_new) {
        memcpy(slot, id, ID_SET_ID_LEN);
        segment->n_used++;
        set->n_used++;
    }
    return DPOT_OK;
}

/* Moves those slots before the next free one back into `hole` whose probe would end there. */
static void close_hole(const struct id_set *set, const struct id_segment *segment, uint32_t hole)
{
    for (uint32_t i = next(segment, hole); !is_free(slot_at(segment, i)); i = next(segment, i)) {
        const uint32_t place = place_of(segment, id_set_hash(set->key, slot_at(segment, i)));
        const uint32_t n = segment->n_slots;
        const uint32_t from_place = (i + n - place) % n, from_hole = (i + n - hole) % n;
        if (from_place >= from_hole) {
            memcpy(slot_at(segment, hole), slot_at(segment, i), ID_SET_ID_LEN);
            hole = i;
        }
    }
    memset(slot_at(segment, hole), 0, ID_SET_ID_LEN);
}

void id_set_remove(struct id_set *set, const uint8_t id[ID_SET_ID_LEN])
{
    if (is_free(id)) {
        set->has_zero = false;
        return;
    }
    const uint64_t hash = id_set_hash(set->key, id);
    struct id_segment *segment = segment_of(set, hash);
    close_hole(set, segment, find_slot(segment, hash, id));
    segment->n_used--;
    set->n_used--;
}
