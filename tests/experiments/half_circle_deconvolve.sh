#!/bin/sh
# Deconvolution of the paper's half circle (004, section V-A): N points uniform on the upper half of
# the unit circle, one report each, at epsilon 5: Laplace noise b = (1 + sqrt 2) / 5 (l1 diameter 1
# + sqrt 2) or Gaussian noise sigma = 1.592 (l2 diameter 2, delta 1e-4, analytic). Makes its own
# data.
#
#   cmake --preset release && cmake --build --preset release --target dpot
#   sh tests/experiments/half_circle_deconvolve.sh
#
# N         reports                             (400000)
# SEEDS     data sets, a table line is their mean  ("1 2 3")
# BIN, OUT  programs, folder                    (build/release/bin, build/experiments/half_circle)
#
# Prints W2, exact, between 1000 points and 1000 clean ones that were not in the pool: of the
# reports, of points drawn from the result, and of other clean points (the floor). Free: 400 points
# that move; grid: 32 x 32 fixed cells, of which points are drawn without spreading them over a
# cell. The box is [-1, 1]^2, the disc the l2 ball of radius 1: what a campaign would clip to;
# neither knows of the half circle.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/experiment.inc.sh"
. "$here/half_circle.inc.sh"
out=${out:-$PWD/build/experiments/half_circle}
bin=${bin:-$PWD/build/release/bin}
n=${N:-400000}
seeds=${SEEDS:-1 2 3}
[ -x "$bin/dpot" ] || { echo "half_circle_deconvolve.sh: there is no $bin/dpot: the head of this script says how to build it" >&2; exit 1; }
mkdir -p "$out"
cd "$out"

box='{"type":"box","lo":[-1,-1],"hi":[1,1]}'
disc='{"type":"l2_ball","radius":1,"dim":2}'
# line WHAT: as many numbers as there are seeds, and from deconvolve steps and seconds
line() {
    awk -v what="$1" '{ w += $1; s += $2; t += $3; v = v sprintf(" %.3f", $1) }
        END { printf "%-30s %.3f  (%s )", what, w / NR, v
              if (s > 0) printf "  %.0f steps, %.1f s", s / NR, t / NR
              print "" }'
}
deconvolve() {
    "$bin/dpot" deconvolve --pool pool.csv --mechanism "$mechanism" --scale "$scale" --seed "$seed" "$@" \
        --out points.csv --weights-out weights.csv --n-samples 1000 --samples-out samples.csv --json --quiet >result.json
    echo "$(w2 samples.csv) $(json iterations <result.json) $(json seconds <result.json)"
}

echo "half circle, $n reports, W2 to 1000 clean points (mean of the seeds, each seed)"
for noise in "laplace $laplace_scale" "gaussian $gaussian_scale"; do
    mechanism=${noise% *}
    scale=${noise#* }
    rm -f ./*.txt
    for seed in $seeds; do
        make "$mechanism" "$scale" "$seed"
        w2 other.csv >>floor.txt
        w2 noisy.csv >>noisy.txt
        deconvolve --domain "$box" --support 400 >>free_box.txt
        deconvolve --domain "$disc" --support 400 >>free_disc.txt
        deconvolve --domain "$box" --grid 32x32 >>grid_box.txt
        deconvolve --domain "$disc" --grid 32x32 >>grid_disc.txt
    done
    echo
    line "$mechanism: reports" <noisy.txt
    line "$mechanism: 400 free, box" <free_box.txt
    line "$mechanism: 400 free, disc" <free_disc.txt
    line "$mechanism: grid, box" <grid_box.txt
    line "$mechanism: grid, disc" <grid_disc.txt
    line "$mechanism: clean points" <floor.txt
done
