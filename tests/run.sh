#!/bin/sh
# The test command: installs what is missing, builds with gcc and with clang (warnings are errors),
# runs every suite, and runs them again under the address and undefined-behaviour sanitizers.
#   sh tests/run.sh
# Continues after a failure, so that one run shows all; exits 1 if anything failed.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=$(nproc 2>/dev/null || echo 2)
summary=
failed=0

note() {
    summary="$summary
  $1"
}

# step TITLE COMMAND...
step() {
    title=$1
    shift
    printf '\n== %s\n' "$title"
    if "$@"; then
        return 0
    fi
    note "FAILED  $title"
    failed=1
    return 1
}

build() {
    cmake --preset "$1" && cmake --build --preset "$1" --parallel "$jobs"
}

# Criterion's own counts, added up over the suites of a preset.
count_tests() {
    awk '/Synthesis: Tested:/ {
            for (i = 1; i < NF; i++) {
                if ($i == "Tested:") tested += $(i + 1)
                if ($i == "Passing:") passing += $(i + 1)
            }
        }
        END { printf "%d of %d tests in Criterion suites", passing, tested }' \
        "build/$1/Testing/Temporary/LastTest.log" 2>/dev/null
}

run_suites() {
    log=build/$1/ctest.log
    # More tests than cores, since devices wait until they may send. The limit only ends what hangs.
    { ctest --test-dir "build/$1" --output-on-failure --parallel $((jobs + 1)) --timeout 900 2>&1
        echo $? >"$log.status"; } | tee "$log"
    note "$1: $(grep 'tests passed' "$log" || echo 'ctest did not finish'); $(count_tests "$1")"
    [ "$(cat "$log.status")" -eq 0 ]
}

step 'Installing what is missing' sh tests/install.sh test || exit 1
if step 'Building with gcc (preset dev)' build dev; then
    # Suites often wait without using the processor: meanwhile clang builds.
    mkdir -p build/clang
    nice -n 19 sh -c 'cmake --preset clang && cmake --build --preset clang --parallel "$1"' sh "$jobs" \
        >build/clang/build.log 2>&1 &
    behind=$!
    step 'Running the suites' run_suites dev
    wait "$behind"
fi
if step 'Building with clang (preset clang)' build clang; then
    note 'clang: builds without a warning'
fi
if step 'Building with sanitizers (preset asan)' build asan; then
    step 'Running the suites under address and undefined-behaviour sanitizers' run_suites asan
fi

printf '\n== Summary%s\n' "$summary"
if [ "$failed" -ne 0 ]; then
    echo 'FAILED'
    exit 1
fi
echo 'All passed.'
