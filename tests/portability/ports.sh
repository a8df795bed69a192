#!/bin/sh
# libdpot on every platform of ports.txt, emulated: built by its own CMake without libcurl, the
# vectors of the portable core, and reports that a device on raw flash (device.c) submits and dpotd
# accepts through the gateway of the examples. On the Cortex-M4 also what they take, against m4.txt.
#   sh tests/portability/ports.sh BIN_FOLDER [FOLDER] [PLATFORM...]
# BIN_FOLDER has dpot and dpotd. FOLDER keeps sources and builds for the next time.
# shellcheck disable=SC1091,SC2086,SC2154 # flags are words; programs.inc.sh sets variables
set -u
if [ $# -lt 1 ]; then
    echo "usage: sh ports.sh BIN_FOLDER [FOLDER] [PLATFORM...]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
system=$root/tests/system
sh "$root/tests/install.sh" ports || exit 1
. "$system/programs.inc.sh"
shift
work=$dir/work
if [ $# -gt 0 ]; then
    work=$1
    shift
fi
mkdir -p "$work"
work=$(cd "$work" && pwd)
wanted=" $* "

# ---- the server, a gateway before it, three campaigns ----

init
start
python3 "$root/client/doc/examples/gateway.py" --upstream "$url" --listen 127.0.0.1:0 --wait 0.1 \
    --ready-file "$dir/gateway" 2>"$dir/gateway.log" &
others="$others $!"
wait_for "$dir/gateway"

campaign() { # NAME MEMBERS: opens it, and sets $id
    cat >"$dir/spec.json" <<SPEC
{"name": "$1", $2, "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))"}
SPEC
    need dpot campaign create "$dir/spec.json" --json
    id=$(json "$dir/out" id)
    need dpot campaign open "$id" --json
}
grid='"domain": {"type": "grid", "lo": [24.5, -125], "hi": [49.4, -66.9], "shape": [20, 20]},
    "output": "same", "metric": "haversine", "power": 1'
campaign laplace '"domain": {"type": "l1_ball", "radius": 1, "dim": 8},
    "mechanism": {"type": "laplace", "epsilon": 2}'
laplace=$id
campaign exact "$grid, \"mechanism\": {\"type\": \"wpm\", \"epsilon\": 2, \"solver\": \"exact\",
    \"base_measure\": \"uniform\"}"
exact=$id
campaign entropic "$grid, \"mechanism\": {\"type\": \"wpm\", \"epsilon\": 2, \"lambda\": 40,
    \"iterations\": 60, \"base_measure\": \"uniform\"}"
entropic=$id

# ---- one platform ----

build() { # BOARD_FLAG...: libdpot and the device, in $place
    archive=$(echo "$compiler" | sed 's/gcc$/ar/')
    command -v "$archive" >/dev/null 2>&1 || archive='ar'
    {
        echo "set(CMAKE_SYSTEM_NAME $1)"
        echo "set(CMAKE_SYSTEM_PROCESSOR $name)"
        echo "set(CMAKE_C_COMPILER $compiler)"
        echo "set(CMAKE_AR $(command -v "$archive"))"
        echo "set(CMAKE_C_FLAGS_INIT \"$flags\")"
        echo "set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)"
    } >"$place/toolchain.cmake"
    shift
    env -u CFLAGS cmake -S "$root" -B "$place/dpot" -DCMAKE_TOOLCHAIN_FILE="$place/toolchain.cmake" \
        -DCMAKE_BUILD_TYPE=MinSizeRel -DDPOT_BUILD_TOOL=OFF -DDPOT_BUILD_AGGREGATOR=OFF \
        -DDPOT_BUILD_TESTS=OFF -DDPOT_WITH_CURL=OFF -DDPOT_SHARED=OFF -DDPOT_WARNINGS_AS_ERRORS=ON \
        -DSODIUM_INCLUDE_DIR="$place/include" -DSODIUM_LIBRARY="$place/lib/libsodium.a" \
        -DPROTOBUF_C_INCLUDE_DIR="$place/include" \
        -DPROTOBUF_C_LIBRARY="$place/lib/libprotobuf-c.a" &&
        cmake --build "$place/dpot" --parallel 2 &&
        $compiler $flags -std=c11 -D_POSIX_C_SOURCE=200809L -Os -Wall -Wextra -Werror \
            -I"$root/tests" -I"$root/client/doc/examples" -I"$root/common" \
            -I"$root/common/include" -I"$root/client/include" "$here/device.c" \
            "$root/tests/support/flash.c" "$root/client/doc/examples/flash_files.c" "$@" \
            "$place/dpot/lib/libdpot.a" "$place/lib/libsodium.a" "$place/lib/libprotobuf-c.a" \
            -lm -Wl,--gc-sections -static -o "$place/device"
}
report() { # CAMPAIGN ID KIND SIZE: prints the steps; fails unless the report is accepted
    rm -rf "$dir/device"
    mkdir "$dir/device"
    cp "$here/exchange.sh" "$dir/gateway" "$dir/device"
    (cd "$dir/device" && timeout 300 $emulator "$place/device" "$pin" "$2" "$3" "$4") \
        >"$place/$1.txt" 2>&1
}
port() { # sets $vectors and $reports, a word each
    place=$work/$name
    vectors=- reports=-
    mkdir -p "$place"
    if [ ! -f "$place/lib/libsodium.a" ]; then
        sh "$here/sources.sh" "$work/sources" "$place" "$order" $compiler $flags \
            >"$place/log" 2>&1 || return 1
    fi
    if [ "$emulator" = BOARD ]; then
        emulator=$dir/board
        printf '#!/bin/sh\nexec sh "%s" "$@"\n' "$here/board_m4.sh" >"$emulator"
        chmod +x "$emulator"
        set -- "$here/board_m4.c" -DBOARD_M4 -ffunction-sections -fdata-sections \
            -T "$here/board_m4.ld" --specs=rdimon.specs
        build Generic "$@" >>"$place/log" 2>&1 || return 1
        set -- "$@" -I"$root/tests" -Wno-format -Os
    else
        build Linux >>"$place/log" 2>&1 || return 1
        set -- -O2
    fi
    vectors=differ reports=missing
    [ "$emulator" != none ] || emulator=
    sh "$here/variant.sh" "$dir" "$arithmetic" "${emulator:-none}" $compiler $flags "$@" \
        >>"$place/log" 2>&1 && vectors=equal
    report laplace "$laplace" vector 8 && report exact "$exact" points 32 &&
        report entropic "$entropic" points 32 && reports=accepted
    [ "$vectors $reports" = 'equal accepted' ]
}

# ---- all of them, and the table ----

# shellcheck disable=SC2046 # words
need gcc -std=c11 -I"$here" "$here/make_vectors.c" $(pkg-config --cflags --libs jansson) \
    -o "$dir/make_vectors"
"$dir/make_vectors" "$root/tests/golden/sampling" >"$dir/vectors.h"
n=0
while read -r name arithmetic order emulator compiler flags; do
    case $name in '#'*) continue ;; esac
    case $wanted in '  ' | *" $name "*) ;; *) continue ;; esac
    if port </dev/null; then pass; else
        fail "$name: see the end of $place/log, and $place/*.txt"
        tail -n 5 "$place/log" "$place/"*.txt
    fi
    printf '%-10s vectors %-8s reports %s\n' "$name" "$vectors" "$reports"
    [ "$reports" != accepted ] || n=$((n + 1))
done <"$here/ports.txt"

for id in $laplace $exact $entropic; do
    need dpot pool "$id" --out "$dir/pool.csv" --json
    equal 'reports in the pool' "$(json "$dir/out" accepted)" "$n"
done

if [ -f "$work/cortex-m4/laplace.txt" ]; then
    arm-none-eabi-size -A "$work/cortex-m4/device" | awk '
        $1 == ".text" || $1 == ".ARM.exidx" || $1 == ".init_array" { code += $2 }
        $1 == ".data" { code += $2; ram += $2 }
        $1 == ".bss" { ram += $2 }
        END { print "image", code; print "static", ram }' >"$dir/m4"
    for name in laplace exact entropic; do
        awk -v name=$name '$1 == "step" && $4 > heap { heap = $4 } $1 == "step" && $6 > stack { stack = $6 }
            END { print name "_heap", heap; print name "_stack", stack }' "$work/cortex-m4/$name.txt"
    done >>"$dir/m4"
    if awk '
        FNR == NR { if ($1 !~ /^#/) limit[$1] = $3; next }
        { printf "%-16s %9d %9s bytes\n", $1, $2, limit[$1] }
        !($1 in limit) || $2 > limit[$1] { failed = 1 }
        END { exit failed }' "$here/m4.txt" "$dir/m4"; then pass; else
        fail 'the Cortex-M4 needs more than m4.txt allows'
    fi
fi
conclude
