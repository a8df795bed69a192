#!/bin/sh
# Coverage of the intervals of dpot estimate. People at points of a square grid, drawn from three
# clouds; every one is a device that runs the shipping client in a campaign with sample_first, where
# the channel is known.
#
#   cmake --preset release && cmake --build --preset release --target dpot
#   sh tests/experiments/estimate_coverage.sh
#
# RUNS      of each row                (20)
# SIDE      cells along the grid       (6)
# LEVEL     of the intervals           (0.9)
# CASES     devices:epsilon            (1000:2 10000:2 1000:4 10000:4)
# BIN, OUT  programs, folder           (build/release/bin, build/experiments/estimate_coverage)
#
# Prints per row: the share of (run, point) pairs whose interval holds the true share of people, of
# frequencies and of likelihood; the mean width; points that the channel does not determine; and the
# L1 distance of both estimates and of the prior from the truth. The truth is the law that people
# are drawn from.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-$PWD/build/experiments/estimate_coverage}
bin=${bin:-$PWD/build/release/bin}
runs=${RUNS:-20}
side=${SIDE:-6}
level=${LEVEL:-0.9}
[ -x "$bin/dpot" ] || {
    echo "estimate_coverage.sh: there is no $bin/dpot: the head of this script says how to build it" >&2
    exit 1
}
mkdir -p "$out"
cd "$out"

# draw N SEED: truth.csv (the law of the cells) and people.csv (device, place)
draw() {
    awk -v n="$1" -v seed="$2" -v side="$side" 'BEGIN {
        split(".3 .7 .2", x); split(".4 .6 .8", y); split(".08 .15 .05", s); split(".5 .3 .2", p)
        for (c = 1; c <= 3; c++) {
            sum = 0
            for (k = 0; k < side * side; k++) {
                a = (int(k / side) + .5) / side - x[c]; b = (k % side + .5) / side - y[c]
                d[k] = exp(-(a * a + b * b) / 2 / s[c] / s[c]); sum += d[k]
            }
            for (k = 0; k < side * side; k++) w[k] += p[c] * d[k] / sum
        }
        for (k = 0; k < side * side; k++) printf "%.17g\n", w[k] >"truth.csv"
        srand(seed)
        for (i = 0; i < n; i++) {
            u = rand()
            for (k = 0; k < side * side - 1 && u >= w[k]; k++) u -= w[k]
            printf "%d,%.17g,%.17g\n", i, (int(k / side) + .5) / side, (k % side + .5) / side >"people.csv"
        }
    }'
}
# list KEY FILE: the numbers of an array in a side file, one a line (null: nan)
list() {
    tr -d ' \n' <"$2" | sed 's/.*"'"$1"'":\[\([^]]*\)\].*/\1/' | tr ',' '\n' | sed 's/null/nan/'
}
# compare METHOD ESTIMATE: "covered points width open l1 l1-of-prior"
compare() {
    list lower "$2.json" >lower.txt
    list upper "$2.json" >upper.txt
    list standard_error "$2.json" >error.txt
    list prior "$2.json" >prior.txt
    paste -d ' ' truth.csv "$2" lower.txt upper.txt error.txt prior.txt | awk -v method="$1" '
        { covered += $1 >= $3 && $1 <= $4; width += $4 - $3; open += $5 == "nan"
          l1 += $1 > $2 ? $1 - $2 : $2 - $1; prior += $1 > $6 ? $1 - $6 : $6 - $1 }
        END { print method, covered, NR, width / NR, open, l1, prior }'
}

echo "grid of $side x $side, $runs runs a row, nominal coverage $level"
printf '%8s %8s  %-10s %9s %7s %6s %6s %6s\n' devices epsilon method coverage width open L1 prior
for case in ${CASES:-1000:2 10000:2 1000:4 10000:4}; do
    n=${case%:*} epsilon=${case#*:}
    cat >spec.json <<SPEC
{"name":"coverage","domain":{"type":"grid","lo":[0,0],"hi":[1,1],"shape":[$side,$side]},"output":"same",
 "metric":"euclidean","power":1,"mechanism":{"type":"wpm","epsilon":$epsilon,"lambda":0.02,"iterations":60,
 "n_max":1,"sample_first":true,"base_measure":"uniform"},"rounds":1,"opens":"2026-01-01T00:00:00Z",
 "closes":"2036-01-01T00:00:00Z","min_pool":1,"simulation":true}
SPEC
    : >compared.txt
    for run in $(seq 1 "$runs"); do
        draw "$n" "$run"
        "$bin/dpot" simulate --campaign spec.json --data people.csv --devices "$n" --in-process --seed "$run" \
            --out reports --quiet >/dev/null
        for method in frequency likelihood; do
            "$bin/dpot" estimate --campaign spec.json --pool reports/pool.npy --method $method --confidence "$level" \
                --seed "$run" --out "$method.csv" --quiet >/dev/null 2>&1
            compare $method "$method.csv" >>compared.txt
        done
    done
    for method in frequency likelihood; do
        awk -v method=$method -v n="$n" -v epsilon="$epsilon" '
            $1 == method { covered += $2; points += $3; width += $4; open += $5; l1 += $6; prior += $7; runs++ }
            END { printf "%8d %8g  %-10s %9.3f %7.4f %6.3f %6.3f %6.3f\n", n, epsilon, method, covered / points,
                  width / runs, open / points, l1 / runs, prior / runs }' compared.txt
    done
done
