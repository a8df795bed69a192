/* Memory: the only way to allocate it.
 *
 * An allocator is one hook (dpot/hooks.h) that allocates, grows and frees, so that an embedder can
 * supply a heap and a test can count and fail calls. NULL is the C library's heap everywhere. */
#ifndef DPOT_BASE_ALLOC_H
#define DPOT_BASE_ALLOC_H

#include "dpot/hooks.h"

#include <stddef.h>

/* Zeroed memory for `count` elements of `size` bytes. A count of 0 gives a unique pointer, so NULL
 * always means failure: count * size overflows, or out of memory. */
void *dpot_alloc_array(const struct dpot_allocator *allocator, size_t count, size_t size);

/* Bytes that dpot_alloc_array asks its hook for: at least 1; 0 on overflow. */
size_t dpot_array_bytes(size_t count, size_t size);

/* `size` bytes, not zeroed; free with dpot_free_array(allocator, pointer, size, 1). NULL when out
 * of memory. */
void *dpot_alloc_raw(const struct dpot_allocator *allocator, size_t size);

/* Resizes a block of `old_size` bytes (NULL: allocates one); new bytes are not zeroed. On failure
 * NULL, and the old block is unchanged. */
void *dpot_resize_raw(const struct dpot_allocator *allocator, void *pointer, size_t old_size,
                      size_t size);

/* Resizes an array; new elements are zero. On failure NULL, and the old array is unchanged. */
void *dpot_resize_array(const struct dpot_allocator *allocator, void *pointer, size_t old_count,
                        size_t new_count, size_t size);

/* Frees an array of dpot_alloc_array; count and element size must match. NULL is allowed. */
void dpot_free_array(const struct dpot_allocator *allocator, void *pointer, size_t count,
                     size_t size);

/* Wipes, then frees: for everything derived from device data, keys or randomness. */
void dpot_free_secret(const struct dpot_allocator *allocator, void *pointer, size_t count,
                      size_t size);

#endif
