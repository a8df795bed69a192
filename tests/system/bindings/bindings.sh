#!/bin/sh
# A module of client/doc/bindings and a server: campaigns of each kind of data, reports, refusals,
# and the pools in the end. Without Python, Node or koffi: exit code 77 (skipped).
#   sh bindings.sh BIN_FOLDER LIBDPOT python|node FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
DPOT_LIBRARY=$2
language=$3
scratch=$4
modules=$(cd "$here/../../../client/doc/bindings" && pwd)
export DPOT_LIBRARY
koffi=2.16.1

skip() {
    echo "bindings: $1: skipped" >&2
    exit 77
}
case $language in
python) interpreter=${PYTHON:-python3} ;;
node) interpreter=node ;;
esac
command -v "$interpreter" >/dev/null 2>&1 || skip "there is no $interpreter here"
if [ "$language" = node ] && [ ! -f "$scratch/node_modules/koffi/package.json" ]; then
    npm install --prefix "$scratch" --no-save --no-audit --no-fund --ignore-scripts "koffi@$koffi" >"$scratch/npm.log" 2>&1 || {
        tail -n 5 "$scratch/npm.log" >&2
        skip "npm cannot fetch koffi@$koffi"
    }
fi
. "$here/../programs.inc.sh"

init
start

campaign() { # NAME DOMAIN MECHANISM: prints its id
    cat >"$dir/$1.json" <<SPEC
{"name": "$1", "domain": {$2}, "metric": "euclidean", "power": 1, "mechanism": {$3}, "rounds": 1,
 "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))", "min_pool": 1${4:-}}
SPEC
    need dpot campaign create "$dir/$1.json" --json
    id=$(json "$dir/out" id)
    need dpot campaign open "$id"
}
grid='"type": "grid", "lo": [0, 0], "hi": [1, 1], "shape": [4, 4]'
wpm='"type": "wpm", "epsilon": 2, "lambda": 0.1, "iterations": 5, "base_measure": "uniform"'
campaign points "$grid" "$wpm" ', "groups": ["a", "b"]'
points=$id
campaign histogram "$grid" "$wpm"
histogram=$id
campaign vector '"type": "box", "lo": [0, 0, 0], "hi": [1, 1, 1]' '"type": "laplace", "epsilon": 2'
vector=$id
need dpot campaign fetch "$points" --pin "$pin" --out "$dir/points.signed"

cat >"$dir/world.json" <<JSON
{"url": "$url", "pin": "$pin", "points": "$points", "histogram": "$histogram", "vector": "$vector",
 "folder": "$dir/devices", "signed": "$dir/points.signed"}
JSON
mkdir "$dir/devices"
if [ "$language" = node ]; then
    DPOT_WORLD=$dir/world.json NODE_PATH=$modules:$scratch/node_modules node --test "$here/test_dpot.js" >"$dir/out" 2>&1
else
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$modules "$interpreter" "$here/test_dpot.py" >"$dir/out" 2>&1
fi <"$dir/world.json"
if [ $? -eq 0 ]; then pass; else
    fail "$language"
    cat "$dir/out"
fi

# One device of the tests has reported to each campaign, and another to the first.
check 'the pool of points' 0 '"accepted": *2' dpot pool "$points" --json --out "$dir/pool.csv"
check 'the pool of histograms' 0 '"accepted": *1' dpot pool "$histogram" --json --out "$dir/pool.csv"
check 'the pool of vectors' 0 '"accepted": *1' dpot pool "$vector" --json --out "$dir/pool.csv"
stop
conclude
