#include "proto/arena.h"

#include "support/allocator.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

Test(arena, hands_out_zeroed_aligned_pieces_and_frees_all_of_them)
{
    struct test_allocator heap;
    struct dpot_arena arena;
    test_allocator_init(&heap);
    dpot_arena_init(&arena, 1u << 20, &heap.allocator);
    for (size_t size = 0; size < 600; size++) {
        uint8_t *piece = dpot_arena_alloc(&arena, size);
        cr_assert_not_null(piece);
        cr_assert_eq((uintptr_t)piece % 8, 0);
        for (size_t i = 0; i < size; i++) {
            cr_assert_eq(piece[i], 0);
        }
        memset(piece, 0xee, size);
    }
    cr_assert_eq(arena.held, heap.bytes);
    dpot_arena_release(&arena);
    cr_assert_eq(heap.bytes, 0);
}

Test(arena, never_holds_more_than_its_limit)
{
    struct test_allocator heap;
    struct dpot_arena arena;
    test_allocator_init(&heap);
    dpot_arena_init(&arena, 50000, &heap.allocator);
    size_t given = 0;
    while (dpot_arena_alloc(&arena, 100)) {
        given += 100;
        cr_assert_leq(heap.bytes, 50000);
    }
    cr_assert(arena.is_exhausted);
    cr_assert_not(arena.is_out_of_memory);
    cr_assert_gt(given, 40000, "gave only %zu bytes", given);
    dpot_arena_release(&arena);
    cr_assert_eq(heap.bytes, 0);
}

Test(arena, refuses_a_size_near_the_end_of_size_t)
{
    struct dpot_arena arena;
    dpot_arena_init(&arena, SIZE_MAX, NULL);
    cr_assert_null(dpot_arena_alloc(&arena, SIZE_MAX));
    cr_assert_null(dpot_arena_alloc(&arena, SIZE_MAX - 8));
    dpot_arena_release(&arena);
    dpot_arena_init(&arena, 1000, NULL);
    cr_assert_null(dpot_arena_alloc(&arena, SIZE_MAX));
    cr_assert(arena.is_exhausted);
    dpot_arena_release(&arena);
}

Test(arena, distinguishes_an_empty_heap_from_its_own_limit)
{
    struct test_allocator heap;
    struct dpot_arena arena;
    test_allocator_init(&heap);
    test_allocator_fail_at(&heap, 1);
    dpot_arena_init(&arena, 1u << 20, &heap.allocator);
    cr_assert_null(dpot_arena_alloc(&arena, 10));
    cr_assert(arena.is_out_of_memory);
    cr_assert_not(arena.is_exhausted);
    dpot_arena_release(&arena);
}
