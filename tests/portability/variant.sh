#!/bin/sh
# Compiles the integer core and the program of this folder with one compiler and the C library only,
# runs it, and compares its output with expected.txt.
#   sh variant.sh VECTORS_FOLDER int128|portable EMULATOR|none COMPILER FLAG...
# VECTORS_FOLDER contains vectors.h. Exits 77 if the compiler or the emulator is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
common=$here/../../common
if [ $# -lt 4 ]; then
    echo "usage: sh variant.sh VECTORS_FOLDER int128|portable EMULATOR|none COMPILER FLAG..." >&2
    exit 2
fi
vectors=$1 arithmetic=$2 emulator=$3
shift 3
for program in "$1" "$emulator"; do
    if [ "$program" != none ] && ! command -v "$program" >/dev/null 2>&1; then
        echo "skipped: $program is not installed (sh tests/install.sh test)"
        exit 77
    fi
done
[ "$emulator" != none ] || emulator=

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

[ "$arithmetic" = int128 ] || set -- "$@" -DDPOT_NO_INT128
# TWIN_INCLUDE: a folder with a broken header, for test_variant.sh.
"$@" ${TWIN_INCLUDE:+-I"$TWIN_INCLUDE"} \
    -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -Wall -Wextra -Werror \
    -I"$here" -I"$vectors" -I"$common" -I"$common/include" \
    "$here/main.c" "$here/golden.c" "$here/digests.c" "$here/inputs.c" "$here/sha256.c" \
    "$here/splitmix.c" "$here/stand_ins.c" \
    "$common/mechanism/sampler.c" "$common/mechanism/noise.c" "$common/mechanism/noise_tables.c" \
    "$common/mechanism/quantize.c" "$common/mechanism/acceptance.c" \
    "$common/mechanism/gauss_certificate.c" "$common/mechanism/gauss_certificate_rows.c" \
    "$common/model/vector.c" "$common/model/privacy.c" \
    "$common/base/alloc.c" "$common/base/buf.c" "$common/base/error.c" "$common/base/status.c" \
    "$common/base/utf8.c" \
    -static -lm -o "$scratch/program" || exit 1

got=$($emulator "$scratch/program" arithmetic)
if [ "$got" != "$arithmetic" ]; then
    echo "128-bit products are '$got', expected '$arithmetic'"
    exit 1
fi
$emulator "$scratch/program" >"$scratch/got"
status=$?
if ! diff "$here/expected.txt" "$scratch/got" || [ "$status" -ne 0 ]; then
    echo "these results differ from expected.txt (exit status $status)"
    exit 1
fi
echo "$(wc -l <"$scratch/got") lines as expected"
