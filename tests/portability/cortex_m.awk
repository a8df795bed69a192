# Compares the counts of one build (branches.awk) with the list:
#   awk -v build="cortex-m0 -Os" -v mode=check -f cortex_m.awk cortex_m.txt ROUTINES COUNTS

function complain(text)
{
    printf "%s: %s\n", build, text
    failed = 1
}

BEGIN {
    n_builds = split("cortex-m0 -Os,cortex-m0 -O2,cortex-m3 -Os,cortex-m3 -O2", builds, ",")
    for (i = 1; i <= n_builds; i++) {
        column = builds[i] == build ? i - 1 : column
    }
}

FNR == 1 { file++ }

/^#/ || NF == 0 { next }

file == 1 && $1 == "public" { is_public[$2] = 1; next }
file == 1 && $1 == "call" { is_allowed[$2 " " ($4 == "" ? "*" : $4)] = 1; next }
file == 1 && $1 == "branches" { listed_branches[$2] = $(3 + column); is_listed[$2] = 1; next }
file == 1 && $1 == "blocks" { listed_blocks[$2] = $(3 + column); is_listed[$2] = 1; next }
file == 1 { complain("the list has an invalid line: " $0); next }

# Routines of the compiler's library: must exist and have no branch.
file == 2 {
    n_routines++
    if ($2 + $3 + $4 > 0) {
        complain($1 " of the compiler's library has branches or divisions: " $2 ", " $3 ", " $4)
    }
    next
}

$1 in is_public { n_public++; next }

mode == "--counts" {
    if ($2 + $3 > 0) {
        print build, $1, $2, $3
    }
    next
}

{
    n_functions++
    n_branches += $2
    n_blocks += $3
    if ($2 != listed_branches[$1] + 0) {
        complain($1 " has " $2 " conditional branches, the list says " (listed_branches[$1] + 0))
    }
    if ($3 != listed_blocks[$1] + 0) {
        complain($1 " has " $3 " IT blocks, the list says " (listed_blocks[$1] + 0))
    }
    if ($4 > 0) {
        complain($1 " divides: the time of a division depends on its operands")
    }
    for (i = 5; i <= NF; i++) {
        if (!(($i " *") in is_allowed) && !(($i " " $1) in is_allowed)) {
            complain($1 " calls " $i ", which is not listed")
        }
    }
    was_seen[$1] = 1
}

END {
    if (mode != "check") {
        exit 0
    }
    for (name in is_listed) {
        if (!(name in was_seen) && listed_branches[name] + listed_blocks[name] > 0) {
            complain(name " is listed but was not found")
        }
    }
    if (n_functions < 10 || n_public < 3 || n_routines < 2) {
        complain("only " n_functions " functions, " n_public " public, " n_routines " routines")
    }
    printf "%s: %d functions of secrets, %d conditional branches, %d IT blocks%s\n", build, \
        n_functions, n_branches, n_blocks, failed ? ", not all as listed" : ", all listed"
    exit failed
}
