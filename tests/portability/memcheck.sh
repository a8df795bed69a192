#!/bin/sh
# Compiles a constant-time program of tests/privacy and the files that it tests with optimisation,
# as released, and runs it under memcheck with its secrets undefined. What a compiler makes of the
# masks depends on the optimisation level, and the test suites are built without optimisation.
#   sh memcheck.sh PROGRAM int128|portable COMPILER FLAG...     PROGRAM: constant_time, ...
# Exits 77 if the compiler or valgrind is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
common=$here/../../common
if [ $# -lt 3 ]; then
    echo "usage: sh memcheck.sh PROGRAM int128|portable COMPILER FLAG..." >&2
    exit 2
fi
source=$here/../privacy/$1.c arithmetic=$2
shift 2
for program in "$1" valgrind; do
    if ! command -v "$program" >/dev/null 2>&1; then
        echo "skipped: $program is not installed (sh tests/install.sh test)"
        exit 77
    fi
done
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

[ "$arithmetic" = int128 ] || set -- "$@" -DDPOT_NO_INT128
# Declares what a trial of noise makes public.
declassify=$here/../privacy/declassify.h
# shellcheck disable=SC2046
"$@" $([ ! -f "$declassify" ] || echo "-include $declassify") \
    -std=c11 -D_POSIX_C_SOURCE=200809L -DDPOT_WITH_POSIX=1 -ffp-contract=off -Wall -Wextra -Werror \
    -I"$here/.." -I"$common" -I"$common/include" "$source" \
    "$common/mechanism/sampler.c" "$common/mechanism/noise.c" "$common/mechanism/noise_tables.c" \
    "$common/mechanism/quantize.c" "$common/model/vector.c" "$common/model/privacy.c" \
    "$common/base/alloc.c" "$common/base/buf.c" "$common/base/crypto.c" "$common/base/error.c" \
    "$common/base/random_hook.c" "$common/base/utf8.c" "$common/base/rng.c" \
    "$common/base/status.c" -lsodium -lm -o "$scratch/program" || exit 1
valgrind --quiet --error-exitcode=1 "$scratch/program" >"$scratch/output" 2>&1
status=$?
if [ "$status" -ne 0 ]; then
    cat "$scratch/output"
    exit 1
fi
echo "$(wc -l <"$scratch/output") results, no branch or address depends on a secret"
