#!/bin/sh
# Private recommendation of a movie (002, section 5.2): WPM against KPM on genres and the
# exponential mechanism.
#
#   cmake --preset release -B build/bench -DDPOT_BUILD_TESTS=ON
#   cmake --build build/bench --target dpot recommend
#   DATA=FOLDER sh tests/experiments/recommend.sh
#
# DATA        folder with ratings.csv.gz and movies.csv.gz of MovieLens (F. M. Harper, J. A.
#             Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4):19, 2015;
#             https://grouplens.org/datasets/movielens/)
# CANDIDATES  movies that can be recommended  (250)
# SPLITS      of users and movies             (3)
# EPSILONS    of one report                   (.2 .5 1 2 3 4)
# BIN, OUT    programs, folder                (build/bench/bin, build/experiments/recommend)
#
# recommend.c has the details. Ratings of four fifths of the users are public here: they make the
# embedding and choose the total masses; the others' ratings are the private data.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-$PWD/build/experiments/recommend}
bin=${bin:-$PWD/build/bench/bin}
[ -n "$data" ] || fail 'DATA is not set: the head of this script says which folder' 2
for file in ratings movies; do
    [ -r "$data/$file.csv.gz" ] || fail "there is no $data/$file.csv.gz" 3
done
for program in dpot recommend; do
    [ -x "$bin/$program" ] || fail "there is no $bin/$program: the head of this script says how to build it" 1
done
mkdir -p "$out"
for file in ratings movies; do
    gzip -dc "$data/$file.csv.gz" >"$out/$file.csv"
done
# shellcheck disable=SC2086 # a list
"$bin/recommend" "$out/ratings.csv" "$out/movies.csv" "${CANDIDATES:-250}" "${SPLITS:-3}" ${EPSILONS:-.2 .5 1 2 3 4} \
    >"$out/table.csv"

methods='WPM,WPM popular,genre KPM,exponential,one for all,uniform,not private'
awk -F, -v methods="$methods" '
    NR > 1 { if (!($1 in seen)) { seen[$1] = 1; list[++n] = $1 }; rate[$1, $2] = $3; error[$1, $2] = $4 }
    END {
        m = split(methods, name, ",")
        printf "epsilon"
        for (i = 1; i <= m; i++) printf ",%s,sd", name[i]
        print ""
        for (e = 1; e <= n; e++) {
            printf "%s", list[e]
            for (i = 1; i <= m; i++) printf ",%s,%s", rate[list[e], name[i]], error[list[e], name[i]]
            print ""
        }
    }' "$out/table.csv" >"$out/curves.csv"
for format in png svg; do
    "$bin/dpot" plot curves --in "$out/curves.csv" --header --error-bars --from-zero --quiet --json \
        --title "Movies recommended under local differential privacy" --x-label epsilon \
        --y-label 'hit rate at 1' --out "$out/curves.$format" >"$out/plot.json"
done
rm -f "$out/plot.json"
awk -F, '
    NR == 1 { printf "%-8s", "epsilon"; for (i = 2; i <= NF; i += 2) printf " %16s", $i; print ""; next }
    { printf "%-8s", $1; for (i = 2; i <= NF; i += 2) printf "  %7.4f (%.4f)", $i, $(i + 1); print "" }' "$out/curves.csv"
echo "hit rate at 1: mean over test users (standard error); pictures: $out"
