#!/bin/sh
# Plants faults in a copy of the sources, one by one, and checks that the tests of silence catch
# each.
#   sh tests/privacy/planted/planted.sh [FAULT...]     the copy is in build/planted
# faults.sh has the faults and the tests that must catch them. Prints a line for each. Exits 1 if
# one was not caught, or if the tests do not pass without a fault.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$root/build/planted
source=$work/source
build=$work/build
programs="test_privacy_silence test_privacy_first_touch test_privacy_spent dpot"
. "$root/tests/privacy/planted/faults.sh"

say() {
    printf '%s\n' "$*"
}

give_up() {
    say "planted: $*" >&2
    exit 1
}

# Files keep their times, so that nothing is built twice, except those edited by an earlier run.
copy_sources() {
    mkdir -p "$source"
    touch "$work/touched"
    (cd "$root" && git ls-files -co --exclude-standard | while IFS= read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done | tar cf - -T -) | tar xf - -C "$source"
    (cd "$source" && xargs -r touch) <"$work/touched"
}

build_programs() {
    [ -f "$build/build.ninja" ] ||
        cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug >"$work/log"
    # shellcheck disable=SC2086
    cmake --build "$build" --target $programs >"$work/log" 2>&1 || {
        tail -20 "$work/log" >&2
        give_up "$1 does not build"
    }
}

# Two cases: one with labels, one with vectors.
audit_passes() {
    for mechanism in kpm-groups laplace-box; do
        "$build/bin/dpot" audit --mechanism $mechanism --n-samples 1000 --seed 1 --quiet || return 1
    done
}

passes() {
    case $1 in
    audit) audit_passes >>"$work/log" 2>&1 ;;
    *) "$build/bin/test_privacy_$1" -j2 --fail-fast >>"$work/log" 2>&1 ;;
    esac
}

# edit FILE SED-SCRIPT: changes a file of the copy; exits if the script changes nothing.
edit() {
    say "$1" >>"$work/touched"
    sed "$2" "$source/$1" >"$work/changed"
    ! cmp -s "$work/changed" "$source/$1" || give_up "$name: no match in $1: update faults.sh"
    cp "$work/changed" "$source/$1"
}

restore() {
    while IFS= read -r file; do
        cp "$root/$file" "$source/$file"
    done <"$work/touched"
}

copy_sources
build_programs "the unchanged copy"
for catcher in silence first_touch spent audit; do
    passes $catcher || give_up "$catcher fails without a fault: see $work/log"
done
status=0
for name in ${*:-$faults}; do
    "plant_$name"
    build_programs "$name"
    verdict="caught by $catchers"
    for catcher in $catchers; do
        if passes "$catcher"; then
            verdict="NOT CAUGHT by $catcher"
            status=1
        fi
    done
    say "$name: $verdict"
    restore
done
exit $status
