# Times of a comparison, lines NAME ROUND CPU WALL VALUE or NAME absent REASON, as a table; with -v
# a= b= how= bound= one line about the ratio a / b.

function sort(x, n,    i, j, y)
{
    for (i = 2; i <= n; i++) {
        y = x[i]
        for (j = i - 1; j >= 1 && x[j] > y; j--) {
            x[j + 1] = x[j]
        }
        x[j + 1] = y
    }
}

# The quantile of numbers that are sorted.
function at(x, n, share)
{
    return x[int(share * (n - 1) + 0.5) + 1]
}

# Sets n and the sorted list of the ratios of two sides within rounds.
function find_ratios(x, y,    k)
{
    n = 0
    for (k = 1; k <= last_round; k++) {
        if ((x, k) in cpu && (y, k) in cpu && cpu[y, k] > 0) {
            list[++n] = cpu[x, k] / cpu[y, k]
        }
    }
    sort(list, n)
}

function print_contestant(name,    k)
{
    n = 0
    for (k = 1; k <= last_round; k++) {
        list[++n] = cpu[name, k]
    }
    sort(list, n)
    line = sprintf("  %-22s %9.4f  %9.4f .. %-9.4f", name, at(list, n, 0.5), at(list, n, 0.1),
        at(list, n, 0.9))
    n = 0
    for (k = 1; k <= last_round; k++) {
        list[++n] = wall[name, k]
    }
    sort(list, n)
    line = line sprintf(" %9.4f", at(list, n, 0.5))
    find_ratios(name, first)
    line = line sprintf("  %7.2f", at(list, n, 0.5))
    if (value[name] != "-" && value[first] != "-") {
        line = line sprintf("  %.12g", value[name])
        difference = value[name] / value[first] - 1
        line = line sprintf(" (%.0e)", difference < 0 ? -difference : difference)
        if (!(difference < 1e-3 && difference > -1e-3)) {
            line = line " NOT THE SAME WORK"
        }
    }
    print line
}

$2 == "absent" {
    names[++n_names] = $1
    sub(/^[^ ]* absent */, "")
    absent[names[n_names]] = $0
    next
}

{
    if (!($1 in value)) {
        names[++n_names] = $1
        if (!first) {
            first = $1
        }
    }
    cpu[$1, $2] = $3
    wall[$1, $2] = $4
    value[$1] = $5
    last_round = $2 > last_round ? $2 : last_round
}

END {
    if (a) {
        find_ratios(a, b)
        if (n == 0) {
            printf "  %s / %s: peer absent\n", a, b
        } else {
            ratio = at(list, n, 0.5)
            reached = how == "least" ? ratio >= bound : ratio <= bound
            printf "  %s / %s: %.2f, hoped for at %s %s: %s\n", a, b, ratio, how, bound,
                reached ? "reached" : "missed"
        }
        exit
    }
    printf "  %-22s %9s  %9s    %-9s %9s  %7s  %s\n", "", "median s", "p10", "p90", "wall", "ratio",
        "value (difference)"
    for (i = 1; i <= n_names; i++) {
        if (!(names[i] in absent)) {
            print_contestant(names[i])
        }
    }
    for (name in absent) {
        printf "  %-22s peer absent (%s)\n", name, absent[name]
    }
}
