#!/usr/bin/env bash
# Measures two programs on this host and writes the timing record, an empty one where they are the
# same: timing.sh NEW OLD FILE [OPTION...]. A regression is for the gate to judge, which reads the
# record, and so is what stays undecided.
set -euo pipefail
new=$1 old=$2 file=$3
shift 3
mkdir -p "$(dirname "$file")"
: > "$file"
if cmp -s "$old" "$new"; then
    echo "both programs are the same"
    exit
fi
code=0
"$new" bench --base "$old" --head "$new" --report "$file" "$@" > "$file.txt" || code=$?
{ echo '```'; cat "$file.txt"; echo '```'; } | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
case $code in 0 | 1 | 3) ;; *) exit "$code" ;; esac
