#!/bin/sh
# The location experiment of the paper (002, appendix M.1 and N): 500 users in Austin, Texas, each
# of whom releases one check-in privately; how far is the estimated distribution of check-ins from
# the true one? WPM against KPM and the exponential mechanism.
#
#   DATA=FILE|FOLDER sh tests/experiments/gowalla.sh
#
# DATA    check-ins as .csv or .csv.gz with the columns user, lat, lon and, if there is one, count
#         (check-ins of that user at that place), or the folder that holds austin_counts.csv.gz
# OUT     folder of the results                      (default build/experiments/gowalla)
# USERS   users, of those with at least 10 check-ins (500)
# CHECKINS  check-ins of a user in each run, drawn without replacement, or "all" (10)
# RUNS, EPSILONS, SEED, BIN                          (5, "1 2 3 4", 1, build/release/bin)
# LAMBDA, ITERATIONS  of WPM                         (0.01 in sides of the box, 40)
#
# What is measured. The box is latitude 30.1..30.5, longitude -97.95..-97.55, cut into 20 x 20
# cells; coordinates are scaled so that a side of the box is 1, with the Euclidean distance, p = 1.
# The same users take part in all runs. A run draws CHECKINS of each user's check-ins; their
# distribution over the cells is what the user holds, and the true distribution is the mean of
# these. Every user runs the shipping client (dpot simulate --in-process) and releases one cell; the
# estimate is the frequency of the released cells. W1 is the exact transport cost between the two,
# printed in sides of the box (times 0.4: degrees) and, with great-circle distances between the
# centres of the cells, in km. WPM takes the best uniform base measure for the worst case, and
# lambda and iterations as in the paper; the two baselines bring their own base measures.
#
# Can be stopped and restarted: finished runs are not repeated unless data, settings or the program
# have changed.
set -eu
. "$(dirname "$0")/experiment.inc.sh"

out=${out:-build/experiments/gowalla}
users=${USERS:-500}
checkins=${CHECKINS:-10}
runs=${RUNS:-5}
epsilons=${EPSILONS:-1 2 3 4}
seed=${SEED:-1}
lambda=${LAMBDA:-0.01}
iterations=${ITERATIONS:-40}
bin=${bin:-build/release/bin}
mechanisms='wpm kpm exponential'
least=10 # check-ins of a user who takes part
cells=20 # along a side
lat=30.1 lon=-97.95 side=0.4

dpot() { "$bin/dpot" "$@"; }

# ---- settings ----

check_integer() {
    case $2 in
    '' | *[!0-9]* | 0*) fail "$1 is \"$2\": give a whole number above 0" ;;
    esac
}
check_integer USERS "$users"
check_integer RUNS "$runs"
check_integer SEED "$seed"
[ "$checkins" = all ] || check_integer CHECKINS "$checkins"
[ "$checkins" = all ] || [ "$checkins" -le $least ] ||
    fail "CHECKINS is $checkins, and there are users with $least check-ins: give at most $least, or all"
[ "${#seed}" -le 6 ] || fail "SEED is $seed: give at most six digits"
[ "${#runs}" -le 3 ] || fail "RUNS is $runs: give at most 999" # runs of two seeds must not coincide
for epsilon in $epsilons; do
    case $epsilon in
    *[!0-9.]* | *.*.* | .) fail "EPSILONS has \"$epsilon\": give numbers above 0, separated by blanks" ;;
    esac
done

[ -n "$data" ] || fail 'DATA is missing: name a file of check-ins (user, lat, lon, count), or its folder'
if [ -d "$data" ]; then
    for name in austin_counts.csv.gz austin_counts.csv; do
        [ ! -f "$data/$name" ] || { data=$data/$name; break; }
    done
fi
[ -f "$data" ] && [ -r "$data" ] ||
    fail "DATA is ${DATA}: there is no file of that name, and no austin_counts.csv.gz in it" 6

build_dpot

# Results belong to these settings; those of others are removed.
mkdir -p "$out/runs"
{
    echo "users $users checkins $checkins runs $runs epsilons $epsilons seed $seed lambda $lambda iterations $iterations"
    cksum <"$data"
    cksum <"$bin/dpot"
    cksum <tests/experiments/gowalla.sh
} >"$out/settings.new"
if ! cmp -s "$out/settings.new" "$out/settings"; then
    [ ! -f "$out/settings" ] || say '== Data, settings or program differ from those of the results there: starting anew'
    rm -rf "$out/runs"
    mkdir "$out/runs"
fi
mv "$out/settings.new" "$out/settings"

# ---- the users and what they hold in each run ----

# Uniform numbers that are the same with every awk: Park and Miller's generator (1988), whose
# products are exact in a double.
random='function below(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }'

# Lines "user lat lon count" of the users who take part, in the order in which they were drawn.
choose_users() {
    case $data in
    *.gz) gunzip -c "$data" ;;
    *) cat "$data" ;;
    esac | tr -d '\r' | awk -F, -v state="$seed" -v users="$users" -v least=$least \
        -v lat=$lat -v lon=$lon -v side=$side "$random"'
        NR == 1 {
            for (i = 1; i <= NF; i++) column[$i] = i
            if (!("user" in column && "lat" in column && "lon" in column)) {
                print "gowalla.sh: the header of DATA lacks user, lat or lon" >"/dev/stderr"
                exit bad = 3
            }
            next
        }
        {
            user = $column["user"]; y = $column["lat"]; x = $column["lon"]
            count = "count" in column ? $column["count"] : 1
            if (y < lat || y > lat + side || x < lon || x > lon + side) next
            if (!(user in total)) order[n_seen++] = user
            total[user] += count
            lines[user, n_lines[user]++] = user " " y " " x " " count
        }
        END {
            if (bad) exit bad
            for (i = 0; i < n_seen; i++) if (total[order[i]] >= least) chosen[n++] = order[i]
            if (n < users) {
                printf "gowalla.sh: %d users have at least %d check-ins in the box: give USERS=%d or less\n", \
                    n, least, n >"/dev/stderr"
                exit 3
            }
            for (i = 0; i < 10; i++) below(2) # small seeds give small first numbers
            for (i = 0; i < users; i++) {
                j = i + below(n - i); swap = chosen[i]; chosen[i] = chosen[j]; chosen[j] = swap
                for (l = 0; l < n_lines[chosen[i]]; l++) print lines[chosen[i], l]
            }
        }'
}

# Rows of dpot simulate for run $1: CHECKINS of each user, drawn without replacement by going
# through them once (a check-in is taken with probability wanted / left).
choose_checkins() {
    awk -v state="$((seed * 1000 + $1))" -v checkins="$checkins" -v lat=$lat -v lon=$lon -v side=$side "$random"'
        NR == FNR { left[$1] += $4; next }
        FNR == 1 { print "device,lat,lon,count"; for (i = 0; i < 10; i++) below(2) }
        {
            if (!($1 in wanted)) wanted[$1] = checkins == "all" ? left[$1] : checkins
            taken = 0
            for (i = 0; i < $4; i++) {
                if (below(left[$1]) < wanted[$1]) { taken++; wanted[$1]-- }
                left[$1]--
            }
            if (taken) printf "%s,%.9f,%.9f,%d\n", $1, ($2 - lat) / side, ($3 - lon) / side, taken
        }' "$out/users.txt" "$out/users.txt"
}

say "== Choosing $users users with at least $least check-ins, and their check-ins in $runs runs"
choose_users >"$out/users.txt" || exit $?
run=1
while [ "$run" -le "$runs" ]; do
    choose_checkins "$run" >"$out/data-$run.csv"
    run=$((run + 1))
done
# Centres of the cells: in sides of the box, and in degrees.
awk -v n=$cells 'BEGIN {
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) printf "%.17g,%.17g\n", (i + 0.5) / n, (j + 0.5) / n }' \
    >"$out/cells.csv"
awk -F, -v lat=$lat -v lon=$lon -v side=$side \
    '{ printf "%.17g,%.17g\n", lat + side * $1, lon + side * $2 }' "$out/cells.csv" >"$out/cells-degrees.csv"
awk -v n=$((cells * cells)) 'BEGIN { for (i = 0; i < n; i++) printf "%.17g\n", 1 / n }' >"$out/uniform.csv"

# ---- one run ----

# The most points that one device holds: every device does this work, whatever its data.
n_max=$((cells * cells))
[ "$checkins" = all ] || n_max=$checkins

# write_spec MECHANISM EPSILON MASS
write_spec() {
    own=
    [ "$1" != wpm ] || own='"lambda": '$lambda', "iterations": '$iterations', "base_measure": "uniform:'$3'", '
    cat <<SPEC
{"name": "gowalla-$1",
 "domain": {"type": "grid", "lo": [0, 0], "hi": [1, 1], "shape": [$cells, $cells]},
 "output": "same", "metric": "euclidean", "power": 1,
 "mechanism": {"type": "$1", "epsilon": $2, $own"n_max": $n_max},
 "rounds": 1, "opens": "2026-01-01T00:00:00Z", "closes": "2026-01-08T00:00:00Z",
 "min_pool": $users, "simulation": true}
SPEC
}

# "sides,km" between two distributions over the cells.
distances() {
    dpot ot --exact --x "$out/cells.csv" --y "$out/cells.csv" --metric euclidean --normalize --quiet --json \
        --a "$1" --b "$2" >"$out/ot.json"
    sides=$(json transport_cost "$out/ot.json")
    dpot ot --exact --x "$out/cells-degrees.csv" --y "$out/cells-degrees.csv" --metric haversine --normalize \
        --quiet --json --a "$1" --b "$2" >"$out/ot.json"
    echo "$sides,$(json transport_cost "$out/ot.json")"
}

# Keeps what pictures are made of, and then, as the sign that the run is done, its line of the
# table.
do_run() {
    folder=$out/runs/$1-$2-$3
    rm -rf "$folder"
    dpot simulate --campaign "$out/$1-$2.json" --data "$out/data-$3.csv" --header --devices "$users" --in-process \
        --seed "$((seed * 1000 + $3))" --out "$folder" --quiet --json >"$out/simulate.json"
    [ "$(json accepted "$folder/results.json")" = "$users" ] ||
        fail "$(json accepted "$folder/results.json") of $users reports were accepted: see $folder/results.json" 1
    dpot estimate --campaign "$out/$1-$2.json" --pool "$folder/pool.npy" --bootstrap 0 --quiet --json \
        --out "$folder/estimate.csv" >"$out/estimate.json"
    {
        echo "$1,$2,$3,$(distances "$folder/population_true.csv" "$folder/estimate.csv")"
        echo "none,$2,$3,$(distances "$folder/population_true.csv" "$folder/population_sample.csv")"
        echo "uniform,$2,$3,$(distances "$folder/population_true.csv" "$out/uniform.csv")"
    } >"$folder/w1.new"
    mv "$folder/w1.new" "$folder/w1.csv"
}

n_all=0 n_done=0
for epsilon in $epsilons; do
    n_all=$((n_all + 3 * runs))
done
for epsilon in $epsilons; do
    dpot base-measure --x "$out/cells.csv" --metric euclidean --epsilon "$epsilon" --method uniform --quiet \
        --json --out "$out/uniform-$epsilon.csv" >"$out/base-measure.json"
    mass=$(json total_mass "$out/base-measure.json")
    say "== epsilon $epsilon: the best uniform base measure has total mass $mass"
    for mechanism in $mechanisms; do
        write_spec "$mechanism" "$epsilon" "$mass" >"$out/$mechanism-$epsilon.json"
        run=1
        while [ "$run" -le "$runs" ]; do
            n_done=$((n_done + 1))
            line=$out/runs/$mechanism-$epsilon-$run/w1.csv
            [ -f "$line" ] || do_run "$mechanism" "$epsilon" "$run"
            say "$n_done of $n_all: $mechanism, epsilon $epsilon, run $run: $(awk -F, 'NR == 1 { printf "W1 %.4f", $4 }' "$line")"
            run=$((run + 1))
        done
    done
done

# ---- tables ----

# The reference values depend on the number of the run, not on the mechanism: once each.
echo 'mechanism,epsilon,run,w1,w1_km' >"$out/runs.csv"
cat "$out"/runs/*/w1.csv | LC_ALL=C sort -t , -k 1,1 -k 2,2n -k 3,3n -u >>"$out/runs.csv"

awk -F, -v side=$side '
    NR == 1 { print "mechanism,epsilon,runs,w1_mean,w1_sd,degrees_mean,degrees_sd,km_mean,km_sd"; next }
    {
        key = $1 "," $2
        if (!(key in n)) keys[n_keys++] = key
        n[key]++; sum[key] += $4; km[key] += $5
        w1[key, n[key]] = $4; w1_km[key, n[key]] = $5
    }
    END {
        for (k = 0; k < n_keys; k++) {
            key = keys[k]; mean = sum[key] / n[key]; mean_km = km[key] / n[key]; s = s_km = 0
            for (i = 1; i <= n[key]; i++) {
                s += (w1[key, i] - mean) ^ 2; s_km += (w1_km[key, i] - mean_km) ^ 2
            }
            free = n[key] > 1 ? n[key] - 1 : 1
            sd = sqrt(s / free); sd_km = sqrt(s_km / free)
            printf "%s,%d,%.6f,%.6f,%.6f,%.6f,%.4f,%.4f\n", key, n[key], mean, sd, side * mean, side * sd, mean_km, sd_km
        }
    }' "$out/runs.csv" >"$out/table.csv"

# table COLUMN DIGITS: mean and standard deviation, a line for each mechanism
table() {
    awk -F, -v column="$1" -v digits="$2" -v epsilons="$epsilons" '
        { mean[$1, $2] = $column; sd[$1, $2] = $(column + 1) }
        function line(name, mechanism,    i, text) {
            text = sprintf("  %-34s", name)
            for (i = 1; i <= n; i++)
                text = text sprintf("  %14s", sprintf("%.*f (%.*f)", digits, mean[mechanism, e[i]], digits, sd[mechanism, e[i]]))
            print text
        }
        END {
            n = split(epsilons, e, " ")
            text = sprintf("  %-34s", "")
            for (i = 1; i <= n; i++) text = text sprintf("  %14s", "epsilon " e[i])
            print text
            line("WPM, best uniform base measure", "wpm")
            line("KPM", "kpm")
            line("exponential mechanism", "exponential")
            line("uniform guess, no data", "uniform")
            line("one check-in a user, no privacy", "none")
        }' "$out/table.csv"
}
{
    echo "W1 between the true and the estimated distribution of check-ins: mean (standard deviation) of $runs runs,"
    echo "$users users, one report each."
    echo
    echo "In sides of the box (1 = $side degrees):"
    table 4 4
    echo
    echo 'In kilometres (great circles between the centres of the cells):'
    table 8 2
} >"$out/table.txt"

# ---- pictures ----

awk -F, -v epsilons="$epsilons" '
    { mean[$1, $2] = $4; sd[$1, $2] = $5 }
    END {
        print "epsilon,WPM,sd,KPM,sd,exponential mechanism,sd,\"uniform guess, no data\",sd,\"one check-in a user, no privacy\",sd"
        n = split(epsilons, e, " "); m = split("wpm kpm exponential uniform none", mechanism, " ")
        for (i = 1; i <= n; i++) {
            text = e[i]
            for (j = 1; j <= m; j++) text = text "," mean[mechanism[j], e[i]] "," sd[mechanism[j], e[i]]
            print text
        }
    }' "$out/table.csv" >"$out/curves.csv"
last=${epsilons##* }
top=$(awk -v a=$lat -v b=$lon -v side=$side 'BEGIN { print a + side "," b + side }')
for format in png svg; do
    dpot plot curves --in "$out/curves.csv" --header --error-bars --from-zero --out "$out/curves.$format" --quiet --json \
        --title "Check-ins in Austin: error of the estimate, $users users, $runs runs" \
        --x-label 'epsilon' --y-label "W1 to the true distribution (1 = side of the box, $side degrees)" >"$out/plot.json"
    dpot plot heatmap --grid ${cells}x$cells --lo $lat,$lon --hi "$top" \
        --in "$out/runs/wpm-$last-1/population_true.csv" --in2 "$out/runs/wpm-$last-1/estimate.csv" \
        --in3 "$out/runs/kpm-$last-1/estimate.csv" --in4 "$out/runs/exponential-$last-1/estimate.csv" \
        --titles 'true distribution|WPM|KPM|exponential mechanism' --map --log --value-label 'share of the check-ins' \
        --title "Check-ins of $users users in Austin, estimated with epsilon $last" \
        --out "$out/heatmap.$format" --quiet --json >"$out/plot.json"
done
rm -f "$out/ot.json" "$out/simulate.json" "$out/estimate.json" "$out/plot.json" "$out/base-measure.json"

cat "$out/table.txt"
cat <<FILES

Files in $out:
  table.txt, table.csv       mean and standard deviation (degrees too); runs.csv has every run
  curves.png, curves.svg     error by epsilon
  heatmap.png, heatmap.svg   the true distribution and its estimates, first run, epsilon $last
FILES
