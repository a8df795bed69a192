# Every header has a guard DPOT_<MODULE>_<FILE>_H, opened by its first two directives. The module is
# the last folders of its path, one or more ("src" and "include" do not count, "unit" need not);
# installed headers, in include/dpot/, may do without.

function complain(text)
{
    printf "%s: %s\n", file, text
    failed = 1
}

function upper(text)
{
    text = toupper(text)
    gsub(/[^A-Z0-9]/, "_", text)
    return text
}

# True when `guard` is one of the names that fit `path`.
function fits(guard, path,    parts, n, i, name)
{
    n = split(path, parts, "/")
    name = parts[n]
    sub(/\.h$/, "", name)
    name = upper(name) "_H"
    if (path ~ /include\/dpot\// && (guard == "DPOT_" name || guard == name)) {
        return 1
    }
    for (i = n - 1; i >= 1; i--) {
        if (parts[i] ~ /^(src|include)$/) {
            continue
        }
        name = upper(parts[i]) "_" name
        if (guard == "DPOT_" name) {
            return 1
        }
    }
    return 0
}

function fits_either(guard,    shorter)
{
    shorter = file
    sub(/\/unit\//, "/", shorter)
    return fits(guard, file) || fits(guard, shorter)
}

function finish()
{
    if (file == "" || file !~ /\.h$/) {
        return
    }
    if (n_directives < 2 || first !~ /^#ifndef DPOT_/ || !fits_either(substr(first, 9))) {
        complain("guard: it must begin with #ifndef DPOT_<MODULE>_<FILE>_H")
    } else if (second != "#define " substr(first, 9)) {
        complain("guard: #define " substr(first, 9) " must follow its #ifndef")
    }
}

FNR == 1 {
    finish()
    file = FILENAME
    n_directives = 0
    first = second = ""
}

/^#/ {
    n_directives++
    if (n_directives == 1) {
        first = $0
    } else if (n_directives == 2) {
        second = $0
    }
}

END {
    finish()
    exit failed
}
