#!/bin/sh
# Damage on disk is named, refused, and repaired as the man pages say, on the server and on the
# device: pages and length of the store, keys, tokens and configuration; ledger, spool, campaigns
# and keys of a device; and the store's files removed, renamed and replaced while they are served.
#   sh damage.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"

device() { # COMMAND NAME [OPTION...]
    command=$1 folder=$2
    shift 2
    "$bin/dpot-device" "$command" --dir "$dir/$folder" "$@"
}
doctor() { "$bin/dpotd" doctor --config "$dir/server/dpotd.json"; }
# must end by itself
serve() { timeout 900 "$bin/dpotd" serve --config "$dir/server/dpotd.json" --listen 127.0.0.1:0; }

# ---- a server with reports, and two devices: one answered, one with a pending report ----

init
"$bin/dpotd" init --dir "$dir/other" --listen 127.0.0.1:0 --json >/dev/null || exit 1
start
open_front
cat >"$dir/spec.json" <<'SPEC'
{"name": "damage", "domain": {"type": "ring", "size": 8}, "metric": "ring",
 "mechanism": {"type": "wpm", "epsilon": 1, "lambda": 1, "iterations": 5, "base_measure": "uniform"},
 "opens": "2020-01-01T00:00:00Z", "closes": "2100-01-01T00:00:00Z"}
SPEC
dpot campaign create "$dir/spec.json" --json >"$dir/new.json" || fail create
id=$(json "$dir/new.json" id)
dpot campaign open "$id" >/dev/null || fail open
echo 3 >"$dir/place.csv"
enroll() { # NAME
    device enroll "$1" --server "$front" --campaign "$id" --pin "$pin" --campaign-cap 4 \
        --window-cap 4 --window-seconds 86400 --lifetime-cap 8 --quiet >/dev/null || fail "enroll $1"
}
for name in answered waiting fresh; do
    enroll "$name"
done
device report answered --points "$dir/place.csv" --quiet >/dev/null || fail report
cp -a "$dir/answered" "$dir/sends_again"
device report waiting --points "$dir/place.csv" --quiet >/dev/null || fail report
device flush answered --wait-seconds 60 --quiet >/dev/null || fail flush
"$bin/dpotd" backup --config "$dir/server/dpotd.json" --to "$dir/copy.db" >/dev/null || fail backup
stop
cp -a "$dir/server" "$dir/good"
again() { rm -rf "$dir/server" && cp -a "$dir/good" "$dir/server"; }
bytes() { head -c "$1" /dev/zero | tr '\0' '\377'; }
overwrite() { bytes "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; } # FILE AT N
# Changes every byte, of a file that is no text.
alter() { # FILE AT N
    dd if="$1" of="$dir/altered" bs=1 skip="$2" count="$3" 2>/dev/null
    LC_ALL=C tr '\000-\377' '\001-\377\000' <"$dir/altered" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# ---- the store ----

pages=$(($(stat -c %s "$dir/server/dpot.db") / 4096))
page=0
while [ "$page" -lt "$pages" ]; do
    again
    bytes 4096 | dd of="$dir/server/dpot.db" bs=4096 seek="$page" conv=notrunc 2>/dev/null
    check "page $page of the store" not0 'from a backup' doctor
    check "page $page of the store: a backup" 3 'from a backup\|older backup' "$bin/dpotd" backup --config "$dir/server/dpotd.json" --to "$dir/page.db"
    [ ! -e "$dir/page.db" ] || fail "page $page of the store gave a backup"
    page=$((page + 1))
done
# Damaged pages without which no server starts give one sentence.
for page in 0 1; do
    again
    bytes 4096 | dd of="$dir/server/dpot.db" bs=4096 seek="$page" conv=notrunc 2>/dev/null
    check "serving with page $page damaged" not0 'restore the file from a backup' serve
done
again
truncate -s 30000 "$dir/server/dpot.db"
check 'a store that was cut' 3 'restore the file from a backup' doctor
check 'serving a store that was cut' 3 'restore the file from a backup' serve
again
echo 'no database, although it is longer than a line' >"$dir/server/dpot.db"
check 'a store that is none' 3 'not a database' doctor
check 'serving a store that is none' 3 'not a database' serve

# The remedy: the copy, where reports counted before are duplicates.
check 'the damaged store is replaced by the copy' 0 'replaced-' \
    "$bin/dpotd" restore --config "$dir/server/dpotd.json" --from "$dir/copy.db"
check 'and the doctor is content' 0 'are fine' doctor
start
check 'a report of before is not counted again' 0 'duplicate: 1' device flush sends_again --wait-seconds 60
check 'a report of after is counted' 0 'accepted: 1' device flush waiting --wait-seconds 60
dpot pool "$id" --json >"$dir/pool.json" || [ $? -eq 7 ] || fail pool
check 'each is there once' 0 '"accepted": *2[,}]' cat "$dir/pool.json"
check 'a copy of a damaged file is no backup' not0 'damaged\|malformed\|not a database' \
    sh -c 'bytes=$1; printf nonsense >"$2"; "$3" restore --config "$4" --from "$2"' - x "$dir/bad.db" \
    "$bin/dpotd" "$dir/other/dpotd.json"

# ---- the store after a crash ----

stop
again
start
enroll crashed
device report crashed --points "$dir/place.csv" --quiet >/dev/null || fail report
device flush crashed --wait-seconds 60 --quiet >/dev/null || fail flush
stop KILL 2>/dev/null
check 'the doctor reads it after a crash' 0 '2 accepted' doctor
start
dpot pool "$id" --json >"$dir/pool.json" || [ $? -eq 7 ] || fail pool
check 'what a crash left has everything' 0 '"accepted": *2[,}]' cat "$dir/pool.json"

# ---- keys, tokens, configuration ----

stop
named() { # NAME EXIT PATTERN: by the doctor and by the server
    check "doctor: $1" "$2" "$3" doctor
    check "serve: $1" "$2" "$3" serve
}
again && overwrite "$dir/server/keys/signing.key" 40 4
named 'a damaged signing key' 3 'signing.key.*restore it from a backup'
again && rm "$dir/server/keys/signing.key"
named 'no signing key' 6 'signing.key'
again && cp "$dir/other/keys/signing.key" "$dir/server/keys/signing.key"
named 'the signing key of another' 3 'restore the key or the store that belong together'
again && chmod 644 "$dir/server/keys/signing.key"
named 'a signing key that all can read' 3 'chmod 600'
again && chmod 770 "$dir/server/keys"
named 'a folder of keys that others can write' 3 'chmod go-w'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    again && chmod 755 "$dir" && chmod -R o+rX "$dir/server" && chmod 600 "$dir"/server/keys/*
    check 'the keys of another user' 6 'run dpotd as the one who owns it' \
        setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/dpotd" doctor --config "$dir/server/dpotd.json"
fi
again && for key in "$dir"/server/keys/seal-*.key; do overwrite "$key" 60 4; done
named 'a damaged seal key' 3 'seal-.*restore it from a backup'
again && rm "$dir"/server/keys/seal-*.key
named 'no seal key' 3 'no seal-'
again && overwrite "$dir/server/tokens" 10 4
named 'damaged tokens' 3 'line 1 of the tokens file'
again && : >"$dir/server/tokens"
check 'tokens without one' 3 'holds no token.*add a line' doctor
again && tr '\0-\377' '\0' <"$dir/good/tokens" >"$dir/server/tokens"
check 'tokens that are zeros' 3 'holds no token.*add a line' doctor
again && chmod 644 "$dir/server/tokens"
check 'tokens that all can read' 0 'tokens can be read by others.*chmod 600' doctor
again && chmod 666 "$dir/server/tokens"
check 'tokens that all can write' 3 'tokens can be written by others.*chmod 600' doctor
for file in tokens dpotd.json keys/signing.key "$(cd "$dir/good" && ls keys/seal-*.key | head -n 1)"; do
    again && rm "$dir/server/$file" && mkfifo -m 600 "$dir/server/$file"
    named "a pipe in the place of $file" 3 'put a plain file there'
done
again && overwrite "$dir/server/dpotd.json" 3 4
named 'a damaged configuration' 3 'dpotd.json: JSON line'
again
check 'nothing was wrong with the rest' 0 'are fine' doctor

# ---- the store's files, while they are served ----

db=$dir/server/dpot.db
accepted() { # N
    dpot pool "$id" --json >"$dir/pool.json" || [ $? -eq 7 ] || fail pool
    check "$1 reports are there" 0 "\"accepted\": *$1[,}]" cat "$dir/pool.json"
}
# becomes STATUS: of /readyz, which says what the latest check of the store has found.
becomes() {
    for _ in $(seq 100); do
        status=$(curl -s -o "$dir/readyz" -w '%{http_code}' "$url/readyz")
        [ "$status" != "$1" ] || break
        sleep 0.1
    done
    echo "$status"
}
# One report is in the database, another only in the log.
serve_two() {
    [ -z "$server" ] || stop
    again
    rm -rf "$dir/first" "$dir/second" "$dir/first_again" "$dir/second_again"
    cp -a "$dir/fresh" "$dir/first"
    cp -a "$dir/fresh" "$dir/second"
    start
    : >"$dir/log"
    device report first --points "$dir/place.csv" --quiet >/dev/null || fail report
    device report second --points "$dir/place.csv" --quiet >/dev/null || fail report
    cp -a "$dir/first" "$dir/first_again"
    cp -a "$dir/second" "$dir/second_again" # so that each wait is equally short
    check 'a report before' 0 'accepted: 1' device flush first --wait-seconds 60
}
# refused NAME PATTERN: not ready, no report is accepted, and the log has the reason, once.
refused() {
    check "$1: not ready" 0 503 becomes 503
    check "$1: the reason" 0 "$2" grep store.files "$dir/log"
    check "$1: the device keeps its report" 6 '1 pending' device flush second --wait-seconds 0
    check "$1: logged once" 0 '^1$' grep -c 'store.files.*state=refused' "$dir/log"
}

stop_with() { # EXIT
    kill -TERM "$server"
    wait "$server"
    code=$?
    server=
    equal 'SIGTERM: exit' "$code" "$1"
}

serve_two
rm "$db-wal"
refused 'a log that was removed' 'dpot.db-wal was removed'
stop
check 'nothing was lost' 0 'reports: 2 accepted' doctor
start
check 'and it goes on' 0 'accepted: 1' device flush second_again --wait-seconds 60
accepted 3

serve_two
mv "$db" "$dir/aside.db"
refused 'a store that was renamed' 'dpot.db was removed or renamed'
check 'the doctor misses it' 3 'missing' doctor
mv "$dir/aside.db" "$db"
check 'under its name it is taken up' 0 200 becomes 200
check 'and goes on' 0 'accepted: 1' device flush second_again --wait-seconds 60
accepted 3
stop

serve_two
cp "$dir/copy.db" "$dir/aside.db"
mv "$dir/aside.db" "$db"
refused 'a store that was replaced' 'dpot.db was replaced'
check 'the doctor sees that' 3 'is not the file that process' doctor
stop_with 6 # the replaced store has no name left, and is saved
check 'the copy in its place is whole' 0 'reports: 1 accepted' doctor

serve_two
rm "$db"
refused 'a store that was removed' 'dpot.db was removed'
check 'the doctor misses that too' 3 'missing' doctor
stop_with 6
check 'the log has its new name' 0 'rescued-' grep 'store.files' "$dir/log"
check 'an empty one is not begun' 3 'dpotd restore' serve
check 'nor is it fine' 3 'dpotd restore' doctor
check 'nor migrated' 3 'dpotd restore' "$bin/dpotd" migrate --config "$dir/server/dpotd.json"
check 'what was saved is restored' 0 'restored 2 accepted' \
    "$bin/dpotd" restore --config "$dir/server/dpotd.json" --from "$(ls "$db".rescued-*)"
start
check 'and goes on from there' 0 'accepted: 1' device flush second_again --wait-seconds 60
check 'a report of before is a duplicate' 0 'duplicate: 1' device flush first_again --wait-seconds 60
accepted 3
stop

# An interrupted restore: the former store has two names, or a copy is incomplete.
again
ln "$db" "$db.replaced-20260101T000000Z"
echo half >"$db.restoring"
start
accepted 1
check 'its traces are gone' not0 'No such file' ls "$db.restoring" "$db.replaced-20260101T000000Z"
stop

again
start

# ---- devices ----

cp -a "$dir/fresh" "$dir/plain"
device report plain --points "$dir/place.csv" --quiet >/dev/null || fail report
of() { rm -rf "$dir/d" && cp -a "$dir/$1" "$dir/d"; }
of plain && alter "$dir/d/ledger" 300 4
check 'a damaged ledger has spent everything' 4 'whole budget of this install counts as spent' \
    device report d --points "$dir/place.csv"
of plain && rm "$dir/d/ledger"
check 'a ledger that is gone has spent everything' 4 'whole budget of this install counts as spent' \
    device report d --points "$dir/place.csv"
of plain && alter "$dir/d/spool" 300 4
check 'a damaged report is lost, and counted' 0 'dropped_lost: 1' device status d
check 'and none is sent' 0 '0 answered, 0 pending' device flush d --wait-seconds 5
of plain && rm "$dir/d/spool"
check 'a spool that is gone is counted' 0 'dropped_lost: 1' device status d
of fresh && for file in "$dir"/d/campaign-*; do alter "$file" 200 4; done # in the signature
check 'an altered campaign is not reported to' 3 'altered or damaged' device report d --points "$dir/place.csv"
device enroll d --quiet >/dev/null 2>&1 || enroll d
check 'enrolling again repairs it' 0 'report' device report d --points "$dir/place.csv"
of plain && alter "$dir/d/keys" 100 4
check 'damaged keys are fetched again' 0 'accepted: 1' device flush d --wait-seconds 60
stop

conclude
