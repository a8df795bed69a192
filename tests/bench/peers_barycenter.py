"""The peers' side of barycenter.sh: answers the requests of turns.h on standard input with the same
data as bench_barycenter.c. Argument: the folder with the data."""
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
LAMBDA, N, OUTER, INNER = 0.04, 1000, 50, 100
folder = sys.argv[1]
try:
    import ot
except ImportError:
    ot = None


def load_free(k, d, m):
    data = np.fromfile("%s/free_%d_%d_%d" % (folder, k, d, m))
    return data[:k * N * d].reshape(k, N, d), data[k * N * d:].reshape(m, d)


def numpy_batched(groups, start):
    """All groups at once: one kernel (k, m, N), products of batches of matrices."""
    k, m = len(groups), len(start)
    real = groups.dtype.type
    x, y = start, groups.reshape(k * N, -1)
    y_squares = (y ** 2).sum(1)
    row = np.full((m, 1), 1 / m, groups.dtype)
    for _ in range(OUTER):
        cost = (x ** 2).sum(1)[:, None] + y_squares - 2 * x @ y.T
        kernel = np.exp(-cost / real(LAMBDA)).reshape(m, k, N).transpose(1, 0, 2).copy()
        v = np.full((k, N, 1), 1 / N, groups.dtype)
        for _ in range(INNER):
            u = row / (kernel @ v)
            v = real(1 / N) / (kernel.transpose(0, 2, 1) @ u)
        plan = u * kernel * v.transpose(0, 2, 1)
        x = np.einsum("kmn,knd->md", plan, groups, optimize=True) / row / k
    return x


def pot_free(groups, start):
    """free_support_sinkhorn_barycenter where POT has it (0.9 on), else its loop over ot.sinkhorn."""
    k, m = len(groups), len(start)
    b, w = np.full(m, 1 / m), np.full(N, 1 / N)
    if hasattr(ot.bregman, "free_support_sinkhorn_barycenter"):
        return ot.bregman.free_support_sinkhorn_barycenter(
            list(groups), [w] * k, start.copy(), LAMBDA, b=b, numItermax=OUTER, numInnerItermax=INNER, stopThr=0)
    x = start
    for _ in range(OUTER):
        moved = np.zeros_like(x)
        for y in groups:
            plan = ot.bregman.sinkhorn(b, w, ot.dist(x, y), LAMBDA, numItermax=INNER, stopThr=0)
            moved += plan @ y / b[:, None] / k
        x = moved
    return x


def pot_convolutional(side, n_iterations):
    images = np.fromfile("%s/grid_%d" % (folder, side)).reshape(4, side, side)
    start = time.process_time(), time.perf_counter()
    b = ot.bregman.convolutional_barycenter2d(images, 4e-3, weights=np.full(4, .25), numItermax=n_iterations, stopThr=0)
    cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
    return cpu, wall, float((b.sum(1) * np.arange(side)).sum() / b.sum() / side)


def answer(words):
    name = words[0]
    if name.startswith("pot") and ot is None:
        return "absent no POT"
    if name == "pot_grid":
        return "%.6f %.6f %.17g" % pot_convolutional(int(words[1]), int(words[2]))
    if name not in ("numpy_batched", "pot_free"):
        return "absent no such peer"
    k, d, m = (int(w) for w in words[1:4])
    groups, start = load_free(k, d, m)
    if words[4] == "f32":
        if name == "pot_free":
            return "absent POT works in float64"
        groups, start = groups.astype(np.float32), start.astype(np.float32)
    begin = time.process_time(), time.perf_counter()
    x = (numpy_batched if name == "numpy_batched" else pot_free)(groups, start)
    cpu, wall = time.process_time() - begin[0], time.perf_counter() - begin[1]
    return "%.6f %.6f %.17g" % (cpu, wall, float((x.astype(float) ** 2).sum() / m))


for line in sys.stdin:
    if line.split():
        print(answer(line.split()), flush=True)
