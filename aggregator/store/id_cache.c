#include "store/id_cache.h"

#include <string.h>

void id_cache_drop(struct id_cache_entry *entry)
{
    if (entry->used) {
        id_set_release(&entry->set);
        entry->used = 0;
    }
}

void id_cache_empty(struct id_cache_entry *entry)
{
    id_set_release(&entry->set);
    id_set_init(&entry->set, NULL);
    entry->n_stored = 0;
}

static bool is_of(const struct id_cache_entry *entry, const uint8_t *hash)
{
    return entry->used && memcmp(entry->hash, hash, DPOT_HASH_LEN) == 0;
}

/* A free entry; the least recently used one is dropped if there is none. */
static struct id_cache_entry *free_entry(struct id_cache *cache)
{
    struct id_cache_entry *oldest = &cache->entries[0];
    for (size_t i = 1; i < ID_CACHE_SETS_MAX; i++) {
        if (cache->entries[i].used < oldest->used) {
            oldest = &cache->entries[i];
        }
    }
    id_cache_drop(oldest);
    return oldest;
}

struct id_cache_entry *id_cache_get(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN],
                                    uint32_t round)
{
    cache->tick++;
    for (size_t i = 0; i < ID_CACHE_SETS_MAX; i++) {
        struct id_cache_entry *entry = &cache->entries[i];
        if (!is_of(entry, hash)) {
            continue;
        }
        if (entry->round == round) {
            entry->used = cache->tick;
            return entry;
        }
        if (round > 0 && entry->round < round - 1) {
            id_cache_drop(entry);
        }
    }
    struct id_cache_entry *entry = free_entry(cache);
    memcpy(entry->hash, hash, DPOT_HASH_LEN);
    entry->round = round;
    entry->n_stored = 0;
    entry->used = cache->tick;
    id_set_init(&entry->set, NULL);
    return entry;
}

struct id_cache_entry *id_cache_find(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN],
                                     uint32_t round)
{
    for (size_t i = 0; i < ID_CACHE_SETS_MAX; i++) {
        if (is_of(&cache->entries[i], hash) && cache->entries[i].round == round) {
            return &cache->entries[i];
        }
    }
    return NULL;
}

void id_cache_measure(const struct id_cache *cache, uint64_t *n_ids, uint64_t *n_bytes)
{
    *n_ids = *n_bytes = 0;
    for (size_t i = 0; i < ID_CACHE_SETS_MAX; i++) {
        const struct id_cache_entry *entry = &cache->entries[i];
        if (entry->used) {
            *n_ids += entry->set.n_used + entry->set.has_zero;
            *n_bytes += id_set_bytes(&entry->set);
        }
    }
}

void id_cache_drop_revision(struct id_cache *cache, const uint8_t hash[DPOT_HASH_LEN])
{
    for (size_t i = 0; i < ID_CACHE_SETS_MAX; i++) {
        if (is_of(&cache->entries[i], hash)) {
            id_cache_drop(&cache->entries[i]);
        }
    }
}

void id_cache_release(struct id_cache *cache)
{
    for (size_t i = 0; i < ID_CACHE_SETS_MAX; i++) {
        id_cache_drop(&cache->entries[i]);
    }
}
