#!/bin/sh
# Wasserstein barycenters against peers, on the same data and regularisations, one thread each:
#
#   sh tests/bench/barycenter.sh [BUILD]
#
# BUILD   a build folder with the target bench_barycenter (default: build/bench, configured and
#         built)
# ROUNDS  how often each case is timed                     (9)
# PYTHON  the interpreter that has the peers               (/usr/bin/python3; Debian: python3-numpy,
#         python3-pot). What is not installed is printed as "peer absent"; nothing is downloaded.
#
# Free support: 50 iterations. "sweeps" does the peers' work, 100 sweeps a plan from zero
# potentials; "solver" is what dpot barycenter does in as many iterations: from the potentials
# before, until every plan is met more closely than 100 sweeps meet it; "converged" ends when the
# points no longer move, as the shipping solver does. "numpy_batched" is the peers' method in one
# batch of all groups. Grid: 100 iterations. The column "ratio" is time over the first one's; the
# value is the mean square of the points (or the mean of the image's first coordinate) and its
# relative difference from the first one's: the peers' plans after 100 sweeps are not those of the
# limit, which moves it by some 1e-3.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/turns.sh

build_side bench_barycenter "${1:-}"
machine
open_sides tests/bench/peers_barycenter.py
for size in '4 10 8' '10 25 40'; do
    for type in f32 f64; do
        # shellcheck disable=SC2086
        set -- $size
        duel "free support, $1 groups of 1000 in $2 dimensions, $3 points, $type" "$size $type" \
            ours:solver ours:sweeps ours:converged theirs:numpy_batched theirs:pot_free
        target numpy_batched solver least 1.7
        target numpy_batched sweeps least 1.7
        [ "$type" = f32 ] || target pot_free solver least 5
        [ "$type" = f32 ] || target pot_free sweeps least 5
    done
done
duel '4 images of 64 x 64, 100 iterations' '64 100' ours:grid theirs:pot_grid
target pot_grid grid least 5
