#!/bin/sh
# Runs an image of board_m4.c in qemu-system-arm, its files and its output by semihosting.
#   sh board_m4.sh IMAGE ARGUMENT...
set -eu
image=$1
shift
options=enable=on,target=native,arg=image
for argument in "$@"; do
    options=$options,arg=$argument
done
exec timeout 300 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none \
    -semihosting-config "$options" -kernel "$image"
