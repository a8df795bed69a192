#!/bin/sh
# Computes the same integers in every build of variants.txt: two compilers, two optimisation levels,
# with and without 128-bit integers, on this processor and on ARM with 64 and 32 bits (emulated).
#   sh tests/portability/run.sh
# Installs missing compilers and the emulator. Prints a table and counts; exits 1 unless all builds
# print expected.txt.
set -u
here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../install.sh" test || exit 1

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
# shellcheck disable=SC2046
gcc -std=c11 -I"$here" "$here/make_vectors.c" $(pkg-config --cflags --libs jansson) \
    -o "$scratch/make_vectors" || exit 1
"$scratch/make_vectors" "$here/../golden/sampling" >"$scratch/vectors.h" || exit 1

passed=0 failed=0 skipped=0
while read -r name arithmetic emulator build; do
    case $name in '#'*) continue ;; esac
    # shellcheck disable=SC2086
    result=$(sh "$here/variant.sh" "$scratch" "$arithmetic" "$emulator" $build 2>&1 </dev/null)
    case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
    printf '%-22s %-44s %s\n' "$name" "$build" "$result"
done <"$here/variants.txt"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ]
