/* The id sets of the rounds that receive reports, one per (campaign hash, round).
 *
 * A set holds the ids of the `n_stored` reports that the store has of the round. Callers first
 * compare that number with the store's, so that a set may be dropped at any time. At most
 * ID_CACHE_SETS_MAX sets are kept (the least recently used is dropped), and of one revision only
 * the newest round and the one before. */
#ifndef DPOT_STORE_ID_CACHE_H
#define DPOT_STORE_ID_CACHE_H

#include "base/crypto.h"
#include "store/id_set.h"

#define ID_CACHE_SETS_MAX 64

struct id_cache_entry {
    uint8_t hash[DPOT_HASH_LEN];
    uint32_t round;
    uint64_t n_stored; /* reports in the store whose ids are in the set */
    uint64_t used;     /* tick of the last use; 0: the entry is free */
    struct id_set set;
};

struct id_cache {
    uint64_t tick;
    struct id_cache_entry entries[ID_CACHE_SETS_MAX];
};

/* The entry of (hash, round), created empty if there is none. Borrowed until the next call. */
struct id_cache_entry *id_cache_get(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN],
                                    uint32_t round);

/* The entry of (hash, round), or NULL. */
struct id_cache_entry *id_cache_find(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN],
                                     uint32_t round);

/* Number of ids in all sets, and their memory. */
void id_cache_measure(const struct id_cache *cache, uint64_t *n_ids, uint64_t *n_bytes);

/* Empties an entry and keeps it. */
void id_cache_empty(struct id_cache_entry *entry);

/* Frees an entry. */
void id_cache_drop(struct id_cache_entry *entry);

/* Frees the entries of all rounds of a revision. */
void id_cache_drop_revision(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN]);

/* Frees all entries; a zeroed cache is allowed. */
void id_cache_release(struct id_cache *cache);

#endif
