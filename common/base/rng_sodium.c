#include "base/rng.h"

#include <sodium.h>

static void fill(void *ctx, void *out, size_t len)
{
    (void)ctx;
    randombytes_buf(out, len);
}

const struct dpot_rng_source dpot_rng_source_sodium = {fill, NULL, false};
