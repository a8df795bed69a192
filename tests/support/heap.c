#include "support/heap.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
char *__wrap_strdup(const char *text);

static atomic_size_t n_calls;
static atomic_size_t fail_at; /* 0: none */
static atomic_bool fails_alone;

static bool fails(void)
{
    const size_t n = atomic_fetch_add(&n_calls, 1) + 1;
    const size_t at = atomic_load(&fail_at);
    return at != 0 && (n == at || (n > at && !atomic_load(&fails_alone)));
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size)
{
    return fails() ? NULL : __real_realloc(pointer, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static sqlite3_mem_methods methods;

static void *allocate(int size)
{
    return fails() ? NULL : methods.xMalloc(size);
}

static void *resize(void *pointer, int size)
{
    return fails() ? NULL : methods.xRealloc(pointer, size);
}

void test_heap_init(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &methods) != SQLITE_OK) {
        abort();
    }
    sqlite3_mem_methods failing = methods;
    failing.xMalloc = allocate;
    failing.xRealloc = resize;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) != SQLITE_OK) {
        abort();
    }
}

void test_heap_fail_at(size_t n, bool alone)
{
    atomic_store(&fail_at, 0);
    atomic_store(&n_calls, 0);
    atomic_store(&fails_alone, alone);
    atomic_store(&fail_at, n);
}

bool test_heap_is_hit(void)
{
    return atomic_load(&fail_at) != 0 && atomic_load(&n_calls) >= atomic_load(&fail_at);
}

size_t test_heap_count(void)
{
    return atomic_load(&n_calls);
}
