#include "model/privacy.h"

#include <math.h>

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct dpot_privacy dpot_privacy_add(struct dpot_privacy a, struct dpot_privacy b)
{
    return (struct dpot_privacy){
        add_saturating(a.epsilon_q32, b.epsilon_q32), add_saturating(a.delta_q64, b.delta_q64),
        add_saturating(a.rho_q32, b.rho_q32), add_saturating(a.n_gaussian, b.n_gaussian)};
}

bool dpot_privacy_within(struct dpot_privacy a, struct dpot_privacy b)
{
    return a.epsilon_q32 <= b.epsilon_q32 && a.delta_q64 <= b.delta_q64 && a.rho_q32 <= b.rho_q32;
}

struct dpot_privacy dpot_privacy_pure(uint64_t epsilon_q32)
{
    /* rho = ceil(E^2 / 2^33). With E = h 2^32 + l: E^2 = h^2 2^64 + 2 h l 2^32 + l^2. */
    const uint64_t h = epsilon_q32 >> 32, l = epsilon_q32 & UINT32_MAX;
    struct dpot_privacy privacy = {.epsilon_q32 = epsilon_q32, .rho_q32 = UINT64_MAX};
    if (h < (1u << 15)) {
        const uint64_t low = l * l;
        privacy.rho_q32 =
            (h * h << 31) + h * l + (low >> 33) + ((low & (((uint64_t)1 << 33) - 1)) != 0);
    }
    return privacy;
}

dpot_status dpot_epsilon_from_double(double epsilon, uint64_t *epsilon_q32)
{
    if (!(epsilon > 0 && epsilon < 2147483648.0)) {
        return DPOT_ERR_RANGE;
    }
    const double scaled = floor(ldexp(epsilon, 32));
    if (scaled < 1) {
        return DPOT_ERR_RANGE;
    }
    *epsilon_q32 = (uint64_t)scaled;
    return DPOT_OK;
}

double dpot_epsilon_to_double(uint64_t epsilon_q32)
{
    return ldexp((double)epsilon_q32, -32);
}

dpot_status dpot_delta_from_double(double delta, uint64_t *delta_q64)
{
    if (!(delta >= 0 && delta < 1)) {
        return DPOT_ERR_RANGE;
    }
    *delta_q64 = (uint64_t)ldexp(delta, 64); /* below 2^64: delta is at most 1 - 2^-53 */
    return DPOT_OK;
}

double dpot_delta_to_double(uint64_t delta_q64)
{
    return ldexp((double)delta_q64, -64);
}

double dpot_epsilon_of_rho(struct dpot_privacy spent, double delta)
{
    const double rho = ldexp((double)spent.rho_q32, -32), n = (double)spent.n_gaussian;
    const double cut = n > 0 ? ldexp(rho, -40) + ldexp(n, -75) : 0;
    const double rest = (delta - cut) * exp(-ldexp(n, -38));
    return rest > 0 ? rho + 2 * sqrt(rho * log(1 / rest)) + ldexp(n, -39) : INFINITY;
}
