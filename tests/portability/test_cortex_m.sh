#!/bin/sh
# Tests that cortex_m.sh detects what a compiler does with secrets if it can: masks that the
# optimizer sees through, and products that are left to the compiler's library.
set -u
here=$(cd "$(dirname "$0")" && pwd)
header=$here/../../common/base/compiler.h
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/base"

# caught WHAT SED_COMMAND REPORT: a build with this change of the header must be reported.
caught() {
    sed "$2" "$header" >"$scratch/base/compiler.h"
    if cmp -s "$header" "$scratch/base/compiler.h"; then
        echo "compiler.h has no line to break: $1"
        exit 1
    fi
    output=$(TWIN_INCLUDE=$scratch sh "$here/cortex_m.sh" 2>&1)
    status=$?
    [ "$status" -ne 77 ] || { echo "$output"; exit 77; }
    if [ "$status" -eq 1 ] && printf '%s\n' "$output" | grep -q "$3"; then
        echo "caught: $1"
    else
        echo "not caught: $1"
        echo "$output"
        exit 1
    fi
}

caught 'visible masks' '/define DPOT_HIDE_VALUE/s/__asm__.*/((void)(x))/' \
    'cortex-m3 -Os: dpot_weights_draw has 1 IT blocks, the list says 0'
caught 'visible masks, Cortex-M0' '/define DPOT_HIDE_VALUE/s/__asm__.*/((void)(x))/' \
    'cortex-m0 -O2: dpot_quantize_enforce has .* conditional branches, the list says'
caught "the library's multiplication" '/define DPOT_NO_MUL64/d' \
    'cortex-m0 -Os: .* calls __aeabi_lmul, which is not listed'
