#!/bin/sh
# dpot generator train, killed after each checkpoint: model and curve equal those of an undisturbed
# run byte by byte. SIGTERM ends it in order.
#   sh kills.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../scratch.inc.sh"
cd "$dir" || exit 1
awk 'BEGIN { for (i = 0; i < 300; i++) printf "%g,%g\n", (i * 7 % 41) / 10 - 2, (i * 11 % 37) / 9 - 2 }' >pool.csv

# train THREADS NAME OPTION...; in the background with in_place=exec, so that the kill hits the
# program
in_place=
train() {
    threads=$1 name=$2
    shift 2
    $in_place "$bin/dpot" generator train --pool pool.csv --mechanism laplace --scale 0.5 --arch mlp:24,24 --batch 60 \
        --atoms 100 --sweeps 10 --steps 3000 --seed 3 --threads "$threads" --quiet --json \
        --out "$name.onnx" --trajectory-out "$name.csv" "$@"
}
same() {
    cmp -s "whole.onnx" "$1.onnx" || fail "$1.onnx differs"
    cmp -s "whole.csv" "$1.csv" || fail "$1.csv differs"
}
inode() { ls -i "$1" 2>/dev/null; }

train 1 whole >whole.json || fail "a run that nobody touches"

total=0
for threads in 1 2; do
    name=killed$threads resume= kills=0 tries=0
    while :; do
        before=$(inode "$name/checkpoint")
        # shellcheck disable=SC2086 # one word or none
        { in_place=exec; train "$threads" "$name" --checkpoint "$name" --checkpoint-every 50 $resume; } \
            >"$name.json" 2>"$name.err" &
        child=$! others=$child
        while [ "$kills" -lt 4 ] && kill -0 "$child" 2>/dev/null; do
            [ "$(inode "$name/checkpoint")" = "$before" ] || break
            sleep 0.01
        done
        if [ "$kills" -ge 4 ]; then
            wait "$child" || { fail "--threads $threads after $kills kills"; cat "$name.err"; }
            others=
            break
        fi
        kill -9 "$child" 2>/dev/null
        wait "$child" 2>/dev/null
        code=$?
        if [ "$code" -eq 0 ]; then # it ended before the kill
            [ "$kills" -eq 0 ] || break
            tries=$((tries + 1))
            [ "$tries" -lt 5 ] || { fail "--threads $threads was never killed"; break; }
            rm -rf "$name" "$name.onnx"
            continue
        fi
        [ "$code" -eq 137 ] || { fail "--threads $threads: exit code $code: $(cat "$name.err")"; break; }
        kills=$((kills + 1)) resume=--resume
        [ ! -e "$name.onnx" ] || fail "a model of a run that was killed"
    done
    same "$name"
    total=$((total + kills))
done

# SIGTERM: a checkpoint and the present model are written, exit code 5.
for _ in 1 2 3 4 5; do
    rm -rf stopped
    { in_place=exec; train 1 stopped --checkpoint stopped --checkpoint-every 50; } >stopped.json 2>stopped.err &
    child=$! others=$child
    while [ ! -e stopped/checkpoint ] && kill -0 "$child" 2>/dev/null; do
        sleep 0.01
    done
    kill -TERM "$child" 2>/dev/null
    wait "$child"
    code=$?
    others=
    [ "$code" -eq 0 ] || break # 0: it ended before the kill
done
[ "$code" -eq 5 ] || fail "SIGTERM gives exit code $code: $(cat stopped.err)"
grep -q '"outcome":"interrupted"' stopped.json || fail "SIGTERM: $(cat stopped.json)"
grep -q 'interrupted at step .* --resume' stopped.err || fail "SIGTERM does not name --resume: $(cat stopped.err)"
"$bin/dpot" generator sample --model stopped.onnx --n-samples 5 --seed 1 --out s.csv --quiet >/dev/null || fail "its model"
cmp -s whole.onnx stopped.onnx && fail "it was not stopped before its end"
train 1 stopped --checkpoint stopped --resume >stopped.json || fail "going on after SIGTERM"
same stopped

[ "$failed" -eq 0 ] && echo "killed $total times and stopped once: the same model, the same curve"
exit "$failed"
