//! Watching real shells: streams, endings, time-outs, hang-ups and stimuli.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use boxproof_cases::case::{
    BackendStimulus, DuringEvent, Moment, OutStream, SignalTarget, StopTarget, TerminalSize, Tty,
    TtyStream,
};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rstest::rstest;

use super::super::moments::MomentFiles;
use super::super::watched_child::{KEEP, WatchTerms, drain};
use super::*;
use crate::backend::StopMethod;
use crate::execution::ProcessExit;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// The terms of a child that is fed `feed`.
fn terms(feed: Vec<u8>, timeout: Duration, during: &[DuringEvent]) -> WatchTerms<'_> {
    WatchTerms {
        keep: KEEP,
        feed,
        hold_stdin: false,
        timeout,
        nonce: "n1",
        during,
        listens: true,
        files: MomentFiles::default(),
        apart: false,
        alone: LONG,
    }
}

fn watched(child: Child, terms: WatchTerms<'_>) -> WatchedChild {
    WatchedChild::new(child, Instant::now(), terms).unwrap()
}

/// Watches with nothing around.
fn watch_all(children: &mut [WatchedChild]) -> WatchOutcome {
    watch_with(children, None, None)
}

fn watch_with(
    children: &mut [WatchedChild],
    terminal: Option<&mut ArmTerminal>,
    boss: Option<BorrowedFd<'_>>,
) -> WatchOutcome {
    let listeners = &mut ArmListeners::default();
    watch(
        children,
        &mut WatchInputs {
            listeners,
            terminal,
            boss,
            settled: false,
            stalled: Duration::ZERO,
            disk: DiskBound::new(std::path::Path::new("/nowhere")),
        },
    )
    .unwrap()
}

/// A shell under watch, and our end of a line that hangs up when its last descendant is gone.
struct Shell {
    watched: [WatchedChild; 1],
    group: Pid,
    held: UnixStream,
}

impl Shell {
    fn new(line: &str, timeout: Duration, during: &[DuringEvent]) -> Self {
        let (held, theirs) = UnixStream::pair().unwrap();
        // A shell's background children have no stdin; descriptor 3 they inherit.
        let line = format!("exec 3<&0; {line}");
        let child = spawn(&line, Stdio::from(OwnedFd::from(theirs)));
        let watched = watched(child, terms(Vec::new(), timeout, during));
        Self { group: watched.pid(), watched: [watched], held }
    }

    fn watch(&mut self, boss: Option<BorrowedFd<'_>>) -> WatchOutcome {
        watch_with(&mut self.watched, None, boss)
    }

    fn end(&self) -> &WatchedChild {
        &self.watched[0]
    }

    /// Waits until every process that holds the other end is gone.
    fn all_gone(&mut self) -> bool {
        self.held.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        matches!(self.held.read(&mut [0; 1]), Ok(0))
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = killpg(self.group, Signal::SIGKILL);
    }
}

fn spawn(line: &str, stdin: Stdio) -> Child {
    Command::new("/bin/sh")
        .args(["-c", line])
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap()
}

/// Runs `line` with `feed` to its end.
fn fed(line: &str, feed: Vec<u8>) -> WatchedChild {
    let mut all = [watched(spawn(line, Stdio::piped()), terms(feed, LONG, &[]))];
    assert_eq!(watch_all(&mut all), WatchOutcome::Done);
    let [watched] = all;
    watched
}

#[rstest]
#[case("exit 0", ProcessExit::Code(0))]
#[case("exit 7", ProcessExit::Code(7))]
#[case("kill -KILL $$", ProcessExit::Signal(9))]
#[case("kill -TERM $$", ProcessExit::Signal(15))]
fn the_end_is_the_childs_own(#[case] line: &str, #[case] exit: ProcessExit) {
    assert_eq!(fed(line, Vec::new()).exit, Some(exit));
}

#[test]
fn more_than_pipes_hold_comes_whole_on_both_streams() {
    let line = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; printf end";
    let end = fed(line, Vec::new());
    assert_eq!((end.out.len(), end.err.len()), (3_000_003, 2_000_000));
    assert!(end.out.ends_with(b"\0end"));
}

#[test]
fn all_of_stdin_is_fed_and_then_closed() {
    let end = fed("cat", vec![b'x'; 1 << 20]);
    assert_eq!((end.out.len(), end.exit), (1 << 20, Some(ProcessExit::Code(0))));
}

#[test]
fn nobody_has_to_read_stdin() {
    assert_eq!(fed("exit 3", vec![b'x'; 1 << 20]).exit, Some(ProcessExit::Code(3)));
    // A process that lives on after closing it is not asked again and again.
    let end = fed("exec <&-; head -c 1000000 /dev/zero; exit 4", vec![b'x'; 1 << 20]);
    assert_eq!((end.exit, end.out.len()), (Some(ProcessExit::Code(4)), 1_000_000));
    assert!(end.stdin.is_none() && end.feed.is_empty());
}

/// A writer that never pauses, and says so when it is read for too long.
struct Endless(usize);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0 += buffer.len();
        assert!(self.0 <= 64 << 20, "the clock is not looked at");
        Ok(buffer.len())
    }
}

#[test]
fn the_clock_is_looked_at_between_reads() {
    let (mut pipe, mut into) = (Some(Endless(0)), Vec::new());
    drain(&mut pipe, &mut into, KEEP);
    assert_eq!(into.len(), 1 << 20, "all that a pipe may hold, in one go");
    for _ in 0..32 {
        drain(&mut pipe, &mut into, KEEP);
    }
    assert_eq!(into.len(), KEEP);
    assert!(pipe.is_some(), "it is read on, so that nobody blocks");
}

#[test]
fn a_stream_that_ends_is_closed() {
    let (mut pipe, mut into) = (Some(&b"all"[..]), Vec::new());
    drain(&mut pipe, &mut into, KEEP);
    assert_eq!((into.as_slice(), pipe), (&b"all"[..], None));
}

#[test]
fn a_grandchild_that_holds_the_streams_is_not_waited_for() {
    let mut shell = Shell::new("sleep 600 & printf said", LONG, &[]);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Code(0)));
    assert_eq!(shell.end().out, b"said");
    killpg(shell.group, Signal::SIGKILL).unwrap();
    assert!(shell.all_gone());
}

#[rstest]
#[case::alone("exec sleep 600")]
#[case::with_a_grandchild("sleep 600 & wait")]
#[case::that_ignores_signals("trap '' TERM INT HUP; sleep 600 & wait; wait")]
#[case::that_never_pauses("exec cat /dev/zero")]
fn who_takes_too_long_is_ended_with_its_group(#[case] line: &str) {
    let mut shell = Shell::new(line, Duration::from_millis(200), &[]);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::TimedOut));
    assert!(shell.all_gone());
}

#[test]
fn one_who_takes_too_long_costs_the_others_nothing() {
    let child =
        |line: &str, timeout| watched(spawn(line, Stdio::null()), terms(Vec::new(), timeout, &[]));
    let mut all = [child("exec sleep 600", Duration::from_millis(200)), child("exit 5", LONG)];
    watch_all(&mut all);
    assert_eq!(
        all.map(|child| child.exit),
        [Some(ProcessExit::TimedOut), Some(ProcessExit::Code(5))]
    );
}

#[test]
fn nobody_goes_on_when_the_boss_hangs_up() {
    let (ours, boss) = UnixStream::pair().unwrap();
    let mut shell = Shell::new("sleep 600 & wait", LONG, &[]);
    drop(boss);
    assert_eq!(shell.watch(Some(ours.as_fd())), WatchOutcome::Abandoned);
    assert_eq!(shell.end().exit, Some(ProcessExit::TimedOut));
    assert!(shell.all_gone());
}

#[test]
fn a_boss_that_is_there_changes_nothing() {
    let (ours, _boss) = UnixStream::pair().unwrap();
    let mut shell = Shell::new("exit 6", LONG, &[]);
    assert_eq!(shell.watch(Some(ours.as_fd())), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Code(6)));
}

fn on_ready(signal: &str, to: SignalTarget) -> DuringEvent {
    let what = BackendStimulus::Signal(signal.to_owned(), to);
    DuringEvent { when: Moment::Ready, after_ms: 0, what }
}

#[rstest]
#[case::to_the_backend(SignalTarget::Backend, "got", ProcessExit::Code(9))]
#[case::to_its_group(SignalTarget::Group, "got", ProcessExit::Code(9))]
fn a_signal_comes_once_the_probe_is_ready(
    #[case] to: SignalTarget,
    #[case] said: &str,
    #[case] exit: ProcessExit,
) {
    // A backend that survives the signal tells that it came, and that it came after the event.
    let line = r#"trap 'printf got; exit 9' USR1
        printf '\036boxproof n1 {"event":"ready"}\n'
        while :; do read -r line || :; done"#;
    let mut shell = Shell::new(line, LONG, &[on_ready("USR1", to)]);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(exit));
    assert!(shell.end().out.ends_with(said.as_bytes()));
}

#[rstest]
#[case::to_the_backend_alone(SignalTarget::Backend, false)]
#[case::to_its_group(SignalTarget::Group, true)]
fn a_group_is_more_than_the_backend(#[case] to: SignalTarget, #[case] all: bool) {
    let line = r#"sleep 600 & printf '\036boxproof n1 {"event":"ready"}\n'; wait"#;
    let mut shell = Shell::new(line, LONG, &[on_ready("KILL", to)]);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Signal(9)));
    if all {
        assert!(shell.all_gone());
    } else {
        let mut set = [PollFd::new(shell.held.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut set, PollTimeout::from(100u8)), Ok(0), "it still holds its end");
    }
}

#[rstest]
#[case::of_another_nonce(r#"printf '\036boxproof n2 {"event":"ready"}\n'"#)]
#[case::in_plain_words("printf 'ready\\n'")]
fn no_signal_comes_for_a_word_that_is_not_the_probes(#[case] say: &str) {
    let line = format!("trap 'exit 9' TERM; {say}; exit 2");
    let mut shell = Shell::new(&line, LONG, &[on_ready("KILL", SignalTarget::Backend)]);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Code(2)));
}

#[rstest]
#[case::who_hears_it("trap 'echo bye; exit 0' TERM; while :; do read -r _ <&3; done", "bye\n")]
#[case::who_is_deaf("trap '' TERM; while :; do read -r _ <&3; done", "")]
fn who_takes_too_long_is_first_ended_as_it_wants_to_be(#[case] line: &str, #[case] said: &str) {
    let mut shell = Shell::new(line, Duration::from_millis(1_500), &[]);
    let stop = StopMethod { signal: "TERM".into(), to: StopTarget::Group, grace_ms: 1_000 };
    shell.watched[0].stop_by(&stop).unwrap();
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::TimedOut), "however it ended");
    assert_eq!(shell.end().out, said.as_bytes());
    assert!(shell.all_gone());
}

/// Returns the event at a moment.
fn event(when: Moment, what: BackendStimulus) -> DuringEvent {
    DuringEvent { when, after_ms: 0, what }
}

fn signal(name: &str, to: SignalTarget) -> BackendStimulus {
    BackendStimulus::Signal(name.to_owned(), to)
}

/// A shell line that announces `event`.
fn announcing_line(event: &str) -> String {
    format!(r#"printf '\036boxproof n1 {{"event":{event}}}\n'"#)
}

/// Waits on descriptor 3 until it is interrupted, again and again.
const WAIT: &str = "while :; do read -r _ <&3 || :; done";

#[test]
fn a_second_signal_follows_the_first() {
    let line = format!(
        "got() {{ {}; n=x$n; [ $n = xx ] && exit 4; }}; trap got INT; {}; {WAIT}",
        announcing_line(r#"{"mark":"got"}"#),
        announcing_line(r#""ready""#)
    );
    let second = DuringEvent {
        after_ms: 30,
        ..event(Moment::Mark("got".into()), signal("INT", SignalTarget::Backend))
    };
    let during = [event(Moment::Ready, signal("INT", SignalTarget::Backend)), second];
    let mut shell = Shell::new(&line, LONG, &during);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Code(4)));
    let stamps = shell.end().stamps();
    let at = |moment: Moment| stamps.iter().find(|s| s.moment == moment).unwrap().at_ms;
    let (first, heard) = (at(Moment::During(1)), at(Moment::Mark("got".into())));
    assert!(at(Moment::Ready) <= first && first <= heard, "{stamps:?}");
    assert!(at(Moment::During(2)) >= heard + 30.0, "{stamps:?}");
    assert!(at(Moment::Exit) >= at(Moment::During(2)), "{stamps:?}");
}

#[test]
fn who_is_stopped_goes_on_when_it_is_continued() {
    let line = format!("trap 'exit 5' CONT; {}; {WAIT}", announcing_line(r#""ready""#));
    let during = [
        event(Moment::Ready, signal("STOP", SignalTarget::Backend)),
        event(Moment::During(1), signal("CONT", SignalTarget::Backend)),
    ];
    let mut shell = Shell::new(&line, LONG, &during);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Code(5)));
}

#[rstest]
#[case::stdout(OutStream::Stdout, "")]
#[case::stderr(OutStream::Stderr, " >&2")]
fn who_writes_to_a_closed_end_is_told(#[case] stream: OutStream, #[case] to: &str) {
    // Announced on the other stream than the one that is closed.
    let other = if to.is_empty() { " >&2" } else { "" };
    let line = format!("{}{other}; exec cat /dev/zero{to}", announcing_line(r#""ready""#));
    let mut shell =
        Shell::new(&line, LONG, &[event(Moment::Ready, BackendStimulus::Close(stream))]);
    assert_eq!(shell.watch(None), WatchOutcome::Done);
    assert_eq!(shell.end().exit, Some(ProcessExit::Signal(13)));
}

#[test]
fn a_file_is_a_moment() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("up");
    let moment = Moment::File("up".into());
    let line = format!("trap 'exit 6' TERM; : > {}; {WAIT}", path.display());
    let during = [event(moment.clone(), signal("TERM", SignalTarget::Backend))];
    let files = MomentFiles::new(vec![(moment, path)]).unwrap();
    let (held, theirs) = UnixStream::pair().unwrap();
    let child = spawn(&format!("exec 3<&0; {line}"), Stdio::from(OwnedFd::from(theirs)));
    let mut all = [watched(child, WatchTerms { files, ..terms(Vec::new(), LONG, &during) })];
    assert_eq!(watch_all(&mut all), WatchOutcome::Done);
    assert_eq!(all[0].exit, Some(ProcessExit::Code(6)));
    drop(held);
}

#[test]
fn a_stdin_can_stay_open_after_all_was_written() {
    let line = "read -r word; printf $word; exec 3<&0; trap 'exit 7' USR1; \
                printf '\\036boxproof n1 {\"event\":\"ready\"}\\n'; cat; exit 8";
    let during = [event(Moment::Ready, signal("KILL", SignalTarget::Backend))];
    let held = WatchTerms { hold_stdin: true, ..terms(b"fed\n".to_vec(), LONG, &during) };
    let mut all = [watched(spawn(line, Stdio::piped()), held)];
    assert_eq!(watch_all(&mut all), WatchOutcome::Done);
    // Had its stdin ended, it would have ended with 8, if only now and then.
    assert_eq!(all[0].exit, Some(ProcessExit::Signal(9)));
    assert!(all[0].out.starts_with(b"fed"), "{:?}", all[0].out);
    assert!(all[0].stdin.is_some());
}

/// A shell that leads a session of its own on `tty`, and what becomes of both.
fn on_terminal(tty: &Tty, line: &str, during: &[DuringEvent]) -> (WatchedChild, ArmTerminal) {
    let mut terminal = ArmTerminal::open(tty).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(terminal.stdio().unwrap());
    if tty.streams.contains(&TtyStream::Stdout) {
        command.stdout(terminal.stdio().unwrap());
    }
    crate::sys::own_terminal(&mut command, 0);
    let mut all = [watched(command.spawn().unwrap(), terms(Vec::new(), LONG, during))];
    assert_eq!(watch_with(&mut all, Some(&mut terminal), None), WatchOutcome::Done);
    terminal.drain_output().unwrap();
    let [watched] = all;
    (watched, terminal)
}

fn cooked() -> Tty {
    Tty { cooked: true, streams: vec![TtyStream::Stdin, TtyStream::Stdout], ..Tty::default() }
}

#[test]
fn what_is_typed_is_read_and_echoed() {
    let line = format!("{}; read -r word; echo got $word", announcing_line(r#""ready""#));
    let during = [event(Moment::Ready, BackendStimulus::Type("hello\n".into()))];
    let (watched, terminal) = on_terminal(&cooked(), &line, &during);
    assert_eq!(watched.exit, Some(ProcessExit::Code(0)));
    let shown = String::from_utf8_lossy(terminal.shown()).into_owned();
    assert!(shown.ends_with("hello\r\ngot hello\r\n"), "{shown:?}");
}

#[test]
fn a_typed_control_c_is_a_signal_on_a_cooked_terminal_alone() {
    let line =
        format!("trap 'exit 9' INT; {}; read -r word; exit 2", announcing_line(r#""ready""#));
    let typed = BackendStimulus::Type("\u{3}".into());
    let during = [event(Moment::Ready, typed.clone())];
    assert_eq!(on_terminal(&cooked(), &line, &during).0.exit, Some(ProcessExit::Code(9)));
    let raw = Tty { cooked: false, ..cooked() };
    let newline = event(Moment::During(1), BackendStimulus::Type("\n".into()));
    let during = [event(Moment::Ready, typed), newline];
    assert_eq!(on_terminal(&raw, &line, &during).0.exit, Some(ProcessExit::Code(2)));
}

#[test]
fn a_terminal_that_is_resized_tells_who_is_on_it() {
    let line = format!(
        "trap 'stty size <&4; exit 3' WINCH; exec 4<&0; {}; while :; do read -r _; done",
        announcing_line(r#""ready""#)
    );
    let during =
        [event(Moment::Ready, BackendStimulus::Resize(TerminalSize { rows: 7, columns: 11 }))];
    let (watched, terminal) = on_terminal(&cooked(), &line, &during);
    assert_eq!(watched.exit, Some(ProcessExit::Code(3)));
    let shown = String::from_utf8_lossy(terminal.shown()).into_owned();
    assert!(shown.ends_with("7 11\r\n"), "{shown:?}");
}

#[test]
fn who_is_on_a_terminal_that_is_hung_up_is_told() {
    let line = format!(
        "trap 'exit 9' HUP; {}; while :; do read -r _ || :; done",
        announcing_line(r#""ready""#)
    );
    let during = [event(Moment::Ready, BackendStimulus::HangUp)];
    let (watched, terminal) = on_terminal(&cooked(), &line, &during);
    assert_eq!(watched.exit, Some(ProcessExit::Code(9)));
    assert!(terminal.descriptor().is_none());
}
