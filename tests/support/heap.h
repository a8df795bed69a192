/* The C library's heap under a test program: allocations of its rooms, of SQLite and of jansson, counted and
 * failing on demand. (What takes a dpot_allocator is tested with allocator.h.)
 *
 * Link dpot_test_heap: its link options put the functions below in front of malloc, calloc, realloc and
 * strdup for everything that is linked into the program; shared libraries keep their own, but the two that
 * let themselves be told. */
#ifndef DPOT_TESTS_SUPPORT_HEAP_H
#define DPOT_TESTS_SUPPORT_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* Before SQLite and jansson are used for the first time. */
void test_heap_init(void);

/* From now on the n-th allocation fails, 1 being the next one, alone or with all that follow; 0: none. */
void test_heap_fail_at(size_t n, bool alone);

/* Whether that allocation has been asked for; how many there were since. */
bool test_heap_is_hit(void);
size_t test_heap_count(void);

#endif
