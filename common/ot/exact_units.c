#include "ot/exact_units.h"

#include <math.h>

void dpot_exact_add(struct dpot_exact_sum *s, double x)
{
    const double sum = s->sum + x;
    s->lost += fabs(s->sum) >= fabs(x) ? (s->sum - sum) + x : (x - sum) + s->sum;
    s->sum = sum;
}

double dpot_exact_sum_of(const struct dpot_exact_sum *s)
{
    return s->sum + s->lost;
}

int64_t dpot_exact_to_units(const double *mass, size_t n, double factor, int exponent,
                            int64_t *units)
{
    /* A power of two as two factors, which neither overflow nor round. */
    const int bits = DPOT_EXACT_UNIT_BITS - exponent, half = bits / 2;
    const double scale = ldexp(1.0, half), rest = ldexp(1.0, bits - half);
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        units[i] = (int64_t)(mass[i] * factor * scale * rest + 0.5);
        sum += units[i];
    }
    return sum;
}

double dpot_exact_to_mass(int64_t units, int exponent)
{
    return ldexp((double)units, exponent - DPOT_EXACT_UNIT_BITS);
}

void dpot_exact_add_to_largest(int64_t *units, size_t n, int64_t difference)
{
    size_t largest = 0;
    for (size_t i = 1; i < n; i++) {
        largest = units[i] > units[largest] ? i : largest;
    }
    units[largest] += difference;
}
