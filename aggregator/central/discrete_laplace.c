#include "central/discrete_laplace.h"

#include "mechanism/u128.h"

/* u + v t fits into 64 bits for v below this, since u < t <= 2^41. */
#define NARROW_MAX ((uint64_t)1 << 21)

/* Restoring division for dividends of more than 64 bits. It is reached with probability e^-2097152,
 * but the claim covers all draws. */
static uint64_t divide_wide(uint64_t u, uint64_t v, struct discrete_laplace scale)
{
    const struct dpot_u128 x = dpot_u128_add(dpot_u128_mul(v, scale.t), dpot_u128_from(u));
    uint64_t rest = 0, quotient = 0;
    for (unsigned bit = 128; bit-- > 0;) {
        if (quotient >= (uint64_t)DISCRETE_LAPLACE_MAX / 2) {
            return (uint64_t)DISCRETE_LAPLACE_MAX; /* the next doubling reaches the maximum */
        }
        rest = 2 * rest + (dpot_u128_shr(x, bit).lo & 1);
        quotient = 2 * quotient + (rest >= scale.s);
        rest -= rest >= scale.s ? scale.s : 0;
    }
    return quotient;
}

uint64_t discrete_laplace_quotient(uint64_t u, uint64_t v, struct discrete_laplace scale)
{
    return v < NARROW_MAX ? (u + v * scale.t) / scale.s : divide_wide(u, v, scale);
}

int64_t discrete_laplace_draw(struct exact_draw *draw, struct discrete_laplace scale)
{
    for (;;) {
        /* x = u + v t has the geometric law of ratio e^(-1/t): u < t with weight e^(-u/t), and v
         * successes of probability 1/e. floor(x / s) then has ratio e^(-s/t). */
        const uint64_t u = exact_draw_below(draw, scale.t);
        if (!exact_draw_exp(draw, u, scale.t)) {
            continue;
        }
        uint64_t v = 0;
        while (exact_draw_exp(draw, 1, 1)) {
            v++;
        }
        const uint64_t y = discrete_laplace_quotient(u, v, scale);
        const bool is_negative = (exact_draw_word(draw) & 1) != 0;
        if (is_negative && y == 0) {
            continue; /* counts zero once, not as +0 and -0 */
        }
        return is_negative ? -(int64_t)y : (int64_t)y;
    }
}
