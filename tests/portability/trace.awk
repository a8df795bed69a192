# Reads the blocks that qemu executes (-d exec,nochain) and compares the segments between the
# symbols begin_NAME and end_segment: all segments of one name must take the same path.

# Trace 0: 0x7f.. [cs_base/pc/flags/cflags] symbol
$1 == "Trace" {
    if ($NF ~ /^begin_/) {
        name = substr($NF, 7)
        length_now = 0
        path = 0
    } else if ($NF == "end_segment" && name != "") {
        n_segments[name]++
        if (!(name in first_path)) {
            first_path[name] = path
            first_length[name] = length_now
        } else if (path != first_path[name] || length_now != first_length[name]) {
            n_different[name]++
        }
        name = ""
    } else if (name != "") {
        split($0, part, "/")
        if (!(part[2] in number)) {
            number[part[2]] = ++n_blocks
        }
        # Exact in doubles: the product is below 2^53.
        path = (path * 65599 + number[part[2]]) % 4294967291
        length_now++
    }
}

END {
    for (name in n_segments) {
        printf "%s: %d secrets, %d blocks each", name, n_segments[name], first_length[name]
        if (n_different[name] > 0) {
            printf ", %d take another path", n_different[name]
            failed = 1
        }
        printf "\n"
        if (n_segments[name] != n_secrets || first_length[name] == 0) {
            printf "%s: %d secrets were expected\n", name, n_secrets
            failed = 1
        }
        n_names++
    }
    if (n_names < 9) {
        printf "only %d parts were traced\n", n_names
        failed = 1
    }
    exit failed
}
