#!/bin/sh
# No report is lost or counted twice: the long test, of 8 minutes.
#   sh tests/chaos.sh            KILLS=200 DEVICES=48 SECONDS=400 SEED=(the time)
# Kills the server and processes of devices with SIGKILL at random moments, under load, while
# answers are lost, connections reset, requests sent twice, 503 and 429 answered and disks filled;
# prints the conservation table, and compares the pools with the answers to the devices, report by
# report. After a failure the folder is kept and the seed printed. BIN is the folder of the programs
# (default build/dev/bin); system/chaos/chaos.sh does the work.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=${BIN:-$root/build/dev/bin}
for program in dpot dpotd chaos_network chaos_devices chaos_verify delivery_network; do
    [ -x "$bin/$program" ] || {
        echo "$bin/$program is missing: cmake --preset dev && cmake --build --preset dev" >&2
        exit 2
    }
done
exec sh "$root/tests/system/chaos/chaos.sh" "$bin"
