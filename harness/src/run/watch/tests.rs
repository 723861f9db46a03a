//! Watching real shells: streams, endings, time-outs, hang-ups and stimuli.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rstest::rstest;

use super::*;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// A shell under watch, and our end of a line that hangs up when its last descendant is gone.
struct Shell {
    watched: [Watched; 1],
    group: Pid,
    held: UnixStream,
}

impl Shell {
    fn new(line: &str, timeout: Duration, during: &[During]) -> Self {
        let (held, theirs) = UnixStream::pair().unwrap();
        // A shell's background children have no stdin; descriptor 3 they inherit.
        let line = format!("exec 3<&0; {line}");
        let child = spawn(&line, Stdio::from(OwnedFd::from(theirs)));
        let watched = Watched::new(child, Vec::new(), timeout, "n1", during).unwrap();
        Self { group: watched.pid(), watched: [watched], held }
    }

    fn watch(&mut self, boss: Option<BorrowedFd<'_>>) -> Verge {
        watch(&mut self.watched, &mut Listeners::default(), boss).unwrap()
    }

    fn end(&self) -> &Watched {
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
fn fed(line: &str, feed: Vec<u8>) -> Watched {
    let watched = Watched::new(spawn(line, Stdio::piped()), feed, LONG, "n1", &[]).unwrap();
    let mut all = [watched];
    assert_eq!(watch(&mut all, &mut Listeners::default(), None).unwrap(), Verge::Done);
    let [watched] = all;
    watched
}

#[rstest]
#[case("exit 0", Exit::Code(0))]
#[case("exit 7", Exit::Code(7))]
#[case("kill -KILL $$", Exit::Signal(9))]
#[case("kill -TERM $$", Exit::Signal(15))]
fn the_end_is_the_childs_own(#[case] line: &str, #[case] exit: Exit) {
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
    assert_eq!((end.out.len(), end.exit), (1 << 20, Some(Exit::Code(0))));
}

#[test]
fn nobody_has_to_read_stdin() {
    assert_eq!(fed("exit 3", vec![b'x'; 1 << 20]).exit, Some(Exit::Code(3)));
    // Who lives on after closing it is not asked again and again.
    let end = fed("exec <&-; head -c 1000000 /dev/zero; exit 4", vec![b'x'; 1 << 20]);
    assert_eq!((end.exit, end.out.len()), (Some(Exit::Code(4)), 1_000_000));
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
    drain(&mut pipe, &mut into);
    assert_eq!(into.len(), 1 << 20, "all that a pipe may hold, in one go");
    for _ in 0..32 {
        drain(&mut pipe, &mut into);
    }
    assert_eq!(into.len(), KEEP);
    assert!(pipe.is_some(), "it is read on, so that nobody blocks");
}

#[test]
fn a_stream_that_ends_is_closed() {
    let (mut pipe, mut into) = (Some(&b"all"[..]), Vec::new());
    drain(&mut pipe, &mut into);
    assert_eq!((into.as_slice(), pipe), (&b"all"[..], None));
}

#[test]
fn a_grandchild_that_holds_the_streams_is_not_waited_for() {
    let mut shell = Shell::new("sleep 600 & printf said", LONG, &[]);
    assert_eq!(shell.watch(None), Verge::Done);
    assert_eq!(shell.end().exit, Some(Exit::Code(0)));
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
    assert_eq!(shell.watch(None), Verge::Done);
    assert_eq!(shell.end().exit, Some(Exit::TimedOut));
    assert!(shell.all_gone());
}

#[test]
fn one_who_takes_too_long_costs_the_others_nothing() {
    let child = |line: &str, timeout| {
        Watched::new(spawn(line, Stdio::null()), Vec::new(), timeout, "n1", &[]).unwrap()
    };
    let mut all = [child("exec sleep 600", Duration::from_millis(200)), child("exit 5", LONG)];
    watch(&mut all, &mut Listeners::default(), None).unwrap();
    assert_eq!(all.map(|child| child.exit), [Some(Exit::TimedOut), Some(Exit::Code(5))]);
}

#[test]
fn nobody_goes_on_when_the_boss_hangs_up() {
    let (ours, boss) = UnixStream::pair().unwrap();
    let mut shell = Shell::new("sleep 600 & wait", LONG, &[]);
    drop(boss);
    assert_eq!(shell.watch(Some(ours.as_fd())), Verge::Abandoned);
    assert_eq!(shell.end().exit, Some(Exit::TimedOut));
    assert!(shell.all_gone());
}

#[test]
fn a_boss_that_is_there_changes_nothing() {
    let (ours, _boss) = UnixStream::pair().unwrap();
    let mut shell = Shell::new("exit 6", LONG, &[]);
    assert_eq!(shell.watch(Some(ours.as_fd())), Verge::Done);
    assert_eq!(shell.end().exit, Some(Exit::Code(6)));
}

fn on_ready(signal: &str, to: Target) -> During {
    let what = Stimulus::Signal(signal.to_owned(), to);
    During { when: Moment::Ready, after_ms: 0, what }
}

#[rstest]
#[case::to_the_backend(Target::Backend, "got", Exit::Code(9))]
#[case::to_its_group(Target::Group, "got", Exit::Code(9))]
fn a_signal_comes_once_the_probe_is_ready(
    #[case] to: Target,
    #[case] said: &str,
    #[case] exit: Exit,
) {
    // A backend that survives the signal tells that it came, and that it came after the event.
    let line = r#"trap 'printf got; exit 9' USR1
        printf '\036boxproof n1 {"event":"ready"}\n'
        while :; do read -r line || :; done"#;
    let mut shell = Shell::new(line, LONG, &[on_ready("USR1", to)]);
    assert_eq!(shell.watch(None), Verge::Done);
    assert_eq!(shell.end().exit, Some(exit));
    assert!(shell.end().out.ends_with(said.as_bytes()));
}

#[rstest]
#[case::to_the_backend_alone(Target::Backend, false)]
#[case::to_its_group(Target::Group, true)]
fn a_group_is_more_than_the_backend(#[case] to: Target, #[case] all: bool) {
    let line = r#"sleep 600 & printf '\036boxproof n1 {"event":"ready"}\n'; wait"#;
    let mut shell = Shell::new(line, LONG, &[on_ready("KILL", to)]);
    assert_eq!(shell.watch(None), Verge::Done);
    assert_eq!(shell.end().exit, Some(Exit::Signal(9)));
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
    let mut shell = Shell::new(&line, LONG, &[on_ready("KILL", Target::Backend)]);
    assert_eq!(shell.watch(None), Verge::Done);
    assert_eq!(shell.end().exit, Some(Exit::Code(2)));
}

#[test]
fn a_signal_that_does_not_exist_is_an_error() {
    let child = spawn("exit 0", Stdio::null());
    let during = [on_ready("NOPE", Target::Backend)];
    let error = Watched::new(child, Vec::new(), LONG, "n1", &during).unwrap_err();
    assert!(error.to_string().contains("NOPE"), "{error}");
}

#[rstest]
#[case::who_hears_it("trap 'echo bye; exit 0' TERM; while :; do read -r _ <&3; done", "bye\n")]
#[case::who_is_deaf("trap '' TERM; while :; do read -r _ <&3; done", "")]
fn who_takes_too_long_is_first_ended_as_it_wants_to_be(#[case] line: &str, #[case] said: &str) {
    let mut shell = Shell::new(line, Duration::from_millis(200), &[]);
    let stop = Stop { signal: "TERM".into(), to: StopTarget::Group, grace_ms: 1_000 };
    shell.watched[0].stop_by(&stop).unwrap();
    assert_eq!(shell.watch(None), Verge::Done);
    assert_eq!(shell.end().exit, Some(Exit::TimedOut), "however it ended");
    assert_eq!(shell.end().out, said.as_bytes());
    assert!(shell.all_gone());
}
