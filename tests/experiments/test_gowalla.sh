#!/bin/sh
# The experiment on invented check-ins: it writes a table and pictures, WPM is nearer to the truth
# than KPM, a second start repeats nothing, and wrong settings are refused.
#   sh test_gowalla.sh BIN_FOLDER
set -u
. "$(dirname "$0")/test_experiment.inc.sh"
export BIN="$1" OUT="$dir/out" USERS=60 RUNS=2 EPSILONS=4

# 70 users with 12 check-ins around the middle, 5 with 9.
awk 'BEGIN {
    print "user,poi,lat,lon,count"
    for (u = 1; u <= 75; u++)
        for (p = 0; p < 3; p++)
            printf "%d,%d,%.3f,%.3f,%d\n", u, p, 30.28 + 0.01 * (u % 5), -97.76 + 0.02 * p, u <= 70 ? 4 : 3
}' >"$dir/austin_counts.csv"

DATA=$dir expect 'a folder of data' 0 'heatmap.png'
for file in table.txt table.csv runs.csv curves.png curves.svg heatmap.png heatmap.svg; do
    [ -s "$OUT/$file" ] || miss "there is no $file"
done
awk -F, '{ w1[$1] = $4 } END { exit !(0 < w1["none"] && w1["none"] < w1["wpm"] && w1["wpm"] < 0.8 * w1["kpm"] &&
    w1["kpm"] < 1.1 * w1["uniform"]) }' "$OUT/table.csv" || { miss 'the order of the mechanisms'; cat "$OUT/table.csv"; }
[ "$(awk 'END { print NR }' "$OUT/runs.csv")" -eq 11 ] || miss 'five lines a run in runs.csv'

cp "$OUT/table.csv" "$dir/first.csv"
rm "$OUT/runs/kpm-4-2/w1.csv"
touch -d '2001-01-01' "$OUT/runs/wpm-4-1/w1.csv"
gzip -c "$dir/austin_counts.csv" >"$dir/c.csv.gz"
DATA=$dir/austin_counts.csv expect 'a second start' 0 '6 of 6'
cmp -s "$OUT/table.csv" "$dir/first.csv" || miss 'a run that is done again gives the same'
[ -n "$(find "$OUT/runs/wpm-4-1/w1.csv" ! -newer "$dir/first.csv")" ] || miss 'a run that is done is not done again'
DATA=$dir/c.csv.gz CHECKINS=all expect 'other settings' 0 'starting anew'

DATA= expect 'no data' 2 'DATA is missing'
DATA=$dir/nowhere expect 'data that are not there' 6 'no file of that name'
DATA=$dir USERS=71 expect 'too many users' 3 'USERS=70'
DATA=$dir CHECKINS=11 expect 'too many check-ins' 2 'at most 10'
DATA=$dir RUNS=x expect 'no number' 2 'RUNS is "x"'
DATA=$dir EPSILONS='1 z' expect 'no epsilon' 2 'EPSILONS has "z"'
DATA=$dir EPSILONS=30 expect 'an epsilon above the ceiling' 4 'at most 20'
printf 'name,lat,lon\na,1,2\n' >"$dir/other.csv"
DATA=$dir/other.csv expect 'other columns' 3 'lacks user'

conclude
