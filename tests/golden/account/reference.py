"""Reference values of accounting in 60 digits (python3-mpmath), by the definitions and with nothing in
common with aggregator/account: erfc for the Gaussian, a scan over alpha for zCDP, the whole sum for
the composition of randomised response, every value of C and of the count for the shuffled pair (tails by
their ratios where n is large). Prints reference.json:

    python3 reference.py > reference.json
"""
import json
from mpmath import mp, mpf, exp, log, sqrt, erfc, loggamma, floor, ceil

mp.dps = 60


def text(x):
    return float(mp.nstr(x, 25))


def tail(x):
    return erfc(x / sqrt(mpf(2))) / 2


def gaussian_delta(epsilon, mu):
    epsilon, mu = mpf(epsilon), mpf(mu)
    return tail(epsilon / mu - mu / 2) - exp(epsilon) * tail(epsilon / mu + mu / 2)


def bisect(f, low, high):
    """f(low) <= 0 < f(high), by geometric means."""
    for _ in range(170):
        middle = sqrt(low * high)
        low, high = (middle, high) if f(middle) <= 0 else (low, middle)
    return low


def gaussian():
    deltas, mus, epsilons = [], [], []
    for epsilon, mu in [(0, 1e-6), (0, 0.49), (0, 0.51), (0, 12), (1e-6, 1e-3), (1e-3, 1e-4), (0.1, 0.01),
                        (1, 0.05), (1, 0.5), (1, 0.51), (3, 0.7), (5, 5), (20, 2.5), (20, 60), (100, 10),
                        (512, 12), (512, 20), (512, 33), (512, 40), (1e4, 120), (1e6, 1410)]:
        delta = gaussian_delta(epsilon, mu)
        if delta > mpf(10) ** -310:
            deltas.append({"epsilon": epsilon, "mu": mu, "log_delta": text(log(delta))})
    for epsilon, delta in [(0, 1e-5), (1e-6, 1e-9), (0.1, 1e-300), (1, 1e-6), (1, 0.3), (1, 0.999), (5, 1e-4),
                           (20, 1e-12), (35, 1e-4), (512, 1e-6), (512, 1e-300), (512, 0.5)]:
        mu = bisect(lambda m: gaussian_delta(epsilon, m) - mpf(delta), mpf(10) ** -30, mpf(10) ** 3)
        mus.append({"epsilon": epsilon, "delta": delta, "mu": text(mu)})
    for mu, delta in [(1e-3, 1e-5), (0.2, 1e-300), (1, 1e-6), (1, 1e-300), (5, 1e-4), (25, 1e-9), (400, 1e-5)]:
        epsilon = bisect(lambda e: mpf(delta) - gaussian_delta(e, mu), mpf(10) ** -30, mpf(10) ** 6)
        epsilons.append({"mu": mu, "delta": delta, "epsilon": text(epsilon)})
    return deltas, mus, epsilons


def zcdp_epsilon(rho, delta):
    """The least over a grid of log(alpha - 1), refined three times around its best point."""
    rho, log_delta = mpf(rho), log(mpf(delta))

    def at(s):
        u = exp(s)
        a = 1 + u
        return a * rho + (a * log(1 - 1 / a) - log(u) - log_delta) / u

    centre, width = log(-log_delta / rho) / 2, mpf(30)
    for _ in range(14):
        points = [centre + width * i / 50 for i in range(-50, 51)]
        centre = min(points, key=at)
        width = width / 20
    return max(at(centre), mpf(0))


def zcdp():
    return [{"rho": rho, "delta": delta, "epsilon": text(zcdp_epsilon(rho, delta))}
            for rho, delta in [(1e-12, 1e-5), (1e-4, 1e-10), (0.01, 1e-5), (0.5, 1e-300), (0.5, 0.1), (3, 1e-6),
                               (100, 1e-9), (1e5, 1e-12)]]


def optimal_delta(epsilon, k, total):
    epsilon, total = mpf(epsilon), mpf(total)
    p = 1 / (1 + exp(epsilon))
    sum_ = mpf(0)
    pmf = (1 - p) ** k
    for l in range(k + 1):
        loss = (k - 2 * l) * epsilon
        if loss <= total:
            break
        sum_ += pmf * (1 - exp(total - loss))
        pmf = pmf * (k - l) / (l + 1) * p / (1 - p)
    return sum_


def optimal():
    cases = []
    for epsilon, k, delta in [(1, 1, 1e-6), (1, 10, 1e-6), (0.1, 100, 1e-6), (0.1, 100, 0.2), (0.01, 10000, 1e-9),
                              (2, 30, 1e-300), (5, 7, 1e-5), (1e-3, 20000, 1e-12), (1, 2000, 1e-6)]:
        low, high = mpf(0), mpf(epsilon) * k
        if optimal_delta(epsilon, k, 0) <= delta:
            high = mpf(0)
        for _ in range(90 if k < 5000 else 50):
            middle = (low + high) / 2
            low, high = (low, middle) if optimal_delta(epsilon, k, middle) <= delta else (middle, high)
        cases.append({"epsilon": epsilon, "count": k, "delta": delta, "total": text(high)})
    return cases


def given_c(c, E, e):
    """The hockey stick of P and Q given C = c, term by term."""
    total, pmf, before = mpf(0), mpf(2) ** -c, mpf(0)
    for a in range(c + 2):
        now = pmf if a <= c else mpf(0)
        d = (E * before + now) / (E + 1) - e * (before + E * now) / (E + 1)
        if d > 0:
            total += d
        before = now
        pmf = pmf * (c - a) / (a + 1) if a <= c else pmf
    return total


def sum_tail(c, t):
    """P[>= t] / P[= t - 1] of c fair coins: the products of successive ratios."""
    total, term, end = mpf(0), mpf(1), mpf(10) ** -28
    for a in range(t, c + 1):
        term = term * (c - a + 1) / a
        total += term
        if term < total * end:
            break
    return total


def given_large_c(c, E, e):
    """The same by tails: both sums from the first count whose ratio exceeds e."""
    t = int(ceil((c + 1) * (e * E - 1) / ((E - 1) * (1 + e))))
    here = exp(loggamma(c + 1) - loggamma(t) - loggamma(c - t + 2) - c * log(mpf(2)))
    upper = here * sum_tail(c, t)
    return (E * (here + upper) + upper - e * (here + upper) - e * E * upper) / (E + 1)


def shuffle_delta(epsilon0, n, epsilon):
    E, e = exp(mpf(epsilon0)), exp(mpf(epsilon))
    p = 2 / (E + 1)
    mean, sd = (n - 1) * p, sqrt((n - 1) * p * (1 - p))
    low = max(0, int(floor(mean - 10 * sd - 20)))
    high = min(n - 1, int(ceil(mean + 10 * sd + 20)))
    pmf = exp(loggamma(n) - loggamma(low + 1) - loggamma(n - low) + low * log(p) + (n - 1 - low) * log(1 - p))
    total = mpf(0)
    for c in range(low, high + 1):
        total += pmf * (given_c(c, E, e) if c < 400 else given_large_c(c, E, e))
        pmf = pmf * (n - 1 - c) / (c + 1) * p / (1 - p)
    return total


def shuffle():
    cases = []
    for epsilon0, n, epsilon in [(1, 2, 0.5), (0.5, 50, 0.2), (1, 50, 0.7), (4, 100, 2), (4, 100, 0.1), (2, 300, 0.3),
                                 (8, 400, 5), (0.01, 100, 0.004), (1, 5000, 0.06), (3, 20000, 0.15),
                                 (1, 200000, 0.01)]:
        mp.dps = 60 if n < 1000 else 30
        cases.append({"epsilon0": epsilon0, "n": n, "epsilon": epsilon,
                      "delta": text(shuffle_delta(epsilon0, n, epsilon))})
    mp.dps = 60
    return cases


def laws():
    pmfs, tails = [], []
    for n, x, p in [(10, 3, 0.25), (10, 0, 0.75), (10, 10, 0.75), (15, 15, 0.5), (16, 8, 0.5), (1000, 17, 0.01),
                    (10 ** 6, 500500, 0.5), (10 ** 9, 250000000 + 60000, 0.25), (10 ** 12, 5 * 10 ** 11 - 10 ** 7, 0.5),
                    (10 ** 15, 5 * 10 ** 14 + 10 ** 8, 0.5), (10 ** 15, 3, 2.0 ** -50)]:
        q = 1 - mpf(p)
        value = (loggamma(n + 1) - loggamma(x + 1) - loggamma(n - x + 1) + x * log(mpf(p)) + (n - x) * log(q))
        pmfs.append({"n": n, "x": x, "p": p, "log_pmf": text(value)})
    for c, t in [(1, 1), (2, 2), (3, 2), (10, 6), (10, 10), (10, 11), (99, 50), (1000, 501), (1000, 700),
                 (100000, 50001), (10 ** 6, 500500), (10 ** 6, 520000)]:
        upper = sum_tail(c, t)
        tails.append({"c": c, "t": t, "ratio": text(upper)})
    return pmfs, tails


def main():
    deltas, mus, epsilons = gaussian()
    pmfs, tails = laws()
    print(json.dumps({"gaussian_delta": deltas, "gaussian_mu": mus, "gaussian_epsilon": epsilons, "zcdp": zcdp(),
                      "optimal": optimal(), "shuffle": shuffle(), "binomial": pmfs, "fair_tail": tails}, indent=1))


main()
