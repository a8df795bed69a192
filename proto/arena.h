/* Memory for one decoded message, with a limit.
 *
 * A decoder allocates many small pieces and frees them all at once. The limit follows from the
 * length of the message, so that a few hostile bytes cannot claim much memory: beyond it
 * allocations fail, and is_exhausted is set. */
#ifndef DPOT_PROTO_ARENA_H
#define DPOT_PROTO_ARENA_H

#include "base/alloc.h"

#include <stdbool.h>

struct dpot_arena_chunk;

struct dpot_arena {
    const struct dpot_allocator *allocator;
    struct dpot_arena_chunk *chunks; /* newest first */
    size_t ceiling;                  /* limit of held */
    size_t held;                     /* bytes, with chunk heads */
    bool is_exhausted;               /* the limit refused an allocation */
    bool is_out_of_memory;           /* the allocator refused one */
};

/* `allocator` is borrowed. */
void dpot_arena_init(struct dpot_arena *arena, size_t ceiling,
                     const struct dpot_allocator *allocator);

/* Zeroed memory, aligned to 8 bytes; NULL if refused (see the flags). */
void *dpot_arena_alloc(struct dpot_arena *arena, size_t size);

/* The same without zeroing. */
void *dpot_arena_take(struct dpot_arena *arena, size_t size);

/* Frees everything; a zeroed arena is allowed. */
void dpot_arena_release(struct dpot_arena *arena);

#endif
