/* An allocator that counts, accounts and fails on demand. */
#ifndef DPOT_TESTS_SUPPORT_ALLOCATOR_H
#define DPOT_TESTS_SUPPORT_ALLOCATOR_H

#include "base/alloc.h"

struct test_allocator {
    struct dpot_allocator allocator; /* give its address away */
    size_t n_calls;                  /* allocations and growths so far */
    size_t fail_at;                  /* the n-th of them fails (1 = the next one); 0: never */
    size_t bytes;                    /* now allocated */
    size_t bytes_max;                /* more than this is refused; 0: no limit */
};

void test_allocator_init(struct test_allocator *t);

/* From now on the n-th allocation fails (and every later one); 0: none. */
void test_allocator_fail_at(struct test_allocator *t, size_t n);

#endif
