#!/bin/sh
# Proves that every rule of lint.sh fires: plants one offence at a time in a small tree.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
failed=0
n_cases=0

# A tree that follows every rule.
plant_tree() {
    tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree"
    cp "$here/../../.clang-format" "$tree"
    plant common/base/alloc.h '#ifndef DPOT_BASE_ALLOC_H' '#define DPOT_BASE_ALLOC_H' '#endif'
    plant common/model/measure.h '#ifndef DPOT_MODEL_MEASURE_H' '#define DPOT_MODEL_MEASURE_H' \
        '#include "base/alloc.h"' '#endif'
    plant common/include/dpot/hooks.h '#ifndef DPOT_HOOKS_H' '#define DPOT_HOOKS_H' '#endif'
    plant client/include/dpot/dpot.h '#ifndef DPOT_DPOT_H' '#define DPOT_DPOT_H' \
        '#include "dpot/hooks.h"' '#endif'
    plant client/src/simulation.h '#ifndef DPOT_CLIENT_SIMULATION_H' \
        '#define DPOT_CLIENT_SIMULATION_H' '#endif'
    plant client/src/storage/ledger.h '#ifndef DPOT_STORAGE_LEDGER_H' \
        '#define DPOT_STORAGE_LEDGER_H' '#endif'
    plant aggregator/store/store.h '#ifndef DPOT_STORE_STORE_H' '#define DPOT_STORE_STORE_H' '#endif'
    plant aggregator/campaign/registry.h '#ifndef DPOT_CAMPAIGN_REGISTRY_H' \
        '#define DPOT_CAMPAIGN_REGISTRY_H' '#endif'
    plant aggregator/pool/snapshot.h '#ifndef DPOT_POOL_SNAPSHOT_H' '#define DPOT_POOL_SNAPSHOT_H' \
        '#include "campaign/registry.h"' '#endif'
    plant aggregator/json/json.h '#ifndef DPOT_JSON_JSON_H' '#define DPOT_JSON_JSON_H' \
        '#include <jansson.h>' '#endif'
    plant aggregator/http/server.c '#include "json/json.h"' '#include <microhttpd.h>'
    plant tests/unit/test_any.c '#include "storage/ledger.h"' '#include "store/store.h"' '#include <sodium.h>'
}

# plant FILE LINE...: writes a file of the tree.
plant() {
    file=$tree/$1
    shift
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$@" >"$file"
}

complain() {
    echo "$1"
    sed 's/^/    /' "$scratch/output"
    failed=1
}

# accepts TITLE FILE LINE...
accepts() {
    title=$1
    shift
    n_cases=$((n_cases + 1))
    plant_tree
    plant "$@"
    sh "$here/lint.sh" "$tree" >"$scratch/output" 2>&1 || complain "must be accepted: $title"
}

# refuses WORDS FILE LINE...: the output must hold the words and name the file.
refuses() {
    words=$1
    name=$2
    shift
    n_cases=$((n_cases + 1))
    plant_tree
    plant "$@"
    if sh "$here/lint.sh" "$tree" >"$scratch/output" 2>&1; then
        complain "must be refused: $words in $name"
    elif ! grep -qF "$words" "$scratch/output" || ! grep -qF "$name" "$scratch/output"; then
        complain "must say \"$words\" of $name"
    fi
}

# Layers
accepts 'a clean tree' client/src/submit.c '#include "base/alloc.h"' '#include "storage/ledger.h"'
accepts 'the seam of simulation in the tool' aggregator/tool/simulate/device.c \
    '#include "client/src/simulation.h"' '#include "dpot/dpot.h"'
accepts 'jobs on a snapshot' aggregator/jobs/runner.c '#include "pool/snapshot.h"' \
    '#include "store/store.h"'
refuses 'layer: aggregator/jobs may not include' aggregator/jobs/runner.c '#include "campaign/registry.h"'
refuses 'layer: aggregator/campaign may not include' aggregator/campaign/publish.c '#include "pool/snapshot.h"'
refuses 'layer: common/base may not include' common/base/alloc.c '#include "model/measure.h"'
refuses 'layer: common/model may not include' common/model/measure.c '#include "dpot/dpot.h"'
refuses 'layer: client/src may not include' client/src/submit.c '#include "store/store.h"'
refuses 'layer: aggregator/store may not include' aggregator/store/sqlite.c '#include "client/src/storage/ledger.h"'
refuses 'layer: aggregator/store may not include' aggregator/store/store.c '#include "../json/json.h"'
refuses 'layer: aggregator/dpotd may not include' aggregator/dpotd/main.c '#include <dpot/dpot.h>'
refuses 'layer: aggregator/tool/simulate may not include' aggregator/tool/simulate/device.c '#include "client/src/storage/ledger.h"'
refuses 'layer: there is no module common/util' common/util/any.c '#include "base/alloc.h"'
n_cases=$((n_cases + 1))
plant_tree
for i in $(seq 40); do
    plant "common/model/part_$i.c" 'int x;'
done
sh "$here/lint.sh" "$tree" >"$scratch/output" 2>&1 && complain 'must be refused: 41 sources in a folder'
grep -q 'common/model: layer: 41 sources' "$scratch/output" || complain 'must count the sources'

# Doors
accepts 'libcurl in its door' client/src/platform/transport_curl.c '#include <curl/curl.h>'
accepts 'the schema in its door' proto/wire_keys.c '#include "keys.pb-c.h"'
refuses 'door: <curl/curl.h>' client/src/uploader.c '#include <curl/curl.h>'
refuses 'door: <sqlite3.h>' aggregator/store/store.c '#include <sqlite3.h>'
refuses 'door: <base/splitmix.h>' client/src/submit.c '#include "base/splitmix.h"'
refuses 'door: <cblas.h>' common/ot/sinkhorn.c '#include <cblas.h>'
refuses 'door: <keys.pb-c.h>' proto/message.c '#include "keys.pb-c.h"'
refuses 'door: <protobuf-c/protobuf-c.h>' proto/wire_keys.c '#include <protobuf-c/protobuf-c.h>'
refuses 'door: <sodium.h>' common/base/alloc.c '#include <sodium.h>'
refuses 'door: <microhttpd.h>' aggregator/http/routes.c '#include <microhttpd.h>'
refuses 'door: <jansson.h>' aggregator/http/routes.c '#include <jansson.h>'
refuses 'door: <zlib.h> may be included by' common/files/npy.c '#include <zlib.h>'
refuses 'door: <expat.h> has no door' common/files/npy.c '#include <expat.h>'

# Banned calls
accepts 'names that only look banned' client/src/submit.c \
    'int dpot_clock_system(void);' 'int snprintf(char *, unsigned long, const char *, ...);' \
    '/* strcpy(a, b) */' 'static const char *const text = "rand() \" system()";'
for call in sprintf vsprintf strcpy strcat strtok gets atoi rand alloca system; do
    refuses "banned: $call()" client/src/submit.c "int x = $call(1);"
done
refuses 'banned: rand()' tests/unit/test_any.c '/* a' ' * b */ int x = rand();'
refuses 'comment: use /* */' client/src/submit.c 'int x; // why'

# Private measures
accepts 'a measure in the mechanism' common/mechanism/wpm.c 'int x = private_measure->measure.size;'
accepts 'another member' client/src/submit.c 'int x = campaign->base_measure.size + a.measures;'
refuses 'private: only' client/src/submit.c 'int x = private_measure->measure.size;'
refuses 'private: only' aggregator/pool/ingest.c 'int x = private_measure.measure.size;'

# Guards
refuses 'guard: it must begin' client/src/storage/spool.h '#ifndef DPOT_SPOOLER_H' \
    '#define DPOT_SPOOLER_H' '#endif'
refuses 'guard: #define' client/src/storage/spool.h '#ifndef DPOT_STORAGE_SPOOL_H' \
    '#define DPOT_STORAGE_SPOOL' '#endif'
refuses 'guard: it must begin' client/src/storage/spool.h '#pragma once'
accepts 'a guard with or without unit' tests/unit/proto/any.h '#ifndef DPOT_TESTS_PROTO_ANY_H' \
    '#define DPOT_TESTS_PROTO_ANY_H' '#endif'

# Format
if command -v clang-format >/dev/null 2>&1; then
    refuses 'code should be clang-formatted' client/src/submit.c 'int  x  =  1 ;'
fi

# Columns
wide=$(printf '%0101d' 0)
accepts 'wide lines of generated tables' client/src/submit.c '/* clang-format off */' "int x; /* $wide */"
accepts 'wide code in scripts' tests/any.sh "echo $wide"
refuses 'columns: 108, at most 100' client/src/submit.c "/* $wide */ "
refuses 'columns: 103, at most 100' tests/any.sh "# $wide"
refuses 'columns: 105, at most 100' aggregator/CMakeLists.txt "  # $wide"

# Commit subjects, in a repository of its own
commit() { git -C "$tree" -c user.name=a -c user.email=a commit -q --allow-empty -m "$1"; }
subjects() { # EXIT BASE
    n_cases=$((n_cases + 1))
    LINT_SUBJECT_BASE=$2 sh "$here/lint.sh" "$tree" >"$scratch/output" 2>&1
    [ $? -eq "$1" ] || complain "lint.sh must exit $1 with the base $2"
}
plant_tree
if git -C "$tree" init -q 2>/dev/null; then
    git -C "$tree" add -A
    commit "before the rule: $wide"
    base=$(git -C "$tree" rev-parse HEAD)
    commit "$(printf '%072d' 0)"
    subjects 0 "$base"
    commit "$(printf '%073d' 0)"
    subjects 1 "$base"
    subjects 0 "$(printf '%040d' 1)" # unknown
fi

# Symbols
expect_symbols() { # EXIT SOURCE [NAME]
    n_cases=$((n_cases + 1))
    printf '%s\n' "$2" >"$scratch/any.c"
    ${CC:-cc} -c "$scratch/any.c" -o "$scratch/${3:-any}.o" || exit 2
    sh "$here/symbols.sh" "$scratch/${3:-any}.o" >"$scratch/output" 2>&1
    [ $? -eq "$1" ] || complain "symbols.sh must exit $1 for: $2"
}
expect_symbols 0 'int dpot_client_submit(void); int any(void) { return dpot_client_submit(); }'
expect_symbols 1 'const char dpot_insecure_test_rng_linked[] = "yes";'
for symbol in dpot_rng_seeded_init dpot_rng_replay_init randombytes_buf_deterministic \
    randombytes_set_implementation \
    dpot_client_allow_simulation dpot_client_set_rng_source; do
    expect_symbols 1 "int $symbol(void); int any(void) { return $symbol(); }"
done
for end in exit _exit _Exit abort __assert_fail; do
    expect_symbols 0 "_Noreturn void $end(void); void any(void) { $end(); }"
    expect_symbols 1 "_Noreturn void $end(void); void any(void) { $end(); }" libdpot
done
n_cases=$((n_cases + 1))
if sh "$here/symbols.sh" "$scratch/missing" >"$scratch/output" 2>&1; then
    complain "symbols.sh must refuse a missing artefact"
fi

# Numbers on pages
expect_truths() { # EXIT ROW: of a tree with two headers and a page
    n_cases=$((n_cases + 1))
    printf '%s\n' "$2" >"$scratch/truths.txt"
    sh "$here/truths.sh" "$tree" "$scratch" "$scratch/truths.txt" >"$scratch/output" 2>&1
    [ $? -eq "$1" ] || complain "truths.sh must exit $1 for: $2"
}
plant_tree
plant client/src/spool.h '#define SPOOL_MAX ((uint64_t)16 << 20) /* bytes */' '#define TWICE 1' '#define SIDE 4096u'
plant aggregator/pool/pool.h 'enum { A,' '    EXIT_IO = 6, /* files */' '};' '#define TWICE 2'
plant doc/page.1 '.TP' '.B \-\-spool\-max' '16777216 bytes, 16 MiB,' '2^24; side' '4,096; version 1.2' '.B 6' 'files'
for row in 'SPOOL_MAX :: doc/page.1 :: --spool-max {} bytes, {/1048576} MiB, 2^{^};' 'SIDE :: doc/page.1 :: side {,};' \
    'EXIT_IO|EXIT_ENVIRONMENT :: doc/page.1 :: {} files' 'pool.h:TWICE :: doc/page.1 :: .{} 6' \
    'doc/page.1:/.*version 1\.\([0-9]*\)/ :: doc/page.1 :: version 1.{}'; do
    expect_truths 0 "$row"
done
for row in 'SPOOL_MAX :: doc/page.1 :: {} MiB' 'SIDE :: doc/page.1 :: side {}' 'EXIT_IO :: doc/page.1 :: {} disk' \
    'TWICE :: doc/page.1 :: .{}' 'UNKNOWN :: doc/page.1 :: {}' 'SIDE :: doc/missing.1 :: {,}' \
    'doc/page.1:/.*release \([0-9]*\)/ :: doc/page.1 :: {}'; do
    expect_truths 1 "$row"
done

[ "$failed" -eq 0 ] && echo "every rule fires: $n_cases cases"
exit "$failed"
