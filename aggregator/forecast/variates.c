#include "forecast/variates.h"

#include <math.h>

#define COINS_MAX 16    /* up to this many trials are drawn one by one */
#define PICKS_A_POINT 4 /* below this many draws per point they are drawn one by one */
#define SQUEEZE 0.0331  /* of Marsaglia and Tsang */
#define STEP_LOG2 52    /* uniform numbers are the midpoints of 2^52 intervals */

void variates_init(struct variates *variates, uint64_t seed, uint64_t stream)
{
    dpot_rng_seeded_init(&variates->seeded, seed, stream);
    dpot_rng_init(&variates->rng, &variates->seeded.source);
    variates->has_spare = false;
    variates->spare = 0;
}

void variates_release(struct variates *variates)
{
    dpot_rng_release(&variates->rng);
}

double variates_uniform(struct variates *variates)
{
    return ldexp((double)(dpot_rng_u64(&variates->rng) >> (64 - STEP_LOG2)) + 0.5, -STEP_LOG2);
}

/* The polar method: a point of the unit disc gives two normal numbers. */
double variates_normal(struct variates *variates)
{
    double x = 0, y = 0, square = 0;
    if (variates->has_spare) {
        variates->has_spare = false;
        return variates->spare;
    }
    do {
        x = 2 * variates_uniform(variates) - 1;
        y = 2 * variates_uniform(variates) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square <= 0);
    const double factor = sqrt(-2 * log(square) / square);
    variates->spare = y * factor;
    variates->has_spare = true;
    return x * factor;
}

/* d v with v = (1 + c x)^3 for a normal x, accepted with the ratio of the densities (Marsaglia,
 * Tsang 2000). */
double variates_gamma(struct variates *variates, double shape)
{
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = variates_normal(variates);
        const double root = 1 + c * x;
        if (root <= 0) {
            continue;
        }
        const double v = root * root * root, u = variates_uniform(variates);
        if (u < 1 - SQUEEZE * x * x * x * x || log(u) < 0.5 * x * x + d * (1 - v + log(v))) {
            return d * v;
        }
    }
}

/* The a-th smallest of n uniform numbers is Beta(a, n + 1 - a). It determines how many of them are
 * below p on at least one side of it, and the others are again uniform. */
double variates_binomial(struct variates *variates, double n, double p)
{
    double sum = 0;
    while (n > COINS_MAX && p > 0 && p < 1) {
        const double a = floor((n + 1) / 2);
        const double low = variates_gamma(variates, a);
        const double high = variates_gamma(variates, n + 1 - a);
        const double middle = low / (low + high);
        if (middle <= p) {
            sum += a;
            n -= a;
            p = (p - middle) / (high / (low + high));
        } else {
            n = a - 1;
            p /= middle;
        }
    }
    if (p <= 0 || p >= 1) {
        return p > 0 ? sum + n : sum;
    }
    for (; n > 0; n--) {
        sum += variates_uniform(variates) < p;
    }
    return sum;
}

size_t variates_pick(const double *cumulative, size_t size, double u)
{
    const double target = u * cumulative[size - 1];
    size_t low = 0, high = size - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (cumulative[middle] > target) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Given the earlier counts, count j is Binomial(draws left, p_j / mass left). */
static void draw_in_turn(struct variates *variates, double n, const double *p, size_t size,
                         double *counts)
{
    double rest = 1;
    size_t last = 0;
    for (size_t j = 0; j < size; j++) {
        counts[j] = p[j] > 0 ? variates_binomial(variates, n, rest > p[j] ? p[j] / rest : 1) : 0;
        last = p[j] > 0 ? j : last;
        n -= counts[j];
        rest -= p[j];
    }
    counts[last] += n; /* mass lost to rounding */
}

void variates_multinomial(struct variates *variates, double n, const double *p,
                          const double *cumulative, size_t size, double *counts)
{
    if (n > PICKS_A_POINT * (double)size) {
        draw_in_turn(variates, n, p, size, counts);
        return;
    }
    for (size_t j = 0; j < size; j++) {
        counts[j] = 0;
    }
    for (; n > 0; n--) {
        counts[variates_pick(cumulative, size, variates_uniform(variates))]++;
    }
}
