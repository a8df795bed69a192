#!/bin/sh
# Runs the example at the end of every --help unchanged, in a folder with the files that it names;
# only addresses, ids and the folder of the server are replaced. Add the inputs of a new command
# below.
#   sh examples.sh BIN_FOLDER ROOT
set -u
. "$(dirname "$0")/../scratch.inc.sh"
root=$(cd "$2" && pwd)
PATH=$bin:$PATH
export PATH
cd "$dir" || exit 1

# ---- files ----
awk 'BEGIN {
    for (i = 0; i < 30; i++) printf "%g,%g,%d\n", 30 + i % 6, -110 + i % 7, 100 + i >"places.csv"
    for (i = 0; i < 30; i++) printf "%g,%g\n", 30 + i % 6, -110 + i % 7 >"towns.csv"
    print "lat,lon,people" >"residents.csv"
    for (i = 0; i < 30; i++) printf "%g,%g,%d\n", 30 + i % 6, -110 + i % 7, 100 + i >"residents.csv"
    # as many as the campaign has
    for (i = 0; i < 4; i++) for (j = 0; j < 6; j++) printf "%d,%d\n", i, j >"grid.csv"
    for (i = 0; i < 3; i++) printf "%d,%d\n", i, i >"a.csv"
    for (i = 0; i < 3; i++) printf "%d,%d\n", i + 1, i >"b.csv"
    print "0.5\n0.25\n0.25" >"mu.csv"
    for (i = 0; i < 784; i++) print i >"pixels.csv"
    print "lat,lon\n25,-120\n45,-120\n45,-70\n25,-120" >"border.csv"
    print "iteration,residual\n1,0.1\n2,0.01\n3,0.001" >"residual.csv"
    for (i = 0; i < 30; i++) print i >"people.csv"
    for (i = 0; i < 60; i++) printf "%g,%g\n", (i * 7 % 41) / 20 - 1, (i * 11 % 37) / 18 - 1 >"real.csv"
    for (i = 0; i < 60; i++) printf "%g,%g\n", i % 2, (i * 7 % 41) / 41 >"images.csv"
    for (i = 0; i < 60; i++) print i % 2 >"labels.csv"
    for (i = 0; i < 200; i++) printf "%g,%g\n", (i * 7 % 41) / 10 - 2, (i * 11 % 37) / 9 - 2 >"noisy.csv"
}'
printf '\0\0\010\003\0\0\0\002\0\0\0\001\0\0\0\002\0\377\377\0' >images-idx3-ubyte
echo '[{"mechanism": "wpm", "epsilon": 1, "count": 3}, {"mechanism": "gaussian", "mu": 0.5}]' >spend.json
cat >census.json <<SPEC
{"name": "census", "domain": {"type": "grid", "lo": [24.5, -125], "hi": [49.4, -66.9], "shape": [4, 6]},
 "output": "same", "metric": "haversine", "power": 1,
 "mechanism": {"type": "wpm", "epsilon": 2, "lambda": 40, "iterations": 30, "base_measure": "uniform", "n_max": 8},
 "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))", "min_pool": 1}
SPEC
need dpot ot --x a.csv --y b.csv --metric euclidean --exact --plan-out cost.npy --quiet
need dpot ot --x mu.csv --y pixels.csv --metric euclidean --exact --plan-out samples.npy --quiet
need dpot population --places places.csv --devices 1000 --seed 1 --out devices.csv --quiet
awk 'BEGIN { for (i = 0; i < 24; i++) print 1 / 24 >"truth.csv" }'
cp truth.csv estimate.csv

# ---- a server, a campaign with reports, a job that is done and one that is not ----
need dpotd init --dir "$dir/server" --listen 127.0.0.1:0 --json
cp out init.json
json init.json pin >pin.hex
DPOT_TOKEN=$(json init.json token)
export DPOT_TOKEN
dpotd serve --config "$dir/server/dpotd.json" --ready-file "$dir/url" 2>log &
server=$!
wait_for url
url=$(cat url)
create() {
    need dpot campaign create census.json --server "$url" --json
    id=$(json out id)
}
create; draft=$id
create; need dpot campaign open "$id" --server "$url"; closable=$id
create; need dpot campaign open "$id" --server "$url"
need dpot simulate --campaign "$id" --server "$url" --pin "$(cat pin.hex)" --data devices.csv --devices 20 --out first --quiet
cp first/results.json results-of-server.json
need dpot simulate --campaign census.json --in-process --data devices.csv --devices 20 --out second --quiet
need dpot campaign fetch "$id" --server "$url" --pin "$(cat pin.hex)" --out campaign.signed
need dpot pool "$id" --server "$url" --out pool.npy
need dpot base-measure --campaign census.json --method uniform --out m.npy --quiet
need dpot job start base-measure --campaign "$id" method=uniform --wait --server "$url" --json
artifact=$(json out artifact)
need dpot job start base-measure --campaign "$id" method=mirror max_iterations=10000000 gap=0 --server "$url" --json
long_job=$(json out id)

# run NAME HELP: the lines after "Example:", "Example: " included
run() {
    sed -n '/Example:/,$p' "$2" | sed "s/.*Example: *//
        s|https://pool.example.org|$url|g
        s|/var/lib/dpot|$dir/lib|g; s|/var/backups|$dir|g; s|127.0.0.1:8080|127.0.0.1:0|g
        s|00112233445566778899aabbccddeeff|$id|g
        s|5b0e1f2a3c4d5e6f708192a3b4c5d6e7|$long_job|g
        s|0f2b4c6d8e0a1c3e5f7092b4d6f81a3c5e7092b4d6f81a3c5e7092b4d6f81a3c|$artifact|g" >example
    case $1 in
    'dpot campaign open') sed -i "s|3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2|$draft|g" example ;;
    'dpot campaign close') sed -i "s|3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2|$closable|g" example ;;
    'dpot audit') sed -i 's/dpot audit/& --seed 1/' example ;; # one in ten thousand others may fail
    'dpotd serve') # until it is ready; then it ends on SIGTERM
        sed -i 's/^ *dpotd.*/& --ready-file up \&/' example
        echo 'until [ -s up ]; do kill -0 $!; sleep 0.05; done; kill $!; wait $!' >>example
        ;;
    'dpot job start') need dpot job cancel "$long_job" --server "$url" ;;
    esac
    sed -i "s|3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2|$id|g" example
    [ -s example ] || echo 'false # no example' >example
    if timeout 900 sh -e example >out 2>err </dev/null; then
        passed=$((passed + 1))
    else
        echo "FAILED $1: exit $?"
        sed 's/^/    /' example out err
        failed=$((failed + 1))
    fi
    case $1 in
    'dpot job start')
        need dpot job start base-measure --campaign "$id" method=mirror max_iterations=10000000 gap=0 --server "$url" --json
        long_job=$(json out id)
        ;;
    esac
}

# ---- the example of the manual page; one of --help reads its ledger ----
{
    echo Example:
    sed -n '/^\.SS The ledger/,/^\.TP/{/^\.nf/,/^\.fi/p}' "$root/aggregator/doc/dpot.1" |
        sed '/^\./d; s/\\-/-/g; s/\\e$/\\/'
} >help
run 'the ledger in dpot.1' help
[ -s spent.ledger ] || { echo "FAILED spent.ledger is not there"; failed=$((failed + 1)); }

for program in dpot dpotd dpot-device; do
    $program --help | sed -n '/^[A-Z].*:$/,/^General/s/^  \([a-z][a-z-]*\( [a-z][a-z-]*\)\{0,1\}\)  .*/\1/p' >commands
    while read -r command <&3; do
        # shellcheck disable=SC2086 # a command may be two words
        $program $command --help >help
        run "$program $command" help
    done 3<commands
done
dpot --help >help
run dpot help
for picture in map.png towns.png residual.svg samples.png; do
    [ -s $picture ] || { echo "FAILED $picture is not there"; failed=$((failed + 1)); }
done

# The keys of results.json are in the man page, in the entry of dpot simulate.
sed -n '/^\.B dpot simulate /,/^\.TP/p' "$root/aggregator/doc/dpot.1" >entry
cat results-of-server.json second/results.json | tr '{,' '\n\n' | sed -n 's/^ *"\([a-z_]*\)":.*/\1/p' | sort -u >keys
[ "$(wc -l <keys)" -ge 30 ] || { echo "FAILED results.json has $(wc -l <keys) keys"; failed=$((failed + 1)); }
for key in $(cat keys); do
    grep -qw -- "$key" entry || { echo "FAILED dpot.1 does not describe $key of results.json"; failed=$((failed + 1)); }
done

# The keys of the status of a device are in its man page.
dpot-device status --dir device --json | tr '{,' '\n\n' | sed -n 's/^ *"\([a-z_]*\)":.*/\1/p' | sort -u >keys
[ "$(wc -l <keys)" -ge 39 ] || { echo "FAILED status has $(wc -l <keys) keys"; failed=$((failed + 1)); }
for key in $(cat keys); do
    grep -qw -- "$key" "$root/client/doc/dpot-device.1" || { echo "FAILED dpot-device.1 does not describe $key of status"; failed=$((failed + 1)); }
done

echo "$passed examples of --help work, $failed do not"
[ "$failed" -eq 0 ]
