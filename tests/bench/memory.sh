#!/bin/sh
# The most memory that training takes on a pool of 60,000 reports of 784 coordinates (random
# numbers), two steps of the default network:
#
#   sh tests/bench/memory.sh [BUILD]
#
# BUILD   a build folder with dpot   (default: build/bench, configured and built)
# PYTHON  writes the pool            (/usr/bin/python3, with numpy)
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/turns.sh

build_side dpot "${1:-}"
[ -x /usr/bin/time ] || fail "/usr/bin/time is missing: install the package time"
"$python" - "$folder/pool.npy" <<'EOF' || fail "$python has no numpy: install python3-numpy"
import sys
import numpy as np
rows = np.lib.format.open_memmap(sys.argv[1], "w+", dtype="<f8", shape=(60000, 784))
for first in range(0, 60000, 6000):
    rows[first:first + 6000] = np.random.default_rng(first).normal(size=(6000, 784))
EOF
/usr/bin/time -f %M -o "$folder/kilobytes" "$ours" generator train --pool "$folder/pool.npy" \
    --mechanism gaussian --scale 3 --domain '{"type":"box","lo":-1,"hi":1,"dim":784}' \
    --arch dcgan28 --steps 2 --seed 1 --out "$folder/generator.onnx" >"$folder/progress" 2>&1 ||
    fail "training failed: $(tail -n 1 "$folder/progress")"
awk '{ printf "at most %.0f MiB resident, hoped for at most 1536: %s\n", $1 / 1024,
       $1 / 1024 <= 1536 ? "reached" : "missed" }' "$folder/kilobytes"
