#!/usr/bin/env python3
"""Prints gauss_certificate_rows.c: the certificate of Gaussian noise (gauss_certificate.h).

    python3 make_gauss_certificate.py > gauss_certificate_rows.c

For each node E (epsilon = E / 2^32) and each column delta = delta_q64 / 2^64:

    mu       the largest number with 53 significant bits such that
             delta_BW(epsilon - 2^-13, mu) <= delta (1 - 2^-10), where
             delta_BW(e, mu) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)    (Balle and Wang 2018)
    mu2_q40  floor(2^40 mu^2)
    d_max    min(2^20, floor(delta 2^82 / (1 + exp(epsilon))))

client/doc/exact-privacy.md (B5, Theorem B2) says why.

Doubles are used for a first guess of mu only. Every number printed is decided by integers in units
of 2^-P with bounded errors (ERROR), and the script stops where such an error could matter, so the
output does not depend on the machine. mu is rounded down to 53 bits before it is squared, as in the
published reference rows, which costs at most 2^-52 of it and one unit of mu2_q40.

Nodes are the decimals DECIMALS and, between two of them, geometric steps such that mu changes by at
most 1 % from node to node in every column.
"""

from math import erfc, exp, isqrt, log, sqrt

P = 384
ONE = 1 << P
# Arguments of Phi are off by less than 2^12 units (epsilon / mu^2 < 2^11), a power series by 2^10,
# its largest value and exp(epsilon) are below 2^112: the sum of excess() is off by less than this.
ERROR = 1 << 160

DELTAS = [1 << 44, 1 << 40, 1 << 34, 1 << 24, 2**64 // 10**4, 2**64 // 10**5, 2**64 // 10**6]
DIM_MAX = 1 << 20
STEP = (10201, 10000)  # largest ratio of mu2_q40 from node to node: 1.01^2

# Common decimals that are nodes, in hundredths of epsilon.
DECIMALS = [10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 75, 80, 90, 100, 125, 150, 175, 200, 250,
            300, 350, 400, 450, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 1400, 1500, 1600,
            1700, 1800, 1900, 2000, 2500, 3000, 3500, 4000]


def fixed_exp(x):
    """e^x for a fixed-point x >= 0, rounded down: the series at x / 2^64, then squarings."""
    extra = P + 192
    x <<= 192
    halvings = 0
    while x >> halvings > 1 << (extra - 8):
        halvings += 1
    x >>= halvings
    term = total = 1 << extra
    n = 0
    while term:
        n += 1
        term = ((term * x) >> extra) // n
        total += term
    for _ in range(halvings):
        total = (total * total) >> extra
    return total >> 192


def fixed_pi():
    """Machin: pi = 16 atan(1/5) - 4 atan(1/239)."""
    unit = ONE << 32

    def atan_inverse(n):
        total = term = unit // n
        k = 1
        while term:
            term //= n * n
            k += 2
            total += -(term // k) if k % 4 == 3 else term // k
        return total

    return (16 * atan_inverse(5) - 4 * atan_inverse(239)) >> 32


ROOT_TWO_PI = isqrt(2 * fixed_pi() << P)


def odd_series(x):
    """S(x) with Phi(x) = 1/2 + phi(x) S(x): the sum of x^(2n+1) / (1 3 5 ... (2n+1)). Odd in x."""
    if x < 0:
        return -odd_series(-x)
    square = (x * x) >> P
    term = total = x
    n = 1
    while term:
        n += 2
        term = ((term * square) >> P) // n
        total += term
    return total


class Row:
    """One (epsilon, delta) and its mu."""

    def __init__(self, epsilon_q32, delta_q64):
        self.epsilon = (epsilon_q32 << (P - 32)) - (1 << (P - 13))
        self.delta = (delta_q64 << (P - 64)) - (delta_q64 << (P - 74))
        self.growth = EXP_OF[epsilon_q32]

    def excess(self, mantissa, exponent):
        """(delta_BW(epsilon, mu) - delta, its derivative phi(x)) at mu = mantissa 2^-exponent.

        phi(x) = exp(epsilon) phi(y) for x = mu/2 - epsilon/mu, y = -mu/2 - epsilon/mu, so that
        delta_BW = (1 - exp(epsilon)) / 2 + phi(x) (S(x) - S(y))."""
        mu = mantissa << (P - exponent)
        ratio = (self.epsilon << P) // mu
        x, y = mu // 2 - ratio, -(mu // 2) - ratio
        phi = ((ONE << P) // fixed_exp((x * x) >> (P + 1)) << P) // ROOT_TWO_PI
        value = (ONE - self.growth) // 2 + ((phi * (odd_series(x) - odd_series(y))) >> P)
        return value - self.delta, phi

    def is_within(self, mantissa, exponent):
        value, _ = self.excess(mantissa, exponent)
        assert abs(value) > ERROR, "more digits are needed"
        return value < 0

    def largest_mu(self):
        guess = guess_mu(self.epsilon / ONE, self.delta / ONE)
        exponent = 52
        while guess * 2**exponent < 2**52:
            exponent += 1
        while guess * 2**exponent >= 2**53:
            exponent -= 1
        mantissa = int(guess * 2**exponent)
        value, phi = self.excess(mantissa, exponent)  # one step of Newton in integers
        mantissa -= -((-value << exponent) // phi)
        while self.is_within(mantissa + 1, exponent):
            mantissa += 1
        while not self.is_within(mantissa, exponent):
            mantissa -= 1
        assert 2**52 <= mantissa < 2**53
        return mantissa, exponent

    def mu2_q40(self):
        mantissa, exponent = self.largest_mu()
        return (mantissa * mantissa) >> (2 * exponent - 40)


def guess_mu(epsilon, delta):
    """mu by bisection in doubles: a starting point only."""
    low, high = 1e-3, 16.0
    for _ in range(60):
        mu = (low + high) / 2
        x, y = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        value = (erfc(-x / sqrt(2)) - exp(epsilon) * erfc(-y / sqrt(2))) / 2
        low, high = (mu, high) if value <= delta else (low, mu)
    return low


def d_max(epsilon_q32, delta_q64):
    growth = fixed_exp(epsilon_q32 << (P - 32))
    bounds = [(delta_q64 << (18 + P)) // (ONE + growth + e) for e in (-ERROR, ERROR)]
    assert bounds[0] == bounds[1], "more digits are needed"
    return min(DIM_MAX, bounds[0])


EXP_OF = {}


def row_of_node(epsilon_q32):
    EXP_OF[epsilon_q32] = fixed_exp((epsilon_q32 << (P - 32)) - (1 << (P - 13)))
    return [Row(epsilon_q32, delta).mu2_q40() for delta in DELTAS]


def integer_root(value, n):
    """floor(value^(1/n))"""
    low, high = 0, 1 << (value.bit_length() // n + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**n <= value else (low, middle)
    return low


def is_fine(below, above):
    return all(b * STEP[1] <= a * STEP[0] for a, b in zip(below, above))


def steps_between(low, high, rows):
    """The fewest geometric steps from low to high that are fine enough in every column."""
    growth = max(log(b / a) for a, b in zip(rows[low], rows[high]))
    n = max(1, int(growth / log(STEP[0] / STEP[1])))
    while True:
        nodes = [integer_root(low**(n - i) * high**i, n) for i in range(n + 1)]
        for node in nodes[1:-1]:
            rows.setdefault(node, None)
            rows[node] = rows[node] or row_of_node(node)
        if all(is_fine(rows[a], rows[b]) for a, b in zip(nodes, nodes[1:])):
            return nodes[:-1]
        n += 1


def all_nodes():
    """{E: [mu2_q40 of each column]}, E increasing."""
    ends = [(hundredths << 32) // 100 for hundredths in DECIMALS]
    rows = {end: row_of_node(end) for end in ends}
    nodes = [e for low, high in zip(ends, ends[1:]) for e in steps_between(low, high, rows)]
    return {e: rows[e] for e in nodes + ends[-1:]}


def main():
    nodes = all_nodes()
    limits = {e: [d_max(e, delta) for delta in DELTAS] for e in nodes}
    tail = [e for e in nodes if min(limits[e]) < DIM_MAX]
    print("/* Made by make_gauss_certificate.py; do not edit. Append only: numbers of rows are "
          "public. */")
    print('#include "mechanism/gauss_certificate_rows.h"\n')
    print("/* clang-format off */")
    print("#define LO(x) ((uint32_t)((x) & UINT32_MAX))")
    print("#define HI(x) ((uint16_t)((uint64_t)(x) >> 32))")
    print("#define NODE(e, a, b, c, d, f, g, h) \\")
    print("    {{LO(e), LO(a), LO(b), LO(c), LO(d), LO(f), LO(g), LO(h)}, \\")
    print("     {HI(e), HI(a), HI(b), HI(c), HI(d), HI(f), HI(g), HI(h)}}\n")
    print("const uint64_t dpot_gauss_deltas[DPOT_GAUSS_N_DELTAS] = {")
    for delta in DELTAS:
        print("    UINT64_C(%d)," % delta)
    print("};\n")
    print("const uint32_t dpot_gauss_n_nodes = %d;" % len(nodes))
    print("const struct dpot_gauss_node dpot_gauss_nodes[%d] = {" % len(nodes))
    for e, row in nodes.items():
        print("    NODE(%d, %s)," % (e, ", ".join(map(str, row))))
    print("};\n")
    print("const uint32_t dpot_gauss_first_limited = %d;" % (len(nodes) - len(tail)))
    print("const uint32_t dpot_gauss_d_max[%d][DPOT_GAUSS_N_DELTAS] = {" % len(tail))
    for e in tail:
        print("    {%s}," % ", ".join(map(str, limits[e])))
    print("};")


if __name__ == "__main__":
    main()
