# Reads `objdump -dr --no-show-raw-insn` of one object and prints for each function its conditional
# branches (a jump table counts as one), IT blocks, divisions, and the routines it calls that are
# neither this project's nor in the same object:
#   NAME n_branches n_blocks n_divisions routine...
# The optimizer's clones of a function count as that function.

function base_of(symbol)
{
    sub(/\.(isra|constprop|part|cold).*$/, "", symbol)
    return symbol
}

/^[0-9a-f]+ <.*>:$/ {
    name = $2
    gsub(/[<>:]/, "", name)
    name = base_of(name)
    is_defined[name] = 1
    next
}

$2 ~ /^(b(eq|ne|cs|cc|hs|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)(\.[nw])?|cbn?z|tb[bh])$/ {
    branches[name]++
}
$2 ~ /^it[te]*$/ { blocks[name]++ }
$2 ~ /^[us]div$/ { divisions[name]++ }
$2 ~ /^R_ARM_(THM_CALL|THM_JUMP24|CALL|JUMP24)$/ && base_of($3) !~ /^dpot_/ {
    called = base_of($3)
    if (index(calls[name] " ", " " called " ") == 0) {
        calls[name] = calls[name] " " called
    }
}

END {
    for (name in is_defined) {
        n = split(calls[name], routine, " ")
        list = ""
        for (i = 1; i <= n; i++) {
            if (!(routine[i] in is_defined)) {
                list = list " " routine[i]
            }
        }
        printf "%s %d %d %d%s\n", name, branches[name], blocks[name], divisions[name], list
    }
}
