#!/bin/sh
# Base measures for example users and for the worst point: the cost of a report for held-out users.
#
#   DATA=/path/to/gowalla sh tests/experiments/expected_case.sh
#
# DATA     a file of check-ins (columns user, lat, lon and optionally count; .gz or not) or a folder
#          with austin_counts.csv.gz
# FIT, HELD_OUT   users to fit (700) and held out (500), drawn from those with at least 10 check-ins
# POWERS (1 2), EPSILONS (.5 1 2 4), SEED (1)
# OUT      folder of the results (build/experiments/expected_case); BIN folder of the program
#          (build/release/bin)
#
# The square of 0.4 degrees around Austin is a grid of 20 x 20 cells on the unit square, and a user
# the distribution of all her check-ins over it. Every number is the mean of W_p^p between a
# held-out user and the law of her report (exact), with its standard error. The measures: best
# uniform; certified for the worst case; made for the fitted users; and one public answer to
# everyone, which needs no report.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-build/experiments/expected_case}
bin=${bin:-build/release/bin}
fit=${FIT:-700}
held=${HELD_OUT:-500}
powers=${POWERS:-1 2}
epsilons=${EPSILONS:-0.5 1 2 4}
seed=${SEED:-1}

for value in "$fit" "$held" "$seed"; do
    case $value in
    '' | *[!0-9]* | 0*) fail "FIT, HELD_OUT and SEED are $fit, $held and $seed: give whole numbers above 0" ;;
    esac
done
[ -n "$data" ] || fail 'DATA is missing: name a file of check-ins (user, lat, lon, count), or its folder'
if [ -d "$data" ]; then
    for name in austin_counts.csv.gz austin_counts.csv; do
        [ ! -f "$data/$name" ] || { data=$data/$name; break; }
    done
fi
[ -f "$data" ] && [ -r "$data" ] || fail "DATA is ${DATA}: there is no file of that name, and no austin_counts.csv.gz in it" 6
[ -x "$bin/dpot" ] || fail "there is no program dpot in $bin: build the release preset, or set BIN" 6

mkdir -p "$out"
# Users with at least 10 check-ins in the square, in a seeded order that is the same with every awk;
# then one row of 400 shares each.
case $data in
*.gz) gunzip -c "$data" ;;
*) cat "$data" ;;
esac | tr -d '\r' | awk -F, -v state="$seed" -v fit="$fit" -v held="$held" -v out="$out" '
    function below(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }
    NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        user = $column["user"]; y = ($column["lat"] - 30.1) / 0.4; x = ($column["lon"] + 97.95) / 0.4
        if (y < 0 || y > 1 || x < 0 || x > 1) next
        count = "count" in column ? $column["count"] : 1
        a = int(y * 20); b = int(x * 20); cell = (a > 19 ? 19 : a) * 20 + (b > 19 ? 19 : b)
        if (!(user in total)) order[n_seen++] = user
        total[user] += count; mass[user, cell] += count
    }
    END {
        for (i = 0; i < n_seen; i++) if (total[order[i]] >= 10) chosen[n++] = order[i]
        if (n < fit + held) {
            printf "expected_case.sh: %d users have at least 10 check-ins in the square: FIT and HELD_OUT ask for %d\n", \
                n, fit + held >"/dev/stderr"
            exit 3
        }
        for (i = 0; i < 10; i++) below(2)
        for (i = 0; i < fit + held; i++) {
            j = i + below(n - i); swap = chosen[i]; chosen[i] = chosen[j]; chosen[j] = swap
            line = ""
            for (c = 0; c < 400; c++) line = line (c ? "," : "") \
                ((chosen[i], c) in mass ? sprintf("%.17g", mass[chosen[i], c] / total[chosen[i]]) : 0)
            print line >(out "/" (i < fit ? "fit" : "held") ".csv")
        }
    }'
awk 'BEGIN { for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) printf "%.17g,%.17g\n", (i + 0.5) / 20, (j + 0.5) / 20 }' \
    >"$out/cells.csv"

# measure NAME OPTIONS...: NAME.json
measure() {
    name=$1
    shift
    "$bin/dpot" base-measure --x "$out/cells.csv" --metric euclidean --power "$power" --epsilon "$epsilon" \
        --held-out "$out/held.csv" --normalize --seed "$seed" --quiet --json --out "$out/$name.npy" "$@" >"$out/$name.json"
}
value() { printf "%.4f (%.4f)" "$(json "$2" "$out/$1.json")" "$(json "$3" "$out/$1.json")"; }
{
    printf '%-3s %-5s %18s %18s %18s %18s %8s %8s %7s %8s %8s %7s\n' p eps 'best uniform' 'certified worst' \
        'for its users' 'constant answer' fitted 'gap %' '95 %' 'worst' 'uniform' seconds
    for power in $powers; do
        for epsilon in $epsilons; do
            say "== power $power, epsilon $epsilon"
            measure worst --method certified
            measure users --users "$out/fit.csv"
            printf '%-3s %-5s %18s %18s %18s %18s %8.4f %8.2f %7.4f %8.4f %8.4f %7.1f\n' "$power" "$epsilon" \
                "$(value users held_out_uniform_cost held_out_uniform_cost_error)" \
                "$(value worst held_out_cost held_out_cost_error)" \
                "$(value users held_out_cost held_out_cost_error)" \
                "$(value users held_out_constant_cost held_out_constant_cost_error)" \
                "$(json objective "$out/users.json")" "$(awk -v g="$(json relative_gap "$out/users.json")" 'BEGIN { print 100 * g }')" \
                "$(json held_out_cost_95 "$out/users.json")" "$(json measure_worst_cost "$out/users.json")" \
                "$(json uniform_worst_cost "$out/users.json")" "$(json seconds "$out/users.json")"
        done
    done
} >"$out/table.txt"
cat "$out/table.txt"
cat <<FILES

Mean W_p^p of $held held-out users (standard error); fitted: of the $fit users the measure was made for, and gap % how much
lower another measure could be for them at most; worst, uniform: of a user at the worst point, under it and under best uniform.
Files in $out: table.txt, fit.csv, held.csv, the last measures.
FILES
