# Comparisons of two programs that answer lines (turns.h), sourced by transport.sh and training.sh.
# Every round runs each case once, ours and theirs mixed, so that other load on the machine affects
# all equally; a ratio is the median of the ratios within rounds. Times are CPU seconds of a process
# with one thread, user and system; wall seconds are shown beside them.

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s: %s\n' "$(basename "$0")" "$1" >&2
    exit "${2:-1}"
}

rounds=${ROUNDS:-9}
python=${PYTHON:-/usr/bin/python3}
case $rounds in
'' | *[!0-9]* | 0*) fail "ROUNDS is \"$rounds\": give a whole number above 0" 2 ;;
esac
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

folder=$(mktemp -d) || exit 1
ours_pid='' theirs_pid=''
finish() {
    exec 3>&- 5>&-
    [ -z "$ours_pid" ] || wait "$ours_pid" || :
    [ -z "$theirs_pid" ] || wait "$theirs_pid" || :
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM
trap '' PIPE # a side that ends is detected by its missing answer

# Builds our side unless a build folder is given: build_side TARGET [BUILD]
build_side() {
    build=${2:-}
    if [ -z "$build" ]; then
        build=build/bench
        if ! { cmake --preset release -B "$build" -DDPOT_BUILD_TESTS=ON &&
            cmake --build "$build" --target "$1"; } >"$folder/build.log" 2>&1; then
            cat "$folder/build.log" >&2
            fail "$1 could not be built"
        fi
    fi
    [ -x "$build/bin/$1" ] || fail "there is no $build/bin/$1: build the target $1 there"
    ours=$build/bin/$1
}

# Starts both sides: open_sides PEERS.py, or another program
open_sides() {
    mkfifo "$folder/3" "$folder/4" "$folder/5" "$folder/6"
    "$ours" "$folder" <"$folder/3" >"$folder/4" &
    ours_pid=$!
    exec 3>"$folder/3" 4<"$folder/4"
    missing=$1
    case $1 in
    *.py)
        missing=numpy
        ! "$python" -c 'import numpy' 2>/dev/null || set -- "$python" "$1"
        ;;
    esac
    if [ -x "$1" ] || command -v "$1" >/dev/null; then
        "$@" "$folder" <"$folder/5" >"$folder/6" 2>"$folder/peers.log" 3>&- &
        theirs_pid=$!
        exec 5>"$folder/5" 6<"$folder/6"
    fi
}

# Sets `answer`: ask ours|theirs REQUEST
ask() {
    answer=
    if [ "$1" = ours ]; then
        printf '%s\n' "$2" >&3
        read -r answer <&4 || fail "our side ended at: $2"
    elif [ -n "$theirs_pid" ]; then
        { printf '%s\n' "$2" >&5 && read -r answer <&6; } 2>/dev/null ||
            answer="absent (it ended: $(tail -n 1 "$folder/peers.log"))"
    else
        answer="absent no $missing"
    fi
}

# One table: duel TITLE ARGUMENTS SIDE:NAME... ; times are divided by those of
# the first.
duel() {
    title=$1 arguments=$2
    shift 2
    : >"$folder/times"
    absent=
    for round in $(seq 0 "$rounds"); do
        for contestant in "$@"; do
            side=${contestant%%:*} name=${contestant#*:}
            case $absent in
            *" $name "*) continue ;;
            esac
            ask "$side" "$name $arguments"
            case $answer in
            absent*)
                absent="$absent $name "
                printf '%s absent %s\n' "$name" "${answer#absent}" >>"$folder/times"
                ;;
            *) [ "$round" -eq 0 ] || printf '%s %s %s\n' "$name" "$round" "$answer" >>"$folder/times" ;;
            esac
        done
    done
    say ""
    say "$title ($rounds rounds)"
    awk -f tests/bench/turns.awk "$folder/times"
}

# The median of A / B in the table before, and whether it meets the target:
#   target A B 'least'|'most' BOUND
target() {
    awk -v a="$1" -v b="$2" -v how="$3" -v bound="$4" -f tests/bench/turns.awk "$folder/times"
}

machine() {
    say "$(date -u +%Y-%m-%d), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(getconf _NPROCESSORS_ONLN) cores," \
        "load $(cut -d ' ' -f 1-3 /proc/loadavg); CPU seconds of one thread"
}
