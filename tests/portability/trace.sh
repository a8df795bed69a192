#!/bin/sh
# Builds the integer core with one compiler, runs it under an emulator on many secrets, and compares
# the paths: every basic block executed, library routines included. Equal paths have equal
# instruction counts.
#   sh trace.sh [-t] N_SECRETS EMULATOR COMPILER FLAG...
# EMULATOR may have arguments ("qemu-arm-static -cpu cortex-m0"). -t adds a broken twin whose scan
# returns early and which must be caught. Exits 77 if the compiler or the emulator is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
common=$here/../../common
twin=
if [ "${1:-}" = -t ]; then
    twin=-DTWIN
    shift
fi
if [ $# -lt 3 ]; then
    echo "usage: sh trace.sh [-t] N_SECRETS EMULATOR COMPILER FLAG..." >&2
    exit 2
fi
n_secrets=$1 emulator=$2
shift 2
for program in "$1" "${emulator%% *}"; do
    if ! command -v "$program" >/dev/null 2>&1; then
        echo "skipped: $program is not installed (sh tests/install.sh test)"
        exit 77
    fi
done

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# -Wno-format: Newlib's uint32_t is a long, of the same size as %u. Without a C library only what is
# used is linked, and the compiler's own routines except those that trace.c replaces.
case $1 in
*-none-eabi-*) link='-nostdlib -Wl,--gc-sections -Wl,-z,muldefs -Wl,-e,_start -lgcc' ;;
*) link='-static -Wl,--gc-sections -lm' ;;
esac
# shellcheck disable=SC2086
"$@" $twin -DN_SECRETS="$n_secrets" -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off \
    -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Wno-format \
    -I"$here" -I"$common" -I"$common/include" \
    "$here/trace.c" "$here/splitmix.c" "$here/stand_ins.c" "$common/mechanism/sampler.c" \
    "$common/mechanism/noise.c" "$common/mechanism/noise_tables.c" "$common/mechanism/quantize.c" \
    "$common/model/vector.c" "$common/base/buf.c" "$common/base/alloc.c" "$common/base/error.c" \
    "$common/base/utf8.c" \
    $link -o "$scratch/program" || exit 1

mkfifo "$scratch/trace"
$emulator -d exec,nochain -D "$scratch/trace" "$scratch/program" &
awk -v n_secrets="$n_secrets" -f "$here/trace.awk" "$scratch/trace"
status=$?
wait $! || status=1
exit "$status"
