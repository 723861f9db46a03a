#!/usr/bin/env bash
# Checks that the published matrix is of the corpus that a record was run with:
# matrix-current.sh RECORD DIRECTORY. A release whose matrix is of an older corpus is refused; renew it
# as reports/matrix/README.md says.
set -euo pipefail
record=$1 directory=$2

corpus() {
    sed -n '1s/.*"corpus":{[^}]*"sha256":"\([0-9a-f]*\)".*/\1/p'
}

wanted=$(corpus <"$record")
if [ -z "$wanted" ]; then
    echo "$record names no corpus: is it a run record?" >&2
    exit 1
fi
shopt -s nullglob
records=("$directory"/run-*.ndjson.gz)
if [ ${#records[@]} = 0 ]; then
    echo "$directory has no record run-*.ndjson.gz" >&2
    exit 1
fi
code=0
for published in "${records[@]}"; do
    found=$(gzip -dc "$published" | corpus)
    if [ "$found" != "$wanted" ]; then
        echo "$published is of corpus ${found:0:12}, and $record of ${wanted:0:12}: renew the matrix" >&2
        code=1
    fi
done
exit $code
