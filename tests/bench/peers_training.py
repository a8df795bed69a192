"""The peers' side of training.sh: answers the requests of turns.h on standard input with the networks,
pools and batches of bench_training.c in PyTorch. Argument: the folder with parameters, latent points
and pools."""
import math
import sys
import time

import numpy as np

try:
    import torch
    import torch.nn as nn
    torch.set_num_threads(1)
except ImportError:
    torch = None
try:
    from geomloss import SamplesLoss
except ImportError:
    SamplesLoss = None

N_SWEEPS = 400
folder = sys.argv[1]


def squared_distances(x, y):
    return (x ** 2).sum(1)[:, None] + (y ** 2).sum(1) - 2 * x @ y.t()


def plan_plain(cost):
    n, m = cost.shape
    kernel = torch.exp(-(cost - cost.min(1, keepdim=True)[0]))
    v = torch.ones(m)
    for _ in range(N_SWEEPS):
        u = (1 / n) / (kernel @ v)
        v = (1 / m) / (kernel.t() @ u)
    return u[:, None] * kernel * v


def plan_log(cost):
    n, m = cost.shape
    g = torch.zeros(m)
    for _ in range(N_SWEEPS):
        f = -math.log(n) - torch.logsumexp(g - cost, 1)
        g = -math.log(m) - torch.logsumexp(f[:, None] - cost, 0)
    return torch.exp(f[:, None] + g - cost)


def with_plan(planner):
    """The envelope theorem: the plan is held fixed. lambda is 1, in units of the scaled cost."""
    def loss(x, y, scale):
        cost = scale * squared_distances(x, y)
        with torch.no_grad():
            plan = planner(cost)
        return (plan * cost).sum()
    return loss


def geomloss(scaling):
    def loss(x, y, scale):
        # GeomLoss has the cost |x - y|^2 / 2 and epsilon = blur^2: with 2 scale the same plan.
        return 2 * scale * SamplesLoss("sinkhorn", p=2, blur=math.sqrt(1 / (2 * scale)), debias=False,
                                       scaling=scaling, backend="tensorized")(x, y)
    return loss


LOSSES = {
    "torch_plain": with_plan(plan_plain),
    "torch_log": with_plan(plan_log),
    "torch_network": lambda x, y, scale: (x * y).sum(),
    "geomloss": geomloss(.99),
}


class Case:
    def __init__(self, name, latent, dim, batch, sigma, make):
        self.name, self.dim, self.batch, self.scale = name, dim, batch, 1 / (2 * sigma ** 2)
        self.pool = torch.from_numpy(self.read("pool")).view(batch, dim)
        self.latent = torch.from_numpy(self.read("latent")).view(3, batch, latent)
        self.make, self.runs = make, {}

    def read(self, what):
        return np.fromfile("%s/%s_%s" % (folder, self.name, what), np.float32)

    def start(self):
        net = self.make(self.read("parameters"))
        return net, torch.optim.RMSprop(net.parameters(), 1e-4, alpha=.99, eps=1e-8)

    def step(self, run, z, loss):
        net, optimizer = run
        optimizer.zero_grad()
        value = loss(net(z).reshape(self.batch, self.dim), self.pool, self.scale)
        value.backward()
        optimizer.step()

    def timed(self, name):
        run = self.runs.setdefault(name, None) or self.start()
        self.runs[name] = run
        z = (torch.rand(self.latent[0].shape) - .5) * math.sqrt(12)
        self.step(run, z, LOSSES[name])

    def third_loss(self):
        """<C,P> + KL(P | a x b) at the third step of a run."""
        run = self.start()
        for k in range(2):
            self.step(run, self.latent[k], LOSSES["torch_log"])
        with torch.no_grad():
            cost = self.scale * squared_distances(run[0](self.latent[2]).reshape(self.batch, self.dim),
                                                  self.pool)
            cost = cost.double()
            torch.set_default_dtype(torch.float64)
            plan = plan_log(cost)
            torch.set_default_dtype(torch.float32)
            kl = (plan * torch.log((plan * cost.numel()).clamp_min(1e-300))).sum()
            return float((plan * cost).sum() + kl)


class Reshape(nn.Module if torch else object):
    def __init__(self, *shape):
        super().__init__()
        self.shape = shape

    def forward(self, x):
        return x.reshape(-1, *self.shape)


def fill(parameter, values):
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(values)).reshape(parameter.shape))


def mlp(parameters):
    net = nn.Sequential(nn.Linear(2, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2))
    at = 0
    for layer in net[::2]:
        m, n = layer.weight.shape
        fill(layer.weight, parameters[at:at + m * n].reshape(n, m).T)
        fill(layer.bias, parameters[at + m * n:at + m * n + m])
        at += m * n + m
    return net


def dcgan(width):
    """Transposed convolutions 100 -> WIDTH x 7 x 7 -> WIDTH / 2 x 14 x 14 -> 28 x 28, of which the first is
    a dense layer; batch norm and ReLU between, tanh at the end."""
    def make(parameters):
        half = width // 2
        net = nn.Sequential(
            Reshape(100, 1, 1), nn.ConvTranspose2d(100, width, 7, bias=False), nn.BatchNorm2d(width),
            nn.ReLU(), nn.ConvTranspose2d(width, half, 4, 2, 1, bias=False), nn.BatchNorm2d(half),
            nn.ReLU(), nn.ConvTranspose2d(half, 1, 4, 2, 1), nn.Tanh())
        # Ours keeps channels last: dense (100, 7, 7, channels), convolutions (in, 4, 4, out).
        sizes = [100 * 49 * width, 2 * width, width * 16 * half, 2 * half, half * 16, 1]
        parts = np.split(parameters, np.cumsum(sizes)[:-1])
        fill(net[1].weight, parts[0].reshape(100, 7, 7, width).transpose(0, 3, 1, 2))
        fill(net[4].weight, parts[2].reshape(width, 4, 4, half).transpose(0, 3, 1, 2))
        fill(net[7].weight, parts[4].reshape(half, 4, 4, 1).transpose(0, 3, 1, 2))
        fill(net[7].bias, parts[5])
        return net
    return make


def make_case(name):
    if name == "half":
        return Case(name, 2, 2, 1000, .53, mlp)
    return Case(name, 100, 784, 400, 3., dcgan(int(name[5:])))


case = None


def answer(name, case_name):
    global case
    if torch is None:
        return "absent no torch"
    if name == "geomloss" and SamplesLoss is None:
        return "absent no geomloss"
    if case is None or case.name != case_name:
        case = make_case(case_name)
    cpu, wall = time.process_time(), time.perf_counter()
    value = case.third_loss() if name == "torch_loss" else case.timed(name)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return "%.6f %.6f %s" % (cpu, wall, "-" if value is None else "%.17g" % value)


for line in sys.stdin:
    name, case_name = line.split()
    try:
        print(answer(name, case_name), flush=True)
    except Exception as fault:  # a peer that fails is a result too
        print("absent %s failed: %s" % (name, str(fault)[:80].replace("\n", " ")), flush=True)
