#!/bin/sh
# The network of a device of device.c, in its folder: sends the file "body" to the server whose
# address is in "gateway", writes the files "status" and "answer".
#   sh exchange.sh METHOD PATH
set -eu
body=
[ "$1" = GET ] || body='--data-binary @body'
# shellcheck disable=SC2086 # words
curl --silent --show-error --max-time 30 --request "$1" --header 'Content-Type: application/x-protobuf' \
    $body --output answer --write-out '%{http_code}' "$(cat gateway)$2" >status
