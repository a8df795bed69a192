/* An exact set of 16-byte ids, growing while it is used.
 *
 * Ids come from outside, so where one lies is chosen by a keyed hash (SipHash-2-4: Aumasson and Bernstein,
 * 2012) with a secret drawn per set: nobody can choose ids that collide.
 *
 * The set is ID_SET_SEGMENTS tables with open addressing, 16 bytes a slot, each at most three quarters full.
 * A table grows alone, by half, so that there is never a second copy of more than one of them: at most
 * 32 bytes an id, and in growth 32 and a table's, once there are some thousand ids. */
#ifndef DPOT_STORE_ID_SET_H
#define DPOT_STORE_ID_SET_H

#include "base/alloc.h"
#include "dpot/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_SET_ID_LEN 16
#define ID_SET_SEGMENTS 256

struct id_segment {
    uint8_t *slots; /* (n_slots, 16); an all-zero slot is free */
    uint32_t n_slots;
    uint32_t n_used;
};

struct id_set {
    const struct dpot_allocator *allocator;
    uint64_t key[2];
    size_t n_used;               /* ids, without the one of zeros */
    size_t n_slots;              /* of all tables */
    struct id_segment *segments; /* (ID_SET_SEGMENTS); NULL: none yet */
    bool has_zero;               /* the id of zeros is in the set; it has no slot */
};

/* `allocator` is borrowed, NULL is the heap. */
void id_set_init(struct id_set *set, const struct dpot_allocator *allocator);
void id_set_release(struct id_set *set);

/* Adds an id in two steps: the first begins to fetch the memory that the second needs, and is called for
 * some ids ahead of it; `hash` is passed from one to the other. *is_new is false when the id was there.
 * DPOT_ERR_MEMORY changes nothing. */
#define ID_SET_AHEAD 16
uint64_t id_set_prefetch(const struct id_set *set, const uint8_t id[ID_SET_ID_LEN]);
DPOT_WARN_UNUSED dpot_status id_set_insert(struct id_set *set, const uint8_t id[ID_SET_ID_LEN],
                                           uint64_t hash, bool *is_new);

/* Takes out an id that is in the set. */
void id_set_remove(struct id_set *set, const uint8_t id[ID_SET_ID_LEN]);

/* Bytes that the set holds now. */
size_t id_set_bytes(const struct id_set *set);

/* Where ids lie: SipHash-2-4 of an id under a key of two little-endian words. */
uint64_t id_set_hash(const uint64_t key[2], const uint8_t id[ID_SET_ID_LEN]);

#endif
