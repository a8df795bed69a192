# What the experiments share; included from their heads in the caller's folder, which it leaves for
# the repository's. Gives $data, $out and $bin, of DATA, OUT and BIN: empty where these are not set.

# A path as it is meant from the folder in which the script was called.
absolute() {
    case $1 in
    '' | /*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}
data=$(absolute "${DATA:-}")
out=$(absolute "${OUT:-}")
bin=$(absolute "${BIN:-}")
cd "$(dirname "$0")/../.."

say() { printf '%s\n' "$*" >&2; }
# fail TEXT [EXIT]: 2 (a wrong setting) where no exit code is given.
fail() {
    say "${0##*/}: $1"
    exit "${2:-2}"
}
# build_dpot: where BIN names no programs, $bin/dpot is built; in the repository's folder.
build_dpot() {
    [ ! -x "$bin/dpot" ] || return 0
    [ -z "${BIN:-}" ] || fail "BIN is $bin: there is no program dpot in it" 6
    say '== Building (build/release)'
    mkdir -p build
    build_log=build/$(basename "$0" .sh)-build.log
    { cmake --preset release && cmake --build --preset release --target dpot; } >"$build_log" 2>&1 && return
    tail -n 40 "$build_log" >&2
    fail "the build failed: the lines above are the end of $build_log" 1
}
# json KEY [FILE]: the value of a key of a one-line JSON object.
json() { sed -n 's/.*"'"$1"'": *"\{0,1\}\([^",}]*\)"\{0,1\}[,}].*/\1/p' "${2:--}" | head -n 1; }
# whole NUMBER...: every one is a whole number above 0.
whole() {
    for whole_value in "$@"; do
        case $whole_value in
        '' | *[!0-9]* | 0*) fail "\"$whole_value\" is given where a whole number above 0 is needed" ;;
        esac
    done
}
