#!/bin/sh
# Coverage of the 95 % band of dpot plan: twenty campaigns are planned, then drawn many times with
# the shipping mechanism, and the errors of an analyst's estimates are counted.
#
#   cmake --preset release -B build/bench -DDPOT_BUILD_TESTS=ON
#   cmake --build build/bench --target dpot plan_coverage
#   sh tests/experiments/plan_coverage.sh
#
# REPETITIONS  campaigns of each setting that are drawn directly      (1000)
# SIMULATIONS  of each setting that goes through dpot simulate        (400)
# BIN, OUT     programs, folder                  (build/bench/bin, build/experiments/plan)
# ONLY         settings to run, such as "3 17"                        (all)
#
# Seventeen settings call dpot_privatizer_run (or _run_vector) for every report, with the operating
# system's randomness: the integers, the noise and the draw of a device, without its network. Three
# run dpot simulate --in-process for every campaign: the whole client, its ledger, sealed uploads
# and the aggregator's store. Devices are drawn from the population with replacement (drawn), or the
# population itself reports (fixed). Errors are computed by plan_coverage, which says what it takes
# from the prediction.
#
# It fails when a figure of a setting is covered in less than 90 or more than 99 % of its campaigns,
# or all together in less than 94 or more than 96 %.
set -eu
. "$(dirname "$0")/experiment.inc.sh"

out=${out:-$PWD/build/experiments/plan}
bin=${bin:-$PWD/build/bench/bin}
repetitions=${REPETITIONS:-1000}
simulations=${SIMULATIONS:-400}
only=${ONLY:-}
number=0

[ -x "$bin/plan_coverage" ] || fail "there is no $bin/plan_coverage: the head of this script says how to build it"
mkdir -p "$out"
: >"$out/table.txt"

# ---- campaigns and populations ----

# spec DOMAIN METRIC MECHANISM
spec() {
    printf '{"name":"plan","domain":%s,%s"metric":"%s","power":1,"mechanism":%s,"rounds":1,' \
        "$1" "$4" "$2" "$3" >"$out/spec.json"
    printf '"opens":"2026-12-01T00:00:00Z","closes":"2099-12-08T00:00:00Z","min_pool":1}\n' >>"$out/spec.json"
}
index() { spec "$1" "$2" "$3" '"output":"same",'; }
vector() { spec "$1" "$2" "$3" ''; }

# people K N PEAK SEED [ROWS COLS LO1 LO2 STEP1 STEP2]: N people at single points of a ring of K, or
# a grid, with shares falling as (rank + 1)^-PEAK from a point that SEED chooses; also their
# weights.
people() {
    awk -v k="$1" -v n="$2" -v peak="$3" -v seed="$4" -v cols="${6:-0}" -v lo1="${7:-0}" -v lo2="${8:-0}" \
        -v step1="${9:-1}" -v step2="${10:-1}" -v weights="$out/weights.csv" '
    BEGIN {
        srand(seed)
        for (i = 0; i < k; i++) { share[(i * 7 + seed) % k] = (i + 1) ^ -peak }
        for (i = 0; i < k; i++) { total += share[i] }
        for (d = 0; d < n; d++) {
            u = rand() * total
            for (i = 0; i < k - 1 && u > share[i]; i++) { u -= share[i] }
            count[i]++
            if (cols == 0) { printf "%d,%d\n", d, i }
            else if (cols == 1) { printf "%d,%.17g\n", d, lo1 + (i + 0.5) * step1 }
            else { printf "%d,%.17g,%.17g\n", d, lo1 + (int(i / cols) + 0.5) * step1, lo2 + (i % cols + 0.5) * step2 }
        }
        for (i = 0; i < k; i++) { printf "%.17g\n", count[i] / n > weights }
    }' >"$out/rows.csv"
}

# walkers N SEED: N devices with 1 to 6 places each around a home in the unit square.
walkers() {
    awk -v n="$1" -v seed="$2" '
    BEGIN {
        srand(seed)
        for (d = 0; d < n; d++) {
            x = rand() ^ 2; y = rand()
            for (r = int(6 * rand()); r >= 0; r--) {
                printf "%d,%.9g,%.9g,%d\n", d, x + 0.2 * (rand() - 0.5), y + 0.2 * (rand() - 0.5), 1 + int(5 * rand())
            }
        }
    }' >"$out/rows.csv"
}

# ring_walkers K N SEED
ring_walkers() {
    awk -v k="$1" -v n="$2" -v seed="$3" '
    BEGIN {
        srand(seed)
        for (d = 0; d < n; d++) {
            home = int(k * rand() ^ 2)
            for (r = int(4 * rand()); r >= 0; r--) { printf "%d,%d,%d\n", d, (home + r) % k, 1 + int(3 * rand()) }
        }
    }' >"$out/rows.csv"
}

# vectors N DIM CENTRE SCALE SEED: normal coordinates.
vectors() {
    awk -v n="$1" -v dim="$2" -v centre="$3" -v scale="$4" -v seed="$5" '
    BEGIN {
        srand(seed)
        for (d = 0; d < n; d++) {
            line = d
            for (j = 0; j < dim; j++) {
                do { u = rand() } while (u <= 0)
                line = line sprintf(",%.12g", centre + scale * sqrt(-2 * log(u)) * cos(6.283185307179586 * rand()))
            }
            print line
        }
    }' >"$out/rows.csv"
}

# standardise DIM S: coordinates of mean 0.1 and standard deviation S, exactly.
standardise() {
    awk -F, -v dim="$1" -v s="$2" '
    { for (j = 2; j <= dim + 1; j++) { x[NR, j] = $j; sum[j] += $j; square[j] += $j * $j } }
    END {
        for (i = 1; i <= NR; i++) {
            line = i
            for (j = 2; j <= dim + 1; j++) {
                mean = sum[j] / NR
                line = line sprintf(",%.15g", 0.1 + s * (x[i, j] - mean) / sqrt(square[j] / NR - mean * mean))
            }
            print line
        }
    }' "$out/rows.csv" >"$out/rows.tmp"
    mv "$out/rows.tmp" "$out/rows.csv"
}

# ---- one setting ----

is_wanted() {
    number=$((number + 1))
    [ -z "$only" ] && return 0
    case " $only " in
    *" $number "*) return 0 ;;
    esac
    return 1
}

count_devices() { cut -d, -f1 "$out/rows.csv" | sort -u | wc -l | tr -d ' '; }

# plan OPTIONS...: predicts; index campaigns also write the law of the reports.
plan() {
    rm -f "$out/points.csv"
    case $(cat "$out/spec.json") in
    *'"output"'*) "$bin/dpot" plan --campaign "$out/spec.json" --out "$out/points.csv" --json --quiet "$@" ;;
    *) "$bin/dpot" plan --campaign "$out/spec.json" --json --quiet "$@" ;;
    esac >"$out/plan.json" 2>"$out/plan.err" || fail "setting $number: $(cat "$out/plan.err")" 1
}

coverage() {
    reported=
    [ -f "$out/points.csv" ] && reported=$out/points.csv
    "$bin/plan_coverage" --campaign "$out/spec.json" --plan "$out/plan.json" --data "$out/rows.csv" \
        --devices "$(count_devices)" ${reported:+--reported "$reported"} "$@"
}

# Adds the lines of $out/counts.txt to the table:
# "number|text|n|how|figure|inside|campaigns|predicted|observed"
tabulate() {
    awk -v number="$number" -v text="$1" -v n="$2" -v how="$3" -v plan="$(cat "$out/plan.json")" '
    { inside[$1] += $2; campaigns[$1] += $3; sum[$1] += $4; if (!($1 in seen)) { seen[$1] = 1; order[++m] = $1 } }
    END {
        for (i = 1; i <= m; i++) {
            f = order[i]
            mean = plan
            sub(".*\"" f "\":[{]\"mean\":", "", mean)
            printf "%d|%s|%s|%s|%s|%d|%d|%.4g|%.4g\n", number, text, n, how, f, inside[f], campaigns[f], mean + 0, \
                sum[f] / campaigns[f]
        }
    }' "$out/counts.txt" >>"$out/table.txt"
    printf 'setting %d: %s\n' "$number" "$1" >&2
}

# drawn TEXT N REFERENCE-OPTIONS...: n devices drawn from the population.
drawn() {
    text=$1 n=$2
    shift 2
    plan --n "$n" "$@"
    coverage --n "$n" --repetitions "$repetitions" >"$out/counts.txt" || fail "setting $number" 1
    tabulate "$text" "$n" drawn
}

# fixed TEXT OPTIONS...: the population reports.
fixed() {
    text=$1
    shift
    plan "$@"
    coverage --crowd fixed --repetitions "$repetitions" >"$out/counts.txt" || fail "setting $number" 1
    tabulate "$text" "$(count_devices)" fixed
}

# simulated TEXT OPTIONS...: the same through dpot simulate.
simulated() {
    text=$1 i=0
    shift
    plan "$@"
    : >"$out/counts.txt"
    while [ "$i" -lt "$simulations" ]; do
        "$bin/dpot" simulate --campaign "$out/spec.json" --data "$out/rows.csv" --devices "$(count_devices)" \
            --in-process --out "$out/simulated" --quiet --json >"$out/simulate.json" || fail "simulate failed" 1
        coverage --seed "$i" "$out/simulated/pool.npy" >>"$out/counts.txt" || fail "setting $number" 1
        i=$((i + 1))
    done
    tabulate "$text" "$(count_devices)" 'fixed, simulate'
}

rows="--reference $out/rows.csv"
weights="--reference $out/weights.csv"
ring10='{"type":"ring","size":10}'
ring12='{"type":"ring","size":12}'
grid5='{"type":"grid","lo":[0,0],"hi":[1,1],"shape":[5,5]}'
grid6='{"type":"grid","lo":[0,0],"hi":[1,1],"shape":[6,6]}'
grid8='{"type":"grid","lo":[0,0],"hi":[1,1],"shape":[8,8]}'
line='{"type":"grid","lo":[0],"hi":[1],"shape":[30]}'
earth='{"type":"grid","lo":[40,-10],"hi":[50,10],"shape":[5,8]}'

# ---- the settings ----

if is_wanted; then # all devices equal: the reference that dpot plan assumes
    index "$ring10" ring '{"type":"kpm","epsilon":1}'
    awk 'BEGIN { for (i = 0; i < 10; i++) { printf "%d,%d\n", i, i } }' >"$out/rows.csv"
    drawn 'kpm, ring 10, epsilon 1, uniform' 200
fi
if is_wanted; then
    index "$ring10" ring '{"type":"kpm","epsilon":2}'
    people 10 2000 1.5 2
    drawn 'kpm, ring 10, epsilon 2, weights' 1000 $weights
fi
if is_wanted; then
    index "$grid5" euclidean '{"type":"kpm","epsilon":4}'
    people 25 3000 1 3 5 5 0 0 0.2 0.2
    drawn 'kpm, grid 5 x 5, epsilon 4, weights' 300 $weights
fi
if is_wanted; then
    index "$ring12" ring '{"type":"exponential","epsilon":2}'
    people 12 2000 2 4
    drawn 'exponential, ring 12, epsilon 2, weights' 500 $weights
fi
if is_wanted; then
    index "$grid6" euclidean '{"type":"exponential","epsilon":4}'
    walkers 400 5
    drawn 'exponential, grid 6 x 6, epsilon 4, devices' 2000 $rows
fi
if is_wanted; then
    index "$ring12" ring '{"type":"wpm","epsilon":1,"lambda":0.2,"iterations":40}'
    people 12 2000 1 6
    drawn 'wpm, ring 12, epsilon 1, weights' 2000 $weights
fi
if is_wanted; then
    index "$grid8" euclidean '{"type":"wpm","epsilon":4,"lambda":0.03,"iterations":60}'
    people 64 4000 1.2 7 8 8 0 0 0.125 0.125
    drawn 'wpm, grid 8 x 8, epsilon 4, weights' 500 $weights
fi
if is_wanted; then
    index "$grid8" euclidean '{"type":"wpm","epsilon":2,"lambda":0.03,"iterations":60,"n_max":4}'
    walkers 500 8
    drawn 'wpm, grid 8 x 8, epsilon 2, devices, n_max 4' 1000 $rows
fi
if is_wanted; then
    index "$grid6" euclidean '{"type":"wpm","epsilon":3,"lambda":0.05,"iterations":40,"sample_first":true}'
    walkers 300 9
    drawn 'wpm, grid 6 x 6, epsilon 3, sample_first, devices' 800 $rows
fi
if is_wanted; then
    index "$line" euclidean '{"type":"wpm","epsilon":3,"lambda":0.02,"iterations":60}'
    people 30 3000 1 10 30 1 0 0 0.03333333333333333
    drawn 'wpm, line 30, epsilon 3, weights' 1000 $weights
fi
if is_wanted; then
    index "$earth" haversine '{"type":"wpm","epsilon":2,"lambda":50,"iterations":40}'
    people 40 3000 1 11 5 8 40 -10 2 2.5
    drawn 'wpm, earth 5 x 8 (km), epsilon 2, weights' 500 $weights
fi
if is_wanted; then
    index "$ring12" ring '{"type":"wpm","epsilon":6,"lambda":0.1,"iterations":60}'
    ring_walkers 12 300 12
    fixed 'wpm, ring 12, epsilon 6, devices' $rows --crowd fixed
fi
if is_wanted; then
    index "$ring12" ring '{"type":"wpm","epsilon":2,"lambda":0.2,"iterations":40}'
    ring_walkers 12 150 13
    simulated 'wpm, ring 12, epsilon 2, devices' $rows --crowd fixed
fi
if is_wanted; then
    index "$grid5" euclidean '{"type":"wpm","epsilon":4,"lambda":0.05,"iterations":40,"sample_first":true}'
    walkers 200 14
    simulated 'wpm, grid 5 x 5, epsilon 4, sample_first, devices' $rows --crowd fixed
fi
if is_wanted; then # nothing is assumed of the data
    vector '{"type":"l1_ball","radius":1,"dim":3}' euclidean '{"type":"laplace","epsilon":2}'
    vectors 300 3 0 0.1 15
    fixed 'laplace, l1 ball, 3 coordinates, epsilon 2, no reference' --n 300
fi
if is_wanted; then # three in ten are clipped
    vector '{"type":"box","lo":[-1,-1],"hi":[1,1]}' euclidean '{"type":"laplace","epsilon":1}'
    vectors 1000 2 0.4 0.8 16
    drawn 'laplace, box, 2 coordinates, epsilon 1, clipped' 2000 $rows
fi
if is_wanted; then
    vector '{"type":"l2_ball","radius":1,"dim":8}' euclidean '{"type":"gaussian","epsilon":2,"delta":1e-6}'
    vectors 1000 8 0.1 0.3 17
    drawn 'gaussian, l2 ball, 8 coordinates, epsilon 2' 500 $rows
fi
if is_wanted; then
    vector '{"type":"box","lo":[-1],"hi":[1]}' euclidean '{"type":"gaussian","epsilon":16,"delta":1e-5}'
    vectors 5000 1 0 1 18
    standardise 1 0.2
    drawn 'gaussian, box, 1 coordinate, epsilon 16, spread' 1000 --spread 0.2
fi
if is_wanted; then # ten of sixteen coefficients are not sent
    vector '{"type":"l1_ball","radius":4}' euclidean \
        '{"type":"laplace","epsilon":4,"transform":{"type":"dct","shape":[4,4],"keep":6}}'
    vectors 500 16 0.3 0.4 19
    drawn 'laplace, 4 x 4 images, 6 coefficients, epsilon 4' 400 $rows
fi
if is_wanted; then
    vector '{"type":"l1_ball","radius":1,"dim":3}' euclidean '{"type":"laplace","epsilon":4}'
    vectors 150 3 0.2 0.3 20
    simulated 'laplace, l1 ball, 3 coordinates, epsilon 4' $rows --crowd fixed
fi

# ---- the table ----

awk -F'|' '
function percent(part, whole) { return sprintf("%.1f", 100 * part / whole) }
function close_row() { if (row != "") { print row cells " |" } }
{
    if ($1 != last) {
        close_row()
        row = sprintf("| %s | %s | %s | %s | %s |", $1, $2, $3, $4, $7)
        cells = ""
        n_settings++
        last = $1
    }
    cells = cells sprintf("%s %s %s (%s, %s)", cells == "" ? "" : ";", $5, percent($6, $7), $8, $9)
    inside += $6
    campaigns += $7
    if ($6 < 0.90 * $7 || $6 > 0.99 * $7) { bad++; outside = outside " " $1 ":" $5 }
}
END {
    close_row()
    pooled = 100 * inside / campaigns
    printf "pooled: %.2f %% of %d bands in %d settings\n", pooled, campaigns, n_settings
    if (bad > 0) { printf "outside 90 to 99 %%:%s\n", outside }
    exit bad > 0 || pooled < 94 || pooled > 96
}
BEGIN {
    print "| | setting | n | crowd | campaigns | bands: covered % (mean predicted, observed) |"
    print "|---|---|---|---|---|---|"
}' "$out/table.txt"
