#include "base/alloc.h"

#include "base/crypto.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *resize_heap(void *ctx, void *pointer, size_t old_size, size_t new_size)
{
    (void)ctx;
    (void)old_size;
    if (new_size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, new_size);
}

static const struct dpot_allocator heap = {resize_heap, NULL};

size_t dpot_array_bytes(size_t count, size_t size)
{
    if (count == 0 || size == 0) {
        return 1;
    }
    return count > SIZE_MAX / size ? 0 : count * size;
}

void *dpot_resize_raw(const struct dpot_allocator *allocator, void *pointer, size_t old_size,
                      size_t size)
{
    const struct dpot_allocator *a = allocator ? allocator : &heap;
    return a->resize(a->ctx, pointer, pointer ? dpot_array_bytes(old_size, 1) : 0,
                     dpot_array_bytes(size, 1));
}

void *dpot_resize_array(const struct dpot_allocator *allocator, void *pointer, size_t old_count,
                        size_t new_count, size_t size)
{
    const size_t old_bytes = pointer ? dpot_array_bytes(old_count, size) : 0;
    const size_t new_bytes = dpot_array_bytes(new_count, size);
    if (new_bytes == 0) {
        return NULL;
    }
    uint8_t *result = dpot_resize_raw(allocator, pointer, old_bytes, new_bytes);
    if (result && new_bytes > old_bytes) {
        memset(result + old_bytes, 0, new_bytes - old_bytes);
    }
    return result;
}

void *dpot_alloc_array(const struct dpot_allocator *allocator, size_t count, size_t size)
{
    return dpot_resize_array(allocator, NULL, 0, count, size);
}

void *dpot_alloc_raw(const struct dpot_allocator *allocator, size_t size)
{
    return dpot_resize_raw(allocator, NULL, 0, size);
}

void dpot_free_array(const struct dpot_allocator *allocator, void *pointer, size_t count,
                     size_t size)
{
    const struct dpot_allocator *a = allocator ? allocator : &heap;
    if (pointer) {
        (void)a->resize(a->ctx, pointer, dpot_array_bytes(count, size), 0);
    }
}

void dpot_free_secret(const struct dpot_allocator *allocator, void *pointer, size_t count,
                      size_t size)
{
    if (pointer) {
        dpot_wipe(pointer, dpot_array_bytes(count, size));
        dpot_free_array(allocator, pointer, count, size);
    }
}
