/* An allocator that counts, limits and fails on demand. */
#ifndef DPOT_TESTS_SUPPORT_ALLOCATOR_H
#define DPOT_TESTS_SUPPORT_ALLOCATOR_H

#include "base/alloc.h"

struct test_allocator {
    struct dpot_allocator allocator; /* pass its address */
    size_t n_calls;                  /* allocations and growths so far */
    size_t fail_at;                  /* the n-th of them fails (1 = the next one); 0: never */
    size_t bytes;                    /* currently allocated */
    size_t peak;                     /* the most so far; may be set */
    size_t bytes_max;                /* more than this is refused; 0: no limit */
};

void test_allocator_init(struct test_allocator *t);

/* The n-th allocation from now on fails, and all later ones; 0: none. */
void test_allocator_fail_at(struct test_allocator *t, size_t n);

#endif
