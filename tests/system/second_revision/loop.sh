#!/bin/sh
# The whole loop with the three programs: revision 1 with a uniform base measure, a job for a better
# one that survives kill -9, revision 2 signed from its artifact, devices that enroll again and are
# charged again.
#   sh loop.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"

init
start
open_front

cat >"$dir/spec.json" <<SPEC
{"name": "loop", "domain": {"type": "grid", "lo": [0, 0], "hi": [1, 1], "shape": [5, 5]},
 "output": "same", "metric": "euclidean", "power": 1, "min_pool": 3,
 "mechanism": {"type": "wpm", "epsilon": 2, "lambda": 0.1, "iterations": 60, "base_measure": "uniform"},
 "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))"}
SPEC
dpot campaign create "$dir/spec.json" --json >"$dir/created.json"
id=$(json "$dir/created.json" id)
dpot campaign open "$id" --quiet >/dev/null

printf '0.1,0.1\n0.9,0.2\n' >"$dir/points.csv"
device() {
    command=$1 folder=$2
    shift 2
    "$bin/dpot-device" "$command" --dir "$dir/$folder" "$@" >"$dir/device.out" 2>"$dir/device.err" ||
        { fail "dpot-device $command $folder"; cat "$dir/device.out" "$dir/device.err"; }
}
enroll() {
    device enroll "$1" --server "$front" --campaign "$id" --pin "$pin" \
        --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8
}

# Revision 1.
for n in 1 2; do
    enroll "d$n"
    device report "d$n" --points "$dir/points.csv"
    device flush "d$n"
done
check 'an estimate waits for the minimum pool' 7 'not yet: 2 of 3 accepted reports' \
    dpot job start estimate --campaign "$id"
enroll d3
device report d3 --points "$dir/points.csv"
device flush d3
enroll d4
device report d4 --points "$dir/points.csv" # then stays offline
check 'an estimate of the pool' 0 '"state": *"done"' \
    dpot job start estimate --campaign "$id" --wait --json
estimate=$(json "$dir/out" artifact)
check 'its frequencies' 0 '"pool_count": *3' \
    dpot artifact get "$estimate" --out "$dir/estimate.csv" --json
[ "$(awk '{ s += $1 } END { printf "%.9f", s }' "$dir/estimate.csv")" = 1.000000000 ] && pass ||
    fail 'the frequencies do not sum to 1'

check 'the pool of revision 1' 0 '"state": *"open"' \
    dpot pool "$id" --out "$dir/before.npy" --json
cp "$dir/before.npy.json" "$dir/before.json"

# Refusals.
check 'unknown kind' 3 'choose base-measure, .*generator' dpot job start frobnicate --campaign "$id"
check 'unknown parameter' 3 'parameters.methd' \
    dpot job start base-measure --campaign "$id" methd=mirror
check 'a parameter without a value' 2 'key=value' \
    dpot job start base-measure --campaign "$id" mirror
check 'no campaign' 2 campaign dpot job start estimate
check 'an unknown job' 3 'no job' dpot job show 00000000000000000000000000000000
check 'no job ID' 2 'no job ID' dpot job show xyz
check 'no digest' 2 digest dpot artifact get xyz --out "$dir/x.npy"
check 'an estimate is no base measure' 3 'of kind estimate' \
    dpot campaign revise "$id" --base-measure "artifact:$estimate"
printf '0.5\n0.5\n' >"$dir/short.csv"
check 'a base measure of the wrong length' 3 '2 entries: give 25 numbers' \
    dpot campaign revise "$id" --base-measure "$dir/short.csv"
{ echo -0.01; for _ in $(seq 24); do echo 0.04; done; } >"$dir/negative.csv"
check 'a base measure with a negative mass' 3 'base_measure' \
    dpot campaign revise "$id" --base-measure "$dir/negative.csv"
for _ in $(seq 25); do echo 1; done >"$dir/large.csv"
check 'an infeasible base measure' 3 'total mass 25' \
    dpot campaign revise "$id" --base-measure "$dir/large.csv"

# An endless job is cancelled.
check 'an endless job' 0 queued \
    dpot job start base-measure --campaign "$id" max_iterations=1000000000 gap=0 --json
endless=$(json "$dir/out" id)
check 'cancel' 0 "$endless" dpot job cancel "$endless" --json
for _ in $(seq 1 1200); do
    dpot job show "$endless" --json >"$dir/job.json"
    grep -q cancelled "$dir/job.json" && break
    sleep 0.05
done
check 'is cancelled' 0 '"state": *"cancelled"' dpot job show "$endless" --json
check 'and only once' 7 'nothing to cancel' dpot job cancel "$endless"

# A job is killed with the server and resumed by the next one, with the same result.
check 'a job to kill' 0 queued \
    dpot job start base-measure --campaign "$id" max_iterations=600000 gap=0 --json
job=$(json "$dir/out" id)
for _ in $(seq 1 6000); do
    dpot job show "$job" --json >"$dir/job.json"
    grep -q '"state":"running"' "$dir/job.json" && ! grep -q '"done":0,' "$dir/job.json" && break
    sleep 0.01
done
check 'it runs' 0 '"state": *"running"' dpot job show "$job" --json
stop KILL
start
for _ in $(seq 1 6000); do
    dpot job show "$job" --json >"$dir/job.json"
    grep -q '"state":"done"' "$dir/job.json" && break
    sleep 0.05
done
check 'it is done after the restart' 0 '"state": *"done"' dpot job show "$job" --json
resumed=$(json "$dir/out" artifact)
check 'the same job, undisturbed' 0 '"state": *"done"' \
    dpot job start base-measure --campaign "$id" max_iterations=600000 gap=0 --wait --json
[ "$(json "$dir/out" artifact)" = "$resumed" ] && pass || fail 'the resumed job found something else'
check 'job list' 0 "$job" dpot job list

# Revision 2.
printf '1,0.1,0.1\n1,0.9,0.2\n' >"$dir/users.csv"
check 'what a report costs' 0 '"worst_case"' \
    dpot evaluate --campaign "$id" --pin "$pin" --data "$dir/users.csv" --devices 1 --json
uniform_worst=$(json "$dir/out" worst_case)
check 'the measure as a file' 0 '"total_mass"' \
    dpot artifact get "$resumed" --out "$dir/m.npy" --json
check 'and as it is' 0 '"kind"' dpot artifact get "$resumed" --out "$dir/m.pb" --json
[ -s "$dir/m.npy.json" ] && [ -s "$dir/m.pb" ] && [ ! -e "$dir/m.pb.json" ] && pass ||
    fail 'the files of the artifact'
check 'revise' 0 '"revision": *2' \
    dpot campaign revise "$id" --base-measure "artifact:$resumed" --json
check 'opening revision 2 prints the one it closes' 0 \
    'revision 1, whose pool (3 reports) stays readable with --revision 1' dpot campaign open "$id"
check 'it is open' 0 '"revision": *2' dpot campaign show "$id" --json
check 'the empty pool names the full one' 7 'revision 1 (closed) holds 3 reports: --revision 1' \
    dpot pool "$id" --out "$dir/empty.npy"
check 'and so does a job that is not ready' 7 \
    'not yet: 0 of 3 accepted reports in revision 2.*; revision 1 (closed) holds 3 reports' \
    dpot job start estimate --campaign "$id"
check 'and what it costs now' 0 '"worst_case"' \
    dpot evaluate --campaign "$id" --pin "$pin" --data "$dir/users.csv" --devices 1 --json
awk "BEGIN { exit !($(json "$dir/out" worst_case) < $uniform_worst) }" && pass ||
    fail 'the worst case is no better than with the uniform measure'
check 'a report of the old revision is dropped, with the remedy' 7 'enroll again' \
    "$bin/dpot-device" flush --dir "$dir/d4"
check 'another is not charged' 7 'nothing was charged' \
    "$bin/dpot-device" report --dir "$dir/d4" --points "$dir/points.csv"
check 'a report of the old revision is refused as closed' 0 '"dropped_closed": *1' \
    "$bin/dpot-device" status --dir "$dir/d4" --json
for n in 1 2 3 4; do
    enroll "d$n"
    device report "d$n" --points "$dir/points.csv"
    device flush "d$n"
    check "device $n is charged again" 0 '"spent_epsilon": *4' \
        "$bin/dpot-device" status --dir "$dir/d$n" --json
done
check 'the pool of revision 2' 0 '"accepted": *4' dpot pool "$id" --json

# Both pools exist, each by its number.
check 'the former pool' 0 '"state": *"closed"' \
    dpot pool "$id" --revision 1 --out "$dir/after.npy" --json
cmp -s "$dir/before.npy" "$dir/after.npy" && pass || fail 'the pool of revision 1 has changed'
check 'the pool of now' 0 '"revision": *2' dpot pool "$id" --out "$dir/now.npy" --json
check 'and by its number' 0 '"revision": *2' \
    dpot pool "$id" --revision 2 --out "$dir/second.npy" --json
cmp -s "$dir/now.npy" "$dir/second.npy" && pass || fail 'revision 2 is not the open one'
[ "$(json "$dir/after.npy.json" n)-$(json "$dir/second.npy.json" n)" = 3-4 ] && pass ||
    fail 'the sizes of the two pools'
check 'the other revision is printed' 0 'revision 1 (closed) holds 3 reports: --revision 1' \
    dpot pool "$id"
check 'a list of all' 0 '^  *- 1: closed, 3 reports, hash ' dpot campaign show "$id"
check 'a job on the former pool' 0 '"state": *"done"' \
    dpot job start estimate --campaign "$id" --revision 1 --wait --json
[ "$(json "$dir/out" artifact)" = "$estimate" ] && pass ||
    fail 'the same pool has another estimate after its revision was closed'
check 'its artifact names the revision' 0 '"revision": *1,' \
    dpot artifact get "$estimate" --out "$dir/estimate1.csv" --json
check 'a job on the pool of now' 0 '"revision": *2' \
    dpot job start estimate --campaign "$id" --wait --json
check 'its artifact' 0 '"pool_count": *4' \
    dpot artifact get "$(json "$dir/out" artifact)" --out "$dir/estimate2.csv" --json
check 'revision 9' 3 'no revision 9: choose from 2 (open), 1 (closed)' \
    dpot pool "$id" --revision 9
check 'a job on revision 9' 3 'no revision 9' dpot job start estimate --campaign "$id" --revision 9
check 'no number' 2 '--revision is first' dpot pool "$id" --revision first

# A pool is estimated with its own campaign only.
check 'the SPEC and its pool' 0 '"revision": *1,' \
    "$bin/dpot" estimate --campaign "$dir/spec.json" --pool "$dir/after.npy" --out "$dir/e.csv" --json
cmp -s "$dir/e.csv" "$dir/estimate1.csv" && pass || fail 'the tool and the job disagree'
check 'the SPEC and the pool of another measure' 3 'base measure differ' \
    "$bin/dpot" estimate --campaign "$dir/spec.json" --pool "$dir/second.npy" --out "$dir/e.csv"
check 'the open revision and the former pool' 3 'campaign hash' \
    dpot estimate --campaign "$id" --pin "$pin" --pool "$dir/after.npy" --out "$dir/e.csv"
check 'the former revision and its pool' 0 '"revision": *1,' \
    dpot estimate --campaign "$id" --revision 1 --pin "$pin" --pool "$dir/after.npy" --out "$dir/e.csv" --json
check 'the former revision as a file' 0 '"revision": *1,' \
    dpot campaign fetch "$id" --revision 1 --pin "$pin" --out "$dir/first.signed" --json
check 'and its pool' 0 '"revision": *1,' \
    "$bin/dpot" estimate --campaign "$dir/first.signed" --pool "$dir/after.npy" --out "$dir/e.csv" --json
check 'revise from a file' 0 '"revision": *3' \
    dpot campaign revise "$id" --base-measure "$dir/m.npy" --closes "$(stamp $((now + 172800)))" --json

# An artifact altered on disk is not served.
stop
python3 - "$dir/server" <<'PY' 2>"$dir/err" && altered=yes || altered=no
import glob, sqlite3, sys
for name in glob.glob(sys.argv[1] + "/*.db"):
    database = sqlite3.connect(name)
    database.execute("UPDATE artifact SET bytes = CAST(bytes || x'00' AS BLOB)")
    database.commit()
PY
start
if [ "$altered" = yes ]; then
    check 'an altered artifact' 6 'not what was written' \
        dpot artifact get "$resumed" --out "$dir/altered.npy"
    check 'is signed into nothing' 6 'not what was written' \
        dpot campaign revise "$id" --base-measure "artifact:$resumed"
    [ ! -e "$dir/altered.npy" ] && pass || fail 'an altered artifact was written'
fi

stop
conclude
