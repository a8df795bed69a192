#!/bin/sh
# Compares the paths of the integer core on many secrets, in every build of paths.txt, and tests
# that a scan which returns early is detected.
#   sh tests/portability/paths.sh [N_SECRETS]          default: 1000; takes minutes
# Installs missing compilers and the emulator. Exits 1 unless all paths are equal.
set -u
here=$(cd "$(dirname "$0")" && pwd)
sh "$here/../install.sh" test || exit 1
n_secrets=${1:-1000} passed=0 failed=0

while read -r name emulator build; do
    case $name in '#'*) continue ;; esac
    printf '\n== %s: %s\n' "$name" "$build"
    # shellcheck disable=SC2086
    if sh "$here/trace.sh" "$n_secrets" "$emulator" $build </dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done <"$here/paths.txt"

printf '\n== the twin\n'
if sh "$here/test_trace.sh"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
