#!/bin/sh
# The ring example (002, section 5.1 and figure 1): the laws of WPM and KPM for one measure, and how
# fast Algorithm 1 converges for several regularisations.
#
#   cmake --preset release && cmake --build --preset release --target dpot
#   sh tests/experiments/ring.sh
#
# SIZE      positions                  (30)
# EPSILON   privacy parameter          (5)
# LAMBDAS   relative to the largest cost, SIZE^2 / 4  (.1 .03 .01 .003)
# SWEEPS    on the horizontal axis     (1 2 3 5 8 12 20 30 50 80 120 200)
# SEED      of the measure             (1)
# BIN, OUT  programs, folder           (build/release/bin, build/experiments/ring)
#
# The measure is like Dirichlet(.1); the cost is distance^2, the base measure uniform of mass one.
# Excess is W_2^2 (exact transport from mu to the q of so many sweeps) minus that of the exact
# projection.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-$PWD/build/experiments/ring}
bin=${bin:-$PWD/build/release/bin}
size=${SIZE:-30}
epsilon=${EPSILON:-5}
lambdas=${LAMBDAS:-.1 .03 .01 .003}
sweeps=${SWEEPS:-1 2 3 5 8 12 20 30 50 80 120 200}
[ -x "$bin/dpot" ] || {
    echo "ring.sh: there is no $bin/dpot: the head of this script says how to build it" >&2
    exit 1
}
mkdir -p "$out"
cd "$out"

awk -v n="$size" -v seed="${SEED:-1}" 'BEGIN {
    srand(seed)
    for (i = 0; i < n; i++) { x[i] = -log(1 - rand()) * rand() ^ 10; sum += x[i]; print i >"ring.csv" }
    for (i = 0; i < n; i++) printf "%.17g\n", x[i] / sum >"mu.csv"
}'
ring="--metric ring --ring-size $size --power 2"
number() {
    sed 's/.*"'"$1"'":\([^,}]*\).*/\1/'
}
# project OUT OPTIONS
project() {
    to=$1
    shift
    # shellcheck disable=SC2086 # options
    "$bin/dpot" project --mu mu.csv --x ring.csv --v ring.csv $ring --epsilon "$epsilon" --normalize --out "$to" --json \
        --quiet "$@"
}
# cost Q: W_2^2 from mu
cost() {
    # shellcheck disable=SC2086
    "$bin/dpot" ot --x ring.csv --y ring.csv $ring --a mu.csv --b "$1" --normalize --exact --json --quiet | number value
}
project wpm.csv --base-measure uniform --exact >exact.json
project kpm.csv --method kpm --exact >kpm.json
best=$(number transport_cost <exact.json)
paste -d , ring.csv mu.csv wpm.csv kpm.csv | { echo 'position,mu,WPM,KPM'; cat; } >laws.csv

{
    printf 'sweeps'
    for lambda in $lambdas; do printf ',lambda %s' "$lambda"; done
    echo
    for n in $sweeps; do
        printf '%s' "$n"
        for lambda in $lambdas; do
            absolute_lambda=$(awk -v l="$lambda" -v n="$size" 'BEGIN { printf "%.17g", l * int(n / 2) ^ 2 }')
            project q.csv --base-measure uniform --lambda "$absolute_lambda" --iterations "$n" >q.json
            awk -v w="$(cost q.csv)" -v best="$best" 'BEGIN { printf ",%.9g", w - best }'
        done
        echo
    done
} >convergence.csv

for format in png svg; do
    "$bin/dpot" plot curves --in laws.csv --header --from-zero --title "One measure on a ring of $size, epsilon $epsilon" \
        --x-label position --y-label probability --out "laws.$format" --quiet >plot.log
    "$bin/dpot" plot curves --in convergence.csv --header --log-x --log-y --title 'Algorithm 1: excess over the exact projection' \
        --x-label sweeps --y-label 'W2^2 - exact' --out "convergence.$format" --quiet >plot.log
done
rm -f plot.log q.csv q.json
echo "W_2^2 from mu: WPM $best, KPM $(number transport_cost <kpm.json), excess of Algorithm 1:"
awk -F, '{ for (i = 1; i <= NF; i++) { x = NR > 1 ? sprintf("%.4g", $i) : $i; printf "%14s", x }; print "" }' convergence.csv
echo "pictures: $out"
