#include "base/crypto.h"
#include "store/id_cache.h"
#include "store/id_set.h"

#include <criterion/criterion.h>
#include <string.h>

static void id_of(uint32_t n, uint8_t id[ID_SET_ID_LEN])
{
    uint8_t hash[DPOT_HASH_LEN];
    dpot_hash(hash, &n, sizeof n);
    memcpy(id, hash, ID_SET_ID_LEN);
}

static void add_ids(struct id_set *set, uint32_t first, uint32_t n)
{
    cr_assert_eq(id_set_reserve(set, n), DPOT_OK);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t id[ID_SET_ID_LEN];
        id_of(first + i, id);
        cr_assert(id_set_insert(set, id));
    }
}

Test(id_set, every_id_is_in_it_once_while_it_grows)
{
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN];
    id_set_init(&set);
    for (uint32_t i = 0; i < 20; i++) {
        add_ids(&set, i * 5000, 5000);
    }
    cr_assert_eq(id_set_reserve(&set, 1), DPOT_OK);
    for (uint32_t i = 0; i < 20 * 5000; i++) {
        id_of(i, id);
        cr_assert_not(id_set_insert(&set, id));
    }
    id_of(20 * 5000, id);
    cr_assert(id_set_insert(&set, id));
    id_set_release(&set);
}

Test(id_set, ids_that_differ_in_one_byte_are_different)
{
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN] = {0};
    id_set_init(&set);
    cr_assert_eq(id_set_reserve(&set, 1 + ID_SET_ID_LEN * 255), DPOT_OK);
    cr_assert(id_set_insert(&set, id));
    for (size_t i = 0; i < ID_SET_ID_LEN; i++) {
        for (unsigned v = 1; v < 256; v++) {
            id[i] = (uint8_t)v;
            cr_assert(id_set_insert(&set, id));
            cr_assert_not(id_set_insert(&set, id));
        }
        id[i] = 0;
    }
    id_set_release(&set);
}

Test(id_set, taking_back_the_newest_ids_leaves_the_others)
{
    struct id_set set;
    uint8_t id[ID_SET_ID_LEN];
    id_set_init(&set);
    add_ids(&set, 0, 600);
    add_ids(&set, 600, 60);
    for (uint32_t i = 660; i-- > 600;) {
        id_of(i, id);
        id_set_undo(&set, id);
    }
    cr_assert_eq(set.n_used, 600);
    for (uint32_t i = 0; i < 600; i++) {
        id_of(i, id);
        cr_assert_not(id_set_insert(&set, id));
    }
    add_ids(&set, 600, 60);
    id_set_release(&set);
}

Test(id_cache, a_set_is_found_again_by_hash_and_round)
{
    struct id_cache cache = {.tick = 0};
    uint8_t hash[DPOT_HASH_LEN] = {1};
    id_cache_get(&cache, hash, 3)->last_seq = 7;
    cr_assert_eq(id_cache_get(&cache, hash, 4)->last_seq, 0);
    cr_assert_eq(id_cache_get(&cache, hash, 3)->last_seq, 7);
    hash[0] = 2;
    cr_assert_eq(id_cache_get(&cache, hash, 3)->last_seq, 0);
    id_cache_release(&cache);
}

Test(id_cache, rounds_long_over_are_dropped)
{
    struct id_cache cache = {.tick = 0};
    const uint8_t hash[DPOT_HASH_LEN] = {1};
    id_cache_get(&cache, hash, 1)->last_seq = 7;
    id_cache_get(&cache, hash, 2)->last_seq = 8;
    (void)id_cache_get(&cache, hash, 3);
    cr_assert_eq(id_cache_get(&cache, hash, 2)->last_seq, 8);
    cr_assert_eq(id_cache_get(&cache, hash, 1)->last_seq, 0);
    id_cache_release(&cache);
}

Test(id_cache, the_least_recently_used_set_makes_room)
{
    struct id_cache cache = {.tick = 0};
    uint8_t hash[DPOT_HASH_LEN] = {0};
    for (unsigned i = 0; i < ID_CACHE_SETS_MAX; i++) {
        hash[0] = (uint8_t)i;
        id_cache_get(&cache, hash, 0)->last_seq = 1;
    }
    hash[0] = 0;
    (void)id_cache_get(&cache, hash, 0);
    hash[0] = ID_CACHE_SETS_MAX;
    (void)id_cache_get(&cache, hash, 0);
    hash[0] = 0;
    cr_assert_eq(id_cache_get(&cache, hash, 0)->last_seq, 1);
    hash[0] = 1;
    cr_assert_eq(id_cache_get(&cache, hash, 0)->last_seq, 0);
    id_cache_release(&cache);
}

Test(id_cache, a_dropped_revision_loses_every_round)
{
    struct id_cache cache = {.tick = 0};
    const uint8_t hash[DPOT_HASH_LEN] = {1};
    id_cache_get(&cache, hash, 1)->last_seq = 7;
    id_cache_get(&cache, hash, 2)->last_seq = 8;
    id_cache_drop_revision(&cache, hash);
    cr_assert_eq(id_cache_get(&cache, hash, 1)->last_seq, 0);
    cr_assert_eq(id_cache_get(&cache, hash, 2)->last_seq, 0);
    id_cache_release(&cache);
}
