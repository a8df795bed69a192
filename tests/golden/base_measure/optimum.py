"""Least worst-case cost over base measures on a square grid of side x side points with corners at
the corners of the unit square, cost = distance^power: one linear program (HiGHS).

    python3 optimum.py SIDE POWER EPSILON
"""
import sys

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

side, power, epsilon = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
alpha, beta = np.exp(-epsilon / 2), np.exp(epsilon / 2)
points = np.array([[i, j] for i in range(side) for j in range(side)]) / (side - 1)
cost = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1)) ** power
k = len(points)


def images(i, j):
    s = side - 1
    return [(a, b) for x, y in ((i, j), (j, i)) for a in (x, s - x) for b in (y, s - y)]


# f is convex and invariant under the symmetries of the square, so an optimum is constant on orbits.
orbits = {}
orbit = np.array([orbits.setdefault(min(images(i, j)), len(orbits))
                  for i in range(side) for j in range(side)])
rows = [i * side + j for i, j in orbits]
n_orbits = len(orbits)

# Variables: q (n_orbits, k), the mass of a point of each orbit, and the largest cost.
q_size = n_orbits * k
masses = sp.vstack([sp.csr_matrix((np.ones(k), (np.arange(k), orbit)), shape=(k, n_orbits))] * n_orbits)
eye, last = sp.eye(q_size), sp.csr_matrix((q_size, 1))
inequalities = sp.vstack([
    sp.hstack([-eye, alpha * masses, last]),
    sp.hstack([eye, -beta * masses, last]),
    sp.hstack([sp.block_diag([cost[r][None] for r in rows]), sp.csr_matrix((n_orbits, n_orbits)),
               -np.ones((n_orbits, 1))])]).tocsr()
sums = sp.hstack([sp.kron(sp.eye(n_orbits), np.ones((1, k))),
                  sp.csr_matrix((n_orbits, n_orbits + 1))]).tocsr()
objective = np.zeros(q_size + n_orbits + 1)
objective[-1] = 1
solution = linprog(objective, A_ub=inequalities, b_ub=np.zeros(2 * q_size + n_orbits), A_eq=sums,
                   b_eq=np.ones(n_orbits), bounds=(0, None), method="highs")
print(repr(solution.fun), solution.message)
