#include "central/exact_draw.h"

#include "base/crypto.h"
#include "mechanism/u128.h"

#include <math.h>

void exact_draw_init(struct exact_draw *draw, const struct dpot_rng_source *source)
{
    dpot_rng_init(&draw->rng, source);
    draw->n_left = 0;
}

void exact_draw_release(struct exact_draw *draw)
{
    dpot_rng_release(&draw->rng);
    dpot_wipe(draw, sizeof *draw);
}

uint64_t exact_draw_word(struct exact_draw *draw)
{
    if (draw->n_left == 0) {
        dpot_rng_bytes(&draw->rng, draw->words, sizeof draw->words);
        draw->n_left = EXACT_DRAW_WORDS;
    }
    return draw->words[--draw->n_left];
}

uint64_t exact_draw_below(struct exact_draw *draw, uint64_t n)
{
    if (n == 1) {
        return 0;
    }
    /* Lemire 2019: floor(x n / 2^64). The first 2^64 mod n fractions are drawn again, so that every
     * value corresponds to floor(2^64 / n) words. */
    struct dpot_u128 product = dpot_u128_mul(exact_draw_word(draw), n);
    if (product.lo < n) {
        const uint64_t excess = (0 - n) % n;
        while (product.lo < excess) {
            product = dpot_u128_mul(exact_draw_word(draw), n);
        }
    }
    return product.hi;
}

/* e^(-a/b) for a <= b. With events A_k of probability a / (b k), the index of the first failure is
 * odd with probability 1 - g + g^2/2! - ..., g = a / b. A_k is two independent draws, so that b k
 * need not fit. */
static bool draw_exp_of_fraction(struct exact_draw *draw, uint64_t a, uint64_t b)
{
    uint64_t k = 1;
    while (exact_draw_below(draw, k) == 0 && exact_draw_below(draw, b) < a) {
        k++;
    }
    return k % 2 == 1;
}

bool exact_draw_exp(struct exact_draw *draw, uint64_t a, uint64_t b)
{
    for (; a > b; a -= b) {
        if (!draw_exp_of_fraction(draw, 1, 1)) {
            return false;
        }
    }
    return draw_exp_of_fraction(draw, a, b);
}

double exact_draw_unit(struct exact_draw *draw)
{
    return ldexp((double)(exact_draw_word(draw) >> 11), -53);
}
