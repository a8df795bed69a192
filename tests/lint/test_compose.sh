#!/bin/sh
# Checks docker-compose.yml; exits 77 (skipped) where docker-compose is not installed.
command -v docker-compose >/dev/null 2>&1 || exit 77
exec docker-compose -f "$1" config -q
