#!/bin/sh
# Private barycenters of the population of the United States (003, section 6 and appendix F): 48
# points for everybody (k = 1) and for four groups at once (k = 4), by a trusted curator; the cost
# of privacy, beside that of the paper.
#
#   DATA=FOLDER sh tests/experiments/us_central.sh
#
# DATA    folder of tract2000_race.csv.gz (geoid, white_nh, black_nh, asian_nh, hispanic, lat, lon
#         and population of census tracts) and conus_border.csv.gz (ring, lat, lon)
# OUT     folder of the results                            (default build/experiments/us_central)
# RUNS    runs of each setting, each on a sample of its own (10)
# N1, N4  records for k = 1, and of each group for k = 4    (200000, 100000)
# SIZES   of the curve, k = 1 ("2000 4000 8000 16000 32000 64000 128000")
# EPSILONS, SUPPORT, STARTS, SEED, BIN   ("1 5", 48, 10, 1, build/release/bin)
#
# What is measured. A record is the centre of the tract of a person drawn at random, with
# replacement, from all of the conterminous states in 2000 (white_nh, asian_nh, black_nh, hispanic
# for k = 4: the groups are disjoint). epsilon is that of the sample: the paper claims amplification
# by the drawing, and its measurements use a larger epsilon than it states. Costs are the mean over
# groups of W2^2 in squared degrees, of the private result and of the non-private one to the same
# records, both by the same solver from the same number of starts; their ratio is the cost of
# privacy.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
here=$PWD

out=${out:-build/experiments/us_central}
runs=${RUNS:-10}
n1=${N1:-200000}
n4=${N4:-100000}
sizes=${SIZES-2000 4000 8000 16000 32000 64000 128000}
epsilons=${EPSILONS:-1 5}
support=${SUPPORT:-48}
starts=${STARTS:-10}
seed=${SEED:-1}
bin=${bin:-build/release/bin}
case $bin in /*) ;; *) bin=$here/$bin ;; esac

dpot() { "$bin/dpot" "$@" --quiet; }
whole "$runs" "$n1" "$n4" "$support" "$starts" "$seed" $sizes
[ -n "$data" ] || fail 'DATA is missing: name the folder of tract2000_race.csv.gz and conus_border.csv.gz'
for file in tract2000_race.csv.gz conus_border.csv.gz; do
    [ -r "$data/$file" ] || fail "DATA is $data: there is no $file in it" 6
done
build_dpot

# Results belong to these; others there are thrown away.
mkdir -p "$out/runs"
{
    echo "support $support starts $starts seed $seed"
    cksum <"$data/tract2000_race.csv.gz"
    cksum <"$data/conus_border.csv.gz"
    cksum <"$bin/dpot"
} >"$out/settings.new"
cmp -s "$out/settings.new" "$out/settings" || rm -rf "$out/runs"
mkdir -p "$out/runs"
mv "$out/settings.new" "$out/settings"
cd "$out"

# ---- people ----

gunzip -c "$data/conus_border.csv.gz" >border.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; print "lat,lon"; next }
    $c["ring"] == 0 { print $c["lat"] "," $c["lon"] }' border.csv >line.csv
gunzip -c "$data/tract2000_race.csv.gz" | tr -d '\r' | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
    { state = substr($c["geoid"], 1, 2) }
    state != "02" && state != "15" && state != "72" {
        print $c["lat"], $c["lon"], $c["population"], $c["white_nh"], $c["asian_nh"], $c["black_nh"], $c["hispanic"]
    }' >tracts.txt

# draw SEED N COLUMN... : rows "lat,lon,people,group", N people of each column. Park and Miller's
# generator (1988), whose products are exact in a double.
draw() {
    state=$1 n=$2
    shift 2
    echo 'lat,lon,people,group'
    for column in "$@"; do
        awk -v state=$((state * 16 + column)) -v n="$n" -v column="$column" '
            function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
            { place[NR] = $1 "," $2; sum += $column; upto[NR] = sum }
            END {
                for (i = 0; i < 10; i++) uniform()
                for (i = 0; i < n; i++) {
                    u = uniform() * sum; a = 1; b = NR
                    while (a < b) { m = int((a + b) / 2); if (u < upto[m]) b = m; else a = m + 1 }
                    count[a]++
                }
                for (i = 1; i <= NR; i++) if (i in count) print place[i] "," count[i] "," column
            }' tracts.txt
    done
}

# ---- runs ----

# solve FILE OPTIONS: a barycenter; what dpot says is the output
solve() {
    to=$1
    shift
    dpot central barycenter --data sample.csv --columns lat,lon --count-column people --group-column group \
        --border border.csv --border-columns lat,lon --support "$support" --starts "$starts" --out "$to" --json "$@" 2>log ||
        # 5: stopped before its tolerance
        [ $? -eq 5 ] || { cat log >&2; fail 'dpot central barycenter failed' 1; }
}
# do_run NAME RUN N COLUMN...: lines "name,n,epsilon,run,cost,private cost,W2 between them"
do_run() {
    name=$1 run=$2 n=$3
    shift 3
    [ ! -f "runs/$name-$n-$run.csv" ] || return 0
    draw $((seed * 1000 + run)) "$n" "$@" >sample.csv
    plain=$(solve "$name-$n-plain.csv" --method non-private --epsilon 1 --simulation --seed "$run" | json data_cost)
    for epsilon in $epsilons; do
        cost=$(solve "$name-$n-$epsilon.csv" --epsilon "$epsilon" --simulation --seed $((seed * 1000 + run)) | json data_cost)
        w2=$(dpot ot --exact --x "$name-$n-plain.csv:lat,lon" --y "$name-$n-$epsilon.csv:lat,lon" --metric euclidean --power 2 --json |
            json transport_cost)
        echo "$name,$n,$epsilon,$run,$plain,$cost,$w2"
    done >run.new
    mv run.new "runs/$name-$n-$run.csv"
    say "$name, n $n, run $run: $(awk -F, '{ printf "  epsilon %s: %.4g / %.4g = %.3f", $3, $6, $5, $6 / $5 }' "runs/$name-$n-$run.csv")"
}
run=1
while [ "$run" -le "$runs" ]; do
    do_run k1 "$run" "$n1" 3
    do_run k4 "$run" "$n4" 4 5 6 7
    for size in $sizes; do
        do_run curve "$run" "$size" 3
    done
    run=$((run + 1))
done

# Four groups as a curator runs it: from the file of records to the file of points.
draw $((seed * 1000)) "$n4" 4 5 6 7 >sample.csv
begin=$(date +%s)
solve end-to-end.csv --epsilon 1 >end-to-end.json
seconds=$(($(date +%s) - begin))

# ---- tables and pictures ----

echo 'setting,n,epsilon,run,non_private,private,w2_squared' >runs.csv
cat runs/*.csv | LC_ALL=C sort -t , -k 1,1 -k 2,2n -k 3,3n -k 4,4n >>runs.csv
awk -F, '
    NR == 1 { print "setting,n,epsilon,runs,non_private,private,ratio,ratio_sd,ratio_max,w2"; next }
    {
        key = $1 "," $2 "," $3; r = $6 / $5
        if (!(key in n)) keys[n_keys++] = key
        n[key]++; plain[key] += $5; cost[key] += $6; ratio[key] += r; square[key] += r * r; w2[key] += sqrt($7)
        if (r > max[key]) max[key] = r
    }
    END {
        for (i = 0; i < n_keys + 0; i++) {
            key = keys[i]; m = n[key]; mean = ratio[key] / m; v = square[key] / m - mean * mean
            printf "%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", key, m, plain[key] / m, cost[key] / m, mean,
                (m > 1 && v > 0 ? sqrt(v * m / (m - 1)) : 0), max[key], w2[key] / m
        }
    }' runs.csv >table.csv
{
    echo "Costs to the records, squared degrees; the ratio private / non-private; W2 between the two, degrees. Means of $runs runs,"
    echo "m = $support. In brackets the paper (one run on another year's data and another solver: compare ratios only)."
    echo
    awk -F, '
        BEGIN {
            paper["k1,1"] = "15.92 -> 21.62, 1.358, W2 5.63"; paper["k4,1"] = "5058 -> 6842, 1.353, W2 11.77"
            paper["k1,5"] = "16.54 -> 20.41, 1.234, W2 5.38"; paper["k4,5"] = "4451 -> 6344, 1.425, W2 12.76"
        }
        NR > 1 && $1 != "curve" {
            printf "  %s  n %6d  epsilon %s: %8.3f -> %8.3f  ratio %.3f (sd %.3f, max %.3f)  W2 %.2f   [%s]\n",
                $1, $2, $3, $5, $6, $7, $8, $9, $10, paper[$1 "," $3]
        }' table.csv
    echo
    awk -F, 'NR > 1 && $1 == "curve" { printf "  k1  n %6d  epsilon %s: %8.3f -> %8.3f  ratio %.3f (sd %.3f)  W2 %.2f\n", $2, $3, $5, $6, $7, $8, $10 }' table.csv
    echo
    echo "k = 4, n = $n4 of each, epsilon 1, from records to points: $seconds s"
} >table.txt

# Grey: non-private; coloured: private.
for name in "k1-$n1" "k4-$n4"; do
    for epsilon in $epsilons; do
        { tail -n +2 "$name-plain.csv"; tail -n +2 "$name-$epsilon.csv"; } >points.csv
        { awk 'NR > 1 { print 0 }' "$name-plain.csv"; awk 'NR > 1 { print 1 }' "$name-$epsilon.csv"; } >weights.csv
        dpot plot points --in points.csv --weights weights.csv --border line.csv:lat,lon --value-label '1: private' \
            --title "${name%%-*}: $support points, epsilon $epsilon; grey: without privacy" --out "map-$name-$epsilon.png" --json >plot.json
    done
done
if [ -n "$sizes" ]; then
    awk -F, -v epsilons="$epsilons" '
        NR > 1 && $1 == "curve" { if (!($2 in seen)) { seen[$2] = 1; size[++k] = $2 } plain[$2] = $5; cost[$2, $3] = $6 }
        END {
            m = split(epsilons, e, " "); line = "n,no privacy"
            for (j = 1; j <= m; j++) line = line ",epsilon " e[j]
            print line
            for (i = 1; i <= k; i++) {
                line = size[i] "," plain[size[i]]
                for (j = 1; j <= m; j++) line = line "," cost[size[i], e[j]]
                print line
            }
        }' table.csv >curve.csv
    dpot plot curves --in curve.csv --header --log-x --from-zero --title "US population, k = 1, $support points" --x-label 'records' \
        --y-label 'cost to the records, squared degrees' --out curve.png --json >plot.json
fi
rm -f plot.json points.csv weights.csv log sample.csv
cat table.txt
echo "Tables, maps (map-*.png) and curve.png: $out"
