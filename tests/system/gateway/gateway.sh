#!/bin/sh
# Devices behind client/doc/examples/gateway.py: lists that the server finds too long, a damaged
# body, a gateway that is killed after its reports were stored, lost answers, a server that is down,
# a campaign that closes. Then the pool holds the report of each device once.
#   sh gateway.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"
gateway_py=$(cd "$(dirname "$0")/../../.." && pwd)/client/doc/examples/gateway.py

# ---- the gateway alone, before a server that answers as the tests say ----

check 'test_gateway.py' 0 '^OK' env PYTHONDONTWRITEBYTECODE=1 "PYTHONPATH=${gateway_py%/*}" \
    python3 "$(dirname "$0")/test_gateway.py"

init
start
cat >"$dir/spec.json" <<SPEC
{"name": "behind", "domain": {"type": "ring", "size": 8}, "metric": "ring",
 "mechanism": {"type": "wpm", "epsilon": 1, "lambda": 1, "iterations": 5, "base_measure": "uniform"},
 "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))"}
SPEC
check create 0 '"id"' dpot campaign create "$dir/spec.json" --json
id=$(json "$dir/out" id)
check open 0 open dpot campaign open "$id"

# What becomes of the POSTs of the gateway, in turn.
"$bin/delivery_network" "$dir/url" "$dir/front" 413,404,pass,pass,pass,pass,pass,hold,lose,pass &
others="$others $!"
wait_for "$dir/front"

# The gateway on its port, the same after a restart: gateway OPTION...
port=0
gateway() {
    rm -f "$dir/gateway.url"
    python3 "$gateway_py" --upstream "$(cat "$dir/front")" --listen "127.0.0.1:$port" --keep 600 \
        --ready-file "$dir/gateway.url" "$@" 2>>"$dir/gateway.log" &
    gateway=$!
    others="$others $gateway"
    wait_for "$dir/gateway.url"
    port=$(sed 's/.*://' "$dir/gateway.url")
}
kill_gateway() {
    kill -9 "$gateway"
    wait "$gateway" 2>/dev/null
}
enroll() { # NAME
    "$bin/dpot-device" enroll --server "$(cat "$dir/gateway.url")" --campaign "$id" --pin "$pin" --dir "$dir/$1" \
        --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8 --quiet
}
report() { "$bin/dpot-device" report --dir "$dir/$1" --points "$dir/place.csv" --quiet >/dev/null; }
# flush WAIT EXPECTED_EXIT NAME...: all at once, until each has ended.
flush() {
    wait=$1 expected=$2 flushes=
    shift 2
    for name in "$@"; do
        "$bin/dpot-device" flush --dir "$dir/$name" --wait-seconds "$wait" --quiet >"$dir/$name.out" 2>&1 &
        flushes="$flushes $!"
    done
    [ -z "${meanwhile:-}" ] || "$meanwhile"
    for process in $flushes; do
        wait "$process"
        equal 'flush: exit' $? "$expected"
    done
}
metric() { # NAME [LABEL]: the sum of its lines
    "$bin/delivery_network" get "$dir/url" /metrics |
        awk -v name="$1" -v label="${2:-}" \
            '$1 ~ "^" name "([{]|$)" && (label == "" || index($1, label)) { n += $2 } END { print n + 0 }'
}

# ---- keys and campaigns come through the gateway, and few of them from the server ----

gateway --batch 8 --wait 25
first='a1 a2 a3 a4 a5 a6 a7' second='b1 b2 b3 b4 b5 b6 b7 b8' third='c1 c2 c3'
answers=$(metric dpotd_http_answers_total 2xx)
echo 3 >"$dir/place.csv"
for name in $first $second $third late; do
    enroll "$name" >"$dir/out" 2>&1 || fail "enroll $name: $(cat "$dir/out")"
    report "$name" || fail "report $name"
done
equal 'the gateway asked for the keys and the campaign once' "$(metric dpotd_http_answers_total 2xx)" $((answers + 3))
cat >"$dir/ask.py" <<'PY'
import sys, urllib.error, urllib.request
body = b"DPB2" + bytes(200) if len(sys.argv) > 2 else None
try:
    urllib.request.urlopen(sys.argv[1], body)
except urllib.error.HTTPError as answer:
    print(answer.code, answer.headers["Content-Type"], answer.read().decode())
PY
check 'other paths do not pass' 0 '^404 text/plain' python3 "$dir/ask.py" "$(cat "$dir/gateway.url")/metrics"

# ---- seven reports and a damaged body: the list is too long, its first half goes body by body ----

send_damaged() {
    python3 "$dir/ask.py" "$(cat "$dir/gateway.url")/v1/campaigns/$id/reports" damaged >"$dir/damaged"
}
meanwhile=send_damaged
flush 60 0 $first
meanwhile=
check 'the damaged body has the refusal of its own' 0 '^410 application/json {.*"batch":"[0-9a-f]\{64\}"' cat "$dir/damaged"
equal 'seven batches were accepted' "$(metric dpotd_batches_total 202)" 7
equal 'and one refused' "$(metric dpotd_batches_total 410)" 1

# ---- the gateway is killed after the commit and before its devices have their answers ----

replace_gateway() {
    for _ in $(seq 1 2400); do
        [ "$(metric dpotd_reports_accepted_total)" -ge 15 ] && break
        sleep 0.05
    done
    kill_gateway
    gateway --batch 8 --wait 0.5
}
meanwhile=replace_gateway
flush 90 0 $second
meanwhile=

# ---- the server is down ----

stop KILL
flush 2 6 $third
start
flush 60 0 $third

# ---- the sums ----

total() { # KEY: of the status of the devices
    for name in $first $second $third; do
        "$bin/dpot-device" status --dir "$dir/$name" --json >"$dir/status.json" || fail "status $name"
        json "$dir/status.json" "$1"
    done | awk '{ n += $1 } END { print n + 0 }'
}
accepted=$(total accepted)
duplicate=$(total duplicate)
equal 'each device has its receipt' $((accepted + duplicate)) 18
equal 'none waits' "$(total pending)" 0
equal 'each report counts once' "$(metric dpotd_reports_accepted_total)" 18
[ "$duplicate" -ge 8 ] && pass || fail "duplicates: $duplicate, expected the eight whose answers were lost"
dpot pool "$id" --json >"$dir/pool.json" || fail 'pool'
equal 'the pool holds them' "$(json "$dir/pool.json" accepted)" 18

# ---- the campaign closes: the gateway forgets its copy with the first refusal ----

check close 0 closed dpot campaign close "$id"
check 'a report that came too late' 7 closed "$bin/dpot-device" flush --dir "$dir/late" --wait-seconds 60
check 'a device that comes later' 7 closed enroll later

conclude
