"""The peers' side of transport.sh: answers the requests of turns.h on standard input with the same
points, costs and sweeps as bench_transport.c. Argument: the folder with the points."""
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
LAMBDA = 0.05
folder = sys.argv[1]


def load(name):
    try:
        return __import__(name)
    except ImportError:
        return None


ot, torch = load("ot"), load("torch")
if torch:
    torch.set_num_threads(1)


def make_cost(n):
    points = np.fromfile("%s/points_%d" % (folder, n)).reshape(2, n, 2)
    return ((points[0][:, None] - points[1][None]) ** 2).sum(-1)


def numpy_plain(cost, mass, n_sweeps):
    kernel = np.exp(cost * cost.dtype.type(-1 / LAMBDA))
    v = np.ones_like(mass)
    for _ in range(n_sweeps):
        u = mass / (kernel @ v)
        v = mass / (kernel.T @ u)
    return lambda: u[:, None] * kernel * v


def torch_log(cost, mass, n_sweeps):
    log_kernel = torch.from_numpy(cost) * (-1 / LAMBDA)
    log_mass = torch.from_numpy(mass).log()
    g = torch.zeros_like(log_mass)
    for _ in range(n_sweeps):
        f = log_mass - torch.logsumexp(log_kernel + g, 1)
        g = log_mass - torch.logsumexp(log_kernel + f[:, None], 0)
    return lambda: torch.exp(log_kernel + f[:, None] + g).numpy()


def pot(method):
    def solve(cost, mass, n_sweeps):
        plan = ot.sinkhorn(mass, mass, cost, LAMBDA, method=method, numItermax=n_sweeps, stopThr=0)
        return lambda: plan
    return solve


PEERS = {
    "numpy_plain": (np, numpy_plain),
    "torch_log": (torch, torch_log),
    "pot_plain": (ot, pot("sinkhorn")),
    "pot_stabilized": (ot, pot("sinkhorn_stabilized")),
}
cost, last = None, None


def answer(name, n, n_sweeps, dtype):
    global cost, last
    library, solve = PEERS[name]
    if library is None:
        return "absent no " + name.split("_")[0]
    if last != (n, dtype):
        cost, last = make_cost(n).astype(np.float32 if dtype == "f32" else np.float64), (n, dtype)
    mass = np.full(n, 1 / n, cost.dtype)
    cpu, wall = time.process_time(), time.perf_counter()
    plan = solve(cost, mass, n_sweeps)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return "%.6f %.6f %.17g" % (cpu, wall, np.sum(plan() * cost, dtype=np.float64))


for line in sys.stdin:
    name, n, n_sweeps, dtype = line.split()
    try:
        print(answer(name, int(n), int(n_sweeps), dtype), flush=True)
    except Exception as fault:  # a peer that fails is a result too
        print("absent %s failed: %s" % (name, str(fault)[:80].replace("\n", " ")), flush=True)
