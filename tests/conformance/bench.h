/* A store of each backend in turn, for the suites that every backend must pass. */
#ifndef DPOT_TESTS_CONFORMANCE_BENCH_H
#define DPOT_TESTS_CONFORMANCE_BENCH_H

#include "store/store.h"
#include "unit/aggregator/fixture.h"

struct bench {
    size_t row; /* in the table of backends */
    char folder[FIXTURE_PATH_SIZE];
    char url[2 * FIXTURE_PATH_SIZE];
    struct store *store;
};

size_t bench_n_backends(void);

/* Opens a new store of backend `row`. */
void bench_init(struct bench *b, size_t row);
void bench_release(struct bench *b);

/* Closes the store and opens it again, if it is durable. */
void bench_reopen(struct bench *b);

/* Defines a test that runs its body for every backend. */
#define STORE_TEST(name)                                                                           \
    static void check_##name(struct bench *b);                                                     \
    Test(store, name)                                                                              \
    {                                                                                              \
        for (size_t i = 0; i < bench_n_backends(); i++) {                                          \
            struct bench b;                                                                        \
            bench_init(&b, i);                                                                     \
            check_##name(&b);                                                                      \
            bench_release(&b);                                                                     \
        }                                                                                          \
    }                                                                                              \
    static void check_##name(struct bench *b)

#endif
