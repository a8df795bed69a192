#!/bin/sh
# The files that `cmake --install` installs, by component. The example of the manual is built
# against the installed tree by pkg-config and by find_package, shared and static.
#   sh install.sh BIN_FOLDER BUILD_FOLDER ROOT
set -u
. "$(dirname "$0")/../scratch.inc.sh"
build=$2
example=$3/client/doc/example.c

there() { # FOLDER FILE...
    folder=$1
    shift
    for file in "$@"; do
        found=$(find "$folder" -path "$folder/usr/local/$file" | head -n 1)
        if [ -n "$found" ]; then pass; else fail "$file is not installed"; fi
    done
}
says_usage() { # PROGRAM: the example without arguments
    LD_LIBRARY_PATH=$libraries "$1" 2>"$dir/err"
    if [ $? -eq 2 ] && grep -q usage "$dir/err"; then pass; else fail "$1 does not run"; cat "$dir/err"; fi
}

for component in client aggregator; do
    need env DESTDIR="$dir/$component" cmake --install "$build" --prefix /usr/local --component "$component"
done
there "$dir/client" bin/dpot-device include/dpot/dpot.h include/dpot/hooks.h include/dpot/status.h 'lib*/libdpot.so' \
    'lib*/libdpot.a' 'lib*/pkgconfig/dpot.pc' 'lib*/cmake/dpot/dpotConfig.cmake' share/man/man1/dpot-device.1 \
    share/man/man3/libdpot.3 share/doc/dpot/CHANGELOG.md share/doc/dpot/privacy.md share/doc/dpot/example.c
there "$dir/aggregator" bin/dpotd bin/dpot share/man/man8/dpotd.8 share/man/man1/dpot.1 \
    share/doc/dpot/admin-api.md share/doc/dpot/campaign-spec.md share/doc/dpot/CHANGELOG-dpotd.md
[ ! -e "$dir/client/usr/local/bin/dpotd" ] && [ ! -e "$dir/aggregator/usr/local/include" ] ||
    fail 'a component has files of the other'

cd "$dir" || exit 1
pc=$(find client -name dpot.pc)
libraries=$dir/$(dirname "$(dirname "$pc")")
# shellcheck disable=SC2046 # a list
need ${CC:-cc} "$example" -o by_pkg_config $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs dpot)
says_usage ./by_pkg_config

mkdir app
cat >app/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(app C)
find_package(dpot 0.1 REQUIRED)
add_executable(shared $example)
target_link_libraries(shared PRIVATE dpot::dpot)
add_executable(static $example)
target_link_libraries(static PRIVATE dpot::dpot_static)
CMAKE
need cmake -S app -B app/build -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_PREFIX_PATH="$dir/client/usr/local"
need cmake --build app/build
says_usage app/build/shared
says_usage app/build/static

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
