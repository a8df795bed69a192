#include "central/discrete_gaussian.h"

#include "central/discrete_laplace.h"

/* True with probability e^(-d^2 / (2 s^2)). With d = q s + r the exponent is
 *     q^2 / 2 + q r / s + r^2 / (2 s^2),
 * and each part is a product of events whose parameters fit into 64 bits: q events of e^(-q/2), q
 * of e^(-r/s), one of the last. A large q is not slow: the first failure ends the loop. */
static bool draw_square(struct exact_draw *draw, uint64_t d, uint64_t s)
{
    const uint64_t q = d / s, r = d % s;
    for (uint64_t i = 0; i < q; i++) {
        if (!exact_draw_exp(draw, q, 2) || !exact_draw_exp(draw, r, s)) {
            return false;
        }
    }
    return exact_draw_exp(draw, r * r, 2 * s * s);
}

/* Accepts a discrete Laplace draw of scale sigma with probability e^(-(|y| - sigma)^2 / (2
 * sigma^2)): the exponents add up to -y^2 / (2 sigma^2) plus a constant. */
int64_t discrete_gaussian_draw(struct exact_draw *draw, uint64_t sigma)
{
    const struct discrete_laplace scale = {.t = sigma, .s = 1};
    for (;;) {
        const int64_t y = discrete_laplace_draw(draw, scale);
        const uint64_t size = (uint64_t)(y < 0 ? -y : y);
        if (draw_square(draw, size > sigma ? size - sigma : sigma - size, sigma)) {
            return y;
        }
    }
}
