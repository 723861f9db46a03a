#!/usr/bin/env bash
# Judges on one cell of the grid, as the ordinary user who calls this and, on Linux, as root; writes
# a record each: cell.sh PROGRAM DIRECTORY NAME BACKEND..., or `all`.
# Returns the worst exit code, or with EVIDENCE=true that of a run that is no evidence.
set -euo pipefail
program=$1 directory=$2 name=$3
shift 3
mkdir -p "$directory"

if [ "${*:-}" = all ]; then
    # The doubles allow or deny everything, by design.
    names=$("$program" backend list | awk '$1 !~ /^(allow|deny)-all$/ {print $1}')
    # shellcheck disable=SC2086 # names without blanks
    set -- $names
fi
backends=()
for backend in "$@"; do backends+=(--backend "$backend"); done
worst=0

run() {
    local code=0
    "$@" || code=$?
    case $code in
        0) ;;
        # Unexpected verdicts, something not learnt, a backend that could not be judged: the record tells.
        1 | 3 | 4) [ "${EVIDENCE:-false}" = true ] || worst=$code ;;
        *) worst=$code ;;
    esac
}

run "$program" run "${backends[@]}" --allow-missing --failures brief \
    --report "$directory/$name-ordinary.ndjson"
if [ "$(uname -s)" = Linux ]; then
    run sudo env "PATH=$PATH" "$program" run "${backends[@]}" --allow-missing --user root \
        --failures brief --report "$directory/$name-root.ndjson"
fi
exit "$worst"
