/* The C library's heap under a test program: allocations of the program's modules, of SQLite and of
 * jansson are counted and fail on demand. (Code that takes a dpot_allocator is tested with
 * allocator.h.)
 *
 * Link dpot_test_heap: its link options replace malloc, calloc, realloc and strdup in everything
 * that is linked into the program. Shared libraries keep the C library's, except these two, which
 * accept other allocation functions. */
#ifndef DPOT_TESTS_SUPPORT_HEAP_H
#define DPOT_TESTS_SUPPORT_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Call before SQLite and jansson are used for the first time. */
void test_heap_init(void);

/* The n-th allocation from now on fails, alone or with all that follow; 0: none. */
void test_heap_fail_at(size_t n, bool alone);

/* True if that allocation was requested; number of allocations since test_heap_fail_at. */
bool test_heap_is_hit(void);
size_t test_heap_count(void);

#endif
