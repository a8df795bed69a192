/* A growing exact set of 16-byte ids.
 *
 * Ids come from outside: slots are chosen by a keyed hash (SipHash-2-4, Aumasson and Bernstein
 * 2012) with a secret drawn per set, so that nobody can choose ids that collide.
 *
 * The set is ID_SET_SEGMENTS hash tables with open addressing, 16 bytes a slot, at most three
 * quarters full. Each table grows alone, by half, so that at most one is copied at a time: from
 * some thousand ids on the set takes at most 32 bytes an id, and while it grows one table more. */
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
    size_t n_used;               /* ids, without the zero id */
    size_t n_slots;              /* of all tables */
    struct id_segment *segments; /* (ID_SET_SEGMENTS); NULL: none yet */
    bool has_zero;               /* the zero id is in the set; it has no slot */
};

/* `allocator` is borrowed; NULL: the heap. */
void id_set_init(struct id_set *set, const struct dpot_allocator *allocator);
void id_set_release(struct id_set *set);

/* Makes an empty set large enough for `n` ids, so that it does not grow while they are added. A set
 * for which there is no memory stays as it is. */
void id_set_reserve(struct id_set *set, uint64_t n);

/* Adds an id in two steps. id_set_prefetch returns its hash and prefetches its slot; it is called
 * ID_SET_AHEAD ids before id_set_insert. *is_new: the id was not in the set.
 * DPOT_ERR_MEMORY: nothing changed. */
#define ID_SET_AHEAD 16
uint64_t id_set_prefetch(const struct id_set *set, const uint8_t id[ID_SET_ID_LEN]);
DPOT_WARN_UNUSED dpot_status id_set_insert(struct id_set *set, const uint8_t id[ID_SET_ID_LEN],
                                           uint64_t hash, bool *is_new);

/* Removes an id that is in the set. */
void id_set_remove(struct id_set *set, const uint8_t id[ID_SET_ID_LEN]);

/* Memory of the set in bytes. */
size_t id_set_bytes(const struct id_set *set);

/* SipHash-2-4 of an id; the key is two little-endian words. */
uint64_t id_set_hash(const uint64_t key[2], const uint8_t id[ID_SET_ID_LEN]);

#endif
