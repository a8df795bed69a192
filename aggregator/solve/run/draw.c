#include "solve/run/draw.h"

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 divided by the golden ratio, odd */
#define SQRT_12 3.46410161513775458705f

/* Makes latent streams distinct from other draws with the same seed. */
#define LATENT_SEED UINT64_C(0x6c6174656e740000)

/* A bijection of 64 bits in which every input bit affects every output bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t draw_bits(uint64_t seed, uint64_t stream, uint64_t index)
{
    const uint64_t key = mix(mix(seed + GOLDEN) + GOLDEN * (stream + 1));
    return mix(key + GOLDEN * (index + 1));
}

float draw_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    /* 2^-24 (24 bits + 1/2) would round in float32 for large values: 23 bits and the half fit. */
    return (float)(2 * (draw_bits(seed, stream, index) >> 41) + 1) * 0x1p-24f;
}

void latent_draw(uint64_t seed, uint64_t step, size_t n, size_t latent_dim, float *z)
{
    for (size_t i = 0; i < n * latent_dim; i++) {
        z[i] = (draw_uniform(seed ^ LATENT_SEED, step, i) - 0.5f) * SQRT_12;
    }
}
