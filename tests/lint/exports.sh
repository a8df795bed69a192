#!/bin/sh
# The functions that libdpot.so exports are those that its headers mark DPOT_API, each of the symbol
# version of libdpot.map. The build has libcurl and POSIX.
#   sh tests/lint/exports.sh libdpot.so HEADER...
set -u
library=$1
shift
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

cat "$@" | tr '\n' ' ' | sed 's/DPOT_API/\n&/g' | sed -n 's/^DPOT_API[^(]*[ *]\(dpot_[a-z0-9_]*\)(.*/\1@@DPOT_0/p' |
    LC_ALL=C sort >"$scratch/declared"
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort >"$scratch/exported"
if [ ! -s "$scratch/declared" ] || ! diff "$scratch/declared" "$scratch/exported"; then
    echo "$library: what it exports (>) is not what its headers declare (<)"
    exit 1
fi
echo "exports: $(wc -l <"$scratch/declared") functions of version DPOT_0"
