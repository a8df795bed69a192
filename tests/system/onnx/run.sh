#!/bin/sh
# Saved generators must give the same points in ONNX Runtime, which npm installs in FOLDER once.
# Without network: exit code 77 (skipped).
#   sh run.sh MAKE_GENERATOR FOLDER
set -eu

make_generator=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
version=1.30.0

mkdir -p "$folder/models"
if [ ! -f "$folder/node_modules/onnxruntime-node/package.json" ]; then
    # The package holds the runtime for the CPU; its script would fetch those for graphics cards.
    if ! ONNXRUNTIME_NODE_INSTALL=skip npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts \
        "onnxruntime-node@$version" >"$folder/npm.log" 2>&1; then
        tail -n 5 "$folder/npm.log" >&2
        echo "onnx: npm cannot fetch onnxruntime-node@$version: skipped" >&2
        exit 77
    fi
fi
"$make_generator" "$folder/models"
NODE_PATH=$folder/node_modules node "$here/compare.js" "$folder/models"
