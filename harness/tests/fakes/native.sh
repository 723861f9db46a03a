#!/bin/sh
# Usage: native.sh HOW STATE BOXPROOF VERB [--request FILE --result FILE]
# The reference, spoilt in the way HOW says. STATE is a directory that outlives a run.
how=$1 state=$2 boxproof=$3 verb=$4
shift 3
request=$3 result=$5

# Rewrites the request by a sed expression.
rewrite() {
    sed "$1" "$request" >"$request.new" && mv "$request.new" "$request"
}

case $verb in
    capabilities)
        case $how in
            talks-at-capabilities) echo 'I can do anything'; exit 0 ;;
            hangs-at-capabilities) exec sleep 1000 ;;
        esac
        exec "$boxproof" reference "$@"
        ;;
esac

case $how in
    leaks-environment) rewrite 's/"scrub":true/"scrub":false/' ;;
    matches-prefixes) rewrite 's#"writable":\["\([^"]*\)/more"\]#"writable":["\1/more","\1/more-evil"]#' ;;
    opens-sometimes)
        echo run >>"$state/count"
        if [ $(($(wc -l <"$state/count") % 3)) = 0 ]; then
            rewrite 's/"mode":"workspace_write"/"mode":"unconfined"/'
        fi
        ;;
    writes-result-by-name)
        "$boxproof" reference run --request "$request" --result "$state/result"
        code=$?
        cat "$state/result" >"$result"
        exit $code
        ;;
    honest) exec "$boxproof" reference "$@" ;;
    ends-early) rewrite 's/"timeout_ms":700/"timeout_ms":200/' ;;
    ends-late) rewrite 's/"timeout_ms":700/"timeout_ms":3000/' ;;
    reverses-rules) rewrite 's/\(\\"read\\":\)\[\([^],]*\),\([^],]*\)\]/\1[\3,\2]/' ;;
    forgets-denies) [ "$verb" = validate ] || rewrite 's/\(deny[A-Z][a-z]*\(\\"\)*: *\)\[[^]]*\]/\1[]/g' ;;
    forgets-workspace) rewrite '/"name": "workspace.yaml"/{n;s/deny[A-Z][a-z]*: \[[^]]*\]/description: none/;s/deny[A-Z][a-z]*: \[[^]]*\]/created_at: 2026-01-31T12:00:00Z/;}' ;;
    climbs) rewrite 's#\("path": "\)[^/"]*/\.\./#\1#' ;;
    follows-no-link) mkdir -p "$state/empty" && rewrite "s#\"workspace\": \"[^\"]*\"#\"workspace\": \"$state/empty\"#" ;;
    lets-chains-out) rewrite 's/\("command": "[a-z]*\)[ ;][^"]*"/\1"/;s/\("-c","touch[^;"&\\]*\)[^"]*"/\1"/' ;;
    asks-always) rewrite 's/auto_allow_bash_if_sandboxed = true/auto_allow_bash_if_sandboxed = false/' ;;
    forgets-file-denies) rewrite "s/deny_[a-z]* = \[[^]]*\]//g" ;;
    opens-local-binding) rewrite 's/allow_local_binding = true/allow_all_outbound = true/' ;;
    keeps-secrets) rewrite 's/scrub_secrets = true/scrub_secrets = false/' ;;
    lax-always) rewrite 's/fail_if_unavailable = true/fail_if_unavailable = false/' ;;
    reads-by-letter) rewrite 's/"reading": *"adr"/"reading":"head"/' ;;
    takes-every-document)
        if [ "$verb" = validate ]; then
            echo '{"protocol":1,"answer":{"valid":{}}}' >"$result"
            exit 0
        fi
        ;;
    refuses-everything | says-unsupported)
        error='{"kind":"unavailable","message":"refused, as always"}'
        [ $how = refuses-everything ] || error='{"kind":"unsupported","message":"this cannot be said"}'
        echo '{"protocol":1,"started":false,"success":false,"exit_code":null,"error":'"$error"'}' >"$result"
        exit 126
        ;;
esac

"$boxproof" reference "$@"
code=$?

# Rewrites the result by a sed expression.
restate() {
    sed "$1" "$result" >"$result.new" && mv "$result.new" "$result"
}

case $how in
    swallows-annotations) restate 's/"process timed out"//' ;;
    says-no-time-out) restate 's/"timed_out":true/"timed_out":false/' ;;
    counts-a-signal) restate 's/"timed_out":true/"timed_out":true,"interrupted_by":"SIGTERM"/;s/"interrupted_by":null,//' ;;
    talks-while-capturing) echo words ;;
    garbles-capture) restate 's/"stdout":"out"/"stdout":"in"/' ;;
    loses-places) restate 's/,"file":"[^"]*","line":[0-9]*\(,"column":[0-9]*\)*//g' ;;
    exits-with-zero) code=0 ;;
    keeps-answers) [ "$verb" = run ] || rm -f "$result" ;;
    answers-once) restate 's/\("decisions":\[{"[a-z]*":{[^}]*}[^}]*}\).*/\1]}}/' ;;
    drops-result) rm -f "$result" ;;
    garbles-result) echo 'exit 0' >"$result" ;;
    contradicts-itself) echo '{"protocol":1,"started":true,"success":true,"exit_code":0}' >"$result" ;;
    says-nothing-started) echo '{"protocol":1,"started":false,"success":false,"exit_code":null}' >"$result" ;;
esac
exit $code
