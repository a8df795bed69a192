#!/bin/sh
# A generator job of a dpotd that is killed repeatedly gives the model that dpot generator train
# makes of the pool at the start of the job, and leaves no file beside the store.
#   sh server_kills.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"
cd "$dir" || exit 1

simulate() {
    need "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" --data data.csv --devices "$1" \
        --out "run$1" --quiet
}

init
sed -i 's/"log"/"limits": {"job_keep_s": 1, "job_threads": 2}, "log"/' server/dpotd.json
start

cat >spec.json <<SPEC
{"name": "points", "domain": {"type": "box", "lo": [-1, 0], "hi": [1, 1]},
 "mechanism": {"type": "laplace", "epsilon": 5}, "rounds": 1,
 "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))", "min_pool": 150}
SPEC
awk 'BEGIN { for (i = 0; i < 300; i++) printf "%d,%g,%g\n", i, cos(i / 100), sin(i / 100) }' >data.csv
need "$bin/dpot" campaign create spec.json --server "$url" --json
id=$(json out id)
need "$bin/dpot" campaign open "$id" --server "$url"
simulate 100
# Too few; too much; of another mechanism: refused at the request.
job() { "$bin/dpot" job start generator --campaign "$id" --server "$url" "$@"; }
job steps=5 >out 2>err
[ $? -eq 7 ] || fail "a pool below its minimum: $(cat err)"
simulate 200
job steps=0 >out 2>err
{ [ $? -eq 3 ] && grep -q 'parameters.steps is 0' err; } || fail "no steps: $(cat err)"
job arch=dcgan28:8 >out 2>err
{ [ $? -eq 3 ] && grep -q 'parameters.arch' err; } || fail "images of two coordinates: $(cat err)"

settings='arch=mlp:24,24 batch=60 atoms=100 sinkhorn=10 seed=3'
need "$bin/dpot" pool "$id" --server "$url" --out pool.npy --coefficients
# As many steps as take some seconds on this machine.
for steps in 1000 4000 16000 64000; do
    began=$(date +%s%N)
    need "$bin/dpot" generator train --pool pool.npy --arch mlp:24,24 --batch 60 --atoms 100 --sweeps 10 \
        --steps "$steps" --seed 3 --threads 2 --quiet --out whole.onnx --trajectory-out whole.csv
    [ $(($(date +%s%N) - began)) -lt 8000000000 ] || break
done
# shellcheck disable=SC2086 # words
need job $settings steps="$steps" --json
job_id=$(json out id)
state() {
    "$bin/dpot" job show "$job_id" --server "$url" --json >job.json 2>/dev/null
    json job.json state
}
kept() { ls -i server/dpot.db-jobs 2>/dev/null | sed -n '/\.state$/p'; }

kills=0
while [ "$kills" -lt 5 ]; do
    before=$(kept)
    for _ in $(seq 1 1000); do
        [ "$(kept)" = "$before" ] || break
        sleep 0.02
    done
    kill -9 "$server"
    wait "$server" 2>/dev/null
    n_kept=$(kept | wc -l)
    [ "$n_kept" -le 1 ] || fail "$n_kept files are kept after $kills kills"
    kills=$((kills + 1))
    start
    [ "$(state)" = running ] || [ "$(state)" = queued ] || break # it ended before the kill
done
[ "$kills" -ge 2 ] || fail "killed $kills times only"
simulate 300 # the pool grows; the job does not read the new reports
for _ in $(seq 1 2400); do
    [ "$(state)" = running ] || [ "$(state)" = queued ] || break
    sleep 0.05
done
[ "$(state)" = done ] || fail "the job is $(state): $(cat job.json)"
digest=$(json job.json artifact)
need "$bin/dpot" artifact get "$digest" --server "$url" --out job.onnx
need "$bin/dpot" artifact get "$digest" --server "$url" --out job.csv
cmp -s whole.onnx job.onnx || fail "the model differs"
cmp -s whole.csv job.csv || fail "the curve differs"
[ -z "$(kept)" ] || fail "left beside the store: $(kept)"
stop

[ "$failed" -eq 0 ] && echo "killed $kills times in $steps steps: the same model, the same curve"
exit "$failed"
