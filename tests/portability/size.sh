#!/bin/sh
# Prints the size of the integer core and its tables compiled with -Os (code and constants, which
# `size` calls text), and fails above 64 KiB.
#   sh size.sh [COMPILER FLAG...]          default: gcc
set -u
here=$(cd "$(dirname "$0")" && pwd)
common=$here/../../common
limit=65536
[ $# -gt 0 ] || set -- gcc
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

case $1 in
*-gcc) size=${1%-gcc}-size ;;
*) size=size ;;
esac
for file in sampler noise noise_tables quantize acceptance gauss_certificate \
    gauss_certificate_rows; do
    "$@" -Os -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -I"$common" -I"$common/include" \
        -c "$common/mechanism/$file.c" -o "$scratch/$file.o" || exit 1
done
cd "$scratch" || exit 2
$size -t ./*.o >size || exit 1
awk -v limit="$limit" '
    NR > 1 {
        sub(/^.*\//, "", $6)
        printf "%8d  %s\n", $1, $6 == "(TOTALS)" ? "total" : $6
        total = $1
    }
    END {
        if (NR < 9 || total == 0) { print "nothing was measured"; exit 1 }
        if (total > limit) { printf "%d bytes, more than %d\n", total, limit; exit 1 }
    }' size
