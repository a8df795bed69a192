#!/bin/sh
# The Wasserstein barycenter of a privatised pool, on real data: where four groups of people live in
# the United States (Census 2000, by race: white, black, Asian, not Hispanic; Hispanic of any race),
# each averaged to 48 points.
#
#   DATA=FOLDER sh tests/experiments/us_barycenter.sh
#
# FOLDER holds tract2000_race.csv.gz: rows of geoid, ..., white_nh, black_nh, asian_nh, hispanic,
# ..., lat, lon, one a census tract. A device is a person of a group, drawn by these counts; it
# holds the centre of its tract and reports once, through the shipping client in process, with its
# group as a public label.
#
#   index     WPM over a grid of cells, base measure "ball"; each group's pool is inverted through
#             the campaign's channel by EM that stops early
#   laplace   the place with Laplace noise; each group's pool is deconvolved on a grid likewise
#
# The result is the excess cost: sum over the groups of W2^2 to their true distributions / 4, less
# that of the best 48 points that are found from these distributions themselves. Beside it: the
# barycenter of the raw pools, that of a guess without data (every cell alike), and that of the same
# people without privacy.
#
# Settings, by environment: OUT (build/experiments/us_barycenter), BIN (build/release/bin, built
# when it is not there), SEED (1), INDEX and LAPLACE: lists of n:epsilon, n people in each group,
# such as "2000:4 100000:1"; an empty list leaves the mechanism out. All in all 2.6 million devices
# take half an hour on one core; a stopped run resumes when it is called again with the same
# settings.
set -eu
. "$(dirname "$0")/experiment.inc.sh"

out=${out:-build/experiments/us_barycenter}
bin=${bin:-build/release/bin}
seed=${SEED:-1}
index=${INDEX-2000:4 20000:4 100000:1 100000:2 100000:4}
laplace=${LAPLACE-2000:4 20000:4 100000:1 100000:2 100000:4}
support=48
cells=20
lo=24.5,-125 hi=49.4,-66.9
labels='"white", "black", "asian", "hispanic"'
border=tests/data/conus_border.csv:lat,lon

dpot() { "$bin/dpot" "$@"; }

# ---- settings ----

case $seed in
'' | *[!0-9]* | 0* | ???????*) fail "SEED is \"$seed\": give a whole number above 0 of at most six digits" ;;
esac
for run in $index $laplace; do
    echo "$run" | awk -F: '!/^[1-9][0-9]*:[0-9]*\.?[0-9]+$/ || !($2 > 0 && $2 <= 20) { exit 1 }' ||
        fail "INDEX or LAPLACE has \"$run\": give n:epsilon, such as 2000:4"
done
[ -n "$index$laplace" ] || fail 'INDEX and LAPLACE are empty: there is nothing to do'
[ -n "$data" ] || fail 'DATA is missing: name the folder of tract2000_race.csv.gz'
[ ! -f "$data/tract2000_race.csv.gz" ] || data=$data/tract2000_race.csv.gz
[ -f "$data" ] && [ -r "$data" ] || fail "DATA is ${DATA}: there is no tract2000_race.csv.gz in it" 6
build_dpot

# Results belong to these settings; those of others are removed.
mkdir -p "$out/runs"
{
    echo "seed $seed"
    cksum <"$data"
    cksum <tests/experiments/us_barycenter.sh
} >"$out/settings.new"
if ! cmp -s "$out/settings.new" "$out/settings"; then
    [ ! -f "$out/settings" ] || say '== Data or settings differ from those of the results there: starting anew'
    rm -rf "$out/runs" "$out/best.csv" "$out/floor"
    mkdir "$out/runs"
fi
mv "$out/settings.new" "$out/settings"

# ---- the people ----

case $data in
*.gz) gunzip -c "$data" ;;
*) cat "$data" ;;
esac | tr -d '\r' | awk -F, '
    NR == 1 {
        for (i = 1; i <= NF; i++) column[$i] = i
        n = split("geoid white_nh black_nh asian_nh hispanic lat lon", names, " ")
        for (i = 1; i <= n; i++) if (!(names[i] in column)) {
            print "us_barycenter.sh: the header of DATA lacks " names[i] >"/dev/stderr"
            exit 3
        }
        next
    }
    # Not in Alaska, Hawaii or Puerto Rico.
    $column["geoid"] !~ /^"?(02|15|72)/ {
        print $column["lat"], $column["lon"], $column["white_nh"], $column["black_nh"], $column["asian_nh"], $column["hispanic"]
    }' >"$out/tracts.txt" || exit $?

# The true distribution of group $1: tracts within 0.2 degrees are gathered in their common centre,
# which changes W2^2 by less than 0.01 square degrees.
gather() {
    awk -v group="$1" -v side=0.2 '
        {
            cell = int($1 / side) "," int($2 / side); people = $3 + $4 + $5 + $6
            n[cell] += people; lat[cell] += people * $1; lon[cell] += people * $2; own[cell] += $(3 + group)
            total += $(3 + group)
        }
        END {
            for (cell in own) if (own[cell] > 0)
                printf "%.9g,%.9g,%.17g\n", lat[cell] / n[cell], lon[cell] / n[cell], own[cell] / total
        }' "$out/tracts.txt" | LC_ALL=C sort
}
for g in 0 1 2 3; do
    gather $g >"$out/true-$g.csv"
    cut -d, -f 1,2 "$out/true-$g.csv" >"$out/true-points-$g.csv"
    cut -d, -f 3 "$out/true-$g.csv" >"$out/true-weights-$g.csv"
done

# N people of each group, group by group in turn: rows of device, lat, lon, group. Uniform numbers
# that are the same with every awk: Park and Miller's generator (1988), whose products are exact in
# a double.
draw() {
    awk -v n="$1" -v state="$((seed * 1000 + 7))" '
        function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
        {
            lat[NR] = $1; lon[NR] = $2
            for (g = 0; g < 4; g++) { sum[g] += $(3 + g); upto[g, NR] = sum[g] }
        }
        END {
            for (i = 0; i < 10; i++) uniform() # small seeds give small first numbers
            print "device,lat,lon,group"
            for (i = 0; i < n; i++) for (g = 0; g < 4; g++) {
                u = uniform() * sum[g]; low = 1; high = NR
                while (low < high) {
                    middle = int((low + high) / 2)
                    if (upto[g, middle] > u) high = middle; else low = middle + 1
                }
                printf "%d,%s,%s,%d\n", 4 * i + g, lat[low], lon[low], g
            }
        }' "$out/tracts.txt"
}

# ---- costs ----

# The mean of W2^2 from 48 points to the true groups.
cost() {
    for g in 0 1 2 3; do
        dpot ot --exact --x "$1" --y "$out/true-points-$g.csv" --b "$out/true-weights-$g.csv" --normalize \
            --metric euclidean --power 2 --quiet --json >"$out/ot.json"
        json transport_cost "$out/ot.json"
    done | awk '{ sum += $1 } END { printf "%.6f\n", sum / 4 }'
}
excess() { cost "$1" | awk -v floor="$(cat "$out/floor")" '{ printf "%.4f\n", $1 - floor }'; }
average() { # OUT GROUP..., the last column of which are weights
    to=$1
    shift
    dpot barycenter --group-files "$@" --weighted --normalize --support $support --exact --lower-bound none --seed "$seed" \
        --quiet --json --out "$to" >"$out/barycenter.json"
}

if [ ! -s "$out/floor" ]; then
    say '== The best points: those of the true distributions'
    dpot barycenter --group-files "$out/true-0.csv" "$out/true-1.csv" "$out/true-2.csv" "$out/true-3.csv" --weighted \
        --normalize --support $support --exact --lower-bound none --starts 5 --seed "$seed" --quiet --json --out "$out/best.csv" \
        >"$out/barycenter.json"
    cost "$out/best.csv" >"$out/floor.new"
    mv "$out/floor.new" "$out/floor"
fi
say "they cost $(cat "$out/floor") square degrees"

awk -v n=$cells -v lo=$lo -v hi=$hi 'BEGIN {
    split(lo, a, ","); split(hi, b, ",")
    for (i = 0; i < n; i++) for (j = 0; j < n; j++)
        printf "%.17g,%.17g\n", a[1] + (i + 0.5) * (b[1] - a[1]) / n, a[2] + (j + 0.5) * (b[2] - a[2]) / n }' >"$out/cells.csv"
sed "s|\$|,$(awk -v n=$cells 'BEGIN { printf "%.17g", 1 / (n * n) }')|" "$out/cells.csv" >"$out/nothing-group.csv"
average "$out/nothing.csv" "$out/nothing-group.csv"
nothing=$(excess "$out/nothing.csv")

# ---- one run ----

write_spec() { # MECHANISM EPSILON
    if [ "$1" = index ]; then
        spec_domain='"type": "grid", "lo": ['$lo'], "hi": ['$hi'], "shape": ['$cells', '$cells']'
        spec_mechanism='"type": "wpm", "epsilon": '$2', "lambda": 0.05, "iterations": 5, "base_measure": "ball", "sample_first": true, "n_max": 1'
    else
        spec_domain='"type": "box", "lo": ['$lo'], "hi": ['$hi']'
        spec_mechanism='"type": "laplace", "epsilon": '$2
    fi
    [ "$1" = laplace ] || echo '{"output": "same", "power": 2,' | tr -d '\n'
    [ "$1" = index ] || printf '{'
    cat <<SPEC
 "name": "us-barycenter-$1", "metric": "euclidean",
 "domain": {$spec_domain},
 "mechanism": {$spec_mechanism},
 "rounds": 1, "opens": "2026-01-01T00:00:00Z", "closes": "2026-01-08T00:00:00Z",
 "min_pool": 1000, "groups": [$labels], "simulation": true}
SPEC
}

# Raw pools as groups of points with weights, at most the first 2000 reports of each (noise, not
# chance, is their error).
raw_groups() { # FOLDER MECHANISM
    dpot convert --in "$1/groups.npy" --out "$1/groups.csv" --quiet --json >"$out/convert.json"
    dpot convert --in "$1/pool.npy" --out "$1/pool.csv" --quiet --json >"$out/convert.json"
    paste -d, "$1/groups.csv" "$1/pool.csv" | awk -F, -v kind="$2" -v cells="$out/cells.csv" -v folder="$1" '
        BEGIN { while ((getline line <cells) > 0) place[n_places++] = line }
        n[$1] < 2000 { n[$1]++; print (kind == "index" ? place[$2] : $2 "," $3) ",0.0005" >(folder "/raw-" $1 ".csv") }'
    rm "$1/groups.csv" "$1/pool.csv"
}

# The same people without privacy, gathered as the truth is.
open_groups() { # N FOLDER
    for g in 0 1 2 3; do
        awk -F, -v group=$g -v side=0.2 'NR > 1 && $4 == group {
                cell = int($2 / side) "," int($3 / side); n[cell]++; lat[cell] += $2; lon[cell] += $3; total++ }
            END { for (cell in n) printf "%.9g,%.9g,%.17g\n", lat[cell] / n[cell], lon[cell] / n[cell], n[cell] / total }' \
            "$out/people-$1.csv" | LC_ALL=C sort >"$2/open-$g.csv"
    done
}

do_run() { # MECHANISM N EPSILON
    folder=$out/runs/$1-$2-$3
    rm -rf "$folder"
    write_spec "$1" "$3" >"$out/$1-$3.json"
    [ -f "$out/people-$2.csv" ] || { draw "$2" >"$out/people.new" && mv "$out/people.new" "$out/people-$2.csv"; }
    started=$(date +%s)
    dpot simulate --campaign "$out/$1-$3.json" --data "$out/people-$2.csv" --header --group-column group \
        --devices $((4 * $2)) --in-process --seed "$seed" --out "$folder" --quiet --json >"$out/simulate.json"
    seconds=$(($(date +%s) - started))
    [ "$(json accepted "$folder/results.json")" = $((4 * $2)) ] ||
        fail "not all of $((4 * $2)) reports were accepted: see $folder/results.json" 1
    dpot barycenter --pool "$folder/pool.npy" --groups "$folder/groups.npy" --campaign "$out/$1-$3.json" --support $support \
        --exact --seed "$seed" --quiet --json --out "$folder/private.csv" --deconvolved-out "$folder/groups.csv" \
        >"$folder/private.json"
    mv "$folder/groups.csv" "$folder/deconvolved.csv"
    raw_groups "$folder" "$1"
    average "$folder/raw.csv" "$folder/raw-0.csv" "$folder/raw-1.csv" "$folder/raw-2.csv" "$folder/raw-3.csv"
    open_groups "$2" "$folder"
    average "$folder/open.csv" "$folder/open-0.csv" "$folder/open-1.csv" "$folder/open-2.csv" "$folder/open-3.csv"
    echo "$1,$2,$3,$(excess "$folder/raw.csv"),$nothing,$(excess "$folder/private.csv"),$(excess "$folder/open.csv"),$((4 * $2)),$seconds" \
        >"$folder/line.new"
    rm -f "$folder"/pool.npy "$folder"/devices.csv "$folder"/vectors_true.npy "$folder"/raw-?.csv "$folder"/open-?.csv
    mv "$folder/line.new" "$folder/line.csv"
}

: >"$out/lines"
for mechanism in index laplace; do
    [ $mechanism = index ] && runs=$index || runs=$laplace
    for run in $runs; do
        n=${run%%:*} epsilon=${run##*:}
        line=$out/runs/$mechanism-$n-$epsilon/line.csv
        [ -f "$line" ] || do_run $mechanism "$n" "$epsilon"
        cat "$line" >>"$out/lines"
        say "$mechanism, $n a group, epsilon $epsilon: excess $(cut -d, -f 6 "$line")"
    done
done

# ---- table and pictures ----

{
    echo 'mechanism,n,epsilon,raw,nothing,private,open,devices,seconds'
    cat "$out/lines"
} >"$out/table.csv"
rm -f "$out/lines"
{
    echo "Excess cost, square degrees, of 48 points for the four groups (the best cost $(awk '{ printf "%.2f", $1 }' "$out/floor")):"
    awk -F, 'NR == 1 { printf "\n  %-9s %11s %8s %10s %15s %9s %12s %9s %8s\n", "mechanism", "n a group", "epsilon", "raw pools", "knowing nothing", "private", "not private", "devices", "seconds" }
        NR > 1 { printf "  %-9s %11d %8s %10.1f %15.1f %9.2f %12.2f %9d %8d\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 }' "$out/table.csv"
    printf '\nEvery report was made by the client that ships (dpot simulate, in process; so many devices in so many seconds).\n'
} >"$out/table.txt"

picture() { # NAME FILE TITLE
    for format in png svg; do
        dpot plot points --in "$2" --border $border --title "$3" --width 700 --quiet --json --out "$out/$1.$format" >"$out/plot.json"
    done
}
picture best "$out/best.csv" "48 points for four groups: from their true distributions"
picture nothing "$out/nothing.csv" "48 points, knowing nothing (excess $nothing square degrees)"
awk -F, 'NR > 1 { print $1, $2, $3, $6 }' "$out/table.csv" | while read -r mechanism n epsilon found; do
    picture "$mechanism-$n-$epsilon" "$out/runs/$mechanism-$n-$epsilon/private.csv" \
        "$mechanism reports, $n a group, epsilon $epsilon: excess $(printf '%.2f' "$found")"
done
rm -f "$out"/ot.json "$out"/barycenter.json "$out"/simulate.json "$out"/convert.json "$out"/plot.json

cat "$out/table.txt"
cat <<FILES

Files in $out:
  table.txt, table.csv   the table
  best.png, nothing.png  the points of the truth and of the guess, and of every run
                         MECHANISM-N-EPSILON.png; also as .svg
  runs/                  private.csv: the points; deconvolved.csv: group, weight, lat, lon
FILES
