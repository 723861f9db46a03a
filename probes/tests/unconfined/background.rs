//! The processes that `background` leaves behind: alive, beating, marked, and to be found.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use boxproof_probes::{FoundRecords, find};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid, getsid};
use rstest::rstest;

use crate::support::{number, probe};

/// Ends the survivor with the test.
struct Survivor(Pid);

impl Drop for Survivor {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
    }
}

#[rstest]
fn leaves_a_child_that_beats(
    #[values("plain", "setsid", "double-fork")] how: &str,
    #[values("hold", "close")] stdio: &str,
) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let heartbeat = dir.path().join("beats");
    let call = probe("background").arg("how", how).arg("stdio", stdio);
    let mut front = call.arg("heartbeat", &heartbeat).arg("tag", "survivor").spawn();
    assert_eq!(front.child.wait().expect("our own child").code(), Some(0));

    let first = fs::read_to_string(&heartbeat).expect("it beats before the front returns");
    assert!(first.starts_with(&format!("beat {}\n", front.nonce)), "{first}");
    let (said, ended) = drain(&mut front.child);
    let survivor = Survivor(left_behind(&front.nonce, &said));
    assert_eq!(ended, stdio == "close", "whether stdout came to its end");
    sits_where_it_should(survivor.0, how);
    #[cfg(target_os = "linux")]
    carries(survivor.0, &[&front.nonce, "survivor"]);
    grows(&heartbeat);

    kill(survivor.0, Signal::SIGTERM).expect("it is alive");
    is_gone(survivor.0);
}

#[test]
fn a_deaf_child_beats_on() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let heartbeat = dir.path().join("beats");
    let call = probe("background").arg("how", "plain").arg("stdio", "close");
    let ran = call.arg("signal", "TERM,HUP").arg("heartbeat", &heartbeat).run();
    let survivor = Survivor(left_behind(&ran.nonce, &ran.stdout));
    for signal in [Signal::SIGHUP, Signal::SIGTERM] {
        kill(survivor.0, signal).expect("it is alive");
    }
    // The signals that do not kill come before the one that does.
    grows(&heartbeat);
    kill(survivor.0, Signal::SIGPROF).expect("it is alive");
    is_gone(survivor.0);
}

#[test]
fn a_heartbeat_that_cannot_be_written_is_a_refusal() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let call = probe("background").arg("how", "double-fork").arg("stdio", "close");
    let ran = call.arg("heartbeat", dir.path().join("absent/beats")).run();
    ran.refused("ENOENT", "openat");
}

/// Reads the bytes that stdout holds now, and whether the stream has ended.
fn drain(child: &mut std::process::Child) -> (Vec<u8>, bool) {
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    fcntl(&stdout, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("a pipe");
    let mut said = Vec::new();
    let end = stdout.read_to_end(&mut said).map_err(|error| error.kind());
    assert!(matches!(end, Ok(_) | Err(std::io::ErrorKind::WouldBlock)), "{end:?}");
    (said, end.is_ok())
}

fn left_behind(nonce: &str, said: &[u8]) -> Pid {
    let FoundRecords::One(record) = find(nonce, said) else { panic!("no record") };
    Pid::from_raw(i32::try_from(number(&record.detail, "pid")).expect("a process id"))
}

fn sits_where_it_should(pid: Pid, how: &str) {
    let session = getsid(Some(pid)).expect("it is alive");
    let leads = session == pid;
    assert_eq!(leads, how == "setsid");
    let ours = getsid(None).expect("we are alive");
    assert_eq!(session == ours, how == "plain");
    assert_eq!(getpgid(Some(pid)) == getpgid(None), how == "plain");
}

#[cfg(target_os = "linux")]
fn carries(pid: Pid, marks: &[&str]) {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).expect("it is alive");
    for mark in marks {
        assert!(line.contains(mark), "{line}");
    }
}

fn grows(heartbeat: &Path) {
    let size = || fs::metadata(heartbeat).expect("our file").len();
    let before = size();
    until("it beats again", || size() > before);
}

fn is_gone(pid: Pid) {
    until("it ends", || kill(pid, None).is_err() || is_zombie(pid));
}

/// A zombie counts as gone, because its new parent may be slow to reap it.
fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}
