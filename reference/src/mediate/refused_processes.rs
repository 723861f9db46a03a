//! The processes that were refused something, and those that started them: kept by their pidfds, so that
//! the end of each is known when the command has failed ([`RefusedProcesses`]).

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use nix::unistd::Pid;

use crate::control::{ProcessFate, RefusedFate};
use crate::sys::notify::{self, ReapedEnd};

/// Processes that are kept at most; the fate of others is unknown.
const MOST: usize = 256;
/// The first process of the sandbox, which started the command.
const INIT: Pid = Pid::from_raw(1);

/// One process, by a handle that does not come to mean another.
#[derive(Debug)]
struct TracedProcess {
    handle: OwnedFd,
    parent: Pid,
    /// It had the name of a shell, which does not wait for what runs in the background, when this was last
    /// looked at: a shell may execute another program.
    was_shell: bool,
    /// The last process that there was when this one was last refused something, if it ever was.
    newest: Option<Pid>,
    /// It has made something since.
    went_on: bool,
}

/// The processes of the refusals of one run.
#[derive(Debug, Default)]
pub(super) struct RefusedProcesses(HashMap<Pid, TracedProcess>);

impl RefusedProcesses {
    /// Keeps `process`, which was refused something now, and all processes between it and the command.
    pub(super) fn add(&mut self, process: Pid) {
        let mut next = process;
        for _ in 0..MOST {
            if next <= INIT {
                break;
            }
            if let Some(known) = self.0.get_mut(&next) {
                known.was_shell = is_shell(next).unwrap_or(known.was_shell);
                next = known.parent;
                continue;
            }
            if self.0.len() == MOST {
                break;
            }
            let Ok(handle) = notify::open_process(next, 0) else { break };
            let Some(parent) = parent_of(next) else { break };
            let was_shell = is_shell(next).unwrap_or(false);
            let traced = TracedProcess { handle, parent, was_shell, newest: None, went_on: false };
            self.0.insert(next, traced);
            next = parent;
        }
        if let Some(traced) = self.0.get_mut(&process) {
            traced.newest = newest_process();
            traced.went_on = false;
        }
    }

    /// Returns whether none was refused anything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes that `process` makes something.
    pub(super) fn note_progress(&mut self, process: Pid) {
        if let Some(traced) = self.0.get_mut(&process) {
            traced.went_on = true;
        }
    }

    /// Returns the fates of those that were refused something, when the command has failed.
    pub(super) fn fates(&self) -> Vec<RefusedFate> {
        let newest = newest_process();
        let refused = self.0.iter().filter(|(_, traced)| traced.newest.is_some());
        let fates = refused.filter_map(|(process, traced)| {
            let is_last = traced.newest == newest && !traced.went_on;
            let fate = match self.fate(*process)? {
                ProcessFate::FailedLast if !is_last => ProcessFate::Failed,
                fate => fate,
            };
            Some(RefusedFate { pid: process.as_raw(), fate, status: self.passed_status(*process) })
        });
        fates.collect()
    }

    /// Returns the exit status that the command, if it was a shell then, had of `process`, or of the process between
    /// the two that it started.
    fn passed_status(&self, process: Pid) -> Option<i32> {
        let traced = self.0.get(&process)?;
        let parent = self.0.get(&traced.parent)?;
        if parent.parent > INIT {
            return self.passed_status(traced.parent);
        }
        match notify::reaped_end(&traced.handle).filter(|_| parent.was_shell)? {
            ReapedEnd::Status(status) if libc::WIFEXITED(status) => Some(libc::WEXITSTATUS(status)),
            ReapedEnd::Status(status) => Some(128 + libc::WTERMSIG(status)),
            ReapedEnd::Unreaped => None,
        }
    }

    /// Returns whether the failure of `process` can have become that of the command: whether it failed, and
    /// every process between the two. Each was waited for, or it is not the last: git ends with a failure when
    /// a helper closes its pipe. None where the kernel does not tell.
    fn fate(&self, process: Pid) -> Option<ProcessFate> {
        let traced = self.0.get(&process)?;
        if traced.parent <= INIT {
            // The command itself, or what was left of a process that had ended before.
            return Some(ProcessFate::FailedLast);
        }
        let is_of_shell = || self.is_shell(traced.parent);
        match notify::reaped_end(&traced.handle)? {
            ReapedEnd::Status(0) => Some(ProcessFate::Apart),
            ReapedEnd::Unreaped if is_of_shell() => Some(ProcessFate::Apart),
            ReapedEnd::Unreaped => self.fate(traced.parent).map(|fate| match fate {
                ProcessFate::Apart => fate,
                _ => ProcessFate::Failed,
            }),
            ReapedEnd::Status(_) => self.fate(traced.parent),
        }
    }

    /// Returns whether `process` is a shell, or was one at last.
    fn is_shell(&self, process: Pid) -> bool {
        let Some(traced) = self.0.get(&process) else { return false };
        // The number of a process that was reaped may be another one's.
        let stays = notify::reaped_end(&traced.handle) == Some(ReapedEnd::Unreaped);
        stays.then(|| is_shell(process)).flatten().unwrap_or(traced.was_shell)
    }
}

fn parent_of(process: Pid) -> Option<Pid> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Some(Pid::from_raw(parent.trim().parse().ok()?))
}

/// Returns whether `process` has the name of a shell now; none if it has ended.
fn is_shell(process: Pid) -> Option<bool> {
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(["sh", "dash", "bash", "zsh", "ksh", "ash", "fish", "busybox"].contains(&name.trim_end()))
}

/// Returns the process or thread that this pid namespace got last.
fn newest_process() -> Option<Pid> {
    let load = std::fs::read_to_string("/proc/loadavg").ok()?;
    Some(Pid::from_raw(load.split_whitespace().next_back()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, kill};
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    /// Keeps `process` as refused, and of its ancestors only `command`, which init started.
    fn kept(process: Pid, command: Pid) -> RefusedProcesses {
        let mut kept = RefusedProcesses::default();
        kept.add(process);
        assert!(kept.0.len() > 1, "its parent is kept, too");
        kept.0.retain(|one, _| [process, command].contains(one));
        kept.0.get_mut(&command).unwrap().parent = INIT;
        kept
    }

    /// Runs `end` in a child that was kept as refused, and returns its fate.
    fn fate(end: &str) -> Option<ProcessFate> {
        let mut child = Command::new("sh").args(["-c", end]).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        let kept = kept(pid, Pid::this());
        let running = kept.fate(pid);
        assert!(matches!(running, None | Some(ProcessFate::Failed)), "it was not waited for");
        child.wait().unwrap();
        kept.fate(pid)
    }

    /// Returns whether the kernel tells of the ends of processes.
    fn kernel_tells() -> bool {
        notify::reaped_end(notify::open_process(Pid::this(), 0).unwrap()).is_some()
    }

    #[test]
    fn a_process_has_failed_once_it_was_waited_for() {
        let known = fate("exit 3");
        assert_eq!(known, kernel_tells().then_some(ProcessFate::FailedLast));
        assert_eq!(fate("exit 0"), known.map(|_| ProcessFate::Apart));
        assert_eq!(fate("kill -9 $$"), known);
    }

    /// The child of a shell is apart until the shell executes a program that is none: then it is the child of
    /// that program.
    #[test]
    fn a_shell_that_executes_a_program_is_no_shell_any_more() {
        let line = "sleep 60 >&2 & echo $!; read line; exec cat";
        let mut shell = Command::new("sh");
        let piped = shell.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = piped.spawn().unwrap();
        let mut input = shell.stdin.take().unwrap();
        let mut output = BufReader::new(shell.stdout.take().unwrap()).lines();
        let background = Pid::from_raw(output.next().unwrap().unwrap().parse().unwrap());
        let kept = kept(background, Pid::from_raw(shell.id() as i32));
        let of_shell = kept.fate(background);
        input.write_all(b"go\nechoed\n").unwrap();
        // The program runs.
        assert_eq!(output.next().unwrap().unwrap(), "echoed");
        let of_program = kept.fate(background);
        kill(background, Signal::SIGKILL).unwrap();
        drop(input);
        shell.wait().unwrap();
        assert_eq!(of_shell, kernel_tells().then_some(ProcessFate::Apart));
        assert_eq!(of_program, kernel_tells().then_some(ProcessFate::Failed));
    }
}
