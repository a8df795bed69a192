#!/bin/sh
# The files that `cmake --install` installs, by component. The example of the manual is built
# against the installed tree by pkg-config and by find_package, shared and static. A project that
# fetches the tree gets libdpot alone, here as an archive and without libcurl; then with one
# mechanism and without POSIX, also for a chip.
#   sh install.sh BIN_FOLDER BUILD_FOLDER ROOT
set -u
. "$(dirname "$0")/../scratch.inc.sh"
build=$2
root=$3
example=$root/client/doc/example.c

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
there "$dir/client" bin/dpot-device include/dpot/dpot.h include/dpot/hooks.h include/dpot/settings.h include/dpot/status.h 'lib*/libdpot.so' \
    'lib*/libdpot.a' 'lib*/pkgconfig/dpot.pc' 'lib*/cmake/dpot/dpotConfig.cmake' share/man/man1/dpot-device.1 \
    share/man/man3/libdpot.3 share/doc/dpot/CHANGELOG.md share/doc/dpot/privacy.md share/doc/dpot/example.c \
    share/doc/dpot/bindings/dpot.py share/doc/dpot/bindings/dpot.js share/doc/dpot/bindings/dpot.d.ts \
    share/doc/dpot/embedding.md share/doc/dpot/examples/gateway.py \
    share/doc/dpot/examples/flash_files.c share/doc/dpot/platforms/ios.md
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

# A parent project.
mkdir parent user
cat >parent/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(parent C)
include(FetchContent)
FetchContent_Declare(dpot SOURCE_DIR $root)
FetchContent_MakeAvailable(dpot)
get_directory_property(options COMPILE_OPTIONS)
if(CMAKE_BUILD_TYPE OR CMAKE_C_FLAGS OR options)
  message(FATAL_ERROR "forced on the parent: \${CMAKE_BUILD_TYPE} \${CMAKE_C_FLAGS} \${options}")
endif()
foreach(target dpot-device dpotd dpot dpot_shared dpot_test_support)
  if(TARGET \${target})
    message(FATAL_ERROR "the parent has to build \${target}")
  endif()
endforeach()
add_executable(app ../user/app.c)
target_link_libraries(app PRIVATE dpot::dpot)
CMAKE
cat >user/app.c <<'C'
#include <dpot/dpot.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct dpot_client_config config;
    struct dpot_filesystem *files = NULL;
    dpot_client *client = NULL;
    char text[400];
    dpot_client_config_init(&config, sizeof config);
    memset(config.pin, 1, sizeof config.pin);
    config.server_url = argc > 2 ? argv[2] : NULL;
    config.campaign_epsilon_cap = config.window_epsilon_cap = config.lifetime_epsilon_cap = 1;
    config.window_seconds = 1;
    if (dpot_filesystem_posix_new(argv[1], &files) != DPOT_OK) {
        return 1;
    }
    config.filesystem = files;
    const dpot_status status = dpot_client_open(&config, &client, text, sizeof text);
    printf("%d %s\n", status, text);
    dpot_client_close(client);
    dpot_filesystem_posix_free(files);
    return 0;
}
C
without_curl() { # PROGRAM
    if "$1" folder >answer && grep -q '^0 $' answer && "$1" folder https://localhost >answer &&
        grep -q '^0 $' answer; then pass; else
        fail "$1 says:"
        cat answer
    fi
}
need env -u CFLAGS -u CMAKE_BUILD_TYPE cmake -S parent -B parent/build -DCMAKE_C_COMPILER="${CC:-cc}" \
    -DBUILD_SHARED_LIBS=OFF -DDPOT_WITH_CURL=OFF
need cmake --build parent/build --target app --parallel 2
without_curl parent/build/app
if grep CURL parent/build/CMakeCache.txt | grep -v '^DPOT_WITH_CURL'; then fail 'libcurl was searched'; else pass; fi
need env DESTDIR="$dir/none" cmake --install parent/build
if [ -e none ]; then fail 'the parent installs dpot'; else pass; fi

need cmake -S parent -B parent/build -DDPOT_INSTALL=ON
need env DESTDIR="$dir/archive" cmake --install parent/build --prefix /usr/local --component client
pc=$(find archive -name dpot.pc)
# shellcheck disable=SC2046 # a list
need ${CC:-cc} user/app.c -o user/by_pkg_config $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs dpot)
without_curl user/by_pkg_config
cat >user/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(dpot 0.1 REQUIRED)
add_executable(app app.c)
target_link_libraries(app PRIVATE dpot::dpot)
CMAKE
need cmake -S user -B user/build -DCMAKE_C_COMPILER="${CC:-cc}" -DCMAKE_PREFIX_PATH="$dir/archive/usr/local"
need cmake --build user/build
without_curl user/build/app
if grep -rq curl "$(dirname "$pc")" "$(dirname "$pc")/../cmake"; then fail 'the packages name libcurl'; else pass; fi
if readelf -SW "$(dirname "$pc")/../libdpot.a" | grep -q '\.text\.dpot_version'; then pass; else
    fail 'the functions of libdpot.a have no sections of their own'
fi

# A static program, by pkg-config --static.
# shellcheck disable=SC2046 # a list
need ${CC:-cc} -static user/app.c -o user/static $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --static --cflags --libs dpot)
without_curl user/static

# One mechanism, and neither POSIX nor libcurl.
need cmake -S parent -B chip -DCMAKE_C_COMPILER="${CC:-cc}" -DDPOT_SHARED=OFF -DDPOT_WITH_CURL=OFF \
    -DDPOT_WITH_POSIX=OFF -DDPOT_MECHANISMS=laplace
need cmake --build chip --target dpot_static --parallel 2
archive=$(find chip -name libdpot.a)
nm "$archive" >symbols
if grep -q ' T dpot_client_submit_vector$' symbols && grep -q ' [RD] dpot_mechanism_laplace$' symbols &&
    ! grep -E 'dpot_mechanism_(wpm|gaussian|kpm)|gauss_row|dpot_filesystem_posix|curl| (flock|open|clock_gettime|exit|abort)$' \
        symbols; then pass; else fail 'libdpot has what its options leave out'; fi

# The same for a chip. The headers of the packages stand in for those of a port: nothing is linked.
mkdir port
ln -s "$(pkg-config --variable=includedir libsodium)"/sodium* "$(pkg-config --variable=includedir libprotobuf-c)/protobuf-c" port/
cat >chip.cmake <<'CMAKE'
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m4)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb")
CMAKE
need env -u CFLAGS cmake -S "$root" -B generic -DCMAKE_TOOLCHAIN_FILE="$dir/chip.cmake" -DCMAKE_BUILD_TYPE=MinSizeRel \
    -DDPOT_WARNINGS_AS_ERRORS=ON -DDPOT_BUILD_TOOL=OFF -DDPOT_BUILD_AGGREGATOR=OFF -DDPOT_BUILD_TESTS=OFF \
    -DSODIUM_INCLUDE_DIR="$dir/port" -DSODIUM_LIBRARY=sodium -DPROTOBUF_C_INCLUDE_DIR="$dir/port" -DPROTOBUF_C_LIBRARY=protobuf-c
need cmake --build generic --parallel 2
if [ -f generic/lib/libdpot.a ]; then pass; else fail 'no library for a chip'; fi

refused() { # SENTENCE OPTION...: the top of the tree is not configured
    sentence=$1
    shift
    rm -rf refused
    if cmake -S "$root" -B refused -DCMAKE_C_COMPILER="${CC:-cc}" "$@" >out 2>&1; then fail "configured: $*"; fi
    if grep -q "$sentence" out; then pass; else
        fail "not refused with \"$sentence\""
        cat out
    fi
}
refused 'DPOT_BUILD_TOOL needs libcurl' -DDPOT_WITH_CURL=OFF
refused 'DPOT_BUILD_AGGREGATOR needs libcurl' -DDPOT_WITH_CURL=OFF -DDPOT_BUILD_TOOL=OFF -DDPOT_BUILD_TESTS=OFF
refused 'DPOT_BUILD_TOOL needs POSIX' -DDPOT_WITH_POSIX=OFF -DDPOT_WITH_CURL=ON
refused 'need every mechanism' -DDPOT_MECHANISMS=wpm
refused 'DPOT_MECHANISMS has no "laplac"' '-DDPOT_MECHANISMS=wpm;laplac'
refused 'Set both SODIUM_INCLUDE_DIR and SODIUM_LIBRARY' -DSODIUM_LIBRARY=sodium
refused 'libsodium for cortex-m4: set' -DCMAKE_TOOLCHAIN_FILE="$dir/chip.cmake" -DDPOT_BUILD_TOOL=OFF \
    -DDPOT_BUILD_AGGREGATOR=OFF -DDPOT_BUILD_TESTS=OFF
refused 'The tests run dpot-device' -DDPOT_BUILD_TOOL=OFF -DDPOT_BUILD_TESTS=ON

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
