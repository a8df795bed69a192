#!/bin/sh
# The experiment on invented people: reports come from the client, it writes a table and pictures,
# the private points are nearer than a guess without data, a second start repeats nothing, and wrong
# settings are refused.
#   sh test_us_barycenter.sh BIN_FOLDER
set -u
. "$(dirname "$0")/test_experiment.inc.sh"
export BIN="$1" OUT="$dir/out" INDEX=300:4 LAPLACE=300:4 SEED=2

# Two towns of many tracts, another mix of groups in each; one tract in Hawaii.
mkdir "$dir/data"
awk 'BEGIN {
    print "geoid,white_nh,black_nh,asian_nh,hispanic,lat,lon"
    for (t = 0; t < 2; t++)
        for (i = 0; i < 30; i++)
            printf "%02d001%06d,%d,%d,%d,%d,%.4f,%.4f\n", t + 4, i, 400 + 50 * t, 200 - 20 * t, 100 + 20 * t, 300 - 50 * t,
                34 + 4 * t + i % 7 * 0.1, -110 + 20 * t + i % 5 * 0.1
    print "15001000000,900000,900000,900000,900000,21,-157"
}' | gzip >"$dir/data/tract2000_race.csv.gz"

DATA=$dir/data expect 'a folder of data' 0 'made by the client that ships'
for file in table.txt table.csv best.png nothing.svg index-300-4.png laplace-300-4.svg runs/index-300-4/private.csv; do
    [ -s "$OUT/$file" ] || miss "there is no $file"
done
awk -F, 'NR > 1 { rows++; if ($8 != 1200 || !($6 < $5)) exit 1 } END { if (rows != 2) exit 1 }' "$OUT/table.csv" ||
    { miss 'all devices reported, and their points know more than nothing'; cat "$OUT/table.csv"; }
grep -q '"accepted": *1200' "$OUT/runs/index-300-4/results.json" || miss 'the client reported'
awk -F, '$1 < 20 || $2 < -125 { exit 1 }' "$OUT/best.csv" || miss 'Hawaii is left out'
cp "$OUT/table.csv" "$dir/first.csv"
DATA=$dir/data expect 'a second start' 0 'made by the client that ships'
cmp -s "$OUT/table.csv" "$dir/first.csv" || miss 'a second start gives the same, and does nothing again'

DATA= expect 'no data' 2 'DATA is missing'
DATA=$dir expect 'another folder' 6 'there is no tract2000_race.csv.gz'
DATA=$dir/data INDEX=300 expect 'no epsilon' 2 'give n:epsilon'
DATA=$dir/data INDEX= LAPLACE= expect 'no setting' 2 'nothing to do'
DATA=$dir/data SEED=0 expect 'no seed' 2 'SEED is "0"'
conclude
