# What the tests of experiments share. Gives $dir (removed at the end) and the functions below; the
# test of x.sh is test_x.sh, beside it.
here=$(cd "$(dirname "$0")" && pwd)
experiment=$here/$(basename "$0" | sed 's/^test_//')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
failed=0
miss() {
    echo "FAILED $1"
    failed=1
}
# expect NAME EXIT PATTERN: runs the experiment in the environment of the caller
expect() {
    sh "$experiment" >"$dir/output" 2>&1
    code=$?
    [ "$code" -eq "$2" ] && grep -q -- "$3" "$dir/output" && return
    miss "$1: exit $code (expected $2), looked for: $3"
    sed 's/^/    /' "$dir/output"
}
conclude() {
    [ "$failed" -eq 0 ] && echo 'passed'
    exit "$failed"
}
