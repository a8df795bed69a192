#!/bin/sh
# Runs the statistical part of the audit many times on the unchanged program, each time with new
# randomness, and counts false alarms: runs that report fail.
#   sh tests/privacy/false_alarms.sh [RUNS]
# Environment: DPOT (the program; default build/release/bin/dpot), SAMPLES (reports of each input by
# the privatizer; default 50000), THREADS. Exits 0 without a false alarm, 1 with one, 2 if it cannot
# run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-50}
dpot=${DPOT:-$here/../../build/release/bin/dpot}
samples=${SAMPLES:-50000}

case $runs in
'' | *[!0-9]* | 0)
    echo "false_alarms: \"$runs\" runs: give a number from 1" >&2
    exit 2
    ;;
esac
if [ ! -x "$dpot" ]; then
    echo "false_alarms: $dpot is missing: build it, or set DPOT" >&2
    exit 2
fi
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

run=0
alarms=0
while [ "$run" -lt "$runs" ]; do
    run=$((run + 1))
    "$dpot" audit --mechanism all --n-samples "$samples" --quiet ${THREADS:+--threads "$THREADS"} \
        >"$scratch/table" 2>"$scratch/errors"
    code=$?
    case $code in
    0) ;;
    4)
        alarms=$((alarms + 1))
        echo "run $run: a false alarm"
        grep fail "$scratch/table"
        ;;
    *)
        echo "false_alarms: run $run ended with exit code $code" >&2
        cat "$scratch/errors" >&2
        exit 2
        ;;
    esac
done
echo "$alarms false alarms in $runs runs ($samples samples)"
[ "$alarms" -eq 0 ]
