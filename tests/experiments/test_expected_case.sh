#!/bin/sh
# The experiment on people who are invented: it ends with its table, and what is wrong is refused.
#   sh test_expected_case.sh BIN_FOLDER
set -u
. "$(dirname "$0")/test_experiment.inc.sh"
export BIN="$1" OUT="$dir/out" FIT=14 HELD_OUT=6 POWERS=1 EPSILONS=4
awk 'BEGIN {
    print "user,lat,lon,count"
    for (u = 0; u < 25; u++) for (i = 0; i < 4; i++)
        printf "%d,%.5f,%.5f,%d\n", u, 30.2 + 0.004 * (u % 5) + 0.02 * (i % 2), -97.8 + 0.003 * (u % 7) + 0.02 * (i > 1), 3 + i
}' >"$dir/data.csv"
DATA=$dir/data.csv expect 'a file of check-ins' 0 '^1   4  '
awk '$1 == 1 { found = 1; if (!($7 + 0 < $3 + 0)) bad = 1 } END { exit bad || !found }' "$OUT/table.txt" ||
    miss 'the measure for users is no better than the uniform one'
DATA=$dir/nowhere expect 'no data' 6 'there is no file of that name'
DATA=$dir/data.csv FIT=many expect 'a bad number' 2 'give whole numbers'
DATA=$dir/data.csv FIT=300 expect 'too few users' 3 'FIT and HELD_OUT ask for 306'
conclude
