#!/bin/sh
# No report is lost or counted twice: eleven devices report to a server over a network that loses
# answers, answers 503 and 429, holds answers and hangs up; devices and server are killed and
# restarted, a seal key is replaced, reports become too old or make room. Then the sums of the
# devices' status must equal those of the server's /metrics and pools.
#   sh delivery.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"

init
start

new_campaign() { # NAME: leaves its id in $id
    cat >"$dir/spec.json" <<SPEC
{"name": "$1", "domain": {"type": "ring", "size": 8}, "metric": "ring",
 "mechanism": {"type": "wpm", "epsilon": 1, "lambda": 1, "iterations": 5, "base_measure": "uniform"},
 "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))"}
SPEC
    dpot campaign create "$dir/spec.json" --json >"$dir/new.json" || fail "create $1"
    id=$(json "$dir/new.json" id)
    dpot campaign open "$id" --quiet >/dev/null || fail "open $1"
}
new_campaign many && many=$id
new_campaign closing && closing=$id
new_campaign revised && revised=$id

# device NAME CAMPAIGN CONDUCTS [OPTION...]: behind its own network.
device() {
    name=$1 campaign=$2
    "$bin/delivery_network" "$dir/url" "$dir/$name.url" "$3" &
    others="$others $!"
    shift 3
    wait_for "$dir/$name.url"
    enroll "$name" "$campaign" "$@"
}
enroll() {
    name=$1 campaign=$2
    shift 2
    "$bin/dpot-device" enroll --server "$(cat "$dir/$name.url")" --campaign "$campaign" --pin "$pin" \
        --dir "$dir/$name" --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8 --quiet "$@" \
        >/dev/null || fail "enroll $name"
}
echo 3 >"$dir/place.csv"
report() { "$bin/dpot-device" report --dir "$dir/$1" --points "$dir/place.csv" --quiet >/dev/null; }
# flush NAME WAIT EXPECTED_EXIT, in the background; `flushed` waits for all of them.
flush() {
    (
        "$bin/dpot-device" flush --dir "$dir/$1" --wait-seconds "$2" --quiet >"$dir/$1.out" 2>&1
        code=$?
        [ "$code" -eq "$3" ] || { echo "flush $1: exit $code, expected $3"; cat "$dir/$1.out"; } >>"$dir/wrong"
    ) &
    flushes="$flushes $!"
}
flushed() {
    for process in $flushes; do
        wait "$process"
    done
    flushes=
    if [ -s "$dir/wrong" ]; then
        fail "$(cat "$dir/wrong")"
        rm -f "$dir/wrong"
    fi
}
flushes=

device lost "$many" lose,pass
device busy "$many" 503,pass
device limited "$many" 429,gone,pass
device expired "$many" pass
device old "$many" gone
device killed "$many" hold,pass
device arrived "$many" lose,gone
device cut "$many" pass
device patient "$many" pass
device closed "$closing" pass
device full "$revised" gone,pass --max-spool 2400
for name in lost busy limited expired old killed arrived patient closed full; do
    report "$name" || fail "report $name"
done

# A device killed at any moment of a report has made one report in the end.
for pause in 0 0.005 0.01 0.02 0.04; do
    "$bin/dpot-device" report --dir "$dir/cut" --points "$dir/place.csv" >/dev/null 2>&1 &
    sleep "$pause"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
done
report cut || fail 'report after kills'

# The server is killed, and a device finds no server.
stop KILL
flush patient 3 6
flushed
start

# A newer revision makes room for itself; the other campaign closes. Then all devices at once.
seq 1 8 | sed 's/.*/0.125/' >"$dir/measure.csv"
dpot campaign revise "$revised" --base-measure "$dir/measure.csv" --quiet >/dev/null || fail revise
dpot campaign open "$revised" --quiet >/dev/null || fail 'open the revision'
dpot campaign close "$closing" --quiet >/dev/null || fail close
enroll full "$revised" --max-spool 2400
report full || fail 'report to the newer revision'
for name in busy limited cut patient lost full; do
    flush "$name" 60 0
done
flush closed 60 7
flush arrived 6 6
flushed

# metric NAME [PATTERN]: the sum of its lines.
metric() {
    "$bin/delivery_network" get "$dir/url" /metrics |
        awk -v name="$1" -v pattern="${2:-}" \
            'index($1, name) == 1 && $1 ~ "^" name "([{]|$)" && (pattern == "" || index($1, pattern)) { n += $2 }
             END { print n + 0 }'
}

# A device is killed while its answer is in flight.
"$bin/dpot-device" flush --dir "$dir/killed" --wait-seconds 60 --quiet >/dev/null 2>&1 &
held=$!
for _ in $(seq 1 2400); do
    [ "$(metric dpotd_reports_accepted_total)" -ge 8 ] && break
    sleep 0.05
done
kill -9 "$held"
wait "$held" 2>/dev/null

# A new seal key in place of the old one; the server is stopped in order and started again.
old_key=$(ls "$dir/server/keys"/seal-*.key)
"$bin/dpotd" keys add --config "$dir/server/dpotd.json" >/dev/null || fail 'keys add'
rm "$old_key"
stop TERM
start
flush expired 60 0
flush killed 60 0
"$bin/delivery_late" "$dir/old" "$pin" 40 "$url" >/dev/null || fail 'late: old'
"$bin/delivery_late" "$dir/arrived" "$pin" 40 "$url" >/dev/null || fail 'late: arrived'
flushed
equal 'an expired key was answered with 410' "$(metric dpotd_batches_total 'status="410"')" 2

# The sums of the devices.
devices='lost busy limited expired old killed arrived cut patient closed full'
reasons='accepted duplicate rejected_malformed rejected_range rejected_group rejected_test rejected_token
    rejected_closed dropped_closed dropped_age dropped_malformed dropped_lost dropped_withdrawn dropped_spool pending'
for name in $devices; do
    "$bin/dpot-device" status --dir "$dir/$name" --json >"$dir/$name.json" || fail "status $name"
    sum=0
    for reason in $reasons; do
        sum=$((sum + $(json "$dir/$name.json" "$reason")))
    done
    equal "$name: submitted is the sum" "$sum" "$(json "$dir/$name.json" submitted)"
done
total() {
    n=0
    for name in $devices; do
        n=$((n + $(json "$dir/$name.json" "$1")))
    done
    echo "$n"
}
equal 'devices: submitted' "$(total submitted)" 12
equal 'devices: accepted' "$(total accepted)" 6
equal 'devices: duplicate' "$(total duplicate)" 2
equal 'devices: too old' "$(total dropped_age)" 2
equal 'devices: dropped for room' "$(total dropped_spool)" 1
equal 'devices: closed' "$(total dropped_closed)" 1
equal 'devices: pending' "$(total pending)" 0

# The server's sums, and both together.
accepted=$(metric dpotd_reports_accepted_total)
duplicate=$(metric dpotd_reports_duplicate_total)
rejected=$(metric dpotd_reports_rejected_total)
dropped=$(metric dpotd_reports_dropped_total)
equal 'server: submitted is the sum' "$(metric dpotd_reports_submitted_total)" \
    $((accepted + duplicate + rejected + dropped + $(metric dpotd_reports_pending)))
equal 'server: dropped is what devices dropped as closed' "$dropped" "$(total dropped_closed)"
equal 'server: rejected' "$rejected" 0
equal 'server: duplicates are those of the devices' "$duplicate" "$(total duplicate)"
equal 'both: accepted there is accepted or duplicate here, and one that had arrived when it was dropped' \
    "$accepted" $(($(total accepted) + $(total duplicate) + 1))
pools=0
for id in $many $closing $revised; do
    dpot pool "$id" --json >"$dir/pool.json" || [ $? -eq 7 ] || fail "pool $id"
    pools=$((pools + $(json "$dir/pool.json" accepted)))
done
equal 'both: the pools hold what was accepted' "$pools" "$accepted"

# Another restart of the server changes nothing.
stop TERM
start
equal 'server: accepted after a restart' "$(metric dpotd_reports_accepted_total)" "$accepted"
equal 'server: dropped after a restart' "$(metric dpotd_reports_dropped_total)" "$dropped"
equal 'server: submitted after a restart' "$(metric dpotd_reports_submitted_total)" \
    $((accepted + duplicate + rejected + dropped))

# A device whose clock is a day ahead: its round of one campaign has not opened at the server; its
# report to the other campaign is sent.
sed 's/"opens": .*/"rounds": 2, "opens": "'"$(stamp $((now - 60)))"'", "closes": "'"$(stamp $((now + 172800)))"'"}/' \
    "$dir/spec.json" >"$dir/two.json"
dpot campaign create "$dir/two.json" --json >"$dir/new.json" || fail 'create two'
two=$(json "$dir/new.json" id)
dpot campaign open "$two" --quiet >/dev/null || fail 'open two'
sed 's/"closes": "[^"]*"/"closes": "'"$(stamp $((now + 345600)))"'"/' "$dir/spec.json" >"$dir/long.json"
dpot campaign create "$dir/long.json" --json >"$dir/new.json" || fail 'create long'
long=$(json "$dir/new.json" id)
dpot campaign open "$long" --quiet >/dev/null || fail 'open long'
cp "$dir/url" "$dir/ahead.url"
enroll ahead "$two"
enroll ahead "$long"
check 'a future round is reported' 1 "DPOT_ERR_NOT_OPEN: campaign $two: round 1 has not opened at the server" \
    "$bin/delivery_late" "$dir/ahead" "$pin" 1 "$(cat "$dir/url")" "$two" "$long"
equal 'and the other campaign goes on' "$(cat "$dir/out")" '1 accepted, 1 pending'

conclude
