#include "portability.h"

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t inputs_next(struct inputs *inputs)
{
    inputs->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = inputs->state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t inputs_of_bits(struct inputs *inputs, unsigned most)
{
    const uint64_t value = inputs_next(inputs);
    return value >> (64 - most + inputs_next(inputs) % most);
}

uint64_t inputs_any_size(struct inputs *inputs)
{
    return inputs_of_bits(inputs, 64);
}

uint64_t inputs_below(struct inputs *inputs, uint64_t n)
{
    return inputs_next(inputs) % n;
}
