#!/bin/sh
# Checks the rules of this repository that no compiler checks, over every C file of a tree:
#   sh tests/lint/lint.sh [ROOT]
# layers and third-party headers (layers.awk), banned calls, private measures and comments
# (text.awk), header guards (guards.awk), and the format when clang-format is installed. Then the
# columns of C files and of comments in scripts (columns.awk), and of commit subjects.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/../..}" || exit 2

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Subjects are checked after this commit.
subject_base=${LINT_SUBJECT_BASE:-05fc9319f71ee2cc7b819f87b85898109bc762d9}
subject_max=72

# list_files PATTERN: tracked files and new ones that are not ignored; every file where there is no
# repository. PATTERN is an extended regular expression of paths.
list_files() {
    if [ -e .git ] && git ls-files --cached --others --exclude-standard >"$scratch/git" 2>/dev/null; then
        while read -r file; do
            [ -f "$file" ] && echo "$file"
        done <"$scratch/git"
    else
        find . -name build -prune -o -name .git -prune -o -type f -print | sed 's|^\./||'
    fi | grep -E "$1" | LC_ALL=C sort -u
}

list_files '\.[ch]$' >"$scratch/files"
list_files '\.(sh|awk|cmake)$|(^|/)CMakeLists\.txt$' >"$scratch/scripts"
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
check awk -f "$here/columns.awk"
xargs awk -f "$here/columns.awk" <"$scratch/scripts" || failed=1
if command -v clang-format >/dev/null 2>&1 && [ -f .clang-format ]; then
    check clang-format --dry-run -Werror
else
    echo "lint: clang-format or .clang-format is missing, the format was not checked"
fi

# Skipped where the base is unknown: no repository, a shallow clone.
if [ -e .git ] && git merge-base --is-ancestor "$subject_base" HEAD 2>/dev/null; then
    git log --no-merges --format='%h %s' "$subject_base..HEAD" | awk -v most="$subject_max" '
        { n = length($0) - length($1) - 1 }
        n > most { printf "commit %s: subject: %d columns, at most %d\n", $1, n, most; failed = 1 }
        END { exit failed }' || failed=1
fi

if [ "$failed" -ne 0 ]; then
    echo "lint: refused"
    exit 1
fi
echo "lint: $(wc -l <"$scratch/files") files keep the rules"
