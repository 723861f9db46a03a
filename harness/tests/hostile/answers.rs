//! Answers that no worker gave: a backend takes its worker's socket and writes to it.

use crate::context::{BOTH, HELLO, HostileRow, OUTSIDE, ROOT, RowContext, User};

/// Takes every socket of process `$worker` and sends `line()` by it until that is empty. Yama or
/// a process that is not dumpable refuse.
const TAKE: &str = r#"
$SIG{PIPE} = 'IGNORE';
$worker = shift;
$pidfd = syscall(434, $worker + 0, 0);
sub sockets {
  my @found;
  for my $number (3 .. 63) {
    my $fd = syscall(438, $pidfd, $number, 0);
    next if $fd < 0;
    open(my $end, '+<&=', $fd);
    push @found, $end if -S $end;
  }
  return @found;
}
"#;

/// The answer of a worker to a job whose act was refused.
const REFUSED: &str = r#"{"job":1,"arm":{"done":{"nonce":"n","runs":[{"exit":{"code":1},
"stdout":{"text":"","bytes":0,"sha256":"","found":[]},"stderr":{"text":"","bytes":0,"sha256":"","found":[]},
"observation":{"seen":{"probe":"write","outcome":"refused","errno":"EROFS","call":"openat"}},
"besides":[],"ready":false,"result":null,"result_fault":null,"special":null,"shown":null,
"moments":[],"watched_ms":1.0}],"broken":null,"oracles":[{"oracle":"unchanged $OUT/f",
"positive":false,"holds":true,"saw":"as before"}],"tree":{},"appeared":[],"leaks":[],"duration_ms":1.0}}}"#;

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, slow, check| HostileRow { name, users, slow, check };
    vec![
        row("answer-forged", BOTH, false, forged),
        row("answer-forged-for-others", BOTH, false, forged_for_others),
        row("answer-of-no-job", BOTH, false, of_no_job),
        row("answer-without-end", BOTH, false, without_end),
        row("answer-line-of-blanks", ROOT, false, blanks),
        row("answer-socket-shut-down", BOTH, false, shut_down),
    ]
}

/// A backend without a sandbox that runs `perl` on its worker's sockets, `@sockets`, first.
fn thief(context: &RowContext, name: &str, perl: &str) -> String {
    let text = format!("{TAKE}\nmy @sockets = sockets();\n{perl}\n");
    context.place.write(&format!("{name}.pl"), &text);
    let script = context.place.arg(&format!("{name}.pl"));
    context.backend(name, &format!("\"$@\"\ncode=$?\nperl {script} $PPID\nexit $code"))
}

/// Checks the result of a thief: root reaches the socket, and the worker is told from it all the
/// same; an ordinary user does not reach it, and only shows that nothing is confined.
#[track_caller]
fn assert_nothing_gained(context: &RowContext, verdict: &str, open: &str) {
    let taken = ["error harness", open];
    match context.user {
        User::Root => assert!(taken.contains(&verdict), "{verdict}"),
        User::Ordinary => assert_eq!(verdict, open),
    }
}

fn forged(context: &RowContext) {
    let line = REFUSED.replace('\n', "");
    let perl = format!("syswrite($_, '{line}' . \"\\n\") for @sockets;\nkill 'KILL', $worker;");
    let ran = context.run_own(&thief(context, "forger", &perl), &[OUTSIDE]);
    ran.is_bounded();
    let row = ran.row(OUTSIDE);
    match context.user {
        User::Root => {
            assert_eq!(ran.verdict(OUTSIDE), "error harness", "{ran:#?}");
            let message = row["message"].as_str().unwrap();
            assert!(message.contains("no answer of its worker"), "{message}");
        }
        // It reaches the worker by a signal, and nothing else.
        User::Ordinary => assert_eq!(ran.verdict(OUTSIDE), "error harness", "{ran:#?}"),
    }
}

fn forged_for_others(context: &RowContext) {
    let perl = r#"
for my $end (@sockets) {
  syswrite($end, qq({"job":$_,"arm":{"fault":"forged by a backend"}}\n)) for 0 .. 9;
}"#;
    let thief = thief(context, "forger", perl);
    let own = context.own_cases(&[HELLO, OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let args = context.arguments(&[&thief, "reference"], &own);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    ran.is_bounded();
    let others = ran.rows.iter().filter(|row| row["backend"] == "reference");
    let verdicts: Vec<_> = others.map(|row| row["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["pass", "pass"], "{ran:#?}");
    assert_nothing_gained(context, &ran.verdict(OUTSIDE), "under-block oracle");
}

fn of_no_job(context: &RowContext) {
    let perl = r#"
for my $end (@sockets) {
  syswrite($end, qq({"job":999999,"arm":{"fault":"forged by a backend"}}\n));
}"#;
    let ran = context.run_own(&thief(context, "forger", perl), &[OUTSIDE]);
    ran.is_bounded();
    assert_nothing_gained(context, &ran.verdict(OUTSIDE), "under-block oracle");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

fn without_end(context: &RowContext) {
    let perl = r#"
my $text = 'x' x 1048576;
for my $end (@sockets) {
  for (1 .. 400) { last unless syswrite($end, $text) }
}"#;
    let ran = context.run_own(&thief(context, "endless", perl), &[OUTSIDE]);
    ran.is_bounded();
    assert_nothing_gained(context, &ran.verdict(OUTSIDE), "under-block oracle");
}

fn blanks(context: &RowContext) {
    let perl = r#"
my $text = "\n" x 1048576;
for my $end (@sockets) {
  for (1 .. 400) { last unless syswrite($end, $text) }
}"#;
    let ran = context.run_own(&thief(context, "blanks", perl), &[OUTSIDE]);
    ran.is_bounded();
    assert_nothing_gained(context, &ran.verdict(OUTSIDE), "under-block oracle");
}

fn shut_down(context: &RowContext) {
    let ran =
        context.run_own(&thief(context, "shutter", "shutdown($_, 2) for @sockets;"), &[OUTSIDE]);
    ran.is_bounded();
    assert_nothing_gained(context, &ran.verdict(OUTSIDE), "under-block oracle");
}
