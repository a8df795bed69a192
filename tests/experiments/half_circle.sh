#!/bin/sh
# Generators on the paper's half circle (004, section V-A and figure 1) at the right calibration
# (half_circle.inc.sh): the entropic generator, beside it the same network as published
# (minibatches), with nearly no regularisation, with the other noise's cost, and the deconvolution
# without a network.
#
#   cmake --preset release && cmake --build --preset release --target dpot
#   sh tests/experiments/half_circle.sh
#
# N         reports                   (400000)
# STEPS     of the generators         (3000)
# SEED      of data and generators    (1)
# BIN, OUT  programs, folder          (build/release/bin, build/experiments/half_circle)
#
# Prints W2, exact, between 1000 points and 1000 clean ones that were not in the pool, and draws
# them. Finished runs are not repeated; a stopped run resumes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/experiment.inc.sh"
. "$here/half_circle.inc.sh"
out=${out:-$PWD/build/experiments/half_circle}
bin=${bin:-$PWD/build/release/bin}
n=${N:-400000}
steps=${STEPS:-3000}
seed=${SEED:-1}
[ -x "$bin/dpot" ] || { echo "half_circle.sh: there is no $bin/dpot: the head of this script says how to build it" >&2; exit 1; }

box='{"type":"box","lo":[-1,-1],"hi":[1,1]}'
# train NAME OPTIONS: NAME.onnx and NAME.csv (1000 points)
train() {
    name=$1
    shift
    [ -s "$name.csv" ] && return
    resume=
    [ -s "$name.state/checkpoint" ] && resume=--resume
    "$bin/dpot" generator train --pool pool.csv --mechanism "$mechanism" --scale "$scale" --domain "$box" \
        --seed "$seed" --steps "$steps" --checkpoint "$name.state" $resume --trajectory-out "$name-curve.csv" \
        --out "$name.onnx" --json "$@" >"$name.json"
    "$bin/dpot" generator sample --model "$name.onnx" --n-samples 1000 --seed 9 --out "$name.csv" --quiet >/dev/null
}
line() {
    printf '%-44s %.3f' "$1" "$(w2 "$2.csv")"
    [ -s "$2.json" ] && printf '   %s steps, %.3f s each' "$(json steps <"$2.json")" "$(json seconds_per_step <"$2.json")"
    echo
}

echo "half circle, $n reports, W2 to 1000 clean points"
for mechanism in laplace gaussian; do
    [ $mechanism = laplace ] && scale=$laplace_scale wrong=squared || { scale=$gaussian_scale; wrong=l1; }
    mkdir -p "$out/$mechanism-$n-$seed"
    cd "$out/$mechanism-$n-$seed"
    [ -s other.csv ] || make $mechanism $scale "$seed"
    train entropic
    train minibatch --pool-batch 400
    # a smaller regularisation needs more sweeps, and in steps as large as the others the training
    # diverges
    train unregularised --regularization 0.05 --sweeps 400 --learning-rate 0.001
    train wrong-cost --noise-cost $wrong
    [ -s deconvolved.csv ] || "$bin/dpot" deconvolve --pool pool.csv --mechanism $mechanism --scale $scale \
        --domain "$box" --support 400 --seed "$seed" --out support.csv --weights-out weights.csv \
        --n-samples 1000 --samples-out deconvolved.csv --quiet >/dev/null
    echo
    line "$mechanism: clean points (the floor)" other
    line "$mechanism: reports" noisy
    line "$mechanism: generator" entropic
    line "$mechanism: generator, minibatches as published" minibatch
    line "$mechanism: generator, regularisation 0.05" unregularised
    line "$mechanism: generator, cost of the other noise" wrong-cost
    line "$mechanism: deconvolved, 400 points" deconvolved
    for f in clean noisy entropic minibatch unregularised wrong-cost deconvolved; do
        "$bin/dpot" plot points --in $f.csv --title "$mechanism: $f" --out $f.png --quiet >/dev/null
    done
    echo "pictures: $PWD"
done
