#!/bin/sh
# Builds libsodium and protobuf-c from Debian's sources for one platform, into PREFIX/include and
# PREFIX/lib. Nothing is installed on this machine: apt has a folder of its own in SOURCES.
#   sh sources.sh SOURCES PREFIX little|big COMPILER FLAG...
set -eu
sources=$1 prefix=$2 order=$3
shift 3
compiler=$1
[ "$order" = little ] || set -- "$@" -DWORDS_BIGENDIAN

if [ ! -d "$sources/sodium" ]; then
    mkdir -p "$sources/apt/lists/partial" "$sources/apt/archives/partial"
    cd "$sources"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "http://deb.debian.org/debian bookworm main" >apt/sources.list
    cat >apt/apt.conf <<END
Dir::Etc::sourcelist "$sources/apt/sources.list"; Dir::Etc::sourceparts "-";
Dir::State "$sources/apt"; Dir::State::status "/dev/null"; Dir::Cache "$sources/apt";
APT::Sandbox::User "";
END
    export APT_CONFIG="$sources/apt/apt.conf"
    apt-get update >apt/log
    apt-get source --download-only libsodium protobuf-c >>apt/log
    unset APT_CONFIG
    mkdir unpacked
    for archive in libsodium_*.orig.tar.* protobuf-c_*.orig.tar.*; do
        tar -xf "$archive" -C unpacked
    done
    mv unpacked/protobuf-c-* protobuf
    mv unpacked/libsodium-* sodium
    cp sodium/builds/msvc/version.h sodium/src/libsodium/include/sodium/
fi

mkdir -p "$prefix/include/protobuf-c" "$prefix/lib" "$prefix/objects"
prefix=$(cd "$prefix" && pwd)
cd "$sources/sodium/src/libsodium"
number=0
for file in $(find . -name '*.c' | LC_ALL=C sort); do
    number=$((number + 1))
    "$@" -Os -ffunction-sections -fdata-sections -w -DCONFIGURED=1 \
        "-DNATIVE_$(echo "$order" | tr "[:lower:]" "[:upper:]")_ENDIAN=1" -Iinclude -Iinclude/sodium \
        -c "$file" -o "$prefix/objects/$number.o"
done
cp -r include/. "$prefix/include"
"$@" -Os -ffunction-sections -fdata-sections -I"$sources/protobuf" \
    -c "$sources/protobuf/protobuf-c/protobuf-c.c" -o "$prefix/objects/protobuf-c.o"
cp "$sources/protobuf/protobuf-c/protobuf-c.h" "$prefix/include/protobuf-c"

archive=$(echo "$compiler" | sed 's/gcc$/ar/')
command -v "$archive" >/dev/null 2>&1 || archive='ar'
rm -f "$prefix/lib/"*.a
"$archive" rcs "$prefix/lib/libprotobuf-c.a" "$prefix/objects/protobuf-c.o"
rm "$prefix/objects/protobuf-c.o"
"$archive" rcs "$prefix/lib/libsodium.a" "$prefix/objects/"*.o
rm -r "$prefix/objects"
