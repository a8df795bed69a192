/* Runs under valgrind: the projection and the random bytes are marked undefined, so that memcheck
 * reports every branch and every address of the sampler that depends on them. Only the index in the
 * report is declared public. With an argument the same is done to a broken twin that branches,
 * which must be reported. */
#include "mechanism/sampler.h"

#include <stdio.h>
#include <string.h>
#include <valgrind/memcheck.h>

#define SIZE 37

static uint32_t draw_branching(const uint64_t *weights, size_t size, uint64_t random)
{
    uint64_t sum = 0;
    for (uint32_t j = 0; j < size; j++) {
        sum += weights[j];
        if ((random & (DPOT_MASS_ONE - 1)) < sum) {
            return j;
        }
    }
    return 0;
}

static void fill_projection(double *q, unsigned kind)
{
    for (size_t j = 0; j < SIZE; j++) {
        q[j] = kind == 0 ? 1.0 / SIZE : kind == 1 ? (j == 5) : 1e-3 * (double)j;
    }
    const uint64_t nan_bits = UINT64_C(0x7ff8000000000001);
    if (kind == 2) {
        memcpy(&q[7], &nan_bits, sizeof nan_bits);
        q[8] = 5e-324;
        q[9] = -1;
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    uint32_t codes[SIZE];
    uint64_t lower[SIZE], upper[SIZE], fallback[SIZE], weights[SIZE];
    const struct dpot_base_measure base_measure = {SIZE, codes, DPOT_MASS_ONE / 2};
    for (uint32_t j = 0; j < SIZE; j++) {
        codes[j] = 1000 + j * j;
    }
    if (dpot_bounds_compute(&base_measure, 2 * DPOT_EPSILON_ONE, lower, upper, NULL) != DPOT_OK) {
        return 2;
    }
    dpot_bounds_fallback(lower, upper, SIZE, fallback);
    for (unsigned kind = 0; kind < 4; kind++) {
        double q[SIZE];
        uint64_t random = UINT64_C(0x123456789abcdef) * (kind + 1);
        fill_projection(q, kind);
        (void)VALGRIND_MAKE_MEM_UNDEFINED(q, sizeof q);
        (void)VALGRIND_MAKE_MEM_UNDEFINED(&random, sizeof random);
        dpot_weights_round(q, lower, upper, SIZE, weights);
        uint32_t index = argc > 1
                             ? draw_branching(weights, SIZE, random)
                             : dpot_weights_draw(weights, lower, upper, fallback, SIZE, random);
        (void)VALGRIND_MAKE_MEM_DEFINED(&index, sizeof index);
        (void)printf("index %u\n", index);
        if (index >= SIZE) {
            return 2;
        }
    }
    return 0;
}
