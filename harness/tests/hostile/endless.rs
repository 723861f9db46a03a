//! Backends that could run without end or need memory without bound: stopped, traced and deaf
//! processes, results that are no plain files, streams, and signals in every phase of a run.

use nix::sys::signal::Signal;

use crate::context::{
    BOTH, FinishedRun, HELLO, HostileRow, ORDINARY_ALONE, OUTSIDE, ROOT, RowContext,
};
use crate::support::BOXPROOF;

/// A question about a policy.
const QUESTION: &str = "policy/deny-last/deny";

/// A case like [`HELLO`], in a second.
const SOON: &str = "purpose: A command says hello soon.
requirement: R-test
timeout_ms: 1000
act: {sh: echo hello}
expect: {allowed: {}, exit: 0}
control: {none: a shell can say hello}
";

/// Eight commands that each write 40 MB.
const PARALLEL: &str = "purpose: Eight commands write.
requirement: R-test
parallel: 8
act: {sh: head -c 40000000 /dev/zero}
expect: {allowed: {}, exit: 0}
control: {none: a shell can write}
";

/// Traces the process of its first argument for ever and never waits for it; says so by the FIFO of
/// its second. The third is `stop` to stop it, too.
const TRACER: &str = r#"
my ($traced, $ready, $what) = @ARGV;
my $ptrace = `uname -m` =~ /aarch64/ ? 117 : 101;
syscall($ptrace, 0x4206, $traced + 0, 0, 0);
syscall($ptrace, 0x4207, $traced + 0, 0, 0) if $what;
open(my $end, '>', $ready);
print $end "ready\n";
close $end;
sleep 1000;
"#;

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, slow, check| HostileRow { name, users, slow, check };
    let mut rows = vec![
        row("stops-its-worker", BOTH, false, stops_worker as fn(&RowContext)),
        row("kills-its-worker", BOTH, false, kills_worker),
        row("terms-its-worker", BOTH, false, terms_worker),
        row("stops-itself", BOTH, false, stops_itself),
        row("deaf", BOTH, false, deaf),
        row("closes-its-streams", BOTH, false, closes_streams),
        row("traced-without-end", BOTH, false, traced),
        row("traced-and-kills-its-worker", BOTH, false, traced_and_kills_worker),
        row("traces-its-worker", ROOT, true, traces_worker),
        row("forks-5000", BOTH, true, forks),
        row("floods-both-streams", BOTH, false, floods),
        row("floods-in-parallel", ROOT, false, floods_in_parallel),
        row("few-processes", ORDINARY_ALONE, false, few_processes),
        row("floods-10-gb", BOTH, true, floods_long),
        row("grace-without-end", BOTH, false, grace),
        row("kills-the-boss-in-tear-down", BOTH, false, kills_boss),
        row("report-fifo-without-reader", BOTH, false, report_fifo),
    ];
    rows.extend([
        row("result-fifo", BOTH, false, result_fifo as fn(&RowContext)),
        row("result-endless", BOTH, false, result_endless),
        row("result-sparse", BOTH, false, result_sparse),
        row("result-directory", BOTH, false, result_directory),
        row("result-link", BOTH, false, result_link),
        row("result-of-60-mb", BOTH, false, result_large),
        row("result-nested", BOTH, false, result_nested),
        row("result-protocol-1e20", BOTH, false, result_protocol),
        row("result-repeated-member", BOTH, false, result_repeated),
        row("result-rewritten-20-times", BOTH, false, result_rewritten),
        row("result-rewritten-without-end", BOTH, false, result_rewritten_on),
        row("result-removed", BOTH, false, result_removed),
        row("answer-to-a-question-fifo", BOTH, false, answer_fifo),
        row("answer-to-a-question-endless", BOTH, false, answer_endless),
    ]);
    rows.extend([
        row("int-while-capabilities-are-asked", BOTH, false, |c| ask_ends(c, "INT")),
        row("term-while-capabilities-are-asked", BOTH, false, |c| ask_ends(c, "TERM")),
        row("hup-while-capabilities-are-asked", BOTH, false, |c| ask_ends(c, "HUP")),
        row("int-while-a-question-is-asked", BOTH, false, |c| question_ends(c, "INT")),
        row("term-while-a-question-is-asked", BOTH, false, |c| question_ends(c, "TERM")),
        row("hup-while-a-question-is-asked", BOTH, false, |c| question_ends(c, "HUP")),
        row("int-while-an-arm-runs", BOTH, false, |c| arm_ends(c, "INT")),
        row("term-while-an-arm-runs", BOTH, false, |c| arm_ends(c, "TERM")),
        row("hup-while-an-arm-runs", BOTH, false, |c| arm_ends(c, "HUP")),
        row("kill-while-a-question-is-asked", BOTH, false, |c| question_ends(c, "KILL")),
        row("kill-while-an-arm-runs", BOTH, false, |c| arm_ends(c, "KILL")),
    ]);
    rows
}

/// A backend without a sandbox whose processes get 200 ms between TERM and KILL.
fn short(context: &RowContext, name: &str, script: &str) -> String {
    let spec = context.backend(name, script);
    let text = std::fs::read_to_string(&spec).unwrap();
    context.place.write(&format!("{name}.yaml"), &format!("{text}stop: {{grace_ms: 200}}\n"));
    spec
}

/// Runs [`HELLO`] against the backend of `script`.
#[track_caller]
fn hello(context: &RowContext, script: &str) -> FinishedRun {
    context.place.write("corpus/host/soon.yaml", SOON);
    let ran = context.run_own(&short(context, "backend", script), &["host/soon"]);
    ran.is_bounded();
    ran
}

#[track_caller]
fn hello_is(context: &RowContext, script: &str, verdict: &str, message: &str) {
    let ran = hello(context, script);
    assert_eq!(ran.verdict("host/soon"), verdict, "{ran:#?}");
    let said = ran.row("host/soon")["message"].as_str().unwrap();
    assert!(said.contains(message), "{said}");
    assert!(ran.seconds < 20.0, "{} s", ran.seconds);
}

fn stops_worker(context: &RowContext) {
    hello_is(context, "kill -STOP $PPID; exec \"$@\"", "error harness", "was stopped");
}

fn kills_worker(context: &RowContext) {
    hello_is(context, "kill -KILL $PPID; exec sleep 1000", "error harness", "SIGKILL");
}

fn terms_worker(context: &RowContext) {
    hello_is(context, "kill -TERM $PPID; exec sleep 1000", "error harness", "SIGTERM");
}

fn stops_itself(context: &RowContext) {
    hello_is(context, "kill -STOP $$; exec \"$@\"", "inconclusive timed-out", "");
}

fn deaf(context: &RowContext) {
    let script = "trap '' TERM INT HUP; while :; do sleep 1000; done";
    hello_is(context, script, "inconclusive timed-out", "");
}

fn closes_streams(context: &RowContext) {
    let ran = hello(context, "exec \"$@\" <&- >&- 2>&-");
    assert_ne!(ran.verdict("host/soon"), "pass");
}

/// A shell line that has a process in a session of its own trace `pid`, which goes on when it does.
fn tracer(context: &RowContext, pid: &str, what: &str) -> String {
    context.place.write("tracer.pl", TRACER);
    let script = context.place.arg("tracer.pl");
    format!(
        "mkfifo $STATE/ready.$$\n\
         setsid perl {script} {pid} $STATE/ready.$$ {what} </dev/null >/dev/null 2>&1 &\n\
         read word < $STATE/ready.$$\n"
    )
}

fn traced(context: &RowContext) {
    let script = format!("{}exec sleep 1000", tracer(context, "$$", ""));
    let ran = hello(context, &script);
    assert_ne!(ran.verdict("host/soon"), "pass");
    assert!(ran.seconds < 20.0, "{} s", ran.seconds);
}

fn traced_and_kills_worker(context: &RowContext) {
    let script = format!("{}kill -KILL $PPID\nexec sleep 1000", tracer(context, "$$", ""));
    hello_is(context, &script, "error harness", "SIGKILL");
}

fn traces_worker(context: &RowContext) {
    let script = format!("{}exec sleep 1000", tracer(context, "$PPID", "stop"));
    let ran = hello(context, &script);
    assert_eq!(ran.verdict("host/soon"), "error harness");
    let said = ran.row("host/soon")["message"].as_str().unwrap();
    assert!(said.contains("did not answer in time"), "{said}");
}

fn forks(context: &RowContext) {
    // Without a program each, which would take most of the time.
    let script = "perl -e 'for (1..5000) { defined(my $pid = fork) or last; $pid or exit !sleep 1000 }'\n\
        exec \"$@\"";
    let spec = context.backend("forks", script);
    let ran = context.run_own(&spec, &[OUTSIDE]);
    ran.is_bounded();
    assert_ne!(ran.verdict(OUTSIDE), "pass");
}

fn floods(context: &RowContext) {
    let script = "head -c 100000000 /dev/zero & head -c 100000000 /dev/zero >&2; wait\n\"$@\"";
    let ran = context.run_own(&context.backend("floods", script), &[HELLO, OUTSIDE]);
    ran.is_bounded();
    assert_ne!(ran.verdict(OUTSIDE), "pass");
}

fn floods_in_parallel(context: &RowContext) {
    context.place.write("corpus/host/parallel.yaml", PARALLEL);
    let ran = context.run_own(&context.backend("open", "exec \"$@\""), &["host/parallel"]);
    ran.is_bounded();
    assert_ne!(ran.verdict("host/parallel"), "error harness");
}

/// Allows fewer processes than workers could wait: fewer do. The user namespace has a count of its
/// own, so that other rows take none away.
fn few_processes(context: &RowContext) {
    let rows: String = (0..60).map(|number| format!("  row-{number}: {{}}\n")).collect();
    let waiting = SOON.replace("timeout_ms: 1000", "timeout_ms: 30000\nwaits_ms: 100");
    context.place.write("corpus/host/waits.yaml", &format!("{waiting}rows:\n{rows}"));
    let own = context.own_cases(&["host/waits/*"]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let args = context.arguments(&["none"], &own);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let limited = ["unshare", "--user", "--map-current-user", "prlimit", "--nproc=40", "--"];
    let ran = context.finish(context.command_under(&limited, &args));
    ran.is_bounded();
    assert_eq!((ran.code, ran.rows.len()), (0, 60), "{ran:#?}");
    assert!(ran.rows.iter().all(|row| row["verdict"] == "pass"), "{ran:#?}");
}

fn floods_long(context: &RowContext) {
    let script = "head -c 10000000000 /dev/zero\nexec \"$@\"";
    let ran = context.run_own(&context.backend("floods", script), &[OUTSIDE]);
    ran.is_bounded();
    assert_ne!(ran.verdict(OUTSIDE), "pass");
}

fn grace(context: &RowContext) {
    let spec = context.backend("patient", "trap '' TERM; sleep 1000");
    let text = std::fs::read_to_string(&spec).unwrap();
    let text = format!("{text}stop: {{grace_ms: 18446744073709551615}}\n");
    context.place.write("patient.yaml", &text);
    let args = context.arguments(&[&spec], &[]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    ran.is_bounded();
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("stop.grace_ms"), "{}", ran.stderr);
}

/// The tear-down of the only arm kills the main process while the worker waits for the tear-down.
fn kills_boss(context: &RowContext) {
    let spec = short(context, "backend", "exec \"$@\"");
    let end = "kill -KILL $(cut -d ' ' -f 4 /proc/$PPID/stat); exec sleep 1000";
    context.place.program("end.sh", &format!("#!/bin/sh\n{end}\n"));
    let text = std::fs::read_to_string(&spec).unwrap();
    let end = context.place.arg("end.sh");
    context.place.write("backend.yaml", &format!("{text}tear_down: ['{end}']\n"));
    context.place.write("corpus/host/soon.yaml", SOON);
    let ran = context.run_own(&spec, &["host/soon"]);
    ran.is_bounded();
    assert_eq!(ran.code, 128 + Signal::SIGKILL as i32);
}

/// Gives a record that nothing reads: this is reported before the run, which would wait for ever in
/// the end.
fn report_fifo(context: &RowContext) {
    let fifo = context.place.path("state/record");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    context.hand_over("state/record");
    let own = context.own_cases(&[HELLO]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let mut args = context.arguments(&[&context.backend("open", "exec \"$@\"")], &own);
    let at = args.iter().position(|arg| arg == "--report").unwrap() + 1;
    args[at] = context.place.arg("state/record");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    ran.is_bounded();
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("nothing reads from it"), "{ran:#?}");
}

/// Runs an allowed case against the reference, after which `after` is done to the result.
#[track_caller]
fn result_is(context: &RowContext, after: &str, verdict: &str) -> FinishedRun {
    let ran = context.run_own(&context.native("native", "", after), &[HELLO]);
    ran.is_bounded();
    assert_eq!(ran.verdict(HELLO), verdict, "{ran:#?}");
    ran
}

fn result_fifo(context: &RowContext) {
    result_is(context, "rm $result; mkfifo $result", "contract result");
}

fn result_endless(context: &RowContext) {
    result_is(context, "rm $result; ln -s /dev/zero $result", "contract result");
}

fn result_sparse(context: &RowContext) {
    result_is(context, "truncate -s 100G $result", "contract result");
}

fn result_directory(context: &RowContext) {
    result_is(context, "rm $result; mkdir $result", "contract result");
}

fn result_link(context: &RowContext) {
    let secret = context.place.write("state/secret", "a secret that nobody may repeat");
    let after = format!("rm $result; ln -s {} $result", secret.display());
    let ran = result_is(context, &after, "contract result");
    assert!(!format!("{:?}", ran.rows).contains("nobody may repeat"));
}

fn result_large(context: &RowContext) {
    let after = "{ printf '{\"protocol\":1,\"started\":true,\"success\":true,\"exit_code\":0,\"stdout\":\"'\n\
         head -c 60000000 /dev/zero | tr '\\0' x; printf '\"}'; } > $result";
    let ran = context.run_own(&context.native("native", "", after), &[HELLO]);
    ran.is_bounded();
}

fn result_nested(context: &RowContext) {
    let after = "head -c 5000000 /dev/zero | tr '\\0' '[' > $result";
    result_is(context, after, "contract result");
}

fn result_protocol(context: &RowContext) {
    let after = "sed -i 's/\"protocol\": *1/\"protocol\":1e20/' $result";
    result_is(context, after, "contract result");
}

fn result_repeated(context: &RowContext) {
    let after = "sed -i 's/{/{\"started\":true,/' $result";
    result_is(context, after, "contract result");
}

fn result_rewritten(context: &RowContext) {
    let after = "cp $result $result.kept\n\
        (for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do\n\
         cp $result.kept $result.new; mv $result.new $result; done) </dev/null >/dev/null 2>&1 &";
    let ran = context.run_own(&context.native("native", "", after), &[HELLO]);
    ran.is_bounded();
    let verdict = ran.verdict(HELLO);
    assert!(verdict == "pass" || verdict.starts_with("leak"), "{verdict}");
}

fn result_rewritten_on(context: &RowContext) {
    let after = "cp $result $result.kept\n\
        (while :; do cp $result.kept $result.new; mv $result.new $result; done) \
         </dev/null >/dev/null 2>&1 &";
    let ran = context.run_own(&context.native("native", "", after), &[HELLO]);
    ran.is_bounded();
    assert!(ran.verdict(HELLO).starts_with("leak"), "{ran:#?}");
}

fn result_removed(context: &RowContext) {
    result_is(context, "rm $result", "contract result");
}

/// A native backend that does `verb` to the answer file of a question, `$result`.
fn questioned(context: &RowContext, name: &str, verb: &str) -> String {
    let boxproof = match context.place.path("boxproof").exists() {
        true => context.place.arg("boxproof"),
        false => BOXPROOF.to_owned(),
    };
    let text = format!(
        "#!/bin/sh\nresult= last=\nfor word; do\n[ \"$last\" = --result ] && result=$word\n\
         last=$word\ndone\n[ -n \"$result\" ] || exec {boxproof} reference \"$@\"\n{verb}\n"
    );
    context.place.program(name, &text);
    context.place.arg(name)
}

fn answer_fifo(context: &RowContext) {
    let ran = context.run(&questioned(context, "native", "mkfifo $result"), &[QUESTION]);
    ran.is_bounded();
    assert_ne!(ran.verdict(QUESTION), "pass");
}

fn answer_endless(context: &RowContext) {
    let ran = context.run(&questioned(context, "native", "ln -s /dev/zero $result"), &[QUESTION]);
    ran.is_bounded();
    assert_ne!(ran.verdict(QUESTION), "pass");
}

/// The run of `filters` ends by signal `name`, which it gets from its backend `spec`.
#[track_caller]
fn ends_by(context: &RowContext, spec: &str, filters: &[&str], name: &str) {
    let ran = match filters.contains(&QUESTION) {
        true => context.run(spec, filters),
        false => context.run_own(spec, filters),
    };
    ran.is_bounded();
    let signal: Signal = format!("SIG{name}").parse().unwrap();
    assert_eq!(ran.code, 128 + signal as i32, "{ran:#?}");
    assert!(ran.rows.is_empty() && ran.seconds < 20.0, "{ran:#?}");
}

fn ask_ends(context: &RowContext, signal: &str) {
    let text = format!("#!/bin/sh\nkill -{signal} $PPID\nsleep 1000 &\nwait\n");
    context.place.program("native", &text);
    ends_by(context, &context.place.arg("native"), &[HELLO], signal);
}

fn question_ends(context: &RowContext, signal: &str) {
    let spec = questioned(context, "native", &format!("kill -{signal} $PPID\nexec sleep 1000"));
    ends_by(context, &spec, &[QUESTION], signal);
}

fn arm_ends(context: &RowContext, signal: &str) {
    let main = "$(cut -d ' ' -f 4 /proc/$PPID/stat)";
    let spec = context.backend("backend", &format!("kill -{signal} {main}\nexec sleep 1000"));
    ends_by(context, &spec, &[OUTSIDE], signal);
}
