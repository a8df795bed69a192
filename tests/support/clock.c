#include "support/clock.h"

static int64_t now(void *ctx)
{
    struct test_clock *t = ctx;
    t->now_ms += t->step_ms;
    return t->now_ms;
}

void test_clock_init(struct test_clock *t, int64_t now_ms)
{
    *t = (struct test_clock){.clock = {.struct_size = sizeof t->clock, .now = now},
                             .now_ms = now_ms};
    t->clock.ctx = t;
}
