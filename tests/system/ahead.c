#include "system/ahead.h"

#include "base/clock.h"

int64_t ahead_ms;

static int64_t now_ahead(void *ctx)
{
    (void)ctx;
    return dpot_clock_system()->now(NULL) + ahead_ms;
}

const struct dpot_clock ahead = {.struct_size = sizeof ahead, .now = now_ahead};
