#!/bin/sh
# Plants faults in a copy of the sources, one by one, and demands that the tests of silence catch each.
#   sh tests/privacy/planted/planted.sh [FAULT...]     the copy is in build/planted
# faults.sh says what they are. Prints a row for each: its name and what failed. Exits with 1 when one was not
# caught by all that should, or when the sources without a fault do not pass.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$root/build/planted
source=$work/source
build=$work/build
tests="silence first_touch spent"
. "$root/tests/privacy/planted/faults.sh"

say() {
    printf '%s\n' "$*"
}

# The sources as they are now, with new times for files that changed only.
copy_sources() {
    mkdir -p "$work/new" "$source"
    (cd "$root" && git ls-files -z -co --exclude-standard | tar cf - --null -T - 2>/dev/null) |
        tar xf - -C "$work/new"
    (cd "$work/new" && find . -type f) | while IFS= read -r file; do
        mkdir -p "$source/$(dirname "$file")"
        cmp -s "$work/new/$file" "$source/$file" || cp "$work/new/$file" "$source/$file"
    done
}

build_tests() {
    [ -f "$build/build.ninja" ] || cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug >"$work/log"
    cmake --build "$build" --target dpot test_privacy_silence test_privacy_first_touch test_privacy_spent \
        >>"$work/log" 2>&1 || {
        tail -20 "$work/log" >&2
        say "planted: $1 does not build" >&2
        exit 1
    }
}

# Writes the names of those that failed.
run_tests() {
    failed=""
    for test in $tests; do
        "$build/bin/test_privacy_$test" -j2 >>"$work/log" 2>&1 || failed="$failed $test"
    done
    for mechanism in kpm-groups laplace-box; do
        "$build/bin/dpot" audit --mechanism $mechanism --samples 1000 --seed 1 --quiet >>"$work/log" 2>&1 || {
            failed="$failed audit"
            break
        }
    done
}

# edit FILE SED-SCRIPT: changes a file of the copy, or says that it no longer can.
edit() {
    sed "$2" "$source/$1" >"$work/edited"
    if cmp -s "$work/edited" "$source/$1"; then
        say "planted: $name: $1 has no place for it any more: mend faults.sh" >&2
        exit 1
    fi
    cp "$work/edited" "$source/$1"
}

copy_sources
build_tests "what is here"
run_tests
[ -z "$failed" ] || {
    say "planted: without a fault these fail:$failed (see $work/log)" >&2
    exit 1
}
status=0
for name in ${*:-$faults}; do
    catchers=""
    "plant_$name"
    build_tests "$name"
    run_tests
    verdict=caught
    for catcher in $catchers; do
        case " $failed " in
        *" $catcher "*) ;;
        *) verdict="NOT CAUGHT by $catcher" status=1 ;;
        esac
    done
    say "$name: $verdict; failed:$failed"
    copy_sources
done
exit $status
