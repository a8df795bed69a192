#!/bin/sh
# Every command and option of --help is in the man page of its program, every option of a man page
# is one of --help, every --help has an example, and the pages are formatted without a warning.
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

# ---- dpot ----
page=$root/aggregator/doc/dpot.1
"$bin/dpot" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\( [a-z][a-z-]*\)\{0,1\}\)  .*/\1/p' >"$dir/commands"
[ "$(wc -l <"$dir/commands")" -ge 25 ] || miss "dpot --help lists $(wc -l <"$dir/commands") commands"
printf '%s\n' --json --quiet --seed --threads --help --version --server --ca-file --token-file --pin >"$dir/general"
{ cat "$dir/general"; echo --name; } >"$dir/all" # --name stands for any
while read -r command; do
    # shellcheck disable=SC2086 # a command may be two words
    "$bin/dpot" $command --help >"$dir/help" 2>&1 || miss "dpot $command --help fails"
    options "$dir/help" >"$dir/options"
    sed '/^Example:/,$d' "$dir/help" | grep -oE -- '^  --[a-z][a-z0-9-]*' | tr -d ' ' >>"$dir/all"
    [ "$(sed -n '/^Example:/{n;p;}' "$dir/help" | grep -c "^  dpot $command")" -eq 1 ] || miss "dpot $command --help has no example"
    entry "$page" "dpot $command" >"$dir/entry"
    [ -s "$dir/entry" ] || { miss "dpot.1 has no entry for dpot $command"; continue; }
    options "$dir/entry" >"$dir/described"
    for option in $(cat "$dir/options"); do
        grep -qx -- "$option" "$dir/described" "$dir/general" || miss "dpot.1 does not describe $option of dpot $command"
    done
done <"$dir/commands"
for option in $(options "$page"); do
    grep -qx -- "$option" "$dir/all" || miss "dpot.1 has $option, which no command knows"
done

# ---- dpotd, dpot-device ----
# both PROGRAM PAGE COMMAND...
both() {
    program=$1 page=$2
    shift 2
    "$bin/$program" --help >"$dir/help" 2>&1 || miss "$program --help fails"
    for command in "$@"; do
        grep -q "$program $command" "$dir/help" || miss "$program --help lacks $command"
        # shellcheck disable=SC2086 # a command may be two words
        "$bin/$program" $command --help >"$dir/one" 2>&1 || miss "$program $command --help fails"
        grep -q 'Example:' "$dir/one" || miss "$program $command --help has no example"
        cat "$dir/one" >>"$dir/help"
    done
    echo '--help --version' >>"$dir/help"
    options "$dir/help" >"$dir/options"
    options "$page" >"$dir/described"
    for option in $(cat "$dir/options"); do
        grep -qx -- "$option" "$dir/described" || miss "$(basename "$page") does not describe $option"
    done
    for option in $(cat "$dir/described"); do
        grep -qx -- "$option" "$dir/options" || [ "$option" = --server ] || miss "$(basename "$page") has $option, which --help does not"
    done
}
both dpotd "$root/aggregator/doc/dpotd.8" init serve doctor backup restore migrate 'keys list' 'keys add' 'keys prune'
both dpot-device "$root/client/doc/dpot-device.1" enroll report flush status withdraw grant

# ---- how the pages look ----
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

[ "$failed" -eq 0 ] && echo "$(wc -l <"$dir/commands") commands of dpot are in its man page, with their options"
exit "$failed"
