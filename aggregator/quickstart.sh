#!/bin/sh
# One run of everything, on real data: a server, a signed campaign over the map of the United States,
# 1,000 virtual devices that run the shipping client, their private pool, and what it tells.
#
#   sh aggregator/quickstart.sh [--devices N] [--epsilon E] [--keep]
#
# Installs what is missing (Debian 12, root or sudo), builds, runs on loopback, cleans up after itself.
# --keep leaves the server running and the folder in place, and says how to use and stop it.
set -eu

devices=1000
epsilon=4
keep=no
while [ $# -gt 0 ]; do
    case "$1" in
    --devices) devices=$2; shift 2 ;;
    --epsilon) epsilon=$2; shift 2 ;;
    --keep) keep=yes; shift ;;
    *) echo "usage: sh aggregator/quickstart.sh [--devices N] [--epsilon E] [--keep]" >&2; exit 2 ;;
    esac
done

cd "$(dirname "$0")/.."
top=$(pwd)
say() { printf '%s\n' "$*" >&2; }
step() { printf '\n== %s\n' "$*" >&2; }

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
        rm -rf "$dir/server"
    fi
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# The value of a key of a one-line JSON object: json FILE KEY
json() {
    sed -n 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\)"\{0,1\}[,}].*/\1/p' "$1" | head -n 1
}

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

step "Opening a signed campaign: 16 x 24 cells, epsilon $epsilon, great-circle distance"
now=$(date -u +%s)
opens=$(date -u -d "@$((now - 60))" +%Y-%m-%dT%H:%M:%SZ)
closes=$(date -u -d "@$((now + 604800))" +%Y-%m-%dT%H:%M:%SZ)
cat >"$dir/census.json" <<SPEC
{"name": "census",
 "domain": {"type": "grid", "lo": [24.5, -125], "hi": [49.4, -66.9], "shape": [16, 24]},
 "output": "same", "metric": "haversine", "power": 1,
 "mechanism": {"type": "wpm", "epsilon": $epsilon, "lambda": 40, "iterations": 300,
               "base_measure": "uniform", "n_max": 32},
 "rounds": 1, "opens": "$opens", "closes": "$closes", "min_pool": $((devices / 2))}
SPEC
"$bin/dpot" campaign create "$dir/census.json" --server "$url" --json >"$dir/campaign.json"
id=$(json "$dir/campaign.json" id)
"$bin/dpot" campaign open "$id" --server "$url" --json >"$dir/open.json"
"$bin/dpot" campaign fetch "$id" --server "$url" --pin "$pin" --out "$dir/campaign.signed" --json >"$dir/fetch.json"
say "campaign $id"

step "Running $devices devices: enroll, charge, privatise, spool, send"
"$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" --data "$dir/devices.csv" \
    --devices "$devices" --duplicates 0.05 --out "$dir/run" --json >"$dir/simulate.json"

step "Estimating the population from the private pool"
"$bin/dpot" pool "$id" --server "$url" --export "$dir/pool.npy" --json >"$dir/pool.json"
"$bin/dpot" estimate --campaign "$dir/campaign.signed" --pool "$dir/pool.npy" --out "$dir/estimate.csv" --json >"$dir/estimate.json"
awk 'BEGIN { for (i = 0; i < 384; i++) print 1 / 384 }' >"$dir/uniform.csv"
w1() {
    "$bin/dpot" ot --exact --campaign "$dir/campaign.signed" --normalize --quiet --json \
        --a "$dir/run/population_true.csv" --b "$1" >"$dir/ot.json"
    json "$dir/ot.json" transport_cost
}
w1_private=$(w1 "$dir/estimate.csv")
w1_sample=$(w1 "$dir/run/population_sample.csv")
w1_uniform=$(w1 "$dir/uniform.csv")

results=$dir/run/results.json
row() { printf '  %-46s %8s %15.1f km' "$1" "$2" "$3"; }
cat <<TABLE

Where do $devices people spend their time? W1 = kilometres the estimate is off, on average (exact transport).

  estimate                                        epsilon    W1 to the truth
  --------------------------------------------------------------------------
$(row 'private pool (WPM, one report a device)' "$epsilon" "$w1_private")
$(row 'the same devices, one place each, no privacy' none "$w1_sample")
$(row 'uniform guess, no data at all' 0 "$w1_uniform")

  reports     submitted  accepted  duplicate  rejected  pending
            $(printf '%11s %9s %10s %9s %8s' "$(json "$results" submitted)" "$(json "$results" accepted)" "$(json "$results" duplicate)" "$(json "$results" rejected)" "$(json "$results" pending)")
  epsilon spent per device: $(json "$results" epsilon_per_device)

  (duplicate: the answer was lost on purpose for one device in twenty; the resent report is counted once,
   the pool holds $(json "$dir/pool.json" accepted) reports)

Files: $dir
TABLE

if [ "$keep" = yes ]; then
    cat <<KEEP

dpotd still runs: $url (process $server, stop it with: kill $server)
  DPOT_TOKEN=$DPOT_TOKEN $bin/dpot campaign list --server $url
KEEP
fi
