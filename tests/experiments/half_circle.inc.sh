# What the experiments on the half circle share (004, section V-A): N points uniform on the upper
# half of the unit circle, one report each at epsilon 5: Laplace noise b = (1 + sqrt 2) / 5, the l1
# diameter being 1 + sqrt 2, or Gaussian noise sigma = 1.592, the l2 diameter being 2, at delta 1e-4
# (analytic). The paper's own scales, .4 and 1.276, take the radius for the diameter: what it calls
# epsilon 5 is 6.04 and 6.55. Wants $bin and $n; works in the current folder.
laplace_scale=0.48284271
gaussian_scale=1.592
# make MECHANISM SCALE SEED: pool.csv, noisy.csv (1000 of it), clean.csv and other.csv (1000 each)
make() {
    awk -v n="$n" -v mechanism="$1" -v scale="$2" -v seed="$3" '
    function u() { return (rand() * 2147483647 + rand() + 1e-9) / 2147483648 }
    function noise(    p) {
        if (mechanism == "gaussian") { return scale * sqrt(-2 * log(u())) * cos(6.283185307179586 * rand()) }
        p = u() - 0.5
        return p < 0 ? scale * log(1 + 2 * p) : -scale * log(1 - 2 * p)
    }
    BEGIN {
        srand(seed)
        for (i = 0; i < n + 2000; i++) {
            t = 3.141592653589793 * u(); x = cos(t); y = sin(t)
            if (i >= n) { printf "%.9f,%.9f\n", x, y > (i < n + 1000 ? "clean.csv" : "other.csv"); continue }
            x += noise(); y += noise()
            printf "%.9f,%.9f\n", x, y > "pool.csv"
            if (i < 1000) { printf "%.9f,%.9f\n", x, y > "noisy.csv" }
        }
    }'
}
# w2 F: exact, to 1000 clean points that were not in the pool
w2() {
    "$bin/dpot" ot --x "$1" --y clean.csv --metric euclidean --power 2 --exact --json --quiet | json distance
}
