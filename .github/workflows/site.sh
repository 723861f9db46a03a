#!/usr/bin/env bash
# Writes the site of RECORDS and of the runs before, which HISTORY then holds:
# site.sh PROGRAM RECORDS HISTORY SITE. The records of the last run of this workflow that succeeded
# are its artifact `history`; the first run has none.
set -euo pipefail
program=$1 records=$2 history=$3 site=$4
# As many of each cell are drawn as a trend.
kept=6

mkdir -p "$history"
if [ -n "${GITHUB_REPOSITORY-}" ]; then
    last=$(gh run list --repo "$GITHUB_REPOSITORY" --workflow matrix.yml --status success --limit 1 \
        --json databaseId --jq '.[].databaseId')
    if [ -n "$last" ]; then
        gh run download "$last" --repo "$GITHUB_REPOSITORY" --name history --dir "$history" ||
            echo "::warning::run $last has no artifact 'history': the trend starts anew"
    fi
fi
# The number of the run is after a mark that no name of a cell has, and sorts by time.
for record in "$records"/*.ndjson; do
    name=$(basename "$record" .ndjson)
    cp "$record" "$history/$name@$(printf '%015d' "${RUN:-0}").ndjson"
    ls "$history/$name"@*.ndjson | head -n "-$kept" | xargs -r -d '\n' rm --
done
"$program" site "$history" --out "$site"
