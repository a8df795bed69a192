/* The id sets of the rounds now being filled, one per (campaign hash, round).
 *
 * A set is a copy of the `n_stored` reports that the store holds of the round; whoever uses one first looks
 * whether they are still as many, so a set may be dropped at any time. At most ID_CACHE_SETS_MAX stay (the
 * least recently used goes first), and of one revision only the newest round and the one before. */
#ifndef DPOT_STORE_ID_CACHE_H
#define DPOT_STORE_ID_CACHE_H

#include "base/crypto.h"
#include "store/id_set.h"

#define ID_CACHE_SETS_MAX 64

struct id_cache_entry {
    uint8_t hash[DPOT_HASH_LEN];
    uint32_t round;
    uint64_t n_stored; /* reports that are in the store and in the set */
    uint64_t used;     /* tick of the last use; 0: the entry is free */
    struct id_set set;
};

struct id_cache {
    uint64_t tick;
    struct id_cache_entry entries[ID_CACHE_SETS_MAX];
};

/* The entry of (hash, round); a new one is empty with n_stored 0. Borrowed until the next call. */
struct id_cache_entry *id_cache_get(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN],
                                    uint32_t round);

/* The same without making one; NULL when there is none. */
struct id_cache_entry *id_cache_find(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN],
                                     uint32_t round);

/* Ids in all sets, and the bytes these take. */
void id_cache_measure(const struct id_cache *cache, uint64_t *n_ids, uint64_t *n_bytes);

/* Forgets what is in an entry, which stays. */
void id_cache_empty(struct id_cache_entry *entry);

/* Forgets an entry. */
void id_cache_drop(struct id_cache_entry *entry);

/* Forgets every round of a revision. */
void id_cache_drop_revision(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN]);

/* Forgets everything; a zeroed cache is allowed. */
void id_cache_release(struct id_cache *cache);

#endif
