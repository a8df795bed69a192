#!/bin/sh
# Checks the house rules that no compiler knows, over every C file of a tree:
#   sh tests/lint/lint.sh [ROOT]
# layers and doors (layers.awk), banned calls, private measures and comments (text.awk), header
# guards (guards.awk), and the format when clang-format is installed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/../..}" || exit 2

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Tracked files and new ones that are not ignored; every file where there is no repository.
list_files() {
    if [ -e .git ] && git ls-files --cached --others --exclude-standard -- '*.c' '*.h' \
        >"$scratch/git" 2>/dev/null; then
        while read -r file; do
            [ -f "$file" ] && echo "$file"
        done <"$scratch/git"
    else
        find . -name build -prune -o -name .git -prune -o -type f -name '*.[ch]' -print |
            sed 's|^\./||'
    fi | LC_ALL=C sort -u
}

list_files >"$scratch/files"
if [ ! -s "$scratch/files" ]; then
    echo "lint: no C files under $(pwd)" >&2
    exit 2
fi

failed=0
check() {
    xargs "$@" <"$scratch/files" || failed=1
}
check awk -v "list=$scratch/files" -f "$here/layers.awk"
check awk -f "$here/text.awk"
check awk -f "$here/guards.awk"
if command -v clang-format >/dev/null 2>&1 && [ -f .clang-format ]; then
    check clang-format --dry-run -Werror
else
    echo "lint: clang-format or .clang-format is missing, the format was not checked"
fi

if [ "$failed" -ne 0 ]; then
    echo "lint: refused"
    exit 1
fi
echo "lint: $(wc -l <"$scratch/files") files keep the rules"
