/* A clock that stands still until a test changes it. */
#ifndef DPOT_TESTS_SUPPORT_CLOCK_H
#define DPOT_TESTS_SUPPORT_CLOCK_H

#include "dpot/hooks.h"

struct test_clock {
    struct dpot_clock clock; /* pass its address */
    int64_t now_ms;
    int64_t steady_ms; /* for a test that has a monotonic clock */
    int64_t step_ms;   /* added at every reading */
};

void test_clock_init(struct test_clock *t, int64_t now_ms);

#endif
