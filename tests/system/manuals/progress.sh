#!/bin/sh
# Every long command shows on a terminal a bar with the time, elsewhere plain lines, with --quiet
# nothing. Each is given work for minutes and stopped after a few seconds.
#   sh progress.sh BIN_FOLDER
set -u
command -v script >/dev/null 2>&1 || { echo 'script(1) is missing: nothing was checked'; exit 77; }
. "$(dirname "$0")/../scratch.inc.sh"
PATH=$bin:$PATH
export PATH
cd "$dir" || exit 1
fail_with() { # TEXT FILE: and the end of the file
    fail "$1"
    sed 's/^/    /' "$2" | tail -n 5
}

# attempt LABEL WHAT COMMAND TURNS: WHAT is a pattern of a plain line. The three runs are
# concurrent, each in its own folder, until the first two have shown something, for at most TURNS
# fifths of a second.
attempt() {
    rm -rf terminal plain quiet
    for folder in terminal plain quiet; do
        mkdir $folder
        ln -s ../many.csv ../others.csv ../some.csv ../users.csv ../devices.csv ../spec.json ../box.json $folder
    done
    bar="^$1 \[[#.]{20}\] +[0-9]+% +[0-9]+ s (left|so far)"
    (cd terminal && exec timeout 900 script -qefc "$3" typescript) </dev/null >/dev/null 2>&1 &
    first=$!
    (cd plain && exec timeout 900 $3) </dev/null >/dev/null 2>plain/lines &
    second=$!
    (cd quiet && exec timeout 900 $3 --quiet) </dev/null >/dev/null 2>quiet/lines &
    third=$!
    is_ended=no
    for turn in $(seq 1 "$4"); do
        sleep 0.2
        tr '\r' '\n' <terminal/typescript >shown 2>/dev/null
        grep -qE "$bar" shown && grep -qE "^dpot: $1: $2" plain/lines && break
        kill -0 "$second" 2>/dev/null || { is_ended=yes; break; }
    done
    # The run without a terminal may be over before the one on it has shown anything.
    [ "$is_ended" = no ] || wait "$first" 2>/dev/null
    kill "$first" "$second" "$third" 2>/dev/null
    wait "$first" "$second" "$third" 2>/dev/null
    tr '\r' '\n' <terminal/typescript >shown 2>/dev/null
}
has_shown() {
    grep -qE "$bar" shown && grep -qE "^dpot: $1: $2" plain/lines
}

# watch LABEL WHAT COMMAND: script(1) may start late, or not at all, on a busy machine: two
# retries with more time.
watch() {
    for turns in 100 200 400; do
        attempt "$1" "$2" "$3" $turns
        if [ "$is_ended" = yes ] && [ "$turn" -lt 12 ] && [ ! -s plain/lines ]; then
            # a run of less than a second or two says nothing
            echo "too fast here to show anything: $3"
            return
        fi
        has_shown "$1" "$2" && break
    done
    grep -qE "$bar" shown || fail_with "no bar on a terminal: $3" shown
    grep -qE "^dpot: $1: $2" plain/lines || fail_with "no plain line: $3" plain/lines
    grep -q '\[' plain/lines && fail_with "a bar where there is no terminal: $3" plain/lines
    [ -s quiet/lines ] && fail_with "--quiet is not quiet: $3" quiet/lines
}

awk 'BEGIN {
    for (i = 0; i < 4000; i++) printf "%g,%g\n", (i * 7919 % 4001) / 4001, (i * 104729 % 4003) / 4003 >"many.csv"
    for (i = 0; i < 4000; i++) printf "%g,%g\n", (i * 7901 % 3989) / 3989, (i * 10007 % 4007) / 8014 >"others.csv"
    for (i = 0; i < 300; i++) printf "%g,%g\n", (i * 7919 % 4001) / 4001, (i * 104729 % 4003) / 4003 >"some.csv"
    for (u = 0; u < 20000; u++) printf "%d,%g,%g\n", u, u % 7, u % 5 >"devices.csv"
    for (u = 0; u < 3000; u++) { for (i = 0; i < 300; i++) printf "%s%g", i ? "," : "", (i * u) % 11 + 1 >"users.csv"; print "" >"users.csv" }
}'
cat >spec.json <<SPEC
{"name": "long", "domain": {"type": "grid", "lo": [0, 0], "hi": [7, 5], "shape": [12, 12]},
 "output": "same", "metric": "euclidean", "power": 1,
 "mechanism": {"type": "wpm", "epsilon": 2, "lambda": 0.1, "iterations": 2000, "base_measure": "uniform", "n_max": 8},
 "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))", "min_pool": 1}
SPEC

count='[0-9]+ of [0-9]+, [0-9]+ s (left|so far)$'
watch 'mirror descent' "$count" 'dpot base-measure --method mirror --x some.csv --metric euclidean --epsilon 2 --max-iterations 10000000 --gap 0 --out m.npy'
watch 'best uniform measure' '[0-9]+ s so far$' 'dpot base-measure --x many.csv --metric euclidean --epsilon 2 --method uniform --out m.npy'
watch 'entropic transport' '[0-9]+%, [0-9]+ s (left|so far)$' 'dpot ot --x some.csv --y many.csv --metric euclidean --lambda 1e-4 --max-iterations 100000000'
watch 'exact transport' '[0-9]+ s so far$' 'dpot ot --x many.csv --y others.csv --metric euclidean --power 2 --exact'
watch 'projecting' "$count" 'dpot project --mu users.csv --normalize --x some.csv --v some.csv --metric euclidean --base-measure uniform --epsilon 2 --exact --out q.npy'
echo '{"type":"box","lo":-9,"hi":9,"dim":2}' >box.json
watch 'deconvolution' "$count" 'dpot deconvolve --pool some.csv --mechanism gaussian --scale 0.5 --domain box.json --support 500 --iterations 1000000 --out points.csv'
watch 'devices \(wpm, epsilon 2\)' "$count" 'dpot simulate --campaign spec.json --data devices.csv --devices 20000 --in-process --out run'

dpotd init --dir server --listen 127.0.0.1:0 --json >init.json || exit 1
DPOT_TOKEN=$(json init.json token)
export DPOT_TOKEN
dpotd serve --config server/dpotd.json --ready-file url 2>log &
server=$!
wait_for url
url=$(cat url)
dpot campaign create spec.json --server "$url" --json >out || fail_with 'campaign create' out
watch 'base-measure' "($count|[0-9]+ s so far$)" "dpot job start base-measure --campaign $(json out id) method=mirror max_iterations=10000000 gap=0 --wait --server $url"

[ "$failed" -eq 0 ] && echo 'progress is shown where it should be'
exit "$failed"
