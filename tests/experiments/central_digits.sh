#!/bin/sh
# Private barycenters of handwritten digits (003, appendix F): each of the ten digits is a group of
# images, 40 points in 25 dimensions; and one digit as a measure on the plane, groups being images
# of it.
#
#   DATA=FOLDER sh tests/experiments/central_digits.sh
#
# DATA    folder of train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz (MNIST)
# OUT     folder of the results (default build/experiments/central_digits)
# RUNS, PER_DIGIT, EPSILONS, DIGIT, IMAGES, POINTS, BIN
#         (3, images of each digit 5000, "1 5", 2, images of the digit 10, points of each 10000,
#         build/release/bin)
#
# The paper projects 784 pixels to d' = 25 by a random map after the private measure; a measure of
# 784 coordinates halves 13 of them, which are blank corners. Here the 25 dimensions come first, and
# are a public map of each image alone: its discrete cosine coefficients (u, v), u, v = 0 .. 4,
# lowest first, scaled by 1 / 20 and clamped into the ball of radius 1/2 (white would have 1.4).
# Cells of the private measure are shrunk by (240 d)^(1/d) = 1.42, as in the paper. Pictures show
# the inverse transform of a point. Costs are those to the records, in these coordinates (a
# simulation may see them).
set -eu
. "$(dirname "$0")/experiment.inc.sh"
out=${out:-$PWD/build/experiments/central_digits}
bin=${bin:-$PWD/build/release/bin}
runs=${RUNS:-3}
per_digit=${PER_DIGIT:-5000}
epsilons=${EPSILONS:-1 5}
digit=${DIGIT:-2}
images=${IMAGES:-10}
points=${POINTS:-10000}
whole "$runs" "$per_digit" "$images" "$points"
[ -n "$data" ] || fail 'DATA is missing: name the folder of train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz'
for file in train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz; do
    [ -r "$data/$file" ] || fail "DATA is $data: there is no $file in it" 6
done
build_dpot
mkdir -p "$out"
cd "$out"
dpot() {
    code=0
    "$bin/dpot" "$@" --quiet 2>log || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || { cat log >&2; fail "dpot $1 $2 failed" 1; }
}
"$bin/dpot" convert --in "$data/train-labels-idx1-ubyte.gz" --out labels.csv --quiet --json >convert.json
"$bin/dpot" convert --in "$data/train-images-idx3-ubyte.gz" --out images.csv --quiet --json >convert.json

# ---- ten digits ----

basis='function basis(u, x) { return u ? sqrt(2 / 28) * cos(3.141592653589793 * (2 * x + 1) * u / 56) : sqrt(1 / 28) }
function order(    s, u) { for (s = 0; s < 9; s++) for (u = 0; u < 5; u++) if (s - u >= 0 && s - u < 5) { U[d] = u; V[d] = s - u; d++ } }'
# Rows "digit, 25 coefficients" of the first images of each digit.
paste -d , labels.csv images.csv | awk -F, -v per_digit="$per_digit" "$basis"'
    BEGIN { d = 0; order(); for (u = 0; u < 5; u++) for (x = 0; x < 28; x++) b[u, x] = basis(u, x) }
    ++seen[$1] <= per_digit {
        for (v = 0; v < 5; v++) for (r = 0; r < 28; r++) {
            s = 0
            for (c = 0; c < 28; c++) if ($(2 + 28 * r + c)) s += b[v, c] * $(2 + 28 * r + c)
            along[v, r] = s / 255
        }
        line = $1
        for (k = 0; k < d; k++) {
            s = 0
            for (r = 0; r < 28; r++) s += b[U[k], r] * along[V[k], r]
            line = line "," s / 20
        }
        print line
    }' >records.csv
# draw NAME: pictures of the points in NAME.csv
draw() {
    awk -F, "$basis"'
        BEGIN { d = 0; order(); for (u = 0; u < 5; u++) for (x = 0; x < 28; x++) b[u, x] = basis(u, x) }
        {
            line = ""
            for (r = 0; r < 28; r++) for (c = 0; c < 28; c++) {
                s = 0
                for (k = 0; k < d; k++) s += 20 * $(k + 1) * b[U[k], r] * b[V[k], c]
                line = line (r + c ? "," : "") s
            }
            print line
        }' "$1.csv" >sheet.csv
    dpot plot sheet --in sheet.csv --shape 28x28 --range 0,1 --out "$1.png" --json >plot.json
}
# digits NAME METHOD...: cost
digits() {
    name=$1
    shift
    dpot central barycenter --data records.csv --group-column 0 --domain '{"type":"l2_ball","radius":0.5,"dim":25}' \
        --support 40 --max-points 8192 --simulation --seed "$run" --out "$name.csv" --json "$@" >result.json
    json data_cost <result.json
}
echo 'run,epsilon,non_private,one_point,coreset,noisy_exact' >digits_runs.csv
run=1
while [ "$run" -le "$runs" ]; do
    plain=$(digits digits-plain --epsilon 1 --method non-private --starts 1)
    one=$(json one_point_cost <result.json)
    for epsilon in $epsilons; do
        echo "$run,$epsilon,$plain,$one,$(digits "digits-coreset-$epsilon" --epsilon "$epsilon" --starts 1 --shrink 0.7),$(
            digits "digits-noisy-$epsilon" --epsilon "$epsilon" --delta 1e-6 --method noisy-exact)"
    done >>digits_runs.csv
    run=$((run + 1))
done
for name in digits-plain $(for epsilon in $epsilons; do echo "digits-coreset-$epsilon digits-noisy-$epsilon"; done); do
    draw "$name"
done

# ---- one digit in the plane ----

# Records are points of an image, drawn by its grey levels, on [-0.25, 0.25]^2; a group is an image.
paste -d , labels.csv images.csv | awk -F, -v digit="$digit" -v images="$images" -v points="$points" '
    function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
    BEGIN { state = 4711; for (i = 0; i < 10; i++) uniform() }
    $1 == digit {
        sum = 0
        for (k = 0; k < 784; k++) { sum += $(2 + k); upto[k] = sum }
        for (i = 0; i < points; i++) {
            u = uniform() * sum; a = 0; z = 783
            while (a < z) { m = int((a + z) / 2); if (u < upto[m]) z = m; else a = m + 1 }
            print g + 0 "," (a % 28 + uniform()) / 56 - 0.25 "," 0.25 - (int(a / 28) + uniform()) / 56
        }
        if (++g == images) exit
    }' >plane.csv
plane() {
    name=$1
    shift
    dpot central barycenter --data plane.csv --group-column 0 --domain '{"type":"box","lo":[-0.25,-0.25],"hi":[0.25,0.25]}' \
        --support 100 --starts 1 --max-points 1024 --simulation --seed 1 --out "$name.csv" --json "$@" >result.json
    dpot plot points --in "$name.csv" --out "$name.png" --title "$name" --json >plot.json
    json data_cost <result.json
}
{
    echo "$(plane plane-plain --epsilon 1 --method non-private)"
    for epsilon in $epsilons; do plane "plane-coreset-$epsilon" --epsilon "$epsilon"; done
} >plane_costs.txt

# ---- tables ----

{
    echo "Ten digits, 40 points in 25 dimensions, $per_digit images of each (fewer where there are fewer), means of $runs runs:"
    awk -F, '
        NR == 1 { next }
        { n[$2]++; for (j = 3; j <= 6; j++) sum[$2, j] += $j }
        END { for (e in n) printf "  epsilon %s: without privacy %.5f, private measure %.5f, noisy iterations %.5f, one point %.5f\n",
            e, sum[e, 3] / n[e], sum[e, 5] / n[e], sum[e, 6] / n[e], sum[e, 4] / n[e] }' digits_runs.csv | sort
    echo "A $digit in the plane, $images images of $points points each, 100 points: cost without privacy, then by epsilon ($epsilons):"
    paste -s -d ' ' plane_costs.txt | sed 's/^/  /'
} >table.txt
rm -f images.csv labels.csv sheet.csv result.json plot.json convert.json log
cat table.txt
echo "Pictures (digits-*.png, plane-*.png): $out"
