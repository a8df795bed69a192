#!/bin/sh
# Processes that run many devices each, and a server, are killed at random moments while a network
# between them loses answers, resets connections, answers 503, sends twice, and disks fill up. Then
# the sums of both sides are compared, and the pools with the answers to the devices, report by
# report.
#   sh chaos.sh BIN_FOLDER          (tests/chaos.sh is the long one, with its options)
# Environment: KILLS, DEVICES, SECONDS, SEED; DISK=tmpfs|limit: how a disk is full (default: tmpfs
# where one may be mounted, for the server and for the devices; otherwise the size of the server's
# files is limited by ulimit -f).
set -u
bin=$1
kills=${KILLS:-200}
devices=${DEVICES:-48}
seconds=${SECONDS:-400}
seed=${SEED:-$(date +%s)}
workers=4
disk=${DISK:-}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
server=
network=
running=
passed=0
failed=0

mounts=
finish() {
    for process in $running $network $server; do
        kill -9 "$process" 2>/dev/null && wait "$process" 2>/dev/null
    done
    if [ "$failed" -gt 0 ]; then
        mkdir "$dir/kept"
        cp -a "$dir/server" "$dir/devices" "$dir/kept"
    fi
    for mount in $mounts; do
        umount "$mount"
    done
    if [ "$failed" -gt 0 ]; then
        echo "kept: $dir; again: SEED=$seed KILLS=$kills DEVICES=$devices SECONDS=$seconds"
    else
        rm -rf "$dir"
    fi
}
trap finish EXIT
trap 'failed=1; exit 130' INT TERM

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAILED $1"
}
# holds NAME NUMBER TEST_OPERATOR NUMBER
holds() {
    if [ "$2" "$3" "$4" ]; then pass; else fail "$1: $2 $3 $4 does not hold"; fi
}
json() {
    sed -n 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\)"\{0,1\}[,}].*/\1/p' "$1" | head -n 1
}
value() { awk -v name="$2" '$1 == name { print $2 }' "$1"; }

# ---- disks ----

mkdir "$dir/server" "$dir/devices"
try_mount() { mount -t tmpfs -o "size=$2,mode=700" tmpfs "$1" 2>/dev/null && mounts="$1 $mounts"; }
if [ -z "$disk" ]; then
    disk=limit
    try_mount "$dir/server" 48m && try_mount "$dir/devices" 48m && disk=tmpfs
elif [ "$disk" = tmpfs ]; then
    { try_mount "$dir/server" 48m && try_mount "$dir/devices" 48m; } || {
        echo "DISK=tmpfs: mounting one is not allowed here: leave it out" >&2
        exit 2
    }
fi
fill() { dd if=/dev/zero of="$dir/$1/filler" bs=64k 2>/dev/null; }
empty() { rm -f "$dir/server/filler" "$dir/devices/filler"; }
# Blocks of 512 bytes that a file of the server may have: what there is and a little more.
limit() {
    size=$(stat -c %s "$dir"/server/*/dpot.db "$dir"/server/*/dpot.db-wal 2>/dev/null | sort -n | tail -n 1)
    echo $((${size:-65536} / 512 + 32))
}

# ---- processes ----

start() { # [BLOCKS]: the largest file
    rm -f "$dir/url"
    (
        [ -z "${1:-}" ] || ulimit -f "$1"
        exec "$bin/dpotd" serve --config "$dir/server/d/dpotd.json" --ready-file "$dir/url" 2>>"$dir/log"
    ) &
    server=$!
    for _ in $(seq 1 600); do
        [ -s "$dir/url" ] && return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    [ -n "${1:-}" ] || fail "the server does not start: $(tail -n 1 "$dir/log")"
    return 1
}
stop() { # SIGNAL
    kill "-$1" "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    server=
}
per_worker=$((devices / workers))
of_worker() { echo "$dir/devices/d" $(($1 * per_worker)) "$per_worker" "$pin"; }
pid_of() { echo "$running" | cut -d ' ' -f $(($1 + 1)); }
work() { # WORKER: starts it and puts it at its place in $running
    # shellcheck disable=SC2046
    "$bin/chaos_devices" run $(of_worker "$1") "$dir/network" $campaigns 2>>"$dir/worker.log" &
    running=$(echo "$running" | awk -v at=$(($1 + 1)) -v pid=$! '{ $at = pid; print }')
}
kill_worker() {
    kill -9 "$(pid_of "$1")" 2>/dev/null
    wait "$(pid_of "$1")" 2>/dev/null
}
dpot() { "$bin/dpot" "$@" --server "$(cat "$dir/url")" --quiet; }

# ---- sums ----

scrape() { "$bin/delivery_network" get "$dir/url" /metrics >"$dir/metrics" 2>/dev/null && grep -q '^dpotd_ids ' "$dir/metrics"; }
metric() { # NAME [PATTERN]
    awk -v name="$1" -v pattern="${2:-}" \
        'index($1, name) == 1 && $1 ~ "^" name "([{]|$)" && (pattern == "" || index($1, pattern)) { n += $2 }
         END { printf "%d\n", n + 0 }' "$dir/metrics"
}
# At any moment; accepted reports stay accepted after any kill.
accepted_before=0
n_laws=0
law() {
    scrape || return 0
    accepted=$(metric dpotd_reports_accepted_total)
    sum=$((accepted + $(metric dpotd_reports_duplicate_total) + $(metric dpotd_reports_rejected_total) + \
        $(metric dpotd_reports_dropped_total) + $(metric dpotd_reports_pending)))
    holds 'server: submitted is the sum' "$(metric dpotd_reports_submitted_total)" -eq "$sum"
    holds 'server: accepted stays' "$accepted" -ge "$accepted_before"
    accepted_before=$accepted
    n_laws=$((n_laws + 1))
}
sums_of_devices() { # FILE
    # shellcheck disable=SC2046
    "$bin/chaos_devices" status "$dir/devices/d" 0 $((per_worker * workers)) "$pin" >"$1" 2>"$1.err" ||
        fail "a device's sums: $(cat "$1.err")"
}

# ---- set-up ----

"$bin/dpotd" init --dir "$dir/server/d" --listen 127.0.0.1:0 --json >"$dir/init.json" || exit 1
pin=$(json "$dir/init.json" pin)
DPOT_TOKEN=$(json "$dir/init.json" token)
export DPOT_TOKEN
cp -a "$dir/server/d/keys" "$dir/observer"
start || exit 1
now=$(date -u +%s)
stamp() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }
new_campaign() { # NAME ROUND_SECONDS: its id is in $id then
    cat >"$dir/spec.json" <<SPEC
{"name": "$1", "domain": {"type": "ring", "size": 8}, "metric": "ring",
 "mechanism": {"type": "wpm", "epsilon": 0.05, "lambda": 1, "iterations": 5, "base_measure": "uniform"},
 "rounds": $((3600 / $2)), "opens": "$(stamp $((now - 2)))", "closes": "$(stamp $((now - 2 + 3600)))"}
SPEC
    dpot campaign create "$dir/spec.json" --json >"$dir/new.json" || fail "create $1"
    id=$(json "$dir/new.json" id)
    dpot campaign open "$id" >/dev/null || fail "open $1"
}
new_campaign rolling 3 && rolling=$id
new_campaign revised 8 && revised=$id
new_campaign closing 6 && closing=$id
campaigns="$rolling $revised $closing"
"$bin/chaos_network" "$dir/url" "$dir/network" "$seed" "$dir/observer" "$dir/observed" "$dir/calm" 2>"$dir/network.err" &
network=$!
for _ in $(seq 1 1200); do
    [ -s "$dir/network" ] && break
    sleep 0.05
done
running="0 0 0 0"
for worker in 0 1 2 3; do
    work "$worker"
done

# ---- the faults: which process is killed when, by the seed ----

awk -v seed="$seed" -v n="$kills" -v mean="$(awk "BEGIN { print $seconds / $kills }")" -v workers="$workers" 'BEGIN {
    srand(seed)
    for (i = 1; i <= n; i++) {
        printf "%d %.3f %s\n", i, 2 * mean * rand(), rand() < 1 / 3 ? "server" : int(workers * rand())
    }
}' >"$dir/schedule"
n_server=0
n_worker=0
n_full=0
copied=
# the moment at so many per cent of the kills
share() { [ "$i" -eq $((kills * $1 / 100 + (kills * $1 < 100))) ]; }
while read -r i pause victim <&3; do
    sleep "$pause"
    # Every tenth time a disk is full for a while, and a process is killed then.
    if [ $((i % 10)) -eq 5 ]; then
        n_full=$((n_full + 1))
        if [ "$disk" = tmpfs ]; then
            [ $((i % 20)) -eq 5 ] && fill server || fill devices
        else
            stop KILL
            n_server=$((n_server + 1))
            start "$(limit)"
        fi
        sleep 0.5
        law
    fi
    if [ "$victim" = server ] || [ -z "$server" ] || ! kill -0 "$server" 2>/dev/null; then
        law
        stop KILL
        n_server=$((n_server + 1))
        empty
        start || break
    else
        kill_worker "$victim"
        n_worker=$((n_worker + 1))
        work "$victim"
        empty
        [ $((i % 10)) -ne 5 ] || [ "$disk" = tmpfs ] || { stop TERM && start; }
    fi
    [ $((i % 5)) -ne 0 ] || law
    if share 25; then
        seq 1 8 | sed 's/.*/0.125/' >"$dir/measure.csv"
        dpot campaign revise "$revised" --base-measure "$dir/measure.csv" >/dev/null || fail revise
        dpot campaign open "$revised" >/dev/null || fail 'open the revision'
    fi
    if share 50; then
        copied=$(wc -l <"$dir/observed")
        "$bin/dpotd" backup --config "$dir/server/d/dpotd.json" --to "$dir/copy.db" >/dev/null || fail backup
    fi
    if share 62; then
        old_key=$(ls "$dir"/server/d/keys/seal-*.key)
        "$bin/dpotd" keys add --config "$dir/server/d/dpotd.json" >/dev/null || fail 'keys add'
        cp -a "$dir"/server/d/keys/seal-*.key "$dir/observer"
        rm "$old_key"
        stop KILL
        n_server=$((n_server + 1))
        start || break
    fi
    if share 75; then
        dpot campaign close "$closing" >/dev/null || fail close
    fi
done 3<"$dir/schedule"

# ---- without faults ----

for worker in 0 1 2 3; do
    kill_worker "$worker"
done
running=
law
sums_of_devices "$dir/stormy"
touch "$dir/calm"
stop TERM
start || exit 1
for worker in 0 1 2 3; do
    # shellcheck disable=SC2046
    "$bin/chaos_devices" settle $(of_worker "$worker") "$dir/network" 60 2>>"$dir/worker.log" &
    running="$running $!"
done
for process in $running; do
    wait "$process"
done
running=
law
sums_of_devices "$dir/settled"
pools=0
for id in $campaigns; do
    for revision in 1 2; do
        [ "$id" = "$revised" ] || [ "$revision" -eq 1 ] || continue
        dpot pool "$id" --revision "$revision" --json >"$dir/pool.json" || [ $? -eq 7 ] || fail "pool $id"
        pools=$((pools + $(json "$dir/pool.json" accepted)))
    done
done
stop TERM
start || exit 1 # its counts are the same after a restart
law
stop TERM

"$bin/chaos_verify" "$dir/server/d/dpot.db" "$dir/observed" >"$dir/ids" 2>"$dir/ids.err" ||
    fail "report by report: $(head -n 5 "$dir/ids.err"; cat "$dir/ids")"
# The comparison detects a missing acknowledged report, one that was not sent, and an altered one.
caught() { # NAME LOG
    if "$bin/chaos_verify" "$dir/server/d/dpot.db" "$2" >/dev/null 2>&1; then fail "not seen: $1"; else pass; fi
}
counted=$(awk '$3 == "accepted" { print $2; exit }' "$dir/observed")
{ cat "$dir/observed" && echo "lost ffffffffffffffffffffffffffffffff accepted"; } >"$dir/twin"
caught 'a report that was acknowledged and is missing' "$dir/twin"
grep -v -F "sent $counted" "$dir/observed" >"$dir/twin"
caught 'a report that nobody sent' "$dir/twin"
awk -v id="$counted" '$1 == "sent" && $2 == id { $4 = ($4 + 1) % 8 } { print }' "$dir/observed" >"$dir/twin"
caught 'a report that differs from the one sent' "$dir/twin"
{ cat "$dir/observed" && echo "told $counted accepted"; } >"$dir/twin"
caught 'a report that was accepted twice' "$dir/twin"
if [ -n "$copied" ]; then
    "$bin/chaos_verify" "$dir/copy.db" "$dir/observed" "$copied" >"$dir/copy_ids" 2>"$dir/copy_ids.err" ||
        fail "the backup made meanwhile: $(head -n 5 "$dir/copy_ids.err")"
fi
"$bin/dpotd" doctor --config "$dir/server/d/dpotd.json" >"$dir/doctor" 2>&1 || fail "doctor: $(cat "$dir/doctor")"

# The log identifies no device: no report by its id, no address but the server's own.
awk '$1 == "sent" { print $2 }' "$dir/observed" >"$dir/sent"
if grep -q -F -f "$dir/sent" "$dir/log"; then fail 'the log names a report'; else pass; fi
if grep -v ' url=\|listening on' "$dir/log" | grep -q '127\.0\.0\.1'; then fail 'the log has an address'; else pass; fi

# ---- both sides ----

d() { value "$dir/settled" "$1"; }
answered=$(($(d accepted) + $(d duplicate)))
ended=$(awk '$1 ~ /^dropped/ || $1 == "pending" { n += $2 } END { print n + 0 }' "$dir/settled")
pooled=$(value "$dir/ids" ids_pooled)
accepted=$(metric dpotd_reports_accepted_total)
holds 'server: accepted is what is in the pools' "$accepted" -eq "$pooled"
holds 'server: the pools say so' "$pools" -eq "$pooled"
holds 'both: a device counts as answered what was delivered to it' "$answered" -le "$(value "$dir/ids" ids_told)"
holds 'both: what is counted was answered here, or has ended or waits here' "$((pooled - answered))" -le "$ended"
holds 'both: what is counted was answered here, or more' "$pooled" -ge "$answered"
holds 'both: no report was sent that was not submitted' "$(value "$dir/ids" ids_sent)" -le "$(d submitted)"
holds 'devices: rejected' "$(awk '$1 ~ /^rejected/ { n += $2 } END { print n + 0 }' "$dir/settled")" -eq 0
holds 'server: rejected' "$(metric dpotd_reports_rejected_total)" -eq 0
holds 'everything was sent in the end' "$(d pending)" -eq 0
holds 'there was something to count' "$accepted" -gt "$devices"

row() { printf '| %-20s | %17s | %17s | %9s |\n' "$@"; }
row '' 'devices, stormy' 'devices, in the end' server
row --- ---: ---: ---:
row submitted "$(value "$dir/stormy" submitted)" "$(d submitted)" "$(metric dpotd_reports_submitted_total)"
row accepted "$(value "$dir/stormy" accepted)" "$(d accepted)" "$accepted"
row duplicate "$(value "$dir/stormy" duplicate)" "$(d duplicate)" "$(metric dpotd_reports_duplicate_total)"
for reason in malformed range group test token closed; do
    row "rejected $reason" "$(value "$dir/stormy" "rejected_$reason")" "$(d "rejected_$reason")" \
        "$(metric dpotd_reports_rejected_total "\"$reason\"")"
done
for reason in closed age malformed lost withdrawn spool unknown round not_open store; do
    stormy=$(value "$dir/stormy" "dropped_$reason")
    settled=$(d "dropped_$reason")
    row "dropped $reason" "${stormy:--}" "${settled:--}" "$(grep -q "dropped_total{reason=\"$reason\"" "$dir/metrics" &&
        metric dpotd_reports_dropped_total "\"$reason\"" || echo -)"
done
row pending "$(value "$dir/stormy" pending)" "$(d pending)" "$(metric dpotd_reports_pending)"
echo
echo "across: $pooled reports in the pools = $answered accepted or duplicate at their devices" \
    "+ $((pooled - answered)) that arrived and were dropped there before their answer was delivered"
echo "report by report: $(tr '\n' ' ' <"$dir/ids")"
echo "kills: $n_server of the server, $n_worker of devices; $n_full times a full disk ($disk); sums of the server" \
    "checked $n_laws times; seed $seed"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
