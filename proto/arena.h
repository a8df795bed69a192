/* Memory for one decoded message, with a ceiling.
 *
 * A decoder takes many small pieces and drops them all at once. What it takes is counted against a
 * ceiling that is set from the length of the message, so that a few hostile bytes cannot ask for
 * much memory: beyond it every allocation fails and `is_exhausted` says why. */
#ifndef DPOT_PROTO_ARENA_H
#define DPOT_PROTO_ARENA_H

#include "base/alloc.h"

#include <stdbool.h>

struct dpot_arena_chunk;

struct dpot_arena {
    const struct dpot_allocator *allocator;
    struct dpot_arena_chunk *chunks; /* the newest first */
    size_t ceiling;                  /* most bytes to hold */
    size_t held;                     /* bytes held now, chunk heads included */
    bool is_exhausted;               /* an allocation was refused by the ceiling */
    bool is_out_of_memory;           /* an allocation was refused by the allocator */
};

/* `allocator` is borrowed, NULL is the heap. */
void dpot_arena_init(struct dpot_arena *arena, size_t ceiling,
                     const struct dpot_allocator *allocator);

/* Zeroed memory for any type of at most 8-byte alignment; NULL when refused (see the flags). */
void *dpot_arena_alloc(struct dpot_arena *arena, size_t size);

/* The same, not zeroed. */
void *dpot_arena_take(struct dpot_arena *arena, size_t size);

/* Frees everything; a zeroed arena is allowed. */
void dpot_arena_release(struct dpot_arena *arena);

#endif
