#include "proto/arena.h"

#include <stdint.h>
#include <string.h>

#define FIRST_CHUNK 4096u /* bytes */

struct dpot_arena_chunk {
    struct dpot_arena_chunk *next;
    size_t cap;  /* bytes of content */
    size_t used; /* bytes of content */
    uint64_t content[];
};

void dpot_arena_init(struct dpot_arena *arena, size_t ceiling,
                     const struct dpot_allocator *allocator)
{
    *arena = (struct dpot_arena){.ceiling = ceiling, .allocator = allocator};
}

/* Twice the last chunk, within the limit, and at least `size`. 0: the limit refuses. */
static size_t next_cap(const struct dpot_arena *arena, size_t size)
{
    const size_t left = arena->ceiling - arena->held;
    if (left < sizeof(struct dpot_arena_chunk)) {
        return 0;
    }
    const size_t most = left - sizeof(struct dpot_arena_chunk);
    if (size > most) {
        return 0;
    }
    size_t cap = arena->chunks ? arena->chunks->cap : FIRST_CHUNK / 2;
    cap = cap > most / 2 ? most : cap * 2;
    return cap < size ? size : cap;
}

static struct dpot_arena_chunk *add_chunk(struct dpot_arena *arena, size_t size)
{
    const size_t cap = next_cap(arena, size);
    if (cap == 0) {
        arena->is_exhausted = true;
        return NULL;
    }
    const size_t bytes = sizeof(struct dpot_arena_chunk) + cap;
    struct dpot_arena_chunk *chunk = dpot_alloc_raw(arena->allocator, bytes);
    if (!chunk) {
        arena->is_out_of_memory = true;
        return NULL;
    }
    chunk->cap = cap;
    chunk->used = 0;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->held += bytes;
    return chunk;
}

void *dpot_arena_take(struct dpot_arena *arena, size_t size)
{
    if (size > arena->ceiling || size > SIZE_MAX / 2) {
        arena->is_exhausted = true;
        return NULL;
    }
    const size_t rounded = size == 0 ? 8 : (size + 7) & ~(size_t)7;
    struct dpot_arena_chunk *chunk = arena->chunks;
    if (!chunk || rounded > chunk->cap - chunk->used) {
        chunk = add_chunk(arena, rounded);
    }
    if (!chunk) {
        return NULL;
    }
    void *result = (uint8_t *)chunk->content + chunk->used;
    chunk->used += rounded;
    return result;
}

void *dpot_arena_alloc(struct dpot_arena *arena, size_t size)
{
    void *memory = dpot_arena_take(arena, size);
    return memory ? memset(memory, 0, size) : NULL;
}

void dpot_arena_release(struct dpot_arena *arena)
{
    while (arena->chunks) {
        struct dpot_arena_chunk *next = arena->chunks->next;
        dpot_free_array(arena->allocator, arena->chunks,
                        sizeof(struct dpot_arena_chunk) + arena->chunks->cap, 1);
        arena->chunks = next;
    }
    arena->held = 0;
}
