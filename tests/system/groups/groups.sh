#!/bin/sh
# Devices of four regions over HTTP, index reports and Laplace reports: pool, groups, job, artifact,
# picture. The job and the tool give the same result, which is nearer to the truth than the raw pool
# and a guess without data.
#   sh groups.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"

init
start

spec() { # NAME DOMAIN MECHANISM GROUPS
    cat <<SPEC
{"name": "$1", "domain": {$2}, "metric": "euclidean", "power": 2, "mechanism": {$3},
 "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))",
 "min_pool": 100, "groups": [$4]}
SPEC
}
four='"north", "east", "south", "west"'
grid='"type": "grid", "lo": [0, 0], "hi": [1, 1], "shape": [8, 8]'
ball='"type": "wpm", "epsilon": 4, "lambda": 0.001, "iterations": 5, "base_measure": "ball", "sample_first": true, "n_max": 4'
spec index "$grid" "$ball" "$four" >"$dir/index.json"
spec laplace '"type": "box", "lo": [0, 0], "hi": [1, 1]' '"type": "laplace", "epsilon": 8' "$four" >"$dir/laplace.json"
spec plain "$grid" "$ball" '' >"$dir/plain.json"

# Four regions: short bars, two horizontal and two vertical; 240 devices in each.
awk 'BEGIN {
    print "device,x,y,region"
    for (i = 0; i < 960; i++) {
        g = i % 4; t = 0.2 * (int(i / 4) % 6) / 5 - 0.1
        x = 0.5 + (g == 0 ? -0.25 : g == 2 ? 0.25 : t); y = 0.5 + (g == 1 ? 0.25 : g == 3 ? -0.25 : t)
        printf "%d,%.4f,%.4f,%d\n", i, x, y, g
    } }' >"$dir/devices.csv"
for g in 0 1 2 3; do
    awk -F, -v g=$g 'NR > 1 && $4 == g { print $2 "," $3 }' "$dir/devices.csv" | sort | uniq >"$dir/true-$g.csv"
done

# Of W2^2 to the true groups, the mean: cost FILE
cost() {
    for g in 0 1 2 3; do
        "$bin/dpot" ot --exact --x "$1" --y "$dir/true-$g.csv" --metric euclidean --power 2 --quiet --json >"$dir/ot.json"
        json "$dir/ot.json" transport_cost
    done | awk '{ sum += $1 } END { printf "%.9f\n", sum / 4 }'
}

run_campaign() { # NAME
    check "create $1" 0 '"id"' dpot campaign create "$dir/$1.json" --json
    id=$(json "$dir/out" id)
    check "open $1" 0 '"open"' dpot campaign open "$id" --json
    check "$1: devices of four regions" 0 '"accepted":960' "$bin/dpot" simulate --campaign "$id" --server "$url" --pin "$pin" \
        --data "$dir/devices.csv" --group-column region --devices 960 --out "$dir/run-$1" --quiet --json
    check "$1: each counts" 0 '"label":"west","devices":240,"counted":240' cat "$dir/run-$1/results.json"
    check "$1: the groups of the pool" 0 '"groups":\["north","east","south","west"\]' \
        dpot pool "$id" --out "$dir/$1.npy" --groups-out "$dir/$1-groups.npy" --json
    check "$1: they are in the side file" 0 '"group_counts":\[240,240,240,240\]' cat "$dir/$1.npy.json"
    check "$1: one group" 0 . dpot pool "$id" --out "$dir/$1-east.csv" --group east
    [ "$(wc -l <"$dir/$1-east.csv")" -eq 240 ] && pass || fail "$1: the reports of one group"
    check "$1: the campaign" 0 . dpot campaign fetch "$id" --pin "$pin" --out "$dir/$1.signed"
    check "$1: a job" 0 '"state":"done"' dpot job start barycenter --campaign "$id" support=12 seed=3 --wait --json
    digest=$(json "$dir/out" artifact)
    check "$1: its artifact" 0 '"kind":"barycenter"' dpot artifact get "$digest" --out "$dir/$1-job.csv" \
        --weights-out "$dir/$1-weights.csv" --deconvolved-out "$dir/$1-clean.csv" --json
    check "$1: the counts of the groups" 0 '"counts":\[240,240,240,240\]' cat "$dir/$1-job.csv.json"
    check "$1: the same with the tool" 0 '"data_free_cost"' "$bin/dpot" barycenter --pool "$dir/$1.npy" \
        --groups "$dir/$1-groups.npy" --campaign "$dir/$1.signed" --support 12 --exact --seed 3 --out "$dir/$1-tool.csv" \
        --weights-out "$dir/tool-weights.csv" --deconvolved-out "$dir/tool-clean.csv" --json
    cmp -s "$dir/$1-job.csv" "$dir/$1-tool.csv" && cmp -s "$dir/$1-weights.csv" "$dir/tool-weights.csv" &&
        cmp -s "$dir/$1-clean.csv" "$dir/tool-clean.csv" && pass || fail "$1: job and tool differ"
    check "$1: the same job again" 0 "$digest" dpot job start barycenter --campaign "$id" support=12 seed=3 --wait --json
    check "$1: a picture" 0 . "$bin/dpot" plot points --in "$dir/$1-job.csv" --out "$dir/$1.png"
    cost "$dir/$1-job.csv" >"$dir/$1.cost"
}

# ---- index reports ----

run_campaign index
awk 'BEGIN { for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) printf "%.4f,%.4f\n", (i + 0.5) / 8, (j + 0.5) / 8 }' >"$dir/cells.csv"
check 'the best points for the truth' 0 . "$bin/dpot" barycenter --group-files "$dir/true-0.csv" "$dir/true-1.csv" \
    "$dir/true-2.csv" "$dir/true-3.csv" --support 12 --exact --starts 5 --seed 1 --out "$dir/best.csv"
check 'knowing nothing' 0 . "$bin/dpot" barycenter --group-files "$dir/cells.csv" --support 12 --exact --seed 1 --out "$dir/nothing.csv"
best=$(cost "$dir/best.csv")
nothing=$(cost "$dir/nothing.csv")
less "$(cat "$dir/index.cost")" "$(awk "BEGIN { print $best + ($nothing - $best) / 3 }")" && pass ||
    fail "index: $(cat "$dir/index.cost") is not nearer to $best than a third of the way to $nothing"

# A single device, under a label.
check 'a device enrolls under a label' 0 . "$bin/dpot-device" enroll --server "$url" --campaign "$id" --pin "$pin" --dir "$dir/device" \
    --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8 --group 3
printf '0.5,0.25\n' >"$dir/points.csv"
check 'reports' 0 . "$bin/dpot-device" report --dir "$dir/device" --points "$dir/points.csv"
check 'and sends' 0 accepted "$bin/dpot-device" flush --dir "$dir/device" --wait-seconds 30 --json
check 'its owner sees the label' 0 'carry the label "west" openly' "$bin/dpot-device" status --dir "$dir/device"
check 'it counts in its group' 0 . dpot pool "$id" --out "$dir/more.csv" --group west
[ "$(wc -l <"$dir/more.csv")" -eq 241 ] && pass || fail 'the report of the device is not in its group'
check 'a device of no group' 3 'group is 4' sh -c "'$bin/dpot-device' enroll --server '$url' --campaign $id --pin $pin --dir '$dir/other' \
    --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8 --group 4 >/dev/null && \
    '$bin/dpot-device' report --dir '$dir/other' --points '$dir/points.csv'"

# ---- refusals of jobs ----

check 'an unknown parameter' 3 'parameters.suport' dpot job start barycenter --campaign "$id" suport=3
check 'weights of another number of groups' 3 'give 4 numbers' \
    dpot job start barycenter --campaign "$id" 'group_weights=[1,2]'
check 'weights of all groups' 0 '"group_weights":\[0.5,0.25,0.25,0.0\]' \
    dpot job start barycenter --campaign "$id" 'group_weights=[2,1,1,0]' --wait --json
check 'a group below its minimum' 1 'not yet: group "east" has 240 of 241 accepted reports' \
    dpot job start barycenter --campaign "$id" min_group=241 'group_weights=[0,2,1,1]' --wait
check 'create one without groups' 0 '"id"' dpot campaign create "$dir/plain.json" --json
plain=$(json "$dir/out" id)
check 'open it' 0 '"open"' dpot campaign open "$plain" --json
check 'it has no barycenter' 3 'has no groups' dpot job start barycenter --campaign "$plain"
check 'and no groups to export' 3 'no groups' dpot pool "$plain" --out "$dir/p.npy" --group north

# ---- Laplace reports ----

run_campaign laplace
for g in 0 1 2 3; do
    check 'a raw group' 0 . dpot pool "$id" --out "$dir/raw-$g.csv" --group $g
done
check 'the raw pools' 0 . "$bin/dpot" barycenter --group-files "$dir/raw-0.csv" "$dir/raw-1.csv" "$dir/raw-2.csv" "$dir/raw-3.csv" \
    --support 12 --exact --seed 3 --out "$dir/raw.csv"
raw=$(cost "$dir/raw.csv")
less "$(cat "$dir/laplace.cost")" "$nothing" && less "$(cat "$dir/laplace.cost")" "$raw" && pass ||
    fail "laplace: $(cat "$dir/laplace.cost") of the job, $nothing knowing nothing, $raw of the raw pools"

stop
conclude
