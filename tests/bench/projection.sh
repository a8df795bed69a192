#!/bin/sh
# Projections onto the LDP polytope and exact transport against peers, on the same users, costs and
# sweeps:
#
#   sh tests/bench/projection.sh [BUILD]
#
# BUILD, ROUNDS and PYTHON as in transport.sh, with the target bench_projection; a newer POT may
# come first by PYTHONPATH. What is not installed is printed as "peer absent"; nothing is
# downloaded.
#
# "batch" is solve/projection/batch.h, 40 sweeps, "costs" the same with transport costs, "matrix"
# without the axes of the grid, "alone" one user after another as a device does, "team" the wall
# time of two threads. numpy_newton sweeps all users as matrices with Newton's method for the
# scales. "exact" and "entropic" are one user of 20 places on a grid of 2500, and one place;
# pot_emd2 is POT's network simplex.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/turns.sh

build_side bench_projection "${1:-}"
machine
open_sides tests/bench/peers_projection.py
for type in f32 f64; do
    duel "30 cells, 1000 users, $type" "30 1000 $type" ours:batch ours:costs ours:team ours:alone \
        theirs:numpy_newton theirs:numpy_newton_f64
    target numpy_newton_f64 batch least 3
    target batch team least 1.7
    duel "400 cells, 1000 users, $type" "400 1000 $type" ours:batch ours:costs ours:matrix ours:team ours:alone \
        theirs:numpy_newton theirs:numpy_newton_f64
    target numpy_newton_f64 matrix least 1.5
    target numpy_newton_f64 batch least 1.5
    target batch team least 1.7
done
all=$rounds
rounds=3
duel "2500 cells, 60 users, f64" "2500 60 f64" ours:batch ours:costs theirs:numpy_newton
target numpy_newton batch least 8
rounds=$all
duel "one user, 20 places, 2500 outputs" "20 2500" ours:exact ours:entropic
duel "one user, 1 place, 2500 outputs" "1 2500" ours:exact
for n in 1000 2000 4000; do
    [ $n = 4000 ] && rounds=3
    for kind in uniform weights; do
        duel "exact transport, $n points, $kind" "$n $kind" ours:ot theirs:pot_emd2
        target pot_emd2 ot least 1
        target pot_emd2 ot least 2
    done
done
