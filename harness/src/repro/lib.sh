# What repro.sh is written in: laying out, looking from outside, judging what was seen. Plain sh.
# A script that uses it sets `here`, `nonce`, `canary` and `limit`, and defines lay, look, oracles.

work=$here/work root=$here/work/arm probe=$here/probe/boxprobe
failures=0 unlearnt=0 showing=1 listener= victim=
mark=$(printf '\036')

say() { printf '%s\n' "$*"; }
bad() { failures=$((failures + 1)); say "  FAILS   $*"; }
open_question() { unlearnt=$((unlearnt + 1)); say "  unknown $*"; }
give_up() { say "nothing was learnt: $*"; clean; exit 2; }

# --- the place ---

ready_to_run() {
    case $here in
    /tmp/* | /var/tmp/* | /dev/* | /run/*) give_up "put this directory elsewhere: sandboxes put something of their own over /tmp, /var/tmp, /dev and /run" ;;
    *[!A-Za-z0-9_./-]*) give_up "put this directory where its path has plain characters only" ;;
    esac
    for tool in env find sort stat sha256sum awk grep timeout mkfifo perl; do
        command -v "$tool" >/dev/null || give_up "$tool is not installed"
    done
    [ -x "$probe" ] || give_up "$probe is not there, or cannot be executed"
    trap clean EXIT
    trap 'exit 2' HUP INT TERM
}

clean() {
    [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null
    [ -z "$listener" ] || kill -KILL "$listener" 2>/dev/null
    victim='' listener=''
    for pid in $(survivors); do kill -KILL "$pid" 2>/dev/null; done
    if [ -d "$root" ]; then
        find "$root" -type d -exec chmod u+rwx {} \; 2>/dev/null
        rm -rf "$root"
    fi
}

fresh() {
    clean
    mkdir -p "$work" "$root/ws" "$root/out" "$root/home" "$root/tmp" "$root/state" || give_up "cannot write to $work"
    rm -f "$work"/placed* "$work"/before.* "$work/holders" "$work/mounts"
}

put() { mkdir -p "$(dirname "$1")" && printf '%s' "$2" >"$1" || give_up "cannot write $1"; }
# The same for a backend's own files, which unplace takes away again with the directories made for them.
place() {
    dir=$(dirname "$1")
    while [ ! -e "$dir" ]; do
        say "$dir" >>"$work/placed.directories"
        dir=$(dirname "$dir")
    done
    say "$1" >>"$work/placed"
    put "$1" "$2"
}
unplace() {
    [ -f "$work/placed" ] || return 0
    while IFS= read -r path; do rm -f "$path"; done <"$work/placed"
    [ ! -f "$work/placed.directories" ] || while IFS= read -r path; do rmdir "$path" 2>/dev/null; done <"$work/placed.directories"
    rm -f "$work/placed" "$work/placed.directories"
}
directory() { mkdir -p "$1" || give_up "cannot make $1"; }
link() { mkdir -p "$(dirname "$2")" && ln -s "$1" "$2" || give_up "cannot link $2"; }
hard_link() { mkdir -p "$(dirname "$2")" && ln "$1" "$2" || give_up "cannot link $2"; }
pipe() { mkdir -p "$(dirname "$1")" && mkfifo "$1" || give_up "cannot make $1"; }
mode() { chmod "$1" "$2" || give_up "cannot change the mode of $2"; }

# --- helpers: who listens, and who may be touched ---

# within SECONDS COMMAND…: polls until it succeeds.
within() {
    within_end=$(($(date +%s) + $1))
    shift
    until "$@"; do
        [ "$(date +%s)" -le "$within_end" ] || return 1
        sleep 0.05
    done
}

# listen NAME…: a listener a name; its address is in $work/NAME.
listen() {
    rm -f "$work/listen.in" "$work"/*.address "$work"/*.data "$work"/*.arrived
    mkfifo "$work/listen.in"
    "$probe" __listen "$work" "$root/out" "$nonce" "$@" <"$work/listen.in" &
    listener=$!
    exec 3>"$work/listen.in"
    for name; do
        within 10 test -s "$work/$name.address" || give_up "no listener $name"
    done
}

# Has it write down what has arrived.
listened() {
    [ -n "$listener" ] || return 0
    exec 3>&-
    wait "$listener" || give_up "the listener failed"
    listener=''
}

# A process that counts what it feels, under our nonce.
victim() {
    rm -f "$work/victim.in" "$work/victim.log"
    mkfifo "$work/victim.in"
    "$probe" __victim "$nonce" <"$work/victim.in" >"$work/victim.log" &
    victim=$!
    exec 4>"$work/victim.in"
    within 10 test -s "$work/victim.log" || give_up "no victim"
}

# --- running ---

# in_directory DIRECTORY COMMAND…: for the subshells that launch.
in_directory() {
    cd "$1" || exit 2
    shift
    exec "$@"
}

# A shell starts what it does not wait for with these signals ignored, and in its own group; a launcher
# does not.
by_default="perl -e \$SIG{INT}=\$SIG{QUIT}='DEFAULT';setpgrp;exec@ARGV"

# step ARM NUMBER: one step; streams and code are kept under $work/ARM.NUMBER.
step() {
    run=$1.$2 pid='' lived='' ended=''
    if [ -n "${signal:-}" ] && [ "$2" = "$last" ]; then
        # Looked at before the shell below has opened them, perhaps.
        : >"$work/$run.out" 2>"$work/$run.err"
        ( "$1_$2" "$by_default" ) <"$stdin" >"$work/$run.out" 2>"$work/$run.err" &
        pid=$!
        within "$limit" is_ready || give_up "the act never said that it was ready"
        if says_ready; then ended=1; fi
        kill -s "$signal" -- "${group:+-}$pid"
        within "$limit" is_over || { lived=1 ended=''; kill -KILL "$pid" $(survivors) 2>/dev/null; }
        [ "$1$lived" != control1 ] || give_up "without a sandbox the act lives through $signal, too"
        wait "$pid" 2>/dev/null
    else
        ( "$1_$2" "timeout -k 5 $limit" ) <"$stdin" >"$work/$run.out" 2>"$work/$run.err"
    fi
    code=$?
    printf '%s' "$code" >"$work/$run.code"
    if command -v "after_$1_$2" >/dev/null; then "after_$1_$2"; fi
    unplace
    without_records "$work/$run.out" "$work/$run.own.out"
    without_records "$work/$run.err" "$work/$run.own.err"
    [ "$1" = control ] || own_noise "$run"
}

says_ready() { grep -aqF "${mark}boxproof $nonce {\"event\":\"ready\"}" "$work/$run.out" "$work/$run.err"; }
is_ready() { says_ready || ! kill -0 "$pid" 2>/dev/null; }
is_over() { ! kill -0 "$pid" 2>/dev/null || grep -qs '^State:.Z' "/proc/$pid/status"; }

# Everything but what the probe reports under our nonce.
without_records() {
    if grep -aqF "${mark}boxproof $nonce " "$1"; then
        awk -v mark="${mark}boxproof $nonce " '{ at = index($0, mark); if (at) printf "%s", substr($0, 1, at - 1); else print }' "$1" >"$2"
    else
        cp "$1" "$2"
    fi
}

# without_lines FILE PREFIX…: takes out lines that start so.
without_lines() {
    file=$1
    shift
    for prefix; do
        awk -v prefix="$prefix" 'index($0, prefix) != 1' "$file" >"$file.new" && mv "$file.new" "$file"
    done
}

# without_matching FILE PATTERN: takes out lines the whole of which matches.
without_matching() {
    PATTERN=$2 perl -ni -e 'my $l = $_; chomp $l; print unless $l =~ /\A(?:$ENV{PATTERN})\z/' "$1"
}

# without_stretches FILE PATTERN END: takes out what starts with the one and ends with the other.
without_stretches() {
    PATTERN=$2 END=$3 perl -0777 -pi -e 's/(?m:$ENV{PATTERN})(?s:.*?)\Q$ENV{END}\E//g' "$1"
}

# What the probe says became of the act: succeeded, refused, killed; nothing where it says nothing.
record() { sed -n "s/^.*${mark}boxproof $nonce {\(.*\"probe\".*\)}\$/\1/p" "$work/$run.out" "$work/$run.err"; }
outcome() { record | sed -n 's/.*"outcome":"\([a-z]*\)".*/\1/p'; }
reason() { record | sed -n 's/.*"\(errno\|signal\)":"\([A-Z0-9]*\)".*/\2/p'; }

# ended CODE PREFIX PATTERN: whether the run ended like that, by the backend's own words.
ended() {
    [ "$1" = any ] || [ "$code" = "$1" ] || return 1
    case $(cat "$work/$run.own.err") in "$2"*) ;; *) return 1 ;; esac
    [ -z "$3" ] || PATTERN=$3 perl -0777 -ne 'exit !m/$ENV{PATTERN}/m' "$work/$run.own.err"
}

# says_not_started KIND…: whether the backend's result says that it started nothing, for one of these.
says_not_started() {
    result=$(cat "$root/state"/*/result.json 2>/dev/null) || return 1
    case $result in *'"started":false'* | *'"started": false'*) ;; *) return 1 ;; esac
    for word; do
        case $result in *"\"kind\":\"$word\""* | *"\"kind\": \"$word\""*) return 0 ;; esac
    done
    return 1
}

# --- looking from outside ---

facts() {
    [ -e "$1" ] || [ -L "$1" ] || { say absent; return; }
    find "$1" | LC_ALL=C sort | while IFS= read -r path; do
        if [ -d "$path" ] && [ ! -L "$path" ]; then
            stat -c "%F mode %a owner %u:%g inode %i modified %y changed %z" "$path"
        elif [ -L "$path" ]; then
            stat -c "%N owner %u:%g inode %i modified %y changed %z" "$path"
        else
            stat -c "%F mode %a owner %u:%g inode %i links %h modified %y changed %z" "$path"
        fi
        if [ -f "$path" ] && [ ! -L "$path" ]; then sha256sum <"$path" | cut -c 1-64; fi
    done | paste -s -d ' ' -
}

remember() { facts "$2" >"$work/before.$1"; say "  before  $3: $(cat "$work/before.$1")"; }

same() {
    facts "$2" >"$work/after"
    saw="as before"
    cmp -s "$work/before.$1" "$work/after" && return 0
    saw=$(cat "$work/after")
    return 1
}
there() {
    saw="nothing is there"
    [ -e "$1" ] || [ -L "$1" ] || return 1
    saw="it is there"
}
holds() {
    printf '%s' "$2" >"$work/wanted"
    saw="as wanted"
    cmp -s "$work/wanted" "$1" && return 0
    saw="it holds: $(head -c 60 "$1" 2>&1)"
    return 1
}
secret_holders() { grep -rlaF -- "$canary" "$root/ws" "$root/out" "$root/home" "$root/tmp" 2>/dev/null | while IFS= read -r path; do stat -c '%d:%i' "$path"; done | LC_ALL=C sort -u; }
undisclosed() {
    saw="the secret is in the output"
    if grep -qaF -- "$canary" "$work/$arm".*.out "$work/$arm".*.err; then return 1; fi
    saw="the secret arrived at a listener"
    if grep -qaF -- "$canary" "$work"/*.data 2>/dev/null; then return 1; fi
    secret_holders >"$work/holders.now"
    saw="the secret is in another file"
    [ -z "$(LC_ALL=C comm -13 "$work/holders" "$work/holders.now")" ] || return 1
    saw="the secret is nowhere"
}
reached() {
    saw="$(cat "$work/$1.arrived") arrived"
    [ "$(cat "$work/$1.arrived")" != 0 ]
}
unreached() { ! reached "$1"; }
untouched() {
    saw="it is dead"
    kill -0 "$victim" 2>/dev/null && [ "$(sed -n 's/^State:.\(.\).*/\1/p' "/proc/$victim/status")" != Z ] || return 1
    printf '?' >&4
    saw="something keeps it from answering"
    within 10 answered || return 1
    # The first byte says that it is ready, the last that it has answered.
    saw="it felt signal or tracer: $(od -An -v -tu1 "$work/victim.log" | tr '\n' ' ')"
    [ "$(wc -c <"$work/victim.log")" = 2 ] || return 1
    saw="it felt nothing"
}
answered() { od -An -v -tu1 "$work/victim.log" | grep -q '255 *$'; }
# Who carries the nonce; the brackets keep the search from finding itself.
survivors() {
    grep -la -- "[b]${nonce#b}" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | while IFS= read -r line; do
        line=${line#/proc/} line=${line%/*}
        case " ${victim:-} ${listener:-} " in *" $line "*) ;; *) say "$line" ;; esac
    done | sort -u
}
mounts() { grep -F -- " $here/" /proc/self/mountinfo; }
no_survivors() {
    left=$(survivors | paste -s -d ' ' -)
    saw="still runs: $left"
    [ -z "$left" ] || return 1
    saw="nothing was left running"
}
mounts_unchanged() {
    saw="other mounts than before"
    mounts | cmp -s "$work/mounts" - || return 1
    saw="no new mount"
}

# oracle POLARITY NAME CHECK…: POLARITY is + where it asks that something happened, - where not.
oracle() {
    polarity=$1 name=$2
    shift 2
    if "$@"; then state=holds; else state="does not hold"; fi
    say "  after   $name: $state; $saw"
    case $polarity$state in
    -holds | "+does not hold") hidden=${hidden:-$name: $saw} ;;
    esac
    case $polarity$state in
    "-does not hold") happened=${happened:-$name: $saw} ;;
    "+does not hold") missed=${missed:-$name: $saw} ;;
    esac
}

tree() {
    (cd "$root" && find ws out | LC_ALL=C sort | while IFS= read -r path; do
        printf '%s ' "$path"
        stat -c '%F %a' "$path"
        if [ -L "$path" ]; then readlink "$path"; elif [ -f "$path" ]; then sha256sum <"$path"; fi
    done)
}
names() { (cd "$root" && find ws out home tmp | LC_ALL=C sort); }

# --- one arm ---

# arm NAME: lays out, looks, runs every step, looks again.
arm() {
    arm=$1 happened='' missed='' hidden=''
    say "$arm:"
    fresh
    lay
    secret_holders >"$work/holders"
    mounts >"$work/mounts"
    look
    names >"$work/names"
    number=1
    while [ "$number" -le "$last" ]; do
        step "$arm" "$number"
        say "  step $number ended with $code$(outcome | sed 's/^/; the probe saw: /') $(reason)"
        if [ "$number" -lt "$last" ] && [ "$code" != 0 ]; then
            case " $may_fail " in *" $number "*) ;; *) give_up "step $number failed: $(head -c 200 "$work/$run.err")" ;; esac
        fi
        number=$((number + 1))
    done
    listened
    names >"$work/names.now"
    LC_ALL=C comm -13 "$work/names" "$work/names.now" >"$work/$arm.appeared"
    tree >"$work/$arm.tree"
    survivors >"$work/$arm.left"
    oracles
}

# begun: the sandbox was built and took the policy, and the run ended in time.
begun() {
    [ -z "$(outcome)" ] || return 0
    [ "$arm" = control ] && return 0
    if answers_for_missing_program; then return 0; fi
    if declined; then return 1; fi
    if not_set_up; then give_up "the sandbox could not be built: $(head -c 200 "$work/$run.own.err")"; fi
    [ "$code" != 124 ] || give_up "it did not end in time"
}

# The act succeeded as far as the one who tried can tell, and was seen to: for control and twin.
shown() {
    begun || { why="the policy was declined"; return 1; }
    if [ "$kind" = probe ]; then
        case $(outcome) in
        succeeded) ;;
        refused | killed) why="the act was refused: $(reason)"; return 1 ;;
        *) give_up "$arm: the probe left no record: $(head -c 200 "$work/$run.err")" ;;
        esac
    fi
    why=$hidden
    [ -z "$hidden" ]
}

# works: the same for an act that must be allowed.
works() {
    begun || { why="the policy was declined"; return 1; }
    if [ "$kind" = probe ] && [ "$(outcome)" != succeeded ]; then
        why="the probe saw: $(outcome) $(reason)"
        return 1
    fi
    why="it ended with $code"
    if [ "$wanted_exit" != as_control ]; then
        exit_fits || return 1
    elif [ "$kind" != probe ] && [ "$code" != 0 ]; then
        return 1
    fi
    why="$missed$happened"
    [ -z "$why" ]
}

exit_fits() {
    case $wanted_exit in
    nonzero) [ "$code" != 0 ] ;;
    as_control) return 0 ;;
    *) [ "$code" = "$wanted_exit" ] ;;
    esac
}

# listed WORD…: whether the reason is one of them.
listed() {
    for word; do [ "$(reason)" != "$word" ] || return 0; done
    return 1
}

# told TEXT…: whether the act says in words that it failed for one of these reasons.
told() {
    case $code in
    0) bad "the act exits with 0 although nothing happened: a refusal is promised"; return ;;
    126 | 127) [ "$code" = "$wanted_exit" ] || { open_question "exit $code: was it executed at all?"; return; } ;;
    esac
    for text; do
        if grep -qF -- "$text" "$work/$run.own.err"; then return; fi
    done
    open_question "it ended with $code and named none of the reasons that count"
}

is() { printf '%s' "$2" | cmp -s - "$work/$run.own.$1" || bad "std$1 is not: $2"; }
has() { grep -qaF -- "$2" "$work/$run.own.$1" || bad "std$1 lacks: $2"; }
lacks() { if grep -qaF -- "$2" "$work/$run.own.$1"; then bad "std$1 has: $2"; fi; }

left_behind() {
    if [ "$asks_for_survivors" = 0 ] && [ -s "$work/$arm.left" ]; then
        bad "left running: $(paste -s -d ' ' - <"$work/$arm.left")"
    fi
    mounts | cmp -s "$work/mounts" - || bad "a mount outlived the run"
    [ -f "$work/control.appeared" ] || return 0
    LC_ALL=C comm -13 "$work/control.appeared" "$work/$arm.appeared" | while IFS= read -r path; do
        is_residue "$path" || say "$path"
    done >"$work/residue"
    if [ -s "$work/residue" ]; then bad "left behind: $(paste -s -d ' ' - <"$work/residue")"; fi
}

# Whether the confined arm did what the case asks.
judge() {
    [ "$negative" = 0 ] || [ -z "$happened" ] || bad "$happened"
    if [ -n "$lived" ]; then
        after="it lived on for $limit s after $signal, which ended the act without a sandbox"
        if [ "$limit" -gt 10 ]; then bad "$after"; else open_question "$after"; fi
        return
    fi
    left_behind
    if ! begun; then
        [ "$decision" = refused ] || bad "the policy was declined: $(head -c 200 "$work/$run.own.err")"
        return
    fi
    case $decision in
    denied) judge_denied ;;
    contained) judge_contained ;;
    allowed) judge_allowed ;;
    refused) bad "the policy was not declined" ;;
    esac
    if [ -z "$happened" ]; then
        exit_fits || bad "it ended with $code instead of $wanted_exit: $(head -c 200 "$work/$run.own.err")"
    fi
    streams
    like_control
}

judge_denied() {
    [ "$kind" = probe ] || { told_reasons; return; }
    case $(outcome) in
    succeeded) [ -n "$happened" ] || bad "the act reports success although nothing happened: a refusal is promised" ;;
    refused | killed) listed $reasons || open_question "the act failed with $(reason), which is not among $reasons" ;;
    *) open_question "the probe left no record: $(head -c 200 "$work/$run.err")" ;;
    esac
}

judge_contained() {
    if [ "$kind" != probe ]; then
        if [ -f "$work/control.$last.code" ] && [ "$code" = "$(cat "$work/control.$last.code")" ]; then return; fi
        # A command that a signal ended has not been refused.
        if [ -n "$ended" ] && [ "$code" != 0 ]; then return; fi
        spoken || told_reasons
        return
    fi
    case $(outcome) in
    succeeded) ;;
    refused | killed) listed $reasons EACCES EPERM EROFS || open_question "the act failed with $(reason), which is not among $reasons" ;;
    *) open_question "the probe left no record: $(head -c 200 "$work/$run.err")" ;;
    esac
}

judge_allowed() {
    if [ "$kind" = probe ]; then
        case $(outcome) in
        succeeded) ;;
        refused | killed) bad "the act was refused: $(reason)" ;;
        *) open_question "the probe left no record: $(head -c 200 "$work/$run.err")" ;;
        esac
    fi
    [ -z "$missed$happened" ] || bad "$missed$happened"
    [ "$wanted_exit" = as_control ] || return 0
    if [ ! -f "$work/control.$last.code" ]; then
        [ "$code" = 0 ] || bad "it ended with $code"
        return
    fi
    wanted=$(cat "$work/control.$last.code")
    [ "$compare_exit" = 0 ] || [ "$code" = "$wanted" ] || bad "it ended with $code instead of $wanted: $(head -c 200 "$work/$run.own.err")"
}

# The end state and the output are those of the control.
like_control() {
    [ "$decision" = allowed ] && [ -f "$work/control.tree" ] || return 0
    if [ "$compare_stdout" = 1 ]; then
        cmp -s "$work/control.$last.own.out" "$work/$run.own.out" || bad "stdout differs from the control's"
    fi
    if [ "$compare_tree" = 1 ]; then
        cmp -s "$work/control.tree" "$work/$arm.tree" || bad "workspace or \$OUT differ from the control's"
    fi
}

conclude() {
    say
    if [ "$failures" -gt 0 ]; then
        say "the failure shows: $failures of what the case asks is not as it must be"
        exit 0
    fi
    [ "$unlearnt" -eq 0 ] || give_up "nothing failed, and something is unknown"
    say "the failure does not show: everything is as it must be"
    exit 1
}

# possible ARM CHECK: for control and twin alone.
possible() {
    if "$2"; then
        say
        say "the act works in this arm, as it must"
        exit 1
    fi
    say
    say "the act does not work in this arm: $why"
    exit 0
}
