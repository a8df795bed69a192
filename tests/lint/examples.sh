#!/bin/sh
# Compiles the examples in the comments of every header, the one of libdpot(3) against libdpot, and
# the C of the client's pages. The variables of a header's example are in examples.txt, what a page
# uses of a platform is in stand_ins/.
#   sh tests/lint/examples.sh CC libdpot.so [FLAG...]
set -eu
cc=$1 library=$2
shift 2
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
warnings='-std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror'

{
    echo '#include "dpot/status.h"'
    echo '#include "dpot/dpot.h"'
    echo '#include "solve/base_measure/mirror_descent.h"'
    echo '#include <string.h>'
    find client common proto aggregator -name '*.h' | LC_ALL=C sort |
        xargs awk -f tests/lint/examples.awk tests/lint/examples.txt
} >"$scratch/headers.c"
# shellcheck disable=SC2086
"$cc" $warnings -Wno-unused-result -Wno-unused-value -Wno-unused-parameter -Wno-unused-variable \
    -Wno-unused-but-set-variable -Wno-unused-but-set-parameter -fsyntax-only \
    -Icommon -Icommon/include -I. -Iaggregator -Iclient/include "$scratch/headers.c"

# The example of the page is client/doc/example.c: without arguments it prints its usage, exit 2.
sed -e '1,/^\.SH EXAMPLE/d' -e '/^\.nf/d' -e '/^\.fi/,$d' -e 's/^\\&//' -e 's/\\e/\\/g' \
    client/doc/libdpot.3 >"$scratch/page.c"
cmp client/doc/example.c "$scratch/page.c"
# shellcheck disable=SC2086
"$cc" $warnings "$@" -Icommon/include -Iclient/include "$scratch/page.c" "$library" \
    -Wl,-rpath,"$(dirname "$library")" -o "$scratch/example"
status=0
"$scratch/example" 2>"$scratch/usage" || status=$?
[ "$status" -eq 2 ] && grep -q '^usage: ' "$scratch/usage"

# The C of the pages: a program for each page.
for page in client/doc/*.md client/doc/*/*.md; do
    awk '/^```c$/ { is_c = 1; next } /^```/ { is_c = 0 } is_c' "$page" >"$scratch/snippets.c"
    # shellcheck disable=SC2086
    "$cc" $warnings -Wno-missing-prototypes -Wno-unused-function -fsyntax-only -Icommon/include \
        -Iclient/include -Iclient/doc/examples -Itests/lint/stand_ins "$scratch/snippets.c" || {
        echo "the C of $page does not compile" >&2
        exit 1
    }
done
