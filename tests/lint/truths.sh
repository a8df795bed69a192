#!/bin/sh
# A number in a source and on a page must be the same: truths.txt has a row for each.
#   sh truths.sh ROOT BIN_FOLDER [TABLE]
# A row is SOURCE :: PAGE :: TEXT. The page must hold the text, in which the value of the source
# replaces {...}:
#   {}, {,}   the number, as 4096 or 4,096
#   {^}       the exponent of a power of two
#   {/N}      the number divided by N
# SOURCE  NAME, or NAME|NAME...: a number by #define or in an enum of a C source. One of the names
#         must be defined, and all definitions must agree. FILE.c:NAME: in FILE.c only.
#         FILE:/REGEX/: the match of \(...\) in a file of the repository.
# PAGE    a file, or "help PROGRAM COMMAND". Pages are read as one line, without the mark-up of man
#         pages and comments.
set -u
root=$1
bin=$(cd "$2" && pwd) || exit 2
table=${3:-$(cd "$(dirname "$0")" && pwd)/truths.txt}
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
cd "$root" || exit 2
failed=0
n=0

# FILE NAME EXPRESSION, of every #define and enumerator with a number
find common proto client aggregator -name '*.[ch]' -exec awk '
    { sub(/\/\*.*/, "") }
    $1 == "#define" && $2 ~ /^[A-Z][A-Z0-9_]*$/ && /[0-9]/ {
        name = $2
        sub(/^#define +[A-Z0-9_]+ +/, "")
        give(name, $0)
    }
    $2 == "=" && $1 ~ /^[A-Z][A-Z0-9_]*$/ && $3 ~ /^[0-9]+,?$/ { give($1, $3 + 0) }
    function give(name, text, file) {
        gsub(/\(u?int[0-9]+_t\)|\(size_t\)|\(int\)|\(double\)|U?INT64_C/, "", text)
        file = FILENAME
        sub(/.*\//, "", file)
        print file, name, strip(text)
    }
    function strip(text, out) { # the suffixes of numbers
        out = ""
        while (match(text, /[0-9]+[uUlL]+/)) {
            out = out substr(text, 1, RSTART - 1) (substr(text, RSTART, RLENGTH) + 0)
            text = substr(text, RSTART + RLENGTH)
        }
        return out text
    }' {} + >"$scratch/defined"

# value SOURCE: on standard output; nothing when there is none, or several
value() {
    case $1 in
    *:/*)
        sed -n "s${1#*:}\1/p" "${1%%:/*}" | head -n 1
        return ;;
    *:*) wanted="^${1%%:*} (${1#*:}) " ;;
    *) wanted="^[^ ]* ($1) " ;;
    esac
    # shellcheck disable=SC2004
    grep -E "$wanted" "$scratch/defined" | cut -d ' ' -f 3- | sort -u | while read -r expression; do
        case $expression in
        *[!0-9\ \(\)\<\>*+-]*) echo "$expression" ;;
        *) echo $(($expression)) ;; # not a name: it is evaluated
        esac
    done | sort -u
}

# with_value TEXT VALUE: the text as the page must have it
with_value() {
    printf '%s\n' "$1" | awk -v v="$2" '
        function commas(x, s) {
            s = sprintf("%d", x)
            while (s ~ /[0-9][0-9][0-9][0-9]/) sub(/[0-9][0-9][0-9]($|,)/, ",&", s)
            return s
        }
        {
            while (match($0, /\{[,^]?(\/[0-9]+)?\}/)) {
                how = substr($0, RSTART + 1, RLENGTH - 2)
                if (how == "") x = v
                else if (how == ",") x = commas(v)
                else if (how == "^") { x = 0; for (p = 1; p < v; p *= 2) x++ }
                else x = v / substr(how, 2)
                $0 = substr($0, 1, RSTART - 1) x substr($0, RSTART + RLENGTH)
            }
            print
        }'
}

# page NAME: a file with the page on one line
page() {
    file=$scratch/$(printf '%s' "$1" | tr '/ ' '__')
    if [ ! -e "$file" ]; then
        case $1 in
        help\ *)
            # shellcheck disable=SC2086 # a program and its command
            (set -- $1 && shift && program=$1 && shift && "$bin/$program" "$@" --help) ;;
        *) cat "$1" ;;
        esac 2>/dev/null | sed 's/\\f[BIRP]//g; s/\\-/-/g; s/\\&//g; s/\\(dq/"/g
            s/^\.[A-Z][A-Z]* *//; s/^ *\* //; s/^# //' | tr -s ' \n\t' '   ' >"$file"
    fi
    echo "$file"
}

while IFS= read -r row; do
    case $row in '' | '#'*) continue ;; esac
    source=${row%% :: *}
    rest=${row#* :: }
    name=${rest%% :: *}
    text=${rest#* :: }
    n=$((n + 1))
    found=$(value "$source")
    case $found in
    '')
        echo "truths: $source is not defined (for $name)"
        failed=1
        continue ;;
    *"
"*)
        echo "truths: $source has several values: $(echo "$found" | tr '\n' ' ')"
        failed=1
        continue ;;
    esac
    expected=$(with_value "$text" "$found")
    if ! grep -qF -- "$expected" "$(page "$name")"; then
        echo "truths: $source is $found, but $name does not say: $expected"
        failed=1
    fi
done <"$table"

[ "$failed" -ne 0 ] || echo "truths: $n numbers on pages are those of the sources"
exit "$failed"
