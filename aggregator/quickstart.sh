#!/bin/sh
# One run of everything, on real data: a server, signed campaigns over the map of the United States,
# 1,000 virtual devices that run the shipping client, their private pools, the estimates from them
# and their costs.
#
#   sh aggregator/quickstart.sh [--devices N] [--epsilon E[,E...]] [--long] [--keep]
#
# N is 1000 by default; the time grows with N and with the number of epsilons.
#
# For every epsilon (default: 2 and 4) a campaign runs over HTTP twice. Revision 1 has the best
# uniform base measure. A job draws synthetic users from its private pool, which costs no privacy,
# and finds the measure that serves them best. That is signed into revision 2; the same devices
# fetch it, verify it and are charged again. KL projection (KPM) and the exponential mechanism run
# in process on the same data, to compare.
#
# --long adds a generator: 20,000 devices on a half circle report their place with Laplace noise, a
# job trains a network that makes points as they were before the noise, and W2 to the truth is
# printed before and after. It also adds a Wasserstein barycenter: devices of four regions report
# under the public label of their region, once with Laplace noise and once a cell of a grid. A job
# deconvolves and averages the regions, and its cost is printed beside those of the raw pools, of a
# guess without data and of the same people without privacy.
#
# Installs what is missing (Debian 12, root or sudo), builds, runs on loopback, cleans up after
# itself. --keep leaves the server running and the folder in place, and says how to use and stop it.
set -eu

devices=1000
epsilons=2,4
keep=no
long=no
usage() {
    echo "usage: sh aggregator/quickstart.sh [--devices N] [--epsilon E[,E...]] [--long] [--keep]" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case "$1" in
    --devices | --epsilon)
        [ $# -gt 1 ] || usage
        [ "$1" = --devices ] && devices=$2 || epsilons=$2
        shift 2 ;;
    --keep) keep=yes; shift ;;
    --long) long=yes; shift ;;
    --help | -h)
        sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0"
        exit 0 ;;
    *) usage ;;
    esac
done

say() { printf '%s\n' "$*" >&2; }
step() { printf '\n== %s\n' "$*" >&2; }
refuse() { say "quickstart: $*"; exit 2; }

case $devices in
'' | *[!0-9]* | 0*) refuse "--devices is $devices: give a whole number of at least 1" ;;
esac
epsilons=$(printf '%s\n' "$epsilons" | tr ',' '\n' | awk 'NF && !seen[$0]++')
[ -n "$epsilons" ] || refuse "--epsilon is empty: give one number or several, as in 2,4"
for epsilon in $epsilons; do
    echo "$epsilon" | awk '!/^[0-9]*\.?[0-9]+$/ || !($1 > 0 && $1 <= 10) { exit 1 }' ||
        refuse "--epsilon is $epsilon: give numbers above 0, at most 10 (two reports must fit a device's ceiling of 20)"
done

cd "$(dirname "$0")/.."
top=$(pwd)

step "Installing what is missing"
sh tests/install.sh build

step "Building (build/release)"
build_began=$(date +%s)
cmake --preset release >build-quickstart.log 2>&1 && cmake --build --preset release >>build-quickstart.log 2>&1 || {
    tail -n 40 build-quickstart.log >&2
    say "the build failed: the lines above are the end of build-quickstart.log"
    exit 1
}
rm -f build-quickstart.log
bin=$top/build/release/bin
began=$(date +%s)

dir=$(mktemp -d "$top/build/quickstart.XXXXXX")
server=
clean_up() {
    status=$?
    if [ -n "$server" ] && { [ "$keep" = no ] || [ "$status" -ne 0 ]; }; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    if [ "$status" -ne 0 ]; then
        say "quickstart stopped early; its files are in $dir"
    elif [ "$keep" = no ]; then
        rm -rf "$dir/server" "$dir"/epsilon-*/devices
    fi
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The value of a key of a one-line JSON object: json FILE KEY
json() {
    sed -n 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\)"\{0,1\}[,}].*/\1/p' "$1" | head -n 1
}
# An inner object of it: inner FILE KEY
inner() { sed -n 's/.*"'"$2"'": *\({[^{}]*}\).*/\1/p' "$1"; }
stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }

step "Starting dpotd on loopback with a temporary SQLite store"
"$bin/dpotd" init --dir "$dir/server" --listen 127.0.0.1:0 --json >"$dir/init.json"
DPOT_TOKEN=$(json "$dir/init.json" token)
pin=$(json "$dir/init.json" pin)
export DPOT_TOKEN
chmod 600 "$dir/init.json"
"$bin/dpotd" serve --config "$dir/server/dpotd.json" --ready-file "$dir/url" 2>"$dir/dpotd.log" &
server=$!
for _ in $(seq 1 100); do
    [ -s "$dir/url" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$dir/dpotd.log" >&2; exit 6; }
    sleep 0.1
done
url=$(cat "$dir/url")
say "$url  pin $pin"

step "Drawing $devices virtual users over the map (US census tracts, 2010)"
gunzip -c tests/data/us_tracts_2010.csv.gz >"$dir/places.csv"
"$bin/dpot" population --places "$dir/places.csv:lat,lon,population" --devices "$devices" --seed 1 --quiet --json --out "$dir/devices.csv" >"$dir/population.json"
say "$(($(wc -l <"$dir/devices.csv") - 1)) places in all; every device keeps its own"

# ---- campaigns ----

now=$(date -u +%s)
# A campaign over 16 x 24 cells, in kilometres: spec TYPE EPSILON [MORE KEYS OF THE MECHANISM]
spec() {
    cat <<SPEC
{"name": "census-$1",
 "domain": {"type": "grid", "lo": [24.5, -125], "hi": [49.4, -66.9], "shape": [16, 24]},
 "output": "same", "metric": "haversine", "power": 1,
 "mechanism": {"type": "$1", "epsilon": $2, "n_max": 32${3:-}},
 "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 604800)))",
 "min_pool": $(((devices + 1) / 2))}
SPEC
}
wpm=', "lambda": 40, "iterations": 300, "base_measure": '

admin() { "$bin/dpot" "$@" --server "$url" --json; }

# Runs the devices of an epsilon against the open revision, and saves its pool: collect NAME
collect() {
    "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" --data "$dir/devices.csv" --header \
        --devices "$devices" --duplicates 0.05 --durable "$here/devices" \
        --epsilon-cap "$(awk "BEGIN { print 2 * $epsilon }")" --out "$here/$1" --json >"$here/$1.json"
    admin pool "$id" --out "$here/$1/pool.npy" >"$here/$1.pool.json"
    admin campaign fetch "$id" --pin "$pin" --out "$here/$1.signed" >/dev/null
}

# W1 between the true population and weights: w1 NAME WEIGHTS
w1() {
    "$bin/dpot" ot --exact --campaign "$here/kpm.spec" --normalize --quiet --json \
        --a "$here/$1/population_true.csv" --b "$2" >"$here/ot.json"
    json "$here/ot.json" transport_cost
}

# The largest entry of FILE where the population is not 0: worst_with_people FILE POPULATION
worst_with_people() { paste -d, "$1" "$2" | awk -F, '$2 > 0 && $1 > most { most = $1 } END { print most + 0 }'; }

# Between what the error of an estimate lies in 95 runs of 100: predict NAME CAMPAIGN
predict() {
    "$bin/dpot" plan --campaign "$2" --n "$devices" --reference "$dir/devices.csv:device,latitude,longitude,visits" --crowd fixed --draws 199 \
        --quiet --json >"$here/$1.plan.json"
    inner "$here/$1.plan.json" w1 >"$here/$1.band"
}

# Estimates from the pool of a run and finds the cost of its reports, exactly: judge NAME CAMPAIGN
judge() {
    "$bin/dpot" estimate --campaign "$2" --pool "$here/$1/pool.npy" --out "$here/$1/estimate.csv" --quiet --json >"$here/$1.estimate.json"
    "$bin/dpot" evaluate --campaign "$2" --data "$dir/devices.csv" --header --devices "$devices" \
        --out "$here/$1/users.csv" --points-out "$here/$1/points.csv" --json >"$here/$1.cost.json"
    worst_with_people "$here/$1/points.csv" "$here/$1/population_true.csv" >"$here/$1.worst"
    w1 "$1" "$here/$1/estimate.csv" >"$here/$1.w1"
    predict "$1" "$2"
}

compare_in_process() {
    spec "$1" "$epsilon" >"$here/$1.spec"
    "$bin/dpot" simulate --campaign "$here/$1.spec" --in-process --data "$dir/devices.csv" --header \
        --devices "$devices" --out "$here/$1" --json >"$here/$1.json"
    judge "$1" "$here/$1.spec"
}

run_epsilon() {
    here=$dir/epsilon-$epsilon
    mkdir "$here"
    step "Epsilon $epsilon, revision 1: WPM with the best uniform base measure"
    spec wpm "$epsilon" "$wpm\"uniform\"" >"$here/wpm.spec"
    "$bin/dpot" base-measure --campaign "$here/wpm.spec" --method uniform --quiet --json --out "$here/uniform.csv" >"$here/uniform-measure.json"
    mass=$(json "$here/uniform-measure.json" total_mass)
    spec wpm "$epsilon" "$wpm\"uniform:$mass\"" >"$here/wpm.spec"
    admin campaign create "$here/wpm.spec" >"$here/campaign.json"
    id=$(json "$here/campaign.json" id)
    admin campaign open "$id" >/dev/null
    say "campaign $id, total mass $(printf '%.4f' "$mass"): $devices devices enroll and report"
    collect uniform

    step "Epsilon $epsilon, revision 2: a job finds the measure for users like those of the pool, the same devices report again"
    admin job start base-measure --campaign "$id" method=users gap=0.01 --wait >"$here/job.json"
    digest=$(json "$here/job.json" artifact)
    admin campaign revise "$id" --base-measure "artifact:$digest" >/dev/null
    admin campaign open "$id" >/dev/null
    say "artifact $(printf '%.16s' "$digest")... is in revision 2: devices fetch and verify it, and are charged again"
    collect fitted

    step "Epsilon $epsilon: KPM and the exponential mechanism, in process on the same data"
    compare_in_process kpm
    compare_in_process exponential

    step "Epsilon $epsilon: estimates, how far they vary, and the exact cost of a report to every user and place"
    judge uniform "$here/uniform.signed"
    judge fitted "$here/fitted.signed"
}

for epsilon in $epsilons; do
    run_epsilon
done

# ---- a generator ----

circle_devices=20000
circle_epsilon=5
# Points drawn uniformly on the upper half of the unit circle: circle N SEED
circle() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) { t = 3.141592653589793 * rand(); printf "%.9f,%.9f\n", cos(t), sin(t) } }'
}
# W2, exact, of 1000 points to 1000 true ones that no device had: circle_w2 NAME
circle_w2() {
    "$bin/dpot" ot --exact --x "$here/$1.csv" --y "$here/true.csv" --metric euclidean --power 2 \
        --quiet --json >"$here/$1.ot.json"
    json "$here/$1.ot.json" distance
}
circle_picture() {
    for format in png svg; do
        "$bin/dpot" plot points --in "$here/$1.csv" --title "$2" --x-label x --y-label y --quiet \
            --out "$dir/half-circle-$1.$format" >/dev/null
    done
}

half_circle() {
    here=$dir/half-circle
    mkdir "$here"
    step "Half circle: $circle_devices devices report their place with Laplace noise, epsilon $circle_epsilon"
    circle "$circle_devices" 1 | awk 'BEGIN { print "device,x,y" } { print NR - 1 "," $0 }' >"$here/devices.csv"
    cat >"$here/circle.spec" <<SPEC
{"name": "half-circle", "domain": {"type": "box", "lo": [-1, 0], "hi": [1, 1]},
 "mechanism": {"type": "laplace", "epsilon": $circle_epsilon}, "rounds": 1,
 "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 604800)))", "min_pool": $((circle_devices / 2))}
SPEC
    admin campaign create "$here/circle.spec" >"$here/campaign.json"
    id=$(json "$here/campaign.json" id)
    admin campaign open "$id" >/dev/null
    "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" --data "$here/devices.csv" --header \
        --devices "$circle_devices" --out "$here/run" --json >"$here/run.json"
    admin pool "$id" --out "$here/pool.csv" --coefficients >"$here/pool.json"
    rm -f "$here/devices.csv"

    step "Half circle: a job trains a generator on the pool"
    trained=$(date +%s)
    admin job start generator --campaign "$id" steps=3000 atoms=2000 sinkhorn=30 --wait >"$here/job.json"
    trained=$(($(date +%s) - trained))
    admin artifact get "$(json "$here/job.json" artifact)" --out "$here/model.onnx" >"$here/artifact.json"
    "$bin/dpot" generator sample --model "$here/model.onnx" --n-samples 1000 --seed 1 --quiet --out "$here/generated.csv" >/dev/null
    circle 1000 2 >"$here/true.csv"
    circle 1000 3 >"$here/other.csv"
    head -n 1000 "$here/pool.csv" >"$here/private.csv"
    for name in private generated other; do
        circle_w2 "$name" >"$here/$name.w2"
    done
    circle_picture true "Half circle: 1000 true points"
    circle_picture private "Half circle: 1000 private reports, W2 to the truth $(printf '%.3f' "$(cat "$here/private.w2")")"
    circle_picture generated "Half circle: 1000 generated points, W2 to the truth $(printf '%.3f' "$(cat "$here/generated.w2")")"
}

circle_table() {
    cat <<TABLE

Where $circle_devices points on a half circle are, each reported once with Laplace noise (epsilon $(printf '%.3g' "$(json "$here/pool.json" epsilon)"), b = $(printf '%.3f' "$(json "$here/pool.json" scale)"))

  W2 of 1000 points to 1000 true ones (exact transport, the diameter is 2)
  private reports, as they are in the pool    $(printf '%.3f' "$(cat "$here/private.w2")")
  a generator, trained on the pool by dpotd   $(printf '%.3f' "$(cat "$here/generated.w2")")
  1000 other true points, the least there is  $(printf '%.3f' "$(cat "$here/other.w2")")

  trained in $trained s on one thread; nothing but the private reports was looked at, so it costs no privacy.
  The model, for any ONNX runtime: $here/model.onnx
  Pictures: $dir/half-circle-true.png, -private.png, -generated.png, also as .svg
TABLE
}

# ---- a barycenter ----

region_devices=2000 # of each region
region_epsilon=4
region_points=48

# Lines "lat lon region" of people drawn over the places of their region, with numbers that are the
# same with every awk.
draw_regions() {
    awk -F, -v n="$region_devices" '
        function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
        function region(lat, lon) { return lon < -104 ? 3 : lat < 37 ? 2 : lon > -80.5 ? 0 : 1 }
        NR > 1 { g = region($1, $2); k = ++places[g]; lat[g, k] = $1; lon[g, k] = $2; sum[g] += $3; upto[g, k] = sum[g] }
        END {
            for (state = 4711; i < 10; i++) uniform()
            for (i = 0; i < n; i++) for (g = 0; g < 4; g++) {
                u = uniform() * sum[g]; low = 1; high = places[g]
                while (low < high) {
                    middle = int((low + high) / 2)
                    if (upto[g, middle] > u) high = middle; else low = middle + 1
                }
                print lat[g, low], lon[g, low], g
            }
            # The truth, gathered in half degrees.
            for (g = 0; g < 4; g++) for (k = 1; k <= places[g]; k++) {
                cell = g "," int(2 * lat[g, k]) "," int(2 * lon[g, k]); people = upto[g, k] - upto[g, k - 1]
                mass[cell] += people; y[cell] += people * lat[g, k]; x[cell] += people * lon[g, k]; of[cell] = g
            }
            for (cell in mass) if (mass[cell] > 0)
                printf "%.9g,%.9g,%.17g\n", y[cell] / mass[cell], x[cell] / mass[cell], mass[cell] / sum[of[cell]] \
                    >(folder "/true-" of[cell] ".csv")
        }' folder="$here" "$dir/places.csv"
}
# The mean of W2^2 from points to the four true regions: region_cost FILE
region_cost() {
    for g in 0 1 2 3; do
        "$bin/dpot" ot --exact --x "$1" --y "$here/points-$g.csv" --b "$here/weights-$g.csv" --normalize \
            --metric euclidean --power 2 --quiet --json >"$here/ot.json"
        json "$here/ot.json" transport_cost
    done | awk '{ sum += $1 } END { printf "%.6f\n", sum / 4 }'
}
region_average() { # OUT GROUP...
    to=$1
    shift
    "$bin/dpot" barycenter --group-files "$@" --support $region_points --exact --lower-bound none --seed 1 --quiet --json \
        --out "$to.csv" >"$to.json"
    region_cost "$to.csv" >"$to.cost"
}
# A campaign from its devices to the job's points: region_campaign NAME DOMAIN MECHANISM
region_campaign() {
    step "Four regions: $((4 * region_devices)) devices send $1 reports under their region's label, epsilon $region_epsilon"
    cat >"$here/$1.spec" <<SPEC
{"name": "regions-$1", "metric": "euclidean", "power": 2, "domain": {$2, "lo": [24.5, -125], "hi": [49.4, -66.9]},
 "mechanism": {"epsilon": $region_epsilon, $3}, "rounds": 1, "opens": "$(stamp $((now - 60)))",
 "closes": "$(stamp $((now + 604800)))", "min_pool": $((2 * region_devices)),
 "groups": ["northeast", "midwest", "south", "west"]}
SPEC
    admin campaign create "$here/$1.spec" >"$here/campaign.json"
    id=$(json "$here/campaign.json" id)
    admin campaign open "$id" >/dev/null
    "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" --data "$here/devices.csv" --header --group-column region \
        --devices $((4 * region_devices)) --out "$here/run-$1" --json >"$here/run-$1.json"
    step "Four regions: a job deconvolves each region's $1 reports and averages them"
    admin job start barycenter --campaign "$id" support=$region_points seed=1 --wait >"$here/job.json"
    admin artifact get "$(json "$here/job.json" artifact)" --out "$here/$1.csv" --deconvolved-out "$here/$1-deconvolved.csv" \
        >"$here/$1.json"
    region_cost "$here/$1.csv" >"$here/$1.cost"
    for g in 0 1 2 3; do
        admin pool "$id" --out "$here/raw-$g.csv" --group $g >/dev/null
    done
}
region_picture() {
    for format in png svg; do
        "$bin/dpot" plot points --in "$here/$1.csv" --border "$top/tests/data/conus_border.csv:lat,lon" --title "$2" --quiet \
            --out "$dir/regions-$1.$format" >/dev/null
    done
}
# What points cost more than the best: region_excess NAME
region_excess() { awk -v best="$(cat "$here/best.cost")" '{ printf "%.2f", $1 - best }' "$here/$1.cost"; }

regions() {
    here=$dir/regions
    mkdir "$here"
    draw_regions | awk 'BEGIN { print "device,lat,lon,region" } { print NR - 1 "," $1 "," $2 "," $3 }' >"$here/devices.csv"
    for g in 0 1 2 3; do
        cut -d, -f 1,2 "$here/true-$g.csv" >"$here/points-$g.csv"
        cut -d, -f 3 "$here/true-$g.csv" >"$here/weights-$g.csv"
        awk -F, -v g=$g 'NR > 1 && $4 == g { print $2 "," $3 }' "$here/devices.csv" >"$here/open-$g.csv"
    done
    awk 'BEGIN { for (i = 0; i < 20; i++) for (j = 0; j < 20; j++)
        printf "%.6f,%.6f\n", 24.5 + (i + 0.5) * 1.245, -125 + (j + 0.5) * 2.905 }' >"$here/cells.csv"
    step "Four regions: the best points there are, those of a guess, and those of the same people without privacy"
    region_average "$here/best" "$here/true-0.csv" "$here/true-1.csv" "$here/true-2.csv" "$here/true-3.csv" --weighted --normalize
    region_average "$here/nothing" "$here/cells.csv"
    region_average "$here/open" "$here/open-0.csv" "$here/open-1.csv" "$here/open-2.csv" "$here/open-3.csv"

    region_campaign laplace '"type": "box"' '"type": "laplace"'
    region_average "$here/laplace-raw" "$here/raw-0.csv" "$here/raw-1.csv" "$here/raw-2.csv" "$here/raw-3.csv"
    region_campaign index '"type": "grid", "shape": [20, 20]' \
        '"type": "wpm", "lambda": 0.05, "iterations": 5, "base_measure": "ball", "sample_first": true, "n_max": 1'
    for g in 0 1 2 3; do
        awk -F, 'NR == FNR { place[n++] = $0; next } { print place[$1] }' "$here/cells.csv" "$here/raw-$g.csv" >"$here/named-$g.csv"
    done
    region_average "$here/index-raw" "$here/named-0.csv" "$here/named-1.csv" "$here/named-2.csv" "$here/named-3.csv"
    region_picture best "Four regions, averaged: $region_points points from the true distributions"
    region_picture laplace "From Laplace reports: excess $(region_excess laplace) square degrees (a guess $(region_excess nothing))"
    region_picture index "From index reports: excess $(region_excess index) square degrees (a guess $(region_excess nothing))"
    rm -f "$here"/devices.csv "$here"/raw-?.csv "$here"/named-?.csv "$here"/open-?.csv
}

region_row() { printf '  %-38s %9s %9s\n' "$1" "$2" "$3"; }
regions_table() {
    cat <<TABLE

The average of four regions of the United States (Northeast, Midwest, South, West) as $region_points points, from $region_devices devices in each,
one report a device at epsilon $region_epsilon. Sum of W2^2 to the true regions / 4, in square degrees, beyond the least, $(printf '%.2f' "$(cat "$here/best.cost")")

TABLE
    region_row '' Laplace index
    region_row 'raw pools, as they are' "$(region_excess laplace-raw)" "$(region_excess index-raw)"
    region_row 'a guess that knows nothing' "$(region_excess nothing)" "$(region_excess nothing)"
    region_row 'the job: deconvolved, then averaged' "$(region_excess laplace)" "$(region_excess index)"
    region_row 'the same people, without privacy' "$(region_excess open)" "$(region_excess open)"
    cat <<TABLE

  Regions are public labels, which no noise covers. The jobs looked at nothing but the private reports.
  Pictures: $dir/regions-best.png, -laplace.png, -index.png, also as .svg
TABLE
}

if [ "$long" = yes ]; then
    half_circle
    regions
fi

# ---- a guess ----

# A guess that knows nothing is a report of epsilon 0, or nearly so.
here=$dir/epsilon-$epsilon
spec kpm 1e-9 >"$dir/guess.spec"
"$bin/dpot" evaluate --campaign "$dir/guess.spec" --data "$dir/devices.csv" --header --devices "$devices" --quiet --json \
    --points-out "$dir/guess-points.csv" >"$dir/guess.cost.json"
worst_with_people "$dir/guess-points.csv" "$here/fitted/population_true.csv" >"$dir/guess.worst"
awk 'BEGIN { for (i = 0; i < 384; i++) print 1 / 384 }' >"$dir/guess.csv"
w1 fitted "$dir/guess.csv" >"$dir/guess.w1"
guess=$(cat "$dir/guess.w1")
# One place of each device without privacy: chance, and nothing of an epsilon. One draw serves all.
cp "$here/fitted/population_sample.csv" "$dir/sample.csv"
w1 fitted "$dir/sample.csv" >"$dir/sample.w1"

# ---- pictures ----

# Ends of a colour scale that serves all these files, two digits each: ends FILE...
ends() {
    cat "$@" | awk '
        function unit(x,   k) { for (k = 0; 10 ^ k > x; k--); for (; 10 ^ (k + 1) <= x; k++); return 10 ^ (k - 1) }
        $1 > 0 { low = !low || $1 < low ? $1 : low; high = $1 > high ? $1 : high }
        END { printf "%.6g,%.6g", int(low / unit(low) + 1e-6) * unit(low), int(high / unit(high) + 1 - 1e-6) * unit(high) }'
}
# The same that begins at one person of all, what a single report is worth, or earlier in a small
# crowd.
ends_of_shares() {
    ends "$@" | awk -F, -v n="$devices" '{ printf "%.6g,%.6g", (1 / n < $2 / 10 ? 1 / n : $2 / 10), $2 }'
}
km() { printf '%.0f km' "$(cat "$1.w1")"; }
# A panel's title says what the table's star says: panel TITLE NAME
panel() {
    mark=$(awk -v w1="$(cat "$here/$2.w1")" -v guess="$guess" -v high="$(json "$here/$2.band" upper)" \
        'BEGIN { if (w1 >= guess) print ", no better than the guess"; else if (high + 0 >= guess) print ", not reliably better" }')
    printf '%s: %s%s' "$1" "$(km "$here/$2")" "$mark"
}

step "Drawing"
border=$top/tests/data/conus_border.csv:lat,lon
draw() {
    picture=$1
    shift
    for format in png svg; do
        "$bin/dpot" plot heatmap --campaign "$here/kpm.spec" --border "$border" --log --quiet \
            --width 1200 "$@" --out "$dir/$picture.$format" >/dev/null
    done
}
# Pictures of different epsilons have the same colours.
shares=$(ends_of_shares "$dir"/epsilon-*/*/population_*.csv "$dir"/epsilon-*/*/estimate.csv)
distances=$(ends "$dir"/epsilon-*/*/points.csv)
for epsilon in $epsilons; do
    here=$dir/epsilon-$epsilon
    draw "population-epsilon-$epsilon" --range "$shares" \
        --title "Where $devices people are: estimates at epsilon $epsilon and their W1 (uniform guess: $(printf '%.0f' "$guess") km)" \
        --in "$here/fitted/population_true.csv" --in2 "$dir/sample.csv" \
        --in3 "$here/uniform/estimate.csv" --in4 "$here/fitted/estimate.csv" \
        --in5 "$here/kpm/estimate.csv" --in6 "$here/exponential/estimate.csv" \
        --titles "true population|no privacy: $(km "$dir/sample")|$(panel 'WPM, best uniform' uniform)|$(panel 'WPM, for its users' fitted)|$(panel KPM kpm)|$(panel exponential exponential)" \
        --value-label "share of people per cell"
    draw "cost-epsilon-$epsilon" --range "$distances" \
        --title "How far a report lies from a user in each cell, on land or at sea, at epsilon $epsilon" \
        --in "$here/uniform/points.csv" --in2 "$here/fitted/points.csv" \
        --in3 "$here/kpm/points.csv" --in4 "$here/exponential/points.csv" \
        --titles "WPM, best uniform|WPM, for its users|KPM|exponential mechanism" \
        --value-label "mean distance (km)"
done

# ---- the table ----

# row TITLE STEM: STEM.w1 .band .cost.json .worst, of which only the first must be there
row() {
    range=- mean=- worst=- worst_here=-
    low=0 high=0
    if [ -s "$2.band" ]; then
        low=$(json "$2.band" lower) high=$(json "$2.band" upper)
        range=$(printf '%.0f to %.0f' "$low" "$high")
    fi
    if [ -s "$2.cost.json" ]; then
        mean=$(printf '%.0f' "$(json "$2.cost.json" mean_user_wp)")
        worst=$(printf '%.0f' "$(json "$2.cost.json" worst_case)")
        worst_here=$(printf '%.0f' "$(cat "$2.worst")")
    fi
    gain=$(awk -v w1="$(cat "$2.w1")" -v guess="$guess" -v high="$high" \
        'BEGIN { printf "%+.0f %%%s", 100 * (1 - w1 / guess), (high + 0 >= guess + 0 ? "*" : " ") }')
    [ "$2" = "$dir/guess" ] && gain='0 % '
    printf '  %-33s %8.0f %11s %10s %9s %11s %10s\n' "$1" "$(cat "$2.w1")" "$range" "$gain" "$mean" "$worst" "$worst_here"
}
rows_of_epsilon() {
    printf '\n  epsilon %s\n' "$epsilon"
    row 'WPM, best uniform (revision 1)' "$here/uniform"
    row 'WPM, for its users (revision 2)' "$here/fitted"
    row 'KPM' "$here/kpm"
    row 'exponential mechanism' "$here/exponential"
}
# The tally of a device goes on from revision to revision: what is new is a difference.
reports() {
    printf '  epsilon %-4s rev. %s' "$epsilon" "$1"
    for key in submitted accepted duplicate rejected dropped pending; do
        earlier=0
        [ "$1" = 1 ] || earlier=$(json "$here/uniform.json" "$key")
        printf ' %9s' $(($(json "$here/$2.json" "$key") - earlier))
    done
    printf ' %8s %8g\n' "$(json "$here/$2.pool.json" accepted)" "$(json "$here/$2.json" epsilon_per_device)"
}
# Smallest and largest of a column: spread FILE
spread() { sort -g "$1" | awk 'NR == 1 { low = $1 } END { printf "%.0f to %.0f km", low, $1 }'; }
# EPSILON MEAN1 WORST1 MEAN2 WORST2, a line an epsilon -> what they say.
compare_measures() {
    awk '{ serves += $4 < $2
           list = list sprintf("\n  epsilon %-4s mean user %.0f -> %.0f km, worst cell %.0f -> %.0f km", $1, $2, $4, $3, $5) }
         END { print (serves == NR ? "The measure made for users like those of the pool serves the mean user, at the price of the worst cell:" \
                                   : "From the best uniform measure to that made for users like those of the pool:") list }'
}

cat <<TABLE

Where do $devices people spend their time, and how far do the reports lie? Distances are kilometres.

  A device reports one cell, drawn with privacy epsilon (the smaller, the more is hidden). WPM, the
  Wasserstein projection, moves a user's places as little as that allows, towards a public base
  measure. Best uniform: every cell has the same mass. For its users: made from revision 1's pool,
  so it spends no privacy; its estimate leans towards what that pool said. Baselines: KPM (projection in KL, blind to distance), exponential.
  W1: how far mass must move, on average, to turn one distribution into the other; 0 is perfect.
  The grid covers a box: its worst cell may be at sea, in Canada or in Mexico, where no user is.

                                   estimate,  95 runs of  gain over   report,     report,    report,
                                    this run  100 within      guess mean user  worst cell with users
  -------------------------------------------------------------------------------------------------
$(row 'no privacy: a true place of each' "$dir/sample")
$(row 'uniform guess, no reports' "$dir/guess")
$(for epsilon in $epsilons; do here=$dir/epsilon-$epsilon; rows_of_epsilon; done)

  *          not reliably better than the guess, which lies within or below the range of 95 runs
  estimate   W1 between the true population and the share of reports in each cell
  95 of 100  where it falls in 95 runs of 100: dpot plan tells that before any report is sent
  report     W1 between a user's places and the law of the report (exact, not drawn): for the mean
             user, for one who stays in the worst cell, and in the worst of the cells with users

$(for epsilon in $epsilons; do
    here=$dir/epsilon-$epsilon
    echo "$epsilon $(json "$here/uniform.cost.json" mean_user_wp) $(json "$here/uniform.cost.json" worst_case)" \
        "$(json "$here/fitted.cost.json" mean_user_wp) $(json "$here/fitted.cost.json" worst_case)"
done | compare_measures)

  reports            submitted  accepted duplicate  rejected   dropped   pending  in pool    spent
$(for epsilon in $epsilons; do here=$dir/epsilon-$epsilon; reports 1 uniform; reports 2 fitted; done)

  duplicate: the answer was lost on purpose, one time in twenty; the resent report is counted once
  spent: epsilon in a device's ledger; a report to revision 2 is a new charge. KPM and exponential
  ran in process, on devices of their own, one report of the same epsilon each

Pictures, each also as .svg, with the same colours for every epsilon:
$(for epsilon in $epsilons; do
    here=$dir/epsilon-$epsilon
    echo "  $dir/population-epsilon-$epsilon.png"
    echo "      the true population, a sample of it without privacy, and what each mechanism makes of it"
    echo "  $dir/cost-epsilon-$epsilon.png"
    echo "      mean distance of a report from its user, by the user's cell:"
    echo "      $(spread "$here/uniform/points.csv") with the best uniform measure, $(spread "$here/fitted/points.csv") with that for its users"
done)

Files: $dir
Built in $((began - build_began)) seconds, ran in $(($(date +%s) - began)).
TABLE

if [ "$long" = yes ]; then
    here=$dir/half-circle
    circle_table
    here=$dir/regions
    regions_table
fi

if [ "$keep" = yes ]; then
    cat <<KEEP

dpotd still runs: $url (process $server, stop it with: kill $server)
  DPOT_TOKEN=$DPOT_TOKEN $bin/dpot campaign list --server $url
KEEP
else
    echo
    echo "With --keep the server goes on running and this prints how to use and stop it."
fi
