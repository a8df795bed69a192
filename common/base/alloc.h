/* The one way to get memory.
 *
 * An allocator is a single hook that covers alloc, grow and free, so that an embedder can supply
 * her own heap and a test can count, fail and account. NULL stands for the C library's heap
 * everywhere. */
#ifndef DPOT_BASE_ALLOC_H
#define DPOT_BASE_ALLOC_H

#include "dpot/hooks.h"

#include <stddef.h>

/* Zeroed memory for `count` elements of `size` bytes; NULL when count * size overflows or the heap
 * is out. A count of 0 gives a unique pointer of one byte, so NULL always means failure. */
void *dpot_alloc_array(const struct dpot_allocator *allocator, size_t count, size_t size);

/* `size` bytes as the heap has them, not zeroed; freed with dpot_free_array(allocator, pointer, size, 1). NULL when
 * the heap is out. */
void *dpot_alloc_raw(const struct dpot_allocator *allocator, size_t size);

/* Changes a block of `old_size` bytes (NULL: none yet) to `size`; what is new is not zeroed. NULL on failure, with
 * the old block untouched. */
void *dpot_resize_raw(const struct dpot_allocator *allocator, void *pointer, size_t old_size,
                      size_t size);

/* Changes an array from `old_count` to `new_count` elements; new elements are zero. NULL on
 * failure, with the old array untouched. */
void *dpot_resize_array(const struct dpot_allocator *allocator, void *pointer, size_t old_count,
                        size_t new_count, size_t size);

/* Frees what dpot_alloc_array gave; NULL is allowed. The element count and size must match. */
void dpot_free_array(const struct dpot_allocator *allocator, void *pointer, size_t count,
                     size_t size);

/* The same after wiping the content: for anything derived from device data, keys or randomness. */
void dpot_free_secret(const struct dpot_allocator *allocator, void *pointer, size_t count,
                      size_t size);

#endif
