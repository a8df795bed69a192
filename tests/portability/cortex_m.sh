#!/bin/sh
# Compiles the constant-time files for Cortex-M0 and Cortex-M3 and compares the conditional
# branches, IT blocks, divisions and library calls of every function with cortex_m.txt, which says
# why each may depend on public values only.
#   sh cortex_m.sh             fails on anything that is not listed
#   sh cortex_m.sh --counts    prints the counts as lines of the list, for a review
# TWIN_INCLUDE: a folder with a broken header, for test_cortex_m.sh. Exits 77 without the compiler.
set -u
here=$(cd "$(dirname "$0")" && pwd)
common=$here/../../common
list=$here/cortex_m.txt
compiler=arm-none-eabi-gcc
if ! command -v $compiler >/dev/null 2>&1; then
    echo "skipped: $compiler is not installed (sh tests/install.sh test)"
    exit 77
fi

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# count OBJECT...: prints the output of branches.awk for each
count() {
    for object in "$@"; do
        arm-none-eabi-objdump -dr --no-show-raw-insn "$object" | awk -f "$here/branches.awk"
    done
}

# A routine of the compiler's library that gets secrets must have no branch at all.
count_routines() {
    library=$($compiler -mcpu="$1" -mthumb -print-libgcc-file-name)
    awk '$1 == "call" && $3 == "branchless" { print $2 }' "$list" | while read -r routine; do
        arm-none-eabi-objdump -d --no-show-raw-insn --disassemble="$routine" "$library" |
            awk -f "$here/branches.awk" | awk -v name="$routine" '$1 == name'
    done
}

failed=0
for cpu in cortex-m0 cortex-m3; do
    for level in -Os -O2; do
        for file in sampler noise quantize; do
            # -Wno-format: Newlib's uint32_t is a long, of the same size as %u.
            $compiler -mcpu=$cpu -mthumb $level ${TWIN_INCLUDE:+-I"$TWIN_INCLUDE"} \
                -std=c11 -D_POSIX_C_SOURCE=200809L -ffp-contract=off -Wall -Wextra -Werror \
                -Wno-format -I"$common" -I"$common/include" -c "$common/mechanism/$file.c" \
                -o "$scratch/$file.o" || exit 1
        done
        count "$scratch/sampler.o" "$scratch/noise.o" "$scratch/quantize.o" >"$scratch/counts"
        count_routines $cpu >"$scratch/routines"
        awk -v build="$cpu $level" -v mode="${1:-check}" -f "$here/cortex_m.awk" \
            "$list" "$scratch/routines" "$scratch/counts" || failed=1
    done
done
exit "$failed"
