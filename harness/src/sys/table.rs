//! Linux's table of processes and mounts, as `/proc` tells it.

use std::fmt;
use std::io;
use std::path::Path;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

pub(crate) use crate::sys::mount_table::mounts;

/// The file system in which the kernel lists processes and mounts.
const PROC: &str = "/proc";
/// The files that the sweep reads of every process, here of this one.
const OWN: [&str; 2] = ["self/mountinfo", "self/cmdline"];

/// Checks that the table can be read: finding nothing must mean that nothing is left.
///
/// # Errors
/// The part that cannot be read.
pub(crate) fn check_sight() -> io::Result<()> {
    sees_in(PROC.as_ref())
}

fn sees_in(proc: &Path) -> io::Result<()> {
    OWN.iter().map(|name| proc.join(name)).try_for_each(|file| match std::fs::read(&file) {
        Ok(text) if text.is_empty() => Err(blind(&file, "it is empty")),
        Ok(_) => Ok(()),
        Err(error) => Err(blind(&file, error)),
    })
}

fn blind(file: &Path, why: impl fmt::Display) -> io::Error {
    let file = file.display();
    io::Error::other(format!("cannot see what a run leaves: {file}: {why}; use Linux with /proc"))
}

/// Lists every process.
pub(crate) fn processes() -> Vec<Pid> {
    let processes = std::fs::read_dir(PROC).into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.map(Pid::from_raw).collect()
}

/// The words that a process was started with, a NUL behind each; of a dead one there are none.
pub(crate) fn command_words(pid: Pid) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Its environment, a NUL behind each variable, as far as it can be read.
pub(crate) fn variables(pid: Pid) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// Returns the kernel's name for the process.
pub(crate) fn name(pid: Pid) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// The parent of a process, its user, and its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) parent: Pid,
    /// The real user.
    pub(crate) uid: u32,
    /// The start time in units of the kernel's own; two processes that had the same number differ
    /// in it.
    pub(crate) started: u64,
}

/// The origin of a process that is still there.
pub(crate) fn origin(pid: Pid) -> Option<Origin> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let parent = Pid::from_raw(fields.nth(1)?.parse().ok()?);
    let started = fields.nth(17)?.parse().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let uid = users.split_whitespace().next()?.parse().ok()?;
    Some(Origin { parent, uid, started })
}

/// Returns whether a signal has stopped `pid`.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Returns whether `pid` can do nothing any more, or ends by itself: the init of a namespace that
/// it is in is dying, which takes all the others along.
pub(crate) fn is_doomed(pid: Pid) -> bool {
    doomed(pid, |pid| std::fs::read_to_string(format!("/proc/{pid}/status")).ok())
}

fn doomed(pid: Pid, status: impl Fn(Pid) -> Option<String>) -> bool {
    let mut at = pid;
    loop {
        let Some(status) = status(at) else { return at == pid };
        let (first, is_nested) = namespaced(&status);
        if is_dying(&status) && (at == pid || first) {
            return true;
        }
        let parent = member(&status, "PPid:").and_then(|parent| parent.parse().ok());
        match parent.filter(|_| is_nested) {
            Some(parent) => at = Pid::from_raw(parent),
            None => return false,
        }
    }
}

/// Returns whether the process of this status is the init of its pid namespace, and whether that
/// namespace lies inside this one.
fn namespaced(status: &str) -> (bool, bool) {
    let numbers = member(status, "NSpid:").unwrap_or_default();
    let is_nested = numbers.split_whitespace().count() > 1;
    (is_nested && numbers.split_whitespace().next_back() == Some("1"), is_nested)
}

/// Returns whether the process of this status has no memory left, or a pending SIGKILL.
fn is_dying(status: &str) -> bool {
    let killed = |name: &str| {
        let pending = member(status, name).and_then(|set| u64::from_str_radix(set, 16).ok());
        pending.is_some_and(|set| set & (1 << (Signal::SIGKILL as u64 - 1)) != 0)
    };
    member(status, "VmSize:").is_none() || killed("SigPnd:") || killed("ShdPnd:")
}

fn member<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn the_origin_of_a_process_is_told() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        let (own, its) = (origin(nix::unistd::getpid()).unwrap(), origin(pid).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((its.parent, its.uid), (nix::unistd::getpid(), nix::unistd::getuid().as_raw()));
        assert!(its.started >= own.started, "{its:?} {own:?}");
        assert_eq!(origin(pid), None);
    }

    const RUNS: &str = "VmSize:\t9 kB\nSigPnd:\t0\nShdPnd:\t0\n";
    const KILLED: &str = "VmSize:\t9 kB\nSigPnd:\t0\nShdPnd:\t0000000000000100\n";
    const DEAD: &str = "SigPnd:\t0\nShdPnd:\t0\n";

    /// Process 7, whose parent is 6, whose parent is 5, the first of a namespace; 4 is outside.
    #[rstest]
    #[case::no_process_dies([RUNS, RUNS, RUNS], false)]
    #[case::itself([KILLED, RUNS, RUNS], true)]
    #[case::itself_dead([DEAD, RUNS, RUNS], true)]
    #[case::its_parent([RUNS, KILLED, RUNS], false)]
    #[case::the_first_of_its_namespace([RUNS, RUNS, KILLED], true)]
    #[case::the_first_dead([RUNS, RUNS, DEAD], true)]
    fn a_process_of_a_dying_namespace_is_doomed(#[case] states: [&str; 3], #[case] wanted: bool) {
        let status = |pid: Pid| {
            let place = match pid.as_raw() {
                7 => "PPid:\t6\nNSpid:\t7\t3\n",
                6 => "PPid:\t5\nNSpid:\t6\t2\n",
                5 => "PPid:\t4\nNSpid:\t5\t1\n",
                _ => return Some(format!("PPid:\t1\nNSpid:\t4\n{KILLED}")),
            };
            Some(format!("{place}{}", states[usize::try_from(7 - pid.as_raw()).unwrap()]))
        };
        assert_eq!(doomed(Pid::from_raw(7), status), wanted);
        assert!(doomed(Pid::from_raw(7), |_| None), "it is gone");
    }

    #[test]
    fn without_a_kernels_word_nothing_is_seen() {
        let proc = tempfile::tempdir().unwrap();
        let why = || sees_in(proc.path()).unwrap_err().to_string();
        assert!(why().contains("mountinfo: No such file"), "{}", why());
        std::fs::create_dir(proc.path().join("self")).unwrap();
        std::fs::write(proc.path().join("self/mountinfo"), "").unwrap();
        assert!(why().contains("mountinfo: it is empty"), "{}", why());
        std::fs::write(proc.path().join("self/mountinfo"), "x").unwrap();
        assert!(why().contains("cmdline: No such file"), "{}", why());
    }
}
