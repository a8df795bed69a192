#!/usr/bin/env python3
"""Writes the rows of exp_bound.c: floor(2^96 e^(E / 2^32)) by an exact rational Taylor series.

Every partial sum is a lower bound of e^x; the series ends where the rest is below 2^-200, so the
floor is exact unless e^x lies within that of a multiple of 2^-96, which the assertion excludes.
"""
from fractions import Fraction

ROWS = [1, 42949672, 1 << 31, 1 << 32, 4 << 32, 20 << 32]

for e in ROWS:
    x = Fraction(e, 1 << 32)
    total = term = Fraction(1)
    n = 0
    while n < 2 * x or term > Fraction(1, 1 << 200):
        n += 1
        term *= x / n
        total += term
    scaled = total * (1 << 96)
    floor = scaled.numerator // scaled.denominator
    assert floor == (scaled + Fraction(1, 1 << 90)).__floor__()
    print("    {UINT64_C(%d), {UINT64_C(0x%016x), UINT64_C(0x%016x)}},"
          % (e, floor & (2**64 - 1), floor >> 64))
