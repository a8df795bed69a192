#include "support/allocator.h"

#include <stdlib.h>

static void *resize(void *ctx, void *pointer, size_t old_size, size_t new_size)
{
    struct test_allocator *t = ctx;
    if (new_size == 0) {
        free(pointer);
        t->bytes -= old_size;
        return NULL;
    }
    t->n_calls++;
    if (t->fail_at && t->n_calls >= t->fail_at) {
        return NULL;
    }
    if (t->bytes_max && new_size > old_size && t->bytes + (new_size - old_size) > t->bytes_max) {
        return NULL;
    }
    void *result = realloc(pointer, new_size);
    if (result) {
        t->bytes += new_size - old_size;
        t->peak = t->bytes > t->peak ? t->bytes : t->peak;
    }
    return result;
}

void test_allocator_init(struct test_allocator *t)
{
    *t = (struct test_allocator){.allocator = {resize, NULL}};
    t->allocator.ctx = t;
}

void test_allocator_fail_at(struct test_allocator *t, size_t n)
{
    t->fail_at = n ? t->n_calls + n : 0;
}
