#!/bin/sh
# Tests that variant.sh detects one wrong bit: a lost carry in the arithmetic for machines without
# 128-bit integers.
#   sh test_variant.sh VECTORS_FOLDER
set -u
here=$(cd "$(dirname "$0")" && pwd)
header=$here/../../common/mechanism/u128.h
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/mechanism"

# caught PATTERN REPLACEMENT: a build with this change of the header must fail.
caught() {
    sed "s/$1/$2/" "$header" >"$scratch/mechanism/u128.h"
    if cmp -s "$header" "$scratch/mechanism/u128.h"; then
        echo "u128.h has no line with '$1' to break"
        exit 1
    fi
    output=$(TWIN_INCLUDE=$scratch sh "$here/variant.sh" "$vectors" portable none gcc -O1 2>&1)
    case $output in
    *'differ from expected'*) echo "caught: $2" ;;
    *)
        echo "not caught: $2"
        echo "$output"
        exit 1
        ;;
    esac
}

vectors=$1
caught "a.hi + b.hi + carry" "a.hi + b.hi + 0 * carry"
caught "(middle >> 32) + (other >> 32)" "(middle >> 32)"
