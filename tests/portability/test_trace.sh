#!/bin/sh
# Tests that trace.sh detects a path that depends on a secret: a scan that returns when it has found
# the place, and libgcc's multiplication for the Cortex-M0, which branches on its operands.
set -u
here=$(cd "$(dirname "$0")" && pwd)
set -- 40 qemu-arm-static arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb -O2
output=$(sh "$here/trace.sh" -t "$@" 2>&1)
status=$?
[ "$status" -ne 77 ] || { echo "$output"; exit 77; }
case $output in
*'twin: 40 secrets, '*' take another path'*) echo 'caught: a scan that returns early' ;;
*) echo "not caught: $output"; exit 1 ;;
esac

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/base"
sed '/define DPOT_NO_MUL64/d' "$here/../../common/base/compiler.h" >"$scratch/base/compiler.h"
output=$(sh "$here/trace.sh" "$@" -I"$scratch" 2>&1)
case $output in
*'laplace: 40 secrets, '*' take another path'*) echo "caught: libgcc's multiplication" ;;
*) echo "not caught: $output"; exit 1 ;;
esac
