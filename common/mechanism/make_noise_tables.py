#!/usr/bin/env python3
"""Prints noise_tables.c: the constant tables of the integer noise (noise.h), from integers alone.

    python3 make_noise_tables.py > noise_tables.c

Real numbers are integers in units of 2^-P. Every exponential is a truncated Taylor series of terms
that are rounded down, below the exact value by less than 2^16 units; the script stops where such an
error could change a rounding.
"""

P = 384
ERROR = 1 << 32  # units of 2^-P; above all errors


def exp_minus(num, den):
    """e^(-num / den) for 0 <= num / den <= 80: 1 over the product of e^(1/64)-sized steps."""
    halvings = 0
    while num > den << halvings:
        halvings += 1
    extra = P + 128  # e^x by series of x / 2^halvings in finer units, then squarings
    x = (num << extra) // (den << halvings)
    term = total = 1 << extra
    n = 0
    while term:
        n += 1
        term = ((term * x) >> extra) // n
        total += term
    for _ in range(halvings):
        total = (total * total) >> extra
    return (1 << (P + extra)) // total


def floor_bits(value, bits):
    """floor(2^bits value), certain."""
    shift = P - bits
    low, high = (value - ERROR) >> shift, (value + ERROR) >> shift
    assert low == high, "more digits are needed"
    return low


def round_bits(value, bits):
    """The integer nearest to 2^bits value, certain."""
    return floor_bits(value + (1 << (P - bits - 1)), bits)


def laplace_cdf():
    return [round_bits((1 << P) - exp_minus(y + 1, 2), 128) for y in range(64)]


def gaussian_cdf():
    masses = [exp_minus(y * y, 32) for y in range(51)]
    y = len(masses)
    total = sum(masses)
    while True:  # the normaliser is the sum over all y
        mass = exp_minus_wide(y * y, 32)
        if mass == 0:
            break
        total += mass
        y += 1
    below, cdf = 0, []
    for mass in masses[:47]:
        below += mass
        cdf.append(round_bits((below << P) // total, 128))
    return cdf


def exp_minus_wide(num, den):
    """e^(-num / den) for larger arguments, by halves."""
    if num <= 80 * den:
        return exp_minus(num, den)
    half = exp_minus_wide(num, 2 * den)
    return (half * half) >> P


def exponentials():
    return [floor_bits(exp_minus(4, 2 << i), 64) for i in range(64)]


def print_cdf(name, comment, cdf):
    print("\n/* %s */" % comment)
    print("const struct dpot_u128 %s[%s] = {" % (name, name.upper() + "_LEN"))
    for value in cdf:
        print("    {UINT64_C(0x%016x), UINT64_C(0x%016x)}," % (value & (2**64 - 1), value >> 64))
    print("};")


def main():
    print("/* Made by make_noise_tables.py; do not edit. */")
    print('#include "mechanism/noise_tables.h"')
    print("\n/* clang-format off */")
    print_cdf("dpot_laplace_cdf", "round(2^128 (1 - e^(-(y+1)/2))), low half first", laplace_cdf())
    print_cdf("dpot_gaussian_cdf", "round(2^128 P[Y <= y]), P[Y = y] ~ e^(-y^2/32), low half first",
              gaussian_cdf())
    print("\n/* floor(2^64 exp(-2^(1-i))) */")
    print("const uint64_t dpot_exp_powers[DPOT_EXP_POWERS_LEN] = {")
    for value in exponentials():
        print("    UINT64_C(0x%016x)," % value)
    print("};")


if __name__ == "__main__":
    main()
