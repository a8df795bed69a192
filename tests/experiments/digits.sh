#!/bin/sh
# Generators of images from privatised images (004, sections V-B to V-D): every image is the report
# of one simulated device that runs the shipping client, pixels in [-1, 1].
#
#   cmake --preset release && cmake --build --preset release --target dpot
#   DATA=FOLDER sh tests/experiments/digits.sh [laplace8|laplace3|dct_l1|l2|all]
#
# DATA      folder with train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz,
#           t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz: MNIST (Y. LeCun, C. Cortes, C.
#           Burges) or, in the same format, Fashion-MNIST (H. Xiao, K. Rasul, R. Vollgraf).
#           train-images may be in parts (part1of2, part2of2).
# N         images                    (all, 60000)
# STEPS     of the generator          (12000; the baselines take a third)
# ARCH      of the generator          (resize28:24,12,128; dcgan28:128 is the network of the paper)
# BASELINES unregularised and wrong cost too (1; 0: leave them out)
# BIN, OUT  programs, folder          (build/release/bin, build/experiments/digits)
#
# The settings, at the right calibration (the paper's epsilon where it differs):
#   laplace8  Laplace, sigma 8: epsilon 196, the l1 diameter being 1568
#   laplace3  Laplace, sigma 3.06: epsilon 512, the largest that a campaign can have (the paper has
#             sigma 3 and states epsilon 97; it is 522.7)
#   dct_l1    DCT, l1 ball of radius 140, Laplace: epsilon 31 (sigma 9, the l1 diameter being 280; a
#             campaign of this set may have at most 31.9, and sigma 8 would be 35)
#   l2        l2 ball of radius 20, Gaussian: epsilon 30, delta 1e-4 (the diameter being 40)
# These are experiments, not protection: campaigns of this kind exist in simulation only and devices
# refuse them.
#
# Writes a table and sheets. Finished steps are not repeated; a stopped training resumes.
set -eu
. "$(dirname "$0")/experiment.inc.sh"
: "${DATA:?name the folder of the images: DATA=FOLDER}"
out=${out:-$PWD/build/experiments/digits}
bin=${bin:-$PWD/build/release/bin}
steps=${STEPS:-12000}
arch=${ARCH:-resize28:24,12,128}
settings=${1:-laplace8}
[ "$settings" = all ] && settings='laplace8 laplace3 dct_l1 l2'
[ -x "$bin/dpot" ] || { echo "digits.sh: there is no $bin/dpot: the head of this script says how to build it" >&2; exit 1; }
mkdir -p "$out"
cd "$out"
dpot() {
    "$bin/dpot" "$@"
}

# ---- real images and classifiers ----
images=$data/train-images-idx3-ubyte.gz
if [ ! -e "$images" ]; then
    images=$out/train-images-idx3-ubyte.gz
    [ -s "$images" ] || cat "$data"/train-images-idx3-ubyte.part*.gz >"$images"
fi
rows=
[ -z "${N:-}" ] || rows="--rows 0:$N"
# shellcheck disable=SC2086 # --rows is two words or none
[ -s devices.npy ] || dpot convert --in "$images" $rows --to-range -1,1 --number --out devices.npy --quiet >/dev/null
[ -s real.npy ] || dpot convert --in "$data/t10k-images-idx3-ubyte.gz" --to-range -1,1 --out real.npy --quiet >/dev/null
# train_classifier NAME OPTIONS: distances depend on the classifier; a better one does not give
# smaller ones
train_classifier() {
    name=$1
    shift
    [ -s "$name.json" ] || dpot generator classifier --images "$images" --labels "$data/train-labels-idx1-ubyte.gz" \
        --test-images "$data/t10k-images-idx3-ubyte.gz" --test-labels "$data/t10k-labels-idx1-ubyte.gz" \
        --out "$name.json" --json "$@" >"$name.result"
    echo "$name: $(json test_accuracy <"$name.result") of the test images right"
}
train_classifier classifier
train_classifier small-classifier --arch conv28:8,16,64 --epochs 1

# ---- one setting ----
spec() {
    domain='{"type":"box","lo":-1,"hi":1,"dim":784}'
    mechanism='"type":"laplace"'
    case $1 in
    laplace8) epsilon=196 ;;
    laplace3) epsilon=512 ;;
    dct_l1) epsilon=31
        domain='{"type":"l1_ball","radius":140,"dim":784}'
        mechanism='"type":"laplace","transform":{"type":"dct","shape":[28,28],"keep":784}' ;;
    l2) epsilon=30
        domain='{"type":"l2_ball","radius":20,"dim":784}'
        mechanism='"type":"gaussian","delta":1e-4' ;;
    *) echo "digits.sh: there is no setting $1" >&2; exit 2 ;;
    esac
    cat <<SPEC
{"name":"$(echo "$1" | tr _ -)","domain":$domain,"mechanism":{$mechanism,"epsilon":$epsilon},"rounds":1,
 "opens":"2026-01-01T00:00:00Z","closes":"2036-01-01T00:00:00Z","min_pool":1,"simulation":true}
SPEC
}
# train NAME STEPS OPTIONS
train() {
    name=$1 n_steps=$2
    shift 2
    [ -s "$name.onnx" ] && return
    resume=
    [ -s "$name.state/checkpoint" ] && resume=--resume
    dpot generator train --pool "$pool" --arch "$arch" --range -1,1 --steps "$n_steps" --seed 1 \
        --checkpoint "$name.state" $resume --trajectory-out "$name-curve.csv" --out "$name.onnx" --json "$@" >"$name.json"
    rm -rf "$name.state"
    dpot generator sample --model "$name.onnx" --n-samples 100 --seed 2 --out "$name-sheet.npy" --quiet >/dev/null
    dpot plot sheet --in "$name-sheet.npy" --shape 28x28 --range -1,1 --out "$name.png" --quiet >/dev/null
}
# ask CLASSIFIER MODEL: the quality in MODEL.CLASSIFIER
ask() {
    "$bin/dpot" generator evaluate --model "$2" --n-samples 10000 --seed 3 --reference ../real.npy --max-points 1000 \
        --classifier "../$1.json" --range -1,1 --json --quiet >"$2.$1"
}
row() {
    [ -s "$2" ] || return 0
    ask classifier "$2"
    ask small-classifier "$2"
    printf '%-26s %8.1f %8.1f %9s %8.3f %8.3f %8.3f\n' "$1" "$(json frechet <"$2.classifier")" \
        "$(json frechet <"$2.small-classifier")" "$(json classes_covered <"$2.classifier")" \
        "$(json smallest_share <"$2.classifier")" "$(json confidence <"$2.classifier")" \
        "$(json confidence <"$2.small-classifier")"
}
for setting in $settings; do
    mkdir -p "$setting"
    cd "$setting"
    spec "$setting" >spec.json
    if [ ! -s reports/results.json ]; then
        n=$(dpot convert --in ../devices.npy --columns 0 --out count.npy --json --quiet | json rows)
        dpot simulate --campaign spec.json --data ../devices.npy --devices "$n" --in-process --seed 1 --out reports --json >reports.result
        rm -f reports/vectors_true.npy
    fi
    pool=reports/pool.npy
    [ "$setting" != dct_l1 ] || pool=reports/coefficients.npy
    train entropic "$steps"
    if [ "${BASELINES:-1}" != 0 ]; then
        train unregularised $((steps / 3)) --regularization 0.01
        case $setting in l2) wrong=l1 ;; *) wrong=squared ;; esac
        train wrong-cost $((steps / 3)) --noise-cost $wrong
    fi
    echo
    echo "$setting: noise scale $(json scale <"$pool.json"), $(json steps <entropic.json) steps, $(json seconds_per_step <entropic.json) s each"
    printf '%-26s %8s %8s %9s %8s %8s %8s\n' '' Frechet 'by small' classes least sure 'small'
    row 'generator' entropic.onnx
    row 'regularisation 0.01' unregularised.onnx
    row 'cost of the other noise' wrong-cost.onnx
    echo "sheets: $PWD"
    cd ..
done
