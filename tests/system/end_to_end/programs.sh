#!/bin/sh
# The three programs together, as an operator and an embedder use them: init, serve, create, open,
# enroll, report, flush, export; then refusals, each with its exit code and a sentence.
#   sh programs.sh BIN_FOLDER
set -u
. "$(dirname "$0")/../programs.inc.sh"

check 'dpotd init' 0 pin "$bin/dpotd" init --dir "$dir/server" --listen 127.0.0.1:0 --json
cp "$dir/out" "$dir/init.json"
take_init
check 'init never overwrites' 3 dpotd.json "$bin/dpotd" init --dir "$dir/server"
start

# spec NAME EPSILON OPENS CLOSES [EXTRA]
spec() {
    cat <<SPEC
{"name": "$1", "domain": {"type": "grid", "lo": [24.5, -125], "hi": [49.4, -66.9], "shape": [8, 12]},
 "output": "same", "metric": "haversine", "power": 1,
 "mechanism": {"type": "wpm", "epsilon": $2, "lambda": 40, "iterations": 60, "base_measure": "uniform"},
 "rounds": 1, "opens": "$(stamp "$3")", "closes": "$(stamp "$4")"${5:-}}
SPEC
}
spec ok 2 $((now - 60)) $((now + 86400)) >"$dir/ok.json"
check 'campaign create' 0 '"state": *"draft"' "$bin/dpot" campaign create "$dir/ok.json" --server "$url" --json
id=$(json "$dir/out" id)
check 'campaign open' 0 '"open"' "$bin/dpot" campaign open "$id" --server "$url" --json
check 'campaign list' 0 "$id" "$bin/dpot" campaign list --server "$url"
check 'campaign show' 0 haversine "$bin/dpot" campaign show "$id" --server "$url" --json

enroll() {
    folder=$1
    campaign=$2
    key=$3
    shift 3
    "$bin/dpot-device" enroll --server "$url" --campaign "$campaign" --pin "$key" --dir "$dir/$folder" "$@"
}
enroll_capped() {
    enroll "$@" --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 8
}
check 'caps have no default' 4 cap enroll no-caps "$id" "$pin"
check 'enroll' 0 '' enroll_capped d1 "$id" "$pin"
wrong=$(echo "$pin" | tr '0123456789abcdef' '123456789abcdef0')
check 'wrong pin' 3 pin enroll_capped d2 "$id" "$wrong"
check 'unknown campaign' 3 '' enroll_capped d3 00000000000000000000000000000000 "$pin"

printf '40.7,-74.0\n40.8,-73.9\n34.0,-118.2\n' >"$dir/points.csv"
check 'report' 0 '' "$bin/dpot-device" report --dir "$dir/d1" --points "$dir/points.csv"
check 'flush' 0 '' "$bin/dpot-device" flush --dir "$dir/d1"
check 'a second report in the round is not made' 0 '' "$bin/dpot-device" report --dir "$dir/d1" --points "$dir/points.csv"
check 'status' 0 '"accepted": *1' "$bin/dpot-device" status --dir "$dir/d1" --json
check 'pool' 0 '"accepted": *1' "$bin/dpot" pool "$id" --server "$url" --out "$dir/pool.csv" --json
[ "$(grep -c '^[0-9]' "$dir/pool.csv")" -eq 1 ] || { failed=$((failed + 1)); echo "FAILED pool.csv has not one row"; }

# A killed and restarted server still has it.
stop KILL
start
check 'pool after kill -9' 0 '"accepted": *1' "$bin/dpot" pool "$id" --server "$url" --json

# Refusals.
check 'no token' 2 token env -u DPOT_TOKEN "$bin/dpot" campaign list --server "$url"
check 'bad token' 4 token env DPOT_TOKEN=wrong "$bin/dpot" campaign list --server "$url"
check 'a store in use' 6 'is served by process' "$bin/dpotd" serve --config "$dir/server/dpotd.json"
check 'another folder' 0 pin "$bin/dpotd" init --dir "$dir/other" --listen 127.0.0.1:0 --json
check 'port in use' 6 "${url#http://}" "$bin/dpotd" serve --config "$dir/other/dpotd.json" --listen "${url#http://}"
check 'missing configuration' 6 absent.json "$bin/dpotd" serve --config "$dir/absent.json"
if [ "$(id -u)" -ne 0 ]; then
    mkdir "$dir/locked" && chmod 500 "$dir/locked"
    check 'unwritable folder' 6 locked "$bin/dpotd" init --dir "$dir/locked/x"
fi
check 'a file where a folder should be' 6 points.csv "$bin/dpotd" init --dir "$dir/points.csv/x"

spec high 21 $((now - 60)) $((now + 86400)) >"$dir/high.json"
check 'epsilon above the ceiling' 4 epsilon "$bin/dpot" campaign create "$dir/high.json" --server "$url"
spec typo 2 $((now - 60)) $((now + 86400)) ', "epsilonn": 3' >"$dir/typo.json"
check 'unknown key' 3 epsilonn "$bin/dpot" campaign create "$dir/typo.json" --server "$url"
sed 's/"uniform"/"uniform:100"/' "$dir/ok.json" >"$dir/mass.json"
check 'infeasible total mass' 3 mass "$bin/dpot" campaign create "$dir/mass.json" --server "$url"

# new_campaign NAME EPSILON OPENS CLOSES [EXTRA]: leaves its id in $new
new_campaign() {
    spec "$@" >"$dir/new.json"
    "$bin/dpot" campaign create "$dir/new.json" --server "$url" --json >"$dir/new.out" || return 1
    new=$(json "$dir/new.out" id)
    "$bin/dpot" campaign open "$new" --server "$url" --quiet >/dev/null
}
report() { "$bin/dpot-device" report --dir "$dir/$1" --points "$dir/points.csv"; }

new_campaign costly 5 $((now - 60)) $((now + 86400))
check 'enroll in a campaign above the cap' 0 '' enroll_capped costly "$new" "$pin"
check 'epsilon above the cap' 4 cap report costly
check 'nothing was charged' 0 '"submitted": *0' "$bin/dpot-device" status --dir "$dir/costly" --json

new_campaign early 2 $((now + 3600)) $((now + 86400))
check 'enroll early' 0 '' enroll_capped early "$new" "$pin"
check 'not open yet' 7 open report early

new_campaign late 2 $((now - 3600)) $((now + 4))
enroll_capped late "$new" "$pin" >/dev/null
sleep 5
check 'expired' 7 closed report late

new_campaign simulated 2 $((now - 60)) $((now + 86400)) ', "simulation": true'
check 'a device refuses a simulation' 4 simulation enroll_capped sim "$new" "$pin"

new_campaign closing 2 $((now - 60)) $((now + 86400))
enroll_capped closing "$new" "$pin" >/dev/null
report closing >/dev/null
check 'campaign close' 0 closed "$bin/dpot" campaign close "$new" --server "$url" --json
check 'a closed campaign drops the report' 7 'dropped_closed: 1' "$bin/dpot-device" flush --dir "$dir/closing"
check 'enrolling in a closed campaign' 7 'no revision is open' enroll_capped closing "$new" "$pin"
check 'enrolling in it for the first time' 7 'no revision is open' enroll_capped newcomer "$new" "$pin"
check 'leaves nothing' 3 'no such folder' "$bin/dpot-device" status --dir "$dir/newcomer" --json
check 'and the status says so' 0 closed "$bin/dpot-device" status --dir "$dir/closing" --json
check 'a closed campaign never opens again' 7 closed "$bin/dpot" campaign open "$new" --server "$url"

# Interrupted, an audit prints its result so far.
check 'an interrupted audit' 5 '"mechanisms":.*"verdict":"interrupted"' timeout --preserve-status \
    -s INT 3 "$bin/dpot" audit --mechanism all --n-samples 2000000 --quiet --json

# Vectors: the noise of a device, the pool as numbers, consent.
vector_spec() {
    cat <<SPEC
{"name": "$1", "domain": {"type": "l2_ball", "radius": 1, "dim": 3}, "mechanism": {"type": $2},
 "rounds": 1, "opens": "$(stamp $((now - 60)))", "closes": "$(stamp $((now + 86400)))", "min_pool": 1}
SPEC
}
vector_spec vectors '"gaussian", "epsilon": 2, "delta": 1e-6' >"$dir/vectors.json"
check 'create a campaign of vectors' 0 '"draft"' "$bin/dpot" campaign create "$dir/vectors.json" --server "$url" --json
vectors=$(json "$dir/out" id)
check 'open it' 0 '"open"' "$bin/dpot" campaign open "$vectors" --server "$url" --json
echo '0.5,0.5,-0.5' >"$dir/vector.csv"
vector() { "$bin/dpot-device" report --dir "$dir/$1" --vector "$dir/vector.csv"; }
check 'enroll without a delta cap' 0 '' enroll_capped v0 "$vectors" "$pin"
check 'a delta that no cap allows' 4 'delta cap' vector v0
check 'enroll with one' 0 '' enroll_capped v1 "$vectors" "$pin" --delta-cap 1e-5
check 'points are no vector' 3 vector "$bin/dpot-device" report --dir "$dir/v1" --points "$dir/points.csv"
check 'report of a vector' 0 reported vector v1
check 'flush of a vector' 0 '' "$bin/dpot-device" flush --dir "$dir/v1"
check 'delta is in the statement' 0 'delta 9.99e-07 of 1e-05\|delta 1e-06 of 1e-05' "$bin/dpot-device" status --dir "$dir/v1"
check 'pool of vectors' 0 '"accepted": *1' "$bin/dpot" pool "$vectors" --server "$url" --out "$dir/vectors.csv" --json
[ "$(awk -F, 'NF == 3' "$dir/vectors.csv" | wc -l)" -eq 1 ] || { failed=$((failed + 1)); echo "FAILED vectors.csv is not one row of three"; }
check 'the side file has the noise' 0 gaussian cat "$dir/vectors.csv.json"
check 'no job on points takes vectors' 3 vector "$bin/dpot" job start estimate --campaign "$vectors" --server "$url"
check 'enroll under zCDP' 0 '' enroll_capped v2 "$vectors" "$pin" --accountant zcdp
check 'rho is in the statement' 0 rho "$bin/dpot-device" status --dir "$dir/v2"
check 'report under zCDP' 0 reported vector v2
check 'consent withdrawn' 0 withdrawn "$bin/dpot-device" withdraw --dir "$dir/v2"
check 'nothing is reported without it' 4 consent vector v2
check 'what waited is gone' 0 '"dropped_withdrawn": *1' "$bin/dpot-device" status --dir "$dir/v2" --json
check 'consent again' 0 granted "$bin/dpot-device" grant --dir "$dir/v2"
vector_spec loud '"laplace", "epsilon": 40' >"$dir/loud.json"
check 'an epsilon beyond protection' 4 20 "$bin/dpot" campaign create "$dir/loud.json" --server "$url"

check 'five fields instead of points' 3 '' sh -c "printf '1,2,3,4,5\n' | '$bin/dpot-device' report --dir '$dir/d1' --points -"
check 'usage' 2 '' "$bin/dpot-device" report
check 'unknown command' 2 '' "$bin/dpot" frobnicate
for program in dpot dpotd dpot-device; do
    check "$program --help" 0 example "$bin/$program" --help
    check "$program --version" 0 0.1.0 "$bin/$program" --version
done

stop

# A self-signed certificate, which is not trusted by default.
if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$dir/server/key.pem" -out "$dir/server/cert.pem" 2>"$dir/err" || fail 'no certificate was made'
    chmod 600 "$dir/server/key.pem"
    sed 's/^{/{"tls": {"cert": "cert.pem", "key": "key.pem"},/' "$dir/server/dpotd.json" >"$dir/tls.json"
    cat "$dir/tls.json" >"$dir/server/dpotd.json"
    check 'the doctor notes that it expires' 0 'TLS certificate expires at' "$bin/dpotd" doctor --config "$dir/server/dpotd.json"
    start
    grep -q 'level=warning.*event=tls.certificate' "$dir/log" || fail 'the log does not warn of the certificate'
    check 'and the metrics say when' 0 '^dpotd_tls_certificate_expires_seconds [0-9]' \
        curl -s --cacert "$dir/server/cert.pem" -H "Authorization: Bearer $DPOT_TOKEN" "$url/metrics"
    check 'a body that is too large is refused although nothing of it comes' 0 '^HTTP/1.1 413' sh -c \
        'printf "%s\r\n" "POST /v1/campaigns/$1/reports HTTP/1.1" "Host: x" "Content-Length: 9000000" "" |
            openssl s_client -quiet -connect "$2" 2>/dev/null || true' sh "$vectors" "${url#https://}"
    check 'an administrator learns of the certificate' 6 'is not trusted.*--ca-file' dpot campaign list
    check 'and can trust it' 0 . dpot campaign list --ca-file "$dir/server/cert.pem"
    mkdir "$dir/untrusting"
    check 'a device learns of it' 6 'is not trusted.*--ca-file' "$bin/dpot-device" enroll --server "$url" --campaign "$vectors" \
        --pin "$pin" --dir "$dir/untrusting" --campaign-cap 1 --window-cap 1 --window-seconds 86400 --lifetime-cap 4
    stop
fi
conclude
