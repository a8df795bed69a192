#!/bin/sh
# Man pages, --help and completion have the same commands and options, every --help has an example,
# and the pages are formatted without a warning.
#   sh manuals.sh BIN_FOLDER ROOT
set -u
bin=$1
root=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
miss() {
    echo "FAILED $1"
    failed=1
}
options() {
    sed 's/\\-/-/g' "$1" | grep -oE -- '--[a-z][a-z0-9-]*' | LC_ALL=C sort -u
}

# bounds PROGRAM COMMAND: a refused number quotes the bounds of --help. An option whose placeholder
# is a letter has bounds, or is a text.
bounds() {
    sed '/^Example:/,$d' "$dir/help" | sed ':a; N; s/\n \{20,\}/ /; ta; P; D' | awk '/^  --/ { option = $1; value = $2 }
        /^  / && match($0, /; (from|above|at least) [^;]*$/) { print option, substr($0, RSTART + 2); option = "" }
        /^  --/ && option && value ~ /^([A-Za-z]|PX|BYTES)$/ && NF > 2 { print option, "?" value }' >"$dir/ranges"
    while read -r option range <&4; do
        case "$option $range" in
        *' ?F'* | *' ?T'* | *-column' '* | '--arch '* | '--adjacency '* | '--group '* | *-cap' ?E' | '--quick '*) continue ;;
        *' ?'*) miss "$1 $2 --help gives no bounds of $option"; continue ;;
        esac
        # shellcheck disable=SC2086 # a command may be two words
        "$1" $2 "$option" nan >/dev/null 2>"$dir/refusal"
        grep -qE -- "$option is nan: give (a number|an integer) $range\$" "$dir/refusal" || {
            miss "$1 $2 --help says of $option: $range; its refusal: $(cat "$dir/refusal")"
        }
        n_bounds=$((n_bounds + 1))
    done 4<"$dir/ranges"
}
n_bounds=0

# What describes a command: its entry (from .TP to .TP) and what its section says before all
# entries.
entry() {
    sed 's/\\-/-/g' "$1" | awk -v command="$2" '
        function give() { if (is_here) { printf "%s%s", intro, text; n++ } text = ""; is_here = 0 }
        /^\.SH/ { give(); intro = ""; in_intro = 1 }
        /^\.TP/ { give(); in_intro = 0 }
        { if (in_intro) intro = intro $0 "\n"; else text = text $0 "\n" }
        index($0 " ", ".B " command " ") == 1 { is_here = 1 }
        END { give() }'
}

# check PROGRAM PAGE: the options of a command of dpot are described in its entry or in that of
# general options; those of the others anywhere on the page.
check() {
    program=$bin/$1 page=$root/$2
    "$program" --help | sed -n '/^[A-Z].*:$/,/^General/s/^  \([a-z][a-z-]*\( [a-z][a-z-]*\)\{0,1\}\)  .*/\1/p' >"$dir/commands"
    [ "$(wc -l <"$dir/commands")" -ge 6 ] || miss "$1 --help lists $(wc -l <"$dir/commands") commands"
    if [ "$1" = dpot ]; then
        printf '%s\n' --json --quiet --seed --threads --help --version --server --ca-file --token-file --pin >"$dir/general"
    else
        options "$page" >"$dir/general"
    fi
    # --name stands for any
    printf '%s\n' --json --quiet --seed --threads --help --version --server --name >"$dir/all"
    while read -r command; do
        # shellcheck disable=SC2086 # a command may be two words
        "$program" $command --help >"$dir/help" 2>&1 || miss "$1 $command --help fails"
        options "$dir/help" >"$dir/options"
        sed '/^Example:/,$d' "$dir/help" | grep -oE -- '^  --[a-z][a-z0-9-]*' | tr -d ' ' >"$dir/listed"
        # shellcheck disable=SC2086
        "$program" completion $command | grep "^--" | cmp -s - "$dir/listed" || miss "$1 completion $command lists other options than --help"
        cat "$dir/listed" >>"$dir/all"
        bounds "$program" "$command"
        [ "$(sed -n '/^Example:/{n;p;}' "$dir/help" | grep -c "$1 $command")" -eq 1 ] || miss "$1 $command --help has no example"
        entry "$page" "$3$command" >"$dir/entry"
        [ -s "$dir/entry" ] || { miss "$(basename "$page") has no entry for $1 $command"; continue; }
        options "$dir/entry" >"$dir/described"
        for option in $(cat "$dir/options"); do
            grep -qx -- "$option" "$dir/described" "$dir/general" || miss "$(basename "$page") does not describe $option of $1 $command"
        done
    done <"$dir/commands"
    for option in $(options "$page"); do
        grep -qx -- "$option" "$dir/all" || miss "$(basename "$page") has $option, which no command knows"
    done
    echo "$(wc -l <"$dir/commands") commands of $1 are in its man page, with their options"
}
check dpot aggregator/doc/dpot.1 'dpot '
check dpotd aggregator/doc/dpotd.8 ''
check dpot-device client/doc/dpot-device.1 ''

[ "$n_bounds" -ge 140 ] || miss "only $n_bounds options have bounds"

# ---- completion: as bash does it ----
complete_words() { # WORDS...: the suggestions for the last one
    PATH=$bin:$PATH bash -c '. "$0"; compopt() { echo "<$2>"; }
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dpot "$1" "${COMP_WORDS[COMP_CWORD]}" x
        printf "%s\n" "${COMPREPLY[@]}"' "$root/common/cli/completion.bash" "$@" | tr '\n' ' '
}
completes() { # EXPECTED WORDS...
    expected=$1
    shift
    found=$(complete_words "$@")
    [ "$found" = "$expected " ] || miss "completion of $*: '$found', not '$expected'"
}
if command -v bash >/dev/null 2>&1; then
    completes barycenter dpot bary
    completes 'create close' dpot campaign c
    completes 'create close' dpot help campaign c
    completes --metric dpot ot --met
    completes 'euclidean' dpot ot --metric eu
    completes 'l1 linf' dpot ot --metric = l
    completes '<default> ' dpot ot --x ''
    completes '<default> ' dpot barycenter --group-files a.csv ''
    completes '<default> --support' dpot barycenter --group-files a.csv --su
    completes '<dirnames> ' dpot-device report --dir ''
    completes 'basic zcdp' dpot-device enroll --accountant ''
    completes '' dpot ot --lambda ''
    completes '' dpot ot --x a.csv --x
    completes --max-iterations dpot barycenter --max-i
    completes '' dpot barycenter --oute # a former spelling
    completes 'estimate' dpot job start e
    completes 'base-measure' dpot job start --revision 2 bas
    completes '' dpot job start estimate b
    : >"$dir/data:1.csv" && : >"$dir/data:2.csv"
    completes '<filenames> 1.csv 2.csv' dpot convert --in "$dir/data" :
    completes '<filenames> 2.csv' dpot convert --in = "$dir/data" : 2
    completes 'estimate' dpot job start --server https : //h : 80 est
fi

# ---- format of the pages ----
for page in "$root"/aggregator/doc/*.[18] "$root"/client/doc/*.[13]; do
    if command -v groff >/dev/null 2>&1; then
        groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null | sed 's/^/    /' >"$dir/warnings"
        [ ! -s "$dir/warnings" ] || { miss "groff warns about $(basename "$page")"; cat "$dir/warnings"; }
    fi
    if command -v mandoc >/dev/null 2>&1; then
        mandoc -Tlint -Wwarning "$page" >"$dir/warnings" 2>&1
        [ ! -s "$dir/warnings" ] || { miss "mandoc warns about $(basename "$page")"; cat "$dir/warnings"; }
    fi
done

exit "$failed"
