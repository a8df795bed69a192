#!/bin/sh
# Unit vectors by WPM (002, Appendix H): what one report costs and how far off the mean of many is,
# measured with the shipping client and as predicted, beside the best that any cap can do for a mean
# and noise on the ball.
#
#   cmake --preset release && cmake --build --preset release --target dpot
#   sh tests/experiments/sphere.sh
#
# DIMS      coordinates               (3 16 64)
# EPSILONS  privacy parameters        (1 2 4 8)
# DEVICES   users                     (10000)
# POWER     of the cost               (1)
# SEED      of data and simulation    (1)
# BIN, OUT  programs, folder          (build/release/bin, build/experiments/sphere)
#
# Users' vectors are normal around (1, ..., 1)/2, made unit vectors. Columns of sphere.csv:
# directions K; expected_cost and measured_cost, E |x - y|^POWER of a report, and optimal_cost of
# the closed form; contraction c; error, the l2 error of the estimated mean (measured), planned (its
# mean by dpot plan); cap, the same for the largest c of all caps (the closed form with power 2,
# which is PrivUnit at its best parameter, Asi et al. 2022); laplace and gaussian (delta 1e-5) on
# the l2 ball (dpot plan); none, the length of the true mean: the error of saying 0.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-$PWD/build/experiments/sphere}
bin=${bin:-$PWD/build/release/bin}
dims=${DIMS:-3 16 64}
epsilons=${EPSILONS:-1 2 4 8}
devices=${DEVICES:-10000}
power=${POWER:-1}
seed=${SEED:-1}
[ -x "$bin/dpot" ] || {
    echo "sphere.sh: there is no $bin/dpot: the head of this script says how to build it" >&2
    exit 1
}
mkdir -p "$out"
cd "$out"

number() { sed 's/.*"'"$1"'":\([^,}]*\).*/\1/'; }
mean_of() { sed 's/.*"mean_l2":{"mean":\([^,}]*\).*/\1/'; }
spec() { # MECHANISM
    cat <<SPEC
{"name": "sphere", "domain": {"type": "sphere", "dim": $dim}, "metric": "euclidean", "power": $power, "mechanism": {$1},
 "opens": "2030-01-01T00:00:00Z", "closes": "2030-01-08T00:00:00Z", "simulation": true}
SPEC
}
plan() { # NAME MECHANISM: the mean error of the mean
    spec "$2" >"$1.json"
    "$bin/dpot" plan --campaign "$1.json" --n "$devices" --json --quiet | mean_of
}

echo 'dim,epsilon,directions,expected_cost,measured_cost,optimal_cost,contraction,error,planned,cap,laplace,gaussian,none' >sphere.csv
for dim in $dims; do
    awk -v n="$devices" -v d="$dim" -v seed="$seed" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) {
            printf "%d", i
            for (j = 0; j < d; j++) printf ",%.9g", 0.5 + sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand())
            print ""
        } }' >devices.csv
    awk -v n="$devices" -v d="$dim" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "%d,1", i
            for (j = 1; j < d; j++) printf ",0"
            print ""
        } }' >same.csv
    for epsilon in $epsilons; do
        spec "\"type\": \"wpm\", \"epsilon\": $epsilon" >wpm.json
        "$bin/dpot" campaign show wpm.json --json >show.json
        "$bin/dpot" simulate --campaign wpm.json --data devices.csv --devices "$devices" --in-process --seed "$seed" \
            --out run --quiet --json >/dev/null
        "$bin/dpot" estimate --campaign wpm.json --pool run/pool.npy --out mean.csv --quiet --json >/dev/null
        "$bin/dpot" convert --in run/vectors_true.npy --out true.csv --quiet >/dev/null
        # A pool does not identify devices: the cost is that of devices that all have (1, 0,
        # ..., 0).
        "$bin/dpot" simulate --campaign wpm.json --data same.csv --devices "$devices" --in-process --seed "$seed" \
            --out same --quiet --json >/dev/null
        "$bin/dpot" convert --in same/pool.npy --out pool.csv --quiet >/dev/null
        measured=$(awk -F, -v d="$dim" -v p="$power" '{
            s = ($1 - 1) ^ 2
            for (j = 2; j <= d; j++) s += $j ^ 2
            sum += s ^ (p / 2) } END { printf "%.6g", sum / NR }' pool.csv)
        error=$(awk -F, -v d="$dim" 'NR == FNR { for (j = 1; j <= d; j++) m[j] += $j; n = NR; next }
            { s += ($1 - m[FNR] / n) ^ 2; t += (m[FNR] / n) ^ 2 } END { printf "%.6g %.6g", sqrt(s), sqrt(t) }' true.csv mean.csv)
        cap=$("$bin/dpot" base-measure --sphere "$((dim - 1))" --power 2 --epsilon "$epsilon" --json | number contraction |
            awk -v n="$devices" -v d="$dim" '{
                chi = sqrt(2 / 3.141592653589793) # the mean length of d normal numbers
                for (j = 1; j < d; j++) chi = j / chi
                printf "%.6g", sqrt((1 / $1 ^ 2 - 1) / n / d) * chi }')
        printf '%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n' "$dim" "$epsilon" "$(number output_size <show.json)" \
            "$(number expected_cost <show.json)" "$measured" "$(number optimal_cost <show.json)" \
            "$(number contraction <show.json)" "${error% *}" "$(plan wpm "\"type\": \"wpm\", \"epsilon\": $epsilon")" "$cap" \
            "$(plan laplace "\"type\": \"laplace\", \"epsilon\": $epsilon")" \
            "$(plan gaussian "\"type\": \"gaussian\", \"epsilon\": $epsilon, \"delta\": 1e-5")" "${error#* }" >>sphere.csv
        tail -n 1 sphere.csv
    done
done
echo "table: $out/sphere.csv"
