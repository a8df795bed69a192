# Shared by the tests that run programs in a scratch folder.
#   . scratch.inc.sh     with the folder of the programs in $1
# Sets $bin, $dir (removed at the end; $server and $others are stopped) and $now.
bin=$(cd "$1" && pwd)
dir=$(mktemp -d)
server=
others= # further processes to stop at the end
passed=0
failed=0
now=$(date -u +%s)
finish() {
    for process in $others $server; do
        kill "$process" 2>/dev/null && wait "$process" 2>/dev/null
    done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAILED $1"
}
# need COMMAND...: ends the test if it fails; its output is in $dir/out.
need() {
    "$@" >"$dir/out" 2>"$dir/err" || { echo "FAILED to prepare: $*"; cat "$dir/out" "$dir/err"; exit 1; }
}
# json FILE KEY: the value of a key of a one-line JSON object.
json() { sed -n 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\)"\{0,1\}[,}].*/\1/p' "$1" | head -n 1; }
stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
wait_for() { # FILE: until it exists and is not empty
    for _ in $(seq 1 2400); do
        [ -s "$1" ] && return
        sleep 0.05
    done
    fail "$1 does not appear"
}
