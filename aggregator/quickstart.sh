#!/bin/sh
# One run of everything, on real data: a server, signed campaigns over the map of the United States,
# 1,000 virtual devices that run the shipping client, their private pools, what they tell and what they cost.
#
#   sh aggregator/quickstart.sh [--devices N] [--epsilon E[,E...]] [--keep]
#
# For every epsilon (2 and 4 unless told otherwise) a campaign runs over HTTP twice: revision 1 has the best
# uniform base measure; a job finds the mirror-descent measure, which is signed into revision 2, and the same
# devices fetch it, verify it and are charged again. KL projection (KPM) and the exponential mechanism run in
# process on the same data, to compare.
#
# Installs what is missing (Debian 12, root or sudo), builds, runs on loopback, cleans up after itself.
# --keep leaves the server running and the folder in place, and says how to use and stop it.
set -eu

devices=1000
epsilons=2,4
keep=no
usage() {
    echo "usage: sh aggregator/quickstart.sh [--devices N] [--epsilon E[,E...]] [--keep]" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case "$1" in
    --devices | --epsilon)
        [ $# -gt 1 ] || usage
        [ "$1" = --devices ] && devices=$2 || epsilons=$2
        shift 2 ;;
    --keep) keep=yes; shift ;;
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
"$bin/dpot" population --places "$dir/places.csv" --devices "$devices" --seed 1 --quiet --json --out "$dir/devices.csv" >"$dir/population.json"
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
    "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" --data "$dir/devices.csv" \
        --devices "$devices" --duplicates 0.05 --durable "$here/devices" \
        --epsilon-cap "$(awk "BEGIN { print 2 * $epsilon }")" --out "$here/$1" --json >"$here/$1.json"
    admin pool "$id" --export "$here/$1/pool.npy" >"$here/$1.pool.json"
    admin campaign fetch "$id" --pin "$pin" --out "$here/$1.signed" >/dev/null
}

# W1 between the true population and weights: w1 NAME WEIGHTS
w1() {
    "$bin/dpot" ot --exact --campaign "$here/kpm.spec" --normalize --quiet --json \
        --a "$here/$1/population_true.csv" --b "$2" >"$here/ot.json"
    json "$here/ot.json" transport_cost
}

# Estimates from the pool of a run and finds the cost of its reports, exactly: judge NAME CAMPAIGN
judge() {
    "$bin/dpot" estimate --campaign "$2" --pool "$here/$1/pool.npy" --out "$here/$1/estimate.csv" --quiet --json >"$here/$1.estimate.json"
    "$bin/dpot" evaluate --campaign "$2" --data "$dir/devices.csv" --devices "$devices" \
        --out "$here/$1/users.csv" --points "$here/$1/points.csv" --json >"$here/$1.cost.json"
    w1 "$1" "$here/$1/estimate.csv" >"$here/$1.w1"
}

compare_in_process() {
    spec "$1" "$epsilon" >"$here/$1.spec"
    "$bin/dpot" simulate --campaign "$here/$1.spec" --in-process --data "$dir/devices.csv" \
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
    say "campaign $id, total mass $(printf '%.4f' "$mass"); $devices devices enroll, charge, privatise, spool, send"
    collect uniform

    step "Epsilon $epsilon, revision 2: a job finds the mirror-descent measure, the same devices report again"
    admin job start base-measure --campaign "$id" method=mirror max_iterations=20000 gap=0.001 --wait >"$here/job.json"
    digest=$(json "$here/job.json" artifact)
    admin campaign revise "$id" --base-measure "artifact:$digest" >/dev/null
    admin campaign open "$id" >/dev/null
    say "artifact $(printf '%.16s' "$digest")... is signed into revision 2; devices fetch and verify it, and are charged again"
    collect mirror

    step "Epsilon $epsilon: KPM and the exponential mechanism, in process on the same data"
    compare_in_process kpm
    compare_in_process exponential

    step "Epsilon $epsilon: estimates, and the exact cost of a report to every user and place"
    judge uniform "$here/uniform.signed"
    judge mirror "$here/mirror.signed"
    w1 mirror "$here/mirror/population_sample.csv" >"$here/sample.w1"
}

for epsilon in $epsilons; do
    run_epsilon
done

# ---- pictures ----

step "Drawing"
border=$top/tests/data/conus_border.csv
draw() {
    picture=$1
    shift
    for format in png svg; do
        "$bin/dpot" plot heatmap --campaign "$here/kpm.spec" --border "$border" --log --quiet \
            --width 1200 "$@" --out "$dir/$picture.$format" >/dev/null
    done
}
for epsilon in $epsilons; do
    here=$dir/epsilon-$epsilon
    draw "population-epsilon-$epsilon" \
        --title "Where $devices people spend their time, estimated at epsilon $epsilon" \
        --in "$here/mirror/population_true.csv" --in2 "$here/mirror/population_sample.csv" \
        --in3 "$here/uniform/estimate.csv" --in4 "$here/mirror/estimate.csv" \
        --in5 "$here/kpm/estimate.csv" --in6 "$here/exponential/estimate.csv" \
        --titles "true population|one place each, no privacy|WPM, best uniform|WPM, mirror descent|KPM|exponential mechanism" \
        --value-label "share of the population in a cell"
    draw "cost-epsilon-$epsilon" \
        --title "How far a report lies from its user, by the user's place, at epsilon $epsilon" \
        --in "$here/uniform/points.csv" --in2 "$here/mirror/points.csv" \
        --in3 "$here/kpm/points.csv" --in4 "$here/exponential/points.csv" \
        --titles "WPM, best uniform|WPM, mirror descent|KPM|exponential mechanism" \
        --value-label "mean distance (km)"
done

# ---- the table ----

# A guess that knows nothing is a report of epsilon 0, or nearly so.
here=$dir/epsilon-$epsilon
spec kpm 1e-9 >"$dir/guess.spec"
"$bin/dpot" evaluate --campaign "$dir/guess.spec" --data "$dir/devices.csv" --devices "$devices" --quiet --json >"$dir/guess.json"
awk 'BEGIN { for (i = 0; i < 384; i++) print 1 / 384 }' >"$dir/guess.csv"
w1 mirror "$dir/guess.csv" >"$dir/guess.w1"

# row TITLE W1 COST.JSON
row() {
    printf '  %-46s %12.1f %11.1f %12.1f\n' "$1" "$2" "$(json "$3" mean_user_wp)" "$(json "$3" worst_case)"
}
rows_of_epsilon() {
    printf '\n  epsilon %s\n' "$epsilon"
    row 'WPM, best uniform base measure (revision 1)' "$(cat "$here/uniform.w1")" "$here/uniform.cost.json"
    row 'WPM, mirror-descent measure (revision 2)' "$(cat "$here/mirror.w1")" "$here/mirror.cost.json"
    row 'KPM (KL projection)' "$(cat "$here/kpm.w1")" "$here/kpm.cost.json"
    row 'exponential mechanism' "$(cat "$here/exponential.w1")" "$here/exponential.cost.json"
}
# The tally of a device goes on from revision to revision: what is new is a difference.
reports() {
    printf '  epsilon %-4s revision %s' "$epsilon" "$1"
    for key in submitted accepted duplicate rejected dropped pending; do
        earlier=0
        [ "$1" = 1 ] || earlier=$(json "$here/uniform.json" "$key")
        printf ' %9s' $(($(json "$here/$2.json" "$key") - earlier))
    done
    printf ' %8s %13g\n' "$(json "$here/$2.pool.json" accepted)" "$(json "$here/$2.json" epsilon_per_device)"
}
# Smallest and largest of a column: spread FILE
spread() { sort -g "$1" | awk 'NR == 1 { low = $1 } END { printf "%.0f to %.0f km", low, $1 }'; }
# EPSILON MEAN1 WORST1 MEAN2 WORST2, a line an epsilon -> one sentence that says what they say.
sentence() {
    awk '{ worst_is_safer = $5 < $3; mean_is_dearer = $4 > $2
           protects += worst_is_safer && mean_is_dearer
           if ($5 > $3) far = far " " $1
           list = list sprintf("%s at epsilon %s worst case %.0f -> %.0f km, mean user %.0f -> %.0f km",
                               NR > 1 ? ";" : "", $1, $3, $5, $2, $4) }
         END { print (protects == NR ? "The mirror-descent measure protects the worst point rather than the typical user (in accuracy; privacy is the same):" \
                                     : "From the best uniform to the mirror-descent measure:") list "." \
                 (far ? " (Its iterations ended far from the optimum at epsilon" far ".)" : "") }'
}

cat <<TABLE

Where do $devices people spend their time, and how far do the reports lie? All numbers are kilometres.

                                                   population   mean user   worst case
                                                     estimate  one report   one report
  ------------------------------------------------------------------------------------
  one place of each, no privacy                  $(printf '%12.1f %11.1f %12.1f' "$(cat "$here/sample.w1")" 0 0)
$(row 'uniform guess, no data' "$(cat "$dir/guess.w1")" "$dir/guess.json")
$(for epsilon in $epsilons; do here=$dir/epsilon-$epsilon; rows_of_epsilon; done)

  population estimate: W1 between the true population and the share of reports in each cell
  mean user:  mean over users of W1 between their own measure and the law of their report (exact, not drawn)
  worst case: largest mean distance of a report from a user who stays in one cell, over all cells
  WPM is the Wasserstein projection mechanism. Estimates are one draw each and differ from run to run;
  dpot plan tells beforehand how much, and whether a mechanism beats the guess at all.

$(for epsilon in $epsilons; do
    here=$dir/epsilon-$epsilon
    echo "$epsilon $(json "$here/uniform.cost.json" mean_user_wp) $(json "$here/uniform.cost.json" worst_case)" \
        "$(json "$here/mirror.cost.json" mean_user_wp) $(json "$here/mirror.cost.json" worst_case)"
done | sentence)

  reports                 submitted  accepted duplicate  rejected   dropped   pending  in pool epsilon spent
$(for epsilon in $epsilons; do here=$dir/epsilon-$epsilon; reports 1 uniform; reports 2 mirror; done)

  (duplicate: the answer was lost on purpose for one device in twenty; the resent report is counted once.
   Epsilon spent is a device's ledger: a report to revision 2 is a new charge. KPM and the exponential
   mechanism ran on their own devices, in process, one report of the same epsilon each.)

Pictures, each also as .svg:
$(for epsilon in $epsilons; do
    here=$dir/epsilon-$epsilon
    echo "  $dir/population-epsilon-$epsilon.png"
    echo "      the true population, a sample of it without privacy, and each mechanism's estimate, on one colour scale"
    echo "  $dir/cost-epsilon-$epsilon.png"
    echo "      mean distance of a report from its user, by the user's place: $(spread "$here/uniform/points.csv")" \
        "with the best uniform measure, $(spread "$here/mirror/points.csv") with mirror descent"
done)

Files: $dir ($(($(date +%s) - began)) seconds after the build)
TABLE

if [ "$keep" = yes ]; then
    cat <<KEEP

dpotd still runs: $url (process $server, stop it with: kill $server)
  DPOT_TOKEN=$DPOT_TOKEN $bin/dpot campaign list --server $url
KEEP
else
    echo
    echo "With --keep the server goes on running and this prints how to use and stop it."
fi
