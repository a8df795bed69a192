#!/bin/sh
# Entropic transport against peers, on the same clouds, costs and numbers of sweeps, one thread
# each:
#
#   sh tests/bench/transport.sh [BUILD]
#
# BUILD   a build folder with the target bench_transport (default: build/bench, configured and
#         built)
# ROUNDS  how often each case is timed                     (9)
# PYTHON  the interpreter that has the peers               (/usr/bin/python3; Debian: python3-numpy,
#         python3-pot, python3-torch; a newer POT may come first by PYTHONPATH). Peers that are not
#         installed are printed as "peer absent"; nothing is downloaded.
#
# Ours: "engine" is a solve to potentials from a cost matrix, allocation included; "certified" the
# same with value, residual and bounds; "plan" with the plan; "cloud" starts from the points.
# "floor" is fused_floor.h, which checks nothing. POT returns plans; numpy and torch stop at
# scalings or potentials. The column "ratio" is time over the engine's; value is <C,P>, computed
# outside the timed part, and its relative difference from the engine's.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/turns.sh

build_side bench_transport "${1:-}"
machine
open_sides tests/bench/peers_transport.py
ours='ours:engine ours:certified ours:plan ours:cloud ours:floor'
theirs='theirs:pot_stabilized theirs:pot_plain theirs:torch_log theirs:numpy_plain'
for type in f32 f64; do
    # shellcheck disable=SC2086
    duel "400 x 400, 400 sweeps, $type" "400 400 $type" $ours $theirs
    # shellcheck disable=SC2086
    duel "2000 x 2000, 100 sweeps, $type" "2000 100 $type" $ours $theirs
    target pot_stabilized engine least 3
    target torch_log engine least 15
    target engine floor most 1.6
    target certified floor most 1.6
done
