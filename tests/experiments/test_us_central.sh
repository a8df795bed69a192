#!/bin/sh
# The experiment on invented people: it writes tables and pictures, the cost of privacy is positive
# and small, a second start repeats nothing, and wrong settings are refused.
#   sh test_us_central.sh BIN_FOLDER
set -u
. "$(dirname "$0")/test_experiment.inc.sh"
export BIN="$1" OUT="$dir/out" RUNS=2 N1=4000 N4=2000 SIZES='500 2000' EPSILONS='1 5' SUPPORT=6 STARTS=3

# Four towns of many tracts each, another mix of groups in each; one tract in Hawaii.
mkdir "$dir/data"
awk 'BEGIN {
    print "geoid,population,white_nh,black_nh,asian_nh,hispanic,white_all,black_all,asian_all,lat,lon"
    for (t = 0; t < 4; t++)
        for (i = 0; i < 40; i++)
            printf "%02d001%06d,%d,%d,%d,%d,%d,0,0,0,%.4f,%.4f\n", t + 4, i, 1000, 400 + 50 * t, 200 - 20 * t,
                100 + 20 * t, 300 - 50 * t, 32 + 4 * (t % 2) + i % 7 * 0.1, -110 + 20 * (t >= 2) + i % 5 * 0.1
    print "15001000000,900000,900000,900000,900000,900000,0,0,0,21,-157"
}' | gzip >"$dir/data/tract2000_race.csv.gz"
printf 'ring,vertex,lon,lat\n0,0,-120,28\n0,1,-120,42\n0,2,-80,42\n0,3,-80,28\n' | gzip >"$dir/data/conus_border.csv.gz"

DATA=$dir/data expect 'a folder of data' 0 'ratio'
for file in table.txt table.csv runs.csv curve.png map-k1-4000-1.png map-k4-2000-5.png end-to-end.json; do
    [ -s "$OUT/$file" ] || miss "there is no $file"
done
awk -F, 'NR > 1 && $4 != 2 { exit 1 } $1 == "curve" { r[$2, $3] = $7 } $1 == "k1" { one[$3] = $7 }
    END { exit !(r[500, 1] > 1.05 && r[500, 1] > r[2000, 5] && one[1] > 0.9 && one[5] < 1.5) }' "$OUT/table.csv" ||
    { miss 'ratios'; cat "$OUT/table.csv"; }
awk -F, 'NR > 1 && ($1 < 20 || $2 < -125) { exit 1 }' "$OUT/k1-4000-plain.csv" || miss 'Hawaii is left out'
grep -q '"is_simulation":false' "$OUT/end-to-end.json" || miss 'the last run is no simulation'
cp "$OUT/table.csv" "$dir/first.csv"
DATA=$dir/data expect 'a second start' 0 'ratio'
cmp -s "$OUT/table.csv" "$dir/first.csv" || miss 'a second start gives the same'
grep -q 'k1, n' "$dir/output" && miss 'a run that is done is not done again'

DATA= expect 'no data' 2 'DATA is missing'
DATA=$dir expect 'another folder' 6 'there is no tract2000_race.csv.gz'
DATA=$dir/data RUNS=x expect 'no number' 2 '"x" is given'
conclude
