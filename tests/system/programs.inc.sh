# Shared by the tests that run the three programs.
#   . programs.inc.sh     with the folder of the programs in $1, from a folder beside it, or from
#                         elsewhere with its folder in $system
. "${system:-$(dirname "$0")/..}/scratch.inc.sh"

# check NAME EXPECTED_EXIT PATTERN COMMAND...: runs it; the pattern must be in its output.
# EXPECTED_EXIT "not0": any other code that is not a signal's.
check() {
    name=$1 expected=$2 pattern=$3
    shift 3
    "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    [ "$expected" != not0 ] || { [ "$code" -ne 0 ] && [ "$code" -lt 100 ] && expected=$code; }
    if [ "$code" = "$expected" ] && cat "$dir/out" "$dir/err" | grep -qi -- "$pattern"; then
        pass
    else
        fail "$name: exit $code (expected $expected), looked for: $pattern"
        sed 's/^/    /' "$dir/out" "$dir/err"
    fi
}
equal() { # NAME FOUND EXPECTED
    if [ "$2" = "$3" ]; then pass; else fail "$1: $2, expected $3"; fi
}
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

# ---- the server, in $dir/server, at $url ----

# Its pin and its administrator's token.
init() {
    "$bin/dpotd" init --dir "$dir/server" --listen 127.0.0.1:0 --json >"$dir/init.json"
    take_init
}
take_init() {
    pin=$(json "$dir/init.json" pin)
    DPOT_TOKEN=$(json "$dir/init.json" token)
    export DPOT_TOKEN
}
start() { # OPTIONS
    rm -f "$dir/url"
    "$bin/dpotd" serve --config "$dir/server/dpotd.json" --ready-file "$dir/url" "$@" 2>>"$dir/log" &
    server=$!
    wait_for "$dir/url"
    url=$(cat "$dir/url")
}
# $front: an address of the server for devices, the same after a restart on another port.
open_front() {
    "$bin/delivery_network" "$dir/url" "$dir/front" pass &
    others="$others $!"
    wait_for "$dir/front"
    front=$(cat "$dir/front")
}
stop() { # SIGNAL: TERM unless named, after which it must end with 0
    kill "-${1:-TERM}" "$server"
    wait "$server"
    code=$?
    server=
    [ "${1:-TERM}" != TERM ] || equal 'SIGTERM: exit' "$code" 0
}
# The programs as the administrator calls them.
dpot() { "$bin/dpot" "$@" --server "$url"; }

# Prints the counts; fails if a check failed.
conclude() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
