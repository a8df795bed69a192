#!/bin/sh
# The page of statuses has every status with its number, and no other:
#   sh status_page.sh STATUS_H STATUS_MD
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sed -n 's/^ *X(\(DPOT_[A-Z_]*\), \(-*[0-9]*\),.*/\1 \2/p' "$1" >"$scratch/header"
sed -n 's/^- \*\*\(DPOT_[A-Z_]*\) (\(-*[0-9]*\))\*\*.*/\1 \2/p' "$2" >"$scratch/page"
[ -s "$scratch/header" ]
diff "$scratch/header" "$scratch/page"
