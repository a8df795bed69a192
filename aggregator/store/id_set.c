#include "store/id_set.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/crypto.h"

#include <string.h>

#define BITS_MIN 10
#define BITS_MAX 40

static const uint8_t zero_id[ID_SET_ID_LEN];

void id_set_init(struct id_set *set)
{
    *set = (struct id_set){.bits = 0};
    dpot_random_bytes(set->key, sizeof set->key);
}

static size_t n_slots(unsigned bits)
{
    return bits == 0 ? 0 : (size_t)1 << bits;
}

void id_set_release(struct id_set *set)
{
    dpot_free_array(NULL, set->slots, n_slots(set->bits), ID_SET_ID_LEN);
    *set = (struct id_set){.bits = 0};
}

static size_t first_slot(const struct id_set *set, const uint8_t *id)
{
    const uint64_t x0 = dpot_load_u32(id), x1 = dpot_load_u32(id + 4);
    const uint64_t x2 = dpot_load_u32(id + 8), x3 = dpot_load_u32(id + 12);
    const uint64_t h =
        (set->key[0] + x1) * (set->key[1] + x0) + (set->key[2] + x3) * (set->key[3] + x2);
    return (size_t)(h >> (64 - set->bits));
}

/* The slot that holds the id, or the free one where it belongs. */
static uint8_t *find_slot(const struct id_set *set, const uint8_t *id)
{
    const size_t mask = n_slots(set->bits) - 1;
    size_t i = first_slot(set, id);
    for (;;) {
        uint8_t *slot = set->slots + i * ID_SET_ID_LEN;
        if (memcmp(slot, id, ID_SET_ID_LEN) == 0 || memcmp(slot, zero_id, ID_SET_ID_LEN) == 0) {
            return slot;
        }
        i = (i + 1) & mask;
    }
}

static dpot_status grow(struct id_set *set, unsigned bits)
{
    struct id_set larger = *set;
    larger.bits = bits;
    larger.slots = dpot_alloc_array(NULL, n_slots(bits), ID_SET_ID_LEN);
    if (!larger.slots) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_slots(set->bits); i++) {
        const uint8_t *id = set->slots + i * ID_SET_ID_LEN;
        if (memcmp(id, zero_id, ID_SET_ID_LEN) != 0) {
            memcpy(find_slot(&larger, id), id, ID_SET_ID_LEN);
        }
    }
    dpot_free_array(NULL, set->slots, n_slots(set->bits), ID_SET_ID_LEN);
    *set = larger;
    return DPOT_OK;
}

dpot_status id_set_reserve(struct id_set *set, size_t extra)
{
    unsigned bits = set->bits ? set->bits : BITS_MIN;
    while (bits < BITS_MAX && set->n_used + extra > n_slots(bits) / 3 * 2) {
        bits++;
    }
    if (bits == BITS_MAX) {
        return DPOT_ERR_MEMORY;
    }
    return bits == set->bits ? DPOT_OK : grow(set, bits);
}

bool id_set_insert(struct id_set *set, const uint8_t id[ID_SET_ID_LEN])
{
    if (memcmp(id, zero_id, ID_SET_ID_LEN) == 0) {
        const bool is_new = !set->has_zero;
        set->has_zero = true;
        return is_new;
    }
    uint8_t *slot = find_slot(set, id);
    if (memcmp(slot, id, ID_SET_ID_LEN) == 0) {
        return false;
    }
    memcpy(slot, id, ID_SET_ID_LEN);
    set->n_used++;
    return true;
}

void id_set_undo(struct id_set *set, const uint8_t id[ID_SET_ID_LEN])
{
    if (memcmp(id, zero_id, ID_SET_ID_LEN) == 0) {
        set->has_zero = false;
        return;
    }
    memset(find_slot(set, id), 0, ID_SET_ID_LEN);
    set->n_used--;
}
