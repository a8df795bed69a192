#!/bin/sh
# Installs the Debian packages that building needs: the client alone, everything, everything and its
# tests, or also the cross compilers of tests/portability/ports.sh. Packages that are there are left
# alone, and nothing is fetched when all are.
#   sh tests/install.sh [client|build|test|ports]      default: test
set -eu

client_packages='gcc libc6-dev cmake ninja-build pkg-config ca-certificates protobuf-c-compiler
    libprotobuf-c-dev libsodium-dev libcurl4-openssl-dev libzip-dev zlib1g-dev'
build_packages="$client_packages libmicrohttpd-dev libgnutls28-dev libsqlite3-dev libcairo2-dev
    fonts-dejavu-core libjansson-dev libonnx-dev libopenblas-dev zlib1g-dev"
test_packages='binutils clang clang-format curl docker-compose libclang-rt-14-dev libcriterion-dev valgrind
    gcc-aarch64-linux-gnu gcc-arm-linux-gnueabihf gcc-arm-none-eabi libc6-dev-arm64-cross
    libc6-dev-armhf-cross libnewlib-dev qemu-user-static'
ports_packages='dpkg-dev gcc-i686-linux-gnu gcc-s390x-linux-gnu libc6-dev-i386-cross
    libc6-dev-s390x-cross musl-tools qemu-system-arm'

# Node from elsewhere brings its own npm, beside which Debian's cannot be installed.
command -v node >/dev/null 2>&1 || test_packages="$test_packages nodejs"
command -v npm >/dev/null 2>&1 || test_packages="$test_packages npm"
command -v python3 >/dev/null 2>&1 || test_packages="$test_packages python3"

case ${1:-test} in
client) packages=$client_packages ;;
build) packages=$build_packages ;;
test) packages="$build_packages $test_packages" ;;
ports) packages="$build_packages $test_packages $ports_packages" ;;
*)
    echo "usage: sh tests/install.sh [client|build|test|ports]" >&2
    exit 2
    ;;
esac

is_installed() {
    dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

missing=
for package in $packages; do
    is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "install: there is no apt-get here; install the counterparts of:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install: these packages are missing, and you are neither root nor have sudo:$missing" >&2
        echo "install: run as root: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o Acquire::Retries=3 "$@"
}

echo "install:$missing"
if ! apt update && ! { sleep 5 && apt update; }; then
    echo "install: apt-get update failed twice, going on with the lists at hand" >&2
fi
# shellcheck disable=SC2086
apt install --no-install-recommends $missing
