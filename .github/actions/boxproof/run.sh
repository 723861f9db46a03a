#!/usr/bin/env bash
# Runs the program as the inputs of the action say, and tells of it: the matrix with every failure in
# the log, annotations, the job summary, the outputs. What an input says and this does not read is an
# error, for a check over fewer cases than asked for is a false one.
set -euo pipefail

output() { printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

fail() {
    echo "::error title=boxproof::$*"
    output verdict error
    output exit-code 2
    exit 2
}

# The name of an artifact: one a job, and one a use of the action in a job.
artifact_name() {
    local name taken=$RUNNER_TEMP/boxproof-artifacts uses
    name=boxproof-$GITHUB_JOB-$JOB_INDEX-$(basename "$BACKEND")${SHARD:+-$SHARD}
    name=$(printf %s "$name" | tr -c 'A-Za-z0-9._-' -)
    touch "$taken"
    uses=$(grep -cFx -- "$name" "$taken" || true)
    printf '%s\n' "$name" >>"$taken"
    if [ "$uses" = 0 ]; then printf %s "$name"; else printf %s "$name-$((uses + 1))"; fi
}

read_filters() {
    local line words
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in *[\"\'\\\`\$\#]*) fail "filter: quotes, backslashes, variables and comments are not read: $line" ;; esac
        read -ra words <<<"$line"
        filters+=(${words[@]+"${words[@]}"})
    done <<<"$FILTER"
    # One that selects nothing is a misspelt one.
    local idle
    idle=$("$PROGRAM" list ${corpus[@]+"${corpus[@]}"} -- ${filters[@]+"${filters[@]}"} 2>&1 >"$directory/cases.txt") ||
        fail "filter or cases: $idle"
    case $idle in *'matches no case'*) fail "$idle" ;; esac
    echo "$(wc -l <"$directory/cases.txt") cases are selected by ${#filters[@]} filters"
}

word() {
    case $1 in
        0) echo pass ;;
        1) echo fail ;;
        3) echo inconclusive ;;
        4) echo nothing-judged ;;
        5) echo gate-red ;;
        *) echo error ;;
    esac
}

directory=$(mktemp -d "$RUNNER_TEMP/boxproof-run.XXXXXX")
record=$directory/record.ndjson
output directory "$directory"
output record "$record"
output artifact "$(artifact_name)"

[ -n "$BACKEND" ] || fail "backend: name one"
case $STRICT in true | false) ;; *) fail "strict: write true or false" ;; esac
[ -z "$BASELINE" ] || [ -z "$GATE" ] || fail "baseline and gate: the policy names its own baseline, so that one of them is enough"
for file in "$BASELINE" "$GATE" "$KNOWN"; do
    [ -z "$file" ] || [ -r "$file" ] || fail "$file cannot be read"
done

corpus=() filters=()
[ -z "$CASES" ] || corpus=(--cases "$CASES")
read_filters
options=(${corpus[@]+"${corpus[@]}"} --backend "$BACKEND" --report "$record" --junit "$directory/junit.xml"
    --html "$directory/matrix.html" --markdown "$directory/summary.md")
[ "$STRICT" = false ] || options+=(--strict)
[ -z "$SET" ] || options+=(--set "$SET")
[ -z "$KNOWN" ] || options+=(--known "$KNOWN")
[ -z "$SHARD" ] || options+=(--shard "$SHARD")

code=0
"$PROGRAM" run "${options[@]}" -- ${filters[@]+"${filters[@]}"} || code=$?
if [ -s "$directory/summary.md" ]; then cat "$directory/summary.md" >>"$GITHUB_STEP_SUMMARY"; fi
output passed "$(sed -n '/"type":"footer"/s/.*"pass":\([0-9]*\).*/\1/p' "$record" 2>/dev/null || true)"
output failed "$(sed -n 's/^<testsuites .* failures="\([0-9]*\)".*/\1/p' "$directory/junit.xml" 2>/dev/null || true)"

# A comparison decides in the place of the run alone, where the run is whole.
case $code in
    0 | 1 | 3)
        if [ -n "$BASELINE" ]; then
            code=0
            "$PROGRAM" diff "$BASELINE" "$record" || code=$?
        elif [ -n "$GATE" ]; then
            code=0
            "$PROGRAM" gate "$record" --policy "$GATE" || code=$?
        fi
        ;;
esac
output verdict "$(word "$code")"
output exit-code "$code"
exit "$code"
