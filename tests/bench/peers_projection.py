"""The peers' side of projection.sh: answers the requests of turns.h on standard input with the same users,
costs and sweeps as bench_projection.c. Argument: the folder with what that program wrote."""
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
LAMBDA, EPSILON, N_SWEEPS = 0.01, 5.0, 40
folder = sys.argv[1]
try:
    import ot
except ImportError:
    ot = None


def grid_cost(k):
    side = int(round(k ** 0.5))
    side = side if side * side == k else k
    points = np.stack([np.arange(k) // side, np.arange(k) % side], 1).astype(float)
    cost = ((points[:, None] - points[None]) ** 2).sum(-1)
    return cost / cost.max()


def project(s, lower, upper, scale):
    """Newton on the piecewise linear sum of clips, for all users at once, from the scales of the last sweep;
    steps that leave the bracket bisect it."""
    tol = 1.6e-6 if s.dtype == np.float32 else 4e-14
    scale = 1 / s.sum(0) if scale is None else scale
    low, high = np.zeros_like(scale), np.full_like(scale, np.inf)
    for _ in range(30):
        y = s * scale
        off = np.clip(y, lower, upper).sum(0) - 1
        if np.abs(off).max() < tol:
            break
        slope = (s * ((y > lower) & (y < upper))).sum(0)
        low, high = np.where(off < 0, scale, low), np.where(off > 0, scale, high)
        step = scale - off / slope
        middle = np.where(np.isfinite(high), 0.5 * (low + high), 2 * scale)
        scale = np.where((step > low) & (step < high), step, middle)
    return np.clip(s * scale, lower, upper), scale


def newton(k, n_users, dtype):
    mu = np.ascontiguousarray(np.fromfile("%s/users_%d_%d" % (folder, k, n_users)).reshape(n_users, k).T)
    mu = mu.astype(dtype)
    cost = grid_cost(k)
    lower = np.full((k, 1), np.exp(-EPSILON / 2) / k, dtype)
    upper = np.full((k, 1), np.exp(EPSILON / 2) / k, dtype)

    def run():
        kernel = np.exp(-cost / LAMBDA).astype(dtype)
        v, scale = np.ones((k, n_users), dtype), None
        for _ in range(N_SWEEPS):
            s = kernel.T @ (mu / (kernel @ v))
            q, scale = project(s, lower, upper, scale)
            v = q / s
        return q

    return run, lambda q: float((q.astype(float) * np.arange(k)[:, None] / k).sum() / n_users)


def emd(n, kind):
    points = np.fromfile("%s/points" % folder).reshape(2, n, 2)
    weights = np.fromfile("%s/weights" % folder).reshape(2, n)
    cost = np.sqrt(((points[0][:, None] - points[1][None]) ** 2).sum(-1))
    return lambda: ot.emd2(weights[0], weights[1], cost, numItermax=10 ** 8), float


def answer(name, *words):
    if name == "numpy_newton":
        run, value = newton(int(words[0]), int(words[1]), np.float32 if words[2] == "f32" else np.float64)
    elif name == "numpy_newton_f64":
        run, value = newton(int(words[0]), int(words[1]), np.float64)
    elif name == "pot_emd2":
        if ot is None:
            return "absent no ot"
        run, value = emd(int(words[0]), words[1])
    else:
        return "absent unknown peer"
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return "%.6f %.6f %.17g" % (cpu, wall, value(result))


for line in sys.stdin:
    print(answer(*line.split()), flush=True)
