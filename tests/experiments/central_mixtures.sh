#!/bin/sh
# Private barycenters of Gaussian mixtures in R^10 (003, figure 2): equally weighted Gaussians at
# (+-0.25, +-0.25, 0, ..., 0) of deviation 0.05, in the ball of radius 1/2; 8 points, one group.
#
#   sh tests/experiments/central_mixtures.sh
#
# OUT     folder of the results (default build/experiments/central_mixtures)
# RUNS    runs of each setting, each on data of its own      (30)
# GROUPS_N  groups, with the same law                        (1)
# SIZES, EPSILONS, DIMS  what is swept, the others being n 1000, epsilon 1, d' 5
#         ("500 1000 2000 4000 8000 16000", "0.5 1 2 4 8", "2 3 5 8 10")
# BIN                                                        (build/release/bin)
#
# Costs are those to the records (a simulation may see them), by the private measure (cells shrunk
# by (240 d)^(1/d) = 2.18, as in the paper), by the same in d' dimensions (JL), and by noisy
# iterations with certified plans (delta 1e-6), beside the non-private one and that of one point in
# the middle.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-$PWD/build/experiments/central_mixtures}
bin=${bin:-$PWD/build/release/bin}
runs=${RUNS:-30}
groups=${GROUPS_N:-1}
sizes=${SIZES-500 1000 2000 4000 8000 16000}
epsilons=${EPSILONS-0.5 1 2 4 8}
dims=${DIMS-2 3 5 8 10}
whole "$runs" "$groups" $sizes $dims
build_dpot
mkdir -p "$out"
cd "$out"

# draw N SEED: rows of a group and ten coordinates.
draw() {
    awk -v n="$1" -v state=$(($2 * 7919 + 1)) -v groups="$groups" '
        function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
        function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
        BEGIN {
            for (i = 0; i < 10; i++) uniform()
            for (g = 0; g < groups; g++) for (i = 0; i < n; i++) {
                c = int(uniform() * 4); line = g
                for (a = 0; a < 10; a++)
                    line = line "," (a == 0 ? 0.25 * (2 * (c % 2) - 1) : a == 1 ? 0.25 * (2 * int(c / 2) - 1) : 0) + 0.05 * normal()
                print line
            }
        }'
}
# cost METHOD... : to the records
cost() {
    "$bin/dpot" central barycenter --data data.csv --group-column 0 --domain '{"type":"l2_ball","radius":0.5,"dim":10}' \
        --support 8 --max-points 65536 --simulation --seed "$run" --out points.csv --json --quiet "$@" 2>log >result.json || {
        code=$?
        [ "$code" -eq 5 ] || { cat log >&2; fail 'dpot failed' 1; }
    }
    json data_cost <result.json
}
# do_run SWEEP VALUE N EPSILON DIM
do_run() {
    draw "$3" "$run" >data.csv
    plain=$(cost --method non-private --starts 5 --epsilon 1)
    one=$(json one_point_cost <result.json)
    echo "$1,$2,$run,$plain,$one,$(cost --starts 5 --shrink 0.46 --epsilon "$4"),$(cost --epsilon "$4" --shrink 0.46 --starts 5 --project "$5"),$(cost --epsilon "$4" --delta 1e-6 --method noisy-exact)"
}
echo 'sweep,value,run,non_private,one_point,coreset,projected,noisy_exact' >runs.csv
run=1
while [ "$run" -le "$runs" ]; do
    for n in $sizes; do do_run n "$n" "$n" 1 5; done >>runs.csv
    for epsilon in $epsilons; do do_run epsilon "$epsilon" 1000 "$epsilon" 5; done >>runs.csv
    for dim in $dims; do do_run dim "$dim" 1000 1 "$dim"; done >>runs.csv
    run=$((run + 1))
done
awk -F, '
    NR == 1 { print "sweep,value,runs,non_private,one_point,coreset,sd,projected,sd,noisy_exact,sd"; next }
    {
        key = $1 "," $2
        if (!(key in n)) keys[n_keys++] = key
        n[key]++
        for (j = 4; j <= 8; j++) { sum[key, j] += $j; square[key, j] += $j * $j }
    }
    function mean(j) { return sum[key, j] / n[key] }
    function sd(j,    v) { v = square[key, j] / n[key] - mean(j) ^ 2; return v > 0 ? sqrt(v) : 0 }
    END {
        for (i = 0; i < n_keys + 0; i++) {
            key = keys[i]
            printf "%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", key, n[key], mean(4), mean(5), mean(6), sd(6), mean(7),
                sd(7), mean(8), sd(8)
        }
    }' runs.csv >table.csv
for sweep in n epsilon dim; do
    { echo "$sweep,no privacy,private measure,private measure in d' dimensions,noisy iterations"
      awk -F, -v sweep="$sweep" '$1 == sweep { print $2 "," $4 "," $6 "," $8 "," $10 }' table.csv; } >"$sweep.csv"
    [ "$(awk 'END { print NR }' "$sweep.csv")" -lt 3 ] || "$bin/dpot" plot curves --in "$sweep.csv" --header --from-zero --log-x \
        --x-label "$sweep" --y-label 'cost to the records' --title 'Gaussian mixtures in R^10' --out "$sweep.png" --quiet --json >log
done
rm -f data.csv points.csv points.csv.json result.json log
cat table.csv
echo "Tables and pictures: $out"
