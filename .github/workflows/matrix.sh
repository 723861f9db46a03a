#!/usr/bin/env bash
# Runs every backend that is installed, as the ordinary user who calls this and as root, and writes
# a record each: matrix.sh DIRECTORY NAME. Verdicts are no failures here; a run without one is.
set -euo pipefail
directory=$1 name=$2
boxproof=target/release/boxproof
mkdir -p "$directory"

backends=()
for backend in $("$boxproof" backend list | awk '$1 !~ /^(allow|deny)-all$/ {print $1}'); do
    backends+=(--backend "$backend")
done

run() {
    local code=0
    "$@" || code=$?
    # 1: unexpected verdicts; 3: something was not learnt; 4: a backend could not be judged at all.
    # The record tells it all.
    case $code in 0 | 1 | 3 | 4) ;; *) return "$code" ;; esac
}

run "$boxproof" run "${backends[@]}" --allow-missing --report "$directory/$name-ordinary.ndjson" \
    --format markdown > /dev/null
run sudo env "PATH=$PATH" "$boxproof" run "${backends[@]}" --allow-missing --user root \
    --report "$directory/$name-root.ndjson" --format markdown > /dev/null
