/* An exact set of 16-byte ids: open addressing, 16 bytes a slot, at most two thirds full.
 *
 * Ids come from outside, so slots are chosen by a keyed hash (pair-multiply-shift, universal:
 * Thorup, "High Speed Hashing for Integers and Strings", 2015) with a key drawn per set. */
#ifndef DPOT_STORE_ID_SET_H
#define DPOT_STORE_ID_SET_H

#include "dpot/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_SET_ID_LEN 16

struct id_set {
    uint64_t key[4];
    unsigned bits;  /* 2^bits slots; 0: none yet */
    size_t n_used;  /* slots in use */
    uint8_t *slots; /* (2^bits, 16); an all-zero slot is free */
    bool has_zero;  /* the id of zeros is in the set; it has no slot */
};

void id_set_init(struct id_set *set);
void id_set_release(struct id_set *set);

/* Makes room for `extra` more ids. DPOT_ERR_MEMORY changes nothing. */
DPOT_WARN_UNUSED dpot_status id_set_reserve(struct id_set *set, size_t extra);

/* Adds an id for which room was reserved; false when it is there already. */
bool id_set_insert(struct id_set *set, const uint8_t id[ID_SET_ID_LEN]);

/* Takes back the newest id that is still in the set; only since the last id_set_reserve, and newest
 * first, so that no probe sequence is cut. */
void id_set_undo(struct id_set *set, const uint8_t id[ID_SET_ID_LEN]);

#endif
