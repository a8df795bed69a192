#!/bin/sh
# Unit vectors of 400 devices over HTTP: campaign, reports, pool as directions, their mean; the same
# in process; refusals of commands that have no use for directions.
#   sh sphere.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"

init
start

spec() { # MECHANISM MORE
    cat <<SPEC
{"name": "headings", "domain": {"type": "sphere", "dim": 3}, "metric": "euclidean", "mechanism": {$1}$2,
 "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))", "min_pool": 100}
SPEC
}
few=', "output": {"type": "directions", "count": 512}'
spec '"type": "wpm", "epsilon": 4' "$few" >"$dir/spec.json"
spec '"type": "wpm", "epsilon": 4' "$few, \"simulation\": true" >"$dir/simulation.json"
spec '"type": "wpm", "epsilon": 4, "n_max": 3' "$few" >"$dir/several.json"

# 400 devices near (1, 1, 0), of different lengths.
awk 'BEGIN {
    srand(3)
    for (i = 0; i < 400; i++) {
        s = 0.1 + 5 * rand()
        printf "%d,%.6f,%.6f,%.6f\n", i, s * (1 + rand()), s * (1 + rand()), s * (rand() - 0.5)
    } }' >"$dir/devices.csv"
# distance MEAN: of an estimate from the mean of the devices' unit vectors
distance() {
    awk -F, 'NR == FNR { r = sqrt($2^2 + $3^2 + $4^2); for (j = 1; j <= 3; j++) m[j] += $(j + 1) / r / 400; next }
        { d += ($1 - m[FNR])^2 } END { printf "%.6f\n", sqrt(d) }' "$dir/devices.csv" "$1"
}

# ---- over HTTP ----

check 'show' 0 '"contraction":0.7' "$bin/dpot" campaign show "$dir/spec.json" --json
check 'create' 0 '"sphere":{"expected_cost":0.56' dpot campaign create "$dir/spec.json" --json
id=$(json "$dir/out" id)
check 'open' 0 '"open"' dpot campaign open "$id" --json
check 'devices' 0 '"accepted":400' "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" \
    --data "$dir/devices.csv" --devices 400 --out "$dir/run" --quiet --json
check 'its pool' 0 '"contraction":0.7' dpot pool "$id" --out "$dir/pool.csv" --json
[ "$(wc -l <"$dir/pool.csv")" -eq 400 ] && pass || fail 'the pool has not 400 directions'
awk -F, '{ s = $1^2 + $2^2 + $3^2; if (s < 0.999999 || s > 1.000001) bad++ } END { exit bad > 0 }' "$dir/pool.csv" &&
    pass || fail 'not all directions have length 1'
check 'the side file' 0 '"directions":512,' cat "$dir/pool.csv.json"
check 'the signed campaign' 0 . dpot campaign fetch "$id" --pin "$pin" --out "$dir/signed"
check 'the mean' 0 '"is_corrected":true' "$bin/dpot" estimate --campaign "$dir/signed" --pool "$dir/pool.csv" \
    --out "$dir/mean.csv" --json
# E |error|^2 = (1/c^2 - 1) / 400 = .045^2; five times that has a probability far below 1e-9.
d=$(distance "$dir/mean.csv")
less "$d" 0.25 && pass || fail "the mean is off by $d"

# ---- a single device ----

check 'a device enrolls' 0 . "$bin/dpot-device" enroll --server "$url" --campaign "$id" --pin "$pin" --dir "$dir/device" \
    --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8
printf '3,4,0\n' >"$dir/vector.csv"
printf '3,4\n' >"$dir/short.csv"
check 'of another length' 3 'vectors of 3 numbers' "$bin/dpot-device" report --dir "$dir/device" --points "$dir/short.csv"
check 'reports' 0 . "$bin/dpot-device" report --dir "$dir/device" --vector "$dir/vector.csv"
check 'and sends' 0 accepted "$bin/dpot-device" flush --dir "$dir/device" --wait-seconds 30 --json
check 'its owner sees what it was' 0 'hold no vector of yours' "$bin/dpot-device" status --dir "$dir/device"
check 'it counts' 0 '"accepted":401' dpot pool "$id" --json

# ---- commands without a use for directions ----

for kind in base-measure estimate generator barycenter; do
    check "a job $kind" 3 'on a sphere' dpot job start "$kind" --campaign "$id"
done
check 'coefficients' 3 'no coefficients' dpot pool "$id" --out "$dir/c.npy" --coefficients
check 'evaluate' 3 'on a sphere' "$bin/dpot" evaluate --campaign "$dir/spec.json" --data "$dir/devices.csv" --devices 4
check 'base-measure' 3 'on a sphere' "$bin/dpot" base-measure --campaign "$dir/spec.json" --out "$dir/m.npy"
check 'ot' 3 'on a sphere' "$bin/dpot" ot --campaign "$dir/spec.json" --exact
check 'frequencies' 2 'method is mean' "$bin/dpot" estimate --campaign "$dir/signed" --pool "$dir/pool.csv" \
    --method frequency --out "$dir/f.csv"
check 'bootstrap' 2 'leave it out' "$bin/dpot" estimate --campaign "$dir/signed" --pool "$dir/pool.csv" --bootstrap 90 \
    --out "$dir/f.csv"
printf '1\n2\n' >"$dir/indices.csv"
check 'indices' 3 'has 1 column' "$bin/dpot" estimate --campaign "$dir/signed" --pool "$dir/indices.csv" --out "$dir/f.csv"
printf '1,1,0\n' >"$dir/long.csv"
check 'no unit vectors' 3 'length 1.41' "$bin/dpot" estimate --campaign "$dir/signed" --pool "$dir/long.csv" --out "$dir/f.csv"
check 'a plan with data' 2 'same for any data' "$bin/dpot" plan --campaign "$dir/spec.json" --n 400 --reference "$dir/devices.csv"
check 'a mean of several at once' 3 'sample_first' "$bin/dpot" plan --campaign "$dir/several.json" --n 400
check 'the next revision keeps its measure' 3 'must be equal' sh -c "awk 'BEGIN { for (i = 1; i <= 512; i++) print i / 131328 }' \
    >'$dir/skewed.csv' && '$bin/dpot' campaign revise $id --base-measure '$dir/skewed.csv' --server '$url'"

# ---- in process, and predictions ----

check 'in process' 0 '"pool_accepted":400' "$bin/dpot" simulate --campaign "$dir/simulation.json" --data "$dir/devices.csv" \
    --devices 400 --in-process --seed 5 --out "$dir/run2" --quiet --json
check 'its mean' 0 '"n":400' "$bin/dpot" estimate --campaign "$dir/simulation.json" --pool "$dir/run2/pool.npy" \
    --out "$dir/mean2.csv" --json
d=$(distance "$dir/mean2.csv")
users=$(sed 's/.*"users_total_error":\([0-9.e-]*\).*/\1/' "$dir/out")
less "$d" "$(awk "BEGIN { print 5 * $users }")" && less "$users" 0.05 && pass || fail "off by $d, predicted $users"
check 'its plan' 0 '"mean_l2":{"mean":0.0' "$bin/dpot" plan --campaign "$dir/simulation.json" --n 400 --json
upper=$(sed 's/.*"mean_l2":{[^}]*"upper":\([0-9.]*\).*/\1/' "$dir/out")
less "$d" "$(awk "BEGIN { print 1.5 * $upper }")" && pass || fail "the mean in process is off by $d, planned at most $upper"
cp "$dir/pool.csv" "$dir/plain.csv"
check 'plain means are marked' 0 'plain mean' "$bin/dpot" estimate --campaign "$dir/several.json" --pool "$dir/plain.csv" \
    --out "$dir/f.csv"
check 'the closed form' 0 '"total_mass":1.0661221' "$bin/dpot" base-measure --sphere 2 --epsilon 1 --json
check 'of S^0' 2 'sphere' "$bin/dpot" base-measure --sphere 0 --epsilon 1
check 'with points too' 2 'closed form' "$bin/dpot" base-measure --sphere 2 --epsilon 1 --x "$dir/devices.csv"

stop
conclude
