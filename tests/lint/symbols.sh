#!/bin/sh
# Shipped artefacts take randomness from the operating system only: none may contain the seeded
# source or the hook of simulation, or import a replacement of libsodium's randomness. libdpot
# contains nothing of common/cli, common/files and zlib, and never ends the process.
#   sh tests/lint/symbols.sh libdpot.so libdpot.a dpot-device dpotd
set -u
forbidden='dpot_insecure_test_rng_linked
dpot_rng_seeded_init
dpot_rng_replay_init
randombytes_buf_deterministic
randombytes_set_implementation
dpot_client_allow_simulation
dpot_client_set_rng_source'

failed=0
if [ $# -eq 0 ]; then
    echo "symbols: name the artefacts to check" >&2
    exit 2
fi
for artefact in "$@"; do
    # A stripped program has its imports in the dynamic table only.
    symbols=$({ nm "$artefact"; nm -D "$artefact"; } 2>/dev/null | awk '{ print $NF }')
    if [ -z "$symbols" ]; then
        echo "$artefact: no symbols can be read"
        failed=1
    fi
    case $(basename "$artefact") in
    libdpot.*) others='program_run array_read gzopen gzdopen exit _exit _Exit abort __assert_fail' ;;
    *) others= ;;
    esac
    for symbol in $forbidden $others; do
        if printf '%s\n' "$symbols" | grep -q "^_\{0,1\}$symbol\(@.*\)\{0,1\}\$"; then
            echo "$artefact: $symbol must not be in it"
            failed=1
        fi
    done
done
[ "$failed" -eq 0 ] && echo "symbols: $# artefacts are free of test randomness"
exit "$failed"
