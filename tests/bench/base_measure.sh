#!/bin/sh
# Certified base measures, with linear programs solved by solve/base_measure/lp.h or Clp (COIN-OR):
#
#   sh tests/bench/base_measure.sh [BUILD]
#
# BUILD and ROUNDS as in transport.sh, with the targets bench_base_measure and
# bench_base_measure_clp. The second exists where CMake finds Clp (Debian: coinor-libclp-dev);
# elsewhere it is printed as "peer absent".
#
# Time is that of the whole base measure: symmetries, planes and certificate. "worst" is the worst
# case over random points; "users" are 300 users on a grid, whose time is mostly projections.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/turns.sh

build_side bench_base_measure "${1:-}"
cmake --build "$build" --target bench_base_measure_clp >/dev/null 2>&1 || :
machine
open_sides "$build/bin/bench_base_measure_clp"
for problem in 'worst 100 4' 'worst 400 1' 'worst 400 4' 'worst 800 4' \
    'users 400 2' 'users 400 4' 'users 900 2'; do
    for seed in 1 2 3; do
        duel "$problem, seed $seed" "$problem $seed" ours:simplex theirs:clp
    done
done
