#!/usr/bin/env bash
# Fails for every cell of the grid that has no record in DIRECTORY: a job that never ran looks like
# one that passed. A cell that is not verified yet is told alone: wired.sh GRID DIRECTORY.
set -euo pipefail
missing=0
while IFS=$'\t' read -r name verified; do
    if compgen -G "$2/$name-ordinary.ndjson" >/dev/null; then
        echo "$name: judged"
    elif [ "$verified" = true ]; then
        echo "::error title=grid::$name has no record"
        missing=1
    else
        echo "::warning title=grid::$name, not verified yet, has no record"
    fi
done < <(jq -r '.cells[] | [.name, .verified] | @tsv' "$1")
exit "$missing"
