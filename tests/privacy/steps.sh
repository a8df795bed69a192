#!/bin/sh
# Counts with callgrind the instructions of a submit's work on data sets that are as different as
# possible. The counts may differ by at most 1 %, which comes from the C library's exponentials and
# logarithms, whose paths depend on their arguments; in the log domain, which consists of them, by
# at most 3 %.
#   sh steps.sh PROGRAM        PROGRAM: tests/privacy/steps.c
set -u
program=$1
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
if ! valgrind --quiet --tool=callgrind --callgrind-out-file="$scratch/out" "$program" \
    >"$scratch/log" 2>&1; then
    cat "$scratch/log"
    exit 1
fi
# The name and the total of each dump.
cat "$scratch"/out.* | awk '
/^desc: Trigger: Client Request: / { what = $5; set = $6 }
/^(summary|totals): / && what != "" {
    if (!(what in least) || $2 < least[what]) { least[what] = $2; lightest[what] = set }
    if (!(what in most) || $2 > most[what]) { most[what] = $2; heaviest[what] = set }
    n[what]++
    what = ""
}
END {
    for (what in least) {
        spread = (most[what] - least[what]) / least[what] * 100
        printf "%-17s %9d to %9d instructions, %.4f %% (%s, %s), %d data sets\n", what, least[what],
            most[what], spread, lightest[what], heaviest[what], n[what]
        failed += spread > (what == "wpm-log" ? 3 : 1) || n[what] != 8
        kinds++
    }
    exit failed > 0 || kinds != 10
}'
