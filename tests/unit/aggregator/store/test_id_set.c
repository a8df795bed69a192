#include "base/crypto.h"
#include "store/id_cache.h"
#include "store/id_set.h"

#include "support/allocator.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void id_of(uint32_t n, uint8_t id[ID_SET_ID_LEN])
{
    uint8_t hash[DPOT_HASH_LEN];
    dpot_hash(hash, &n, sizeof n);
    memcpy(id, hash, ID_SET_ID_LEN);
}

static bool insert(struct id_set *set, const uint8_t id[ID_SET_ID_LEN])
{
    bool is_new = false;
    cr_assert_eq(id_set_insert(set, id, id_set_prefetch(set, id), &is_new), DPOT_OK);
    return is_new;
}

static void add_ids(struct id_set *set, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t id[ID_SET_ID_LEN];
        id_of(first + i, id);
        cr_assert(insert(set, id));
    }
}

Test(id_set, every_id_is_in_it_once_while_it_grows)
{
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN];
    id_set_init(&set, NULL);
    add_ids(&set, 0, 100000);
    for (uint32_t i = 0; i < 100000; i++) {
        id_of(i, id);
        cr_assert_not(insert(&set, id));
    }
    id_of(100000, id);
    cr_assert(insert(&set, id));
    id_set_release(&set);
}

Test(id_set, ids_that_differ_in_one_byte_are_different)
{
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN] = {0};
    id_set_init(&set, NULL);
    cr_assert(insert(&set, id));
    for (size_t i = 0; i < ID_SET_ID_LEN; i++) {
        for (unsigned v = 1; v < 256; v++) {
            id[i] = (uint8_t)v;
            cr_assert(insert(&set, id));
            cr_assert_not(insert(&set, id));
        }
        id[i] = 0;
    }
    id_set_release(&set);
}

Test(id_set, removing_ids_in_any_order_keeps_the_others)
{
    enum { N = 20000 };
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN];
    id_set_init(&set, NULL);
    add_ids(&set, 0, N);
    for (uint32_t i = 0; i < N; i++) {
        id_of(i * 7919 % N, id);
        if (i % 3 != 0) {
            id_set_remove(&set, id);
        }
    }
    cr_assert_eq(set.n_used, (N + 2) / 3);
    for (uint32_t i = 0; i < N; i++) {
        id_of(i * 7919 % N, id);
        cr_assert_eq(insert(&set, id), i % 3 != 0);
    }
    memset(id, 0, sizeof id);
    cr_assert(insert(&set, id));
    id_set_remove(&set, id);
    cr_assert(insert(&set, id));
    id_set_release(&set);
}

/* The reference's test vector of 16 bytes: key and message are 0, 1, 2, ... */
Test(id_set, the_hash_is_siphash)
{
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t id[ID_SET_ID_LEN];
    for (uint8_t i = 0; i < sizeof id; i++) {
        id[i] = i;
    }
    cr_assert_eq(id_set_hash(key, id), UINT64_C(0x3f2acc7f57c29bdb));
}

/* The peak of the memory, growth included. */
static size_t peak;
static size_t held;

static void *count_bytes(void *ctx, void *pointer, size_t old_size, size_t new_size)
{
    (void)ctx;
    held = held - old_size + new_size;
    peak = held > peak ? held : peak;
    if (new_size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, new_size);
}

Test(id_set, at_most_64_bytes_an_id_at_any_moment)
{
    const struct dpot_allocator counting = {count_bytes, NULL};
    struct id_set set;
    id_set_init(&set, &counting);
    for (uint32_t n = 1; n <= 300000; n++) {
        uint8_t id[ID_SET_ID_LEN];
        id_of(n, id);
        cr_assert(insert(&set, id));
        cr_assert(n < 1500 || peak <= 64 * (size_t)n, "%zu bytes for %u ids", peak, n);
    }
    cr_assert_eq(id_set_bytes(&set), held);
    id_set_release(&set);
    cr_assert_eq(held, 0);
}

Test(id_set, a_reserved_set_does_not_grow_while_it_is_filled)
{
    struct test_allocator t;
    struct id_set set;
    test_allocator_init(&t);
    id_set_init(&set, &t.allocator);
    id_set_reserve(&set, 50000);
    const size_t n_calls = t.n_calls;
    add_ids(&set, 0, 50000);
    cr_assert_leq(t.n_calls - n_calls, 3, "a table in thousands of sets has four deviations more");
    cr_assert_leq(id_set_bytes(&set), (size_t)32 * 50000);
    id_set_release(&set);
    cr_assert_eq(t.bytes, 0);
}

Test(id_set, without_memory_for_its_tables_a_reserved_set_grows)
{
    struct test_allocator t;
    struct id_set set;
    for (size_t n = 1; n <= 10; n++) {
        test_allocator_init(&t);
        id_set_init(&set, &t.allocator);
        test_allocator_fail_at(&t, n);
        id_set_reserve(&set, 1000);
        test_allocator_fail_at(&t, 0);
        add_ids(&set, 0, 1000);
        cr_assert_eq(set.n_used, 1000);
        id_set_release(&set);
        cr_assert_eq(t.bytes, 0);
    }
}

Test(id_set, without_memory_nothing_changes)
{
    struct test_allocator t;
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN];
    bool is_new = false;
    uint32_t n_refused = 0;
    test_allocator_init(&t);
    id_set_init(&set, &t.allocator);
    for (uint32_t i = 0; i < 5000; i++) {
        const size_t n = set.n_used;
        id_of(i, id);
        test_allocator_fail_at(&t, 1);
        if (id_set_insert(&set, id, id_set_prefetch(&set, id), &is_new) == DPOT_ERR_MEMORY) {
            n_refused++;
            cr_assert_eq(set.n_used, n);
            test_allocator_fail_at(&t, 0);
            cr_assert_eq(id_set_insert(&set, id, id_set_prefetch(&set, id), &is_new), DPOT_OK);
        }
        cr_assert(is_new);
    }
    cr_assert_gt(n_refused, ID_SET_SEGMENTS);
    id_set_release(&set);
    cr_assert_eq(t.bytes, 0);
}

Test(id_cache, a_set_is_found_again_by_hash_and_round)
{
    struct id_cache cache = {.tick = 0};
    uint8_t hash[DPOT_HASH_LEN] = {1};
    id_cache_get(&cache, hash, 3)->n_stored = 7;
    cr_assert_eq(id_cache_get(&cache, hash, 4)->n_stored, 0);
    cr_assert_eq(id_cache_get(&cache, hash, 3)->n_stored, 7);
    hash[0] = 2;
    cr_assert_eq(id_cache_get(&cache, hash, 3)->n_stored, 0);
    id_cache_release(&cache);
}

Test(id_cache, rounds_long_over_are_dropped)
{
    struct id_cache cache = {.tick = 0};
    const uint8_t hash[DPOT_HASH_LEN] = {1};
    id_cache_get(&cache, hash, 1)->n_stored = 7;
    id_cache_get(&cache, hash, 2)->n_stored = 8;
    (void)id_cache_get(&cache, hash, 3);
    cr_assert_eq(id_cache_get(&cache, hash, 2)->n_stored, 8);
    cr_assert_eq(id_cache_get(&cache, hash, 1)->n_stored, 0);
    id_cache_release(&cache);
}

Test(id_cache, the_least_recently_used_set_makes_room)
{
    struct id_cache cache = {.tick = 0};
    uint8_t hash[DPOT_HASH_LEN] = {0};
    for (unsigned i = 0; i < ID_CACHE_SETS_MAX; i++) {
        hash[0] = (uint8_t)i;
        id_cache_get(&cache, hash, 0)->n_stored = 1;
    }
    hash[0] = 0;
    (void)id_cache_get(&cache, hash, 0);
    hash[0] = ID_CACHE_SETS_MAX;
    (void)id_cache_get(&cache, hash, 0);
    hash[0] = 0;
    cr_assert_eq(id_cache_get(&cache, hash, 0)->n_stored, 1);
    hash[0] = 1;
    cr_assert_eq(id_cache_get(&cache, hash, 0)->n_stored, 0);
    id_cache_release(&cache);
}

Test(id_cache, a_dropped_revision_loses_every_round)
{
    struct id_cache cache = {.tick = 0};
    const uint8_t hash[DPOT_HASH_LEN] = {1};
    id_cache_get(&cache, hash, 1)->n_stored = 7;
    id_cache_get(&cache, hash, 2)->n_stored = 8;
    id_cache_drop_revision(&cache, hash);
    cr_assert_eq(id_cache_get(&cache, hash, 1)->n_stored, 0);
    cr_assert_eq(id_cache_get(&cache, hash, 2)->n_stored, 0);
    id_cache_release(&cache);
}

Test(id_cache, finding_a_set_creates_none)
{
    struct id_cache cache = {.tick = 0};
    const uint8_t hash[DPOT_HASH_LEN] = {1};
    uint64_t n_ids = 0, n_bytes = 0;
    cr_assert_null(id_cache_find(&cache, hash, 1));
    struct id_cache_entry *entry = id_cache_get(&cache, hash, 1);
    cr_assert_eq(id_cache_find(&cache, hash, 1), entry);
    cr_assert_null(id_cache_find(&cache, hash, 2));
    add_ids(&entry->set, 0, 500);
    id_cache_measure(&cache, &n_ids, &n_bytes);
    cr_assert_eq(n_ids, 500);
    cr_assert_eq(n_bytes, id_set_bytes(&entry->set));
    id_cache_release(&cache);
}
