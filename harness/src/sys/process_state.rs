//! State that a child starts with besides its descriptors: signal state, limits, priority, mode
//! mask.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use boxproof_cases::case::{CatchableSignal, Launcher, LimitedResource};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::stat::{Mode, umask};

use super::host::in_child;

/// Makes `command` start as `launcher` says; it fails to start where that is impossible. To be
/// called last: other steps before the start may need a resource that is limited here.
pub(crate) fn start_with(command: &mut Command, launcher: &Launcher) {
    if !launcher.has_process_state() {
        return;
    }
    let ignored: Vec<Signal> = launcher.signals.ignored.iter().map(|s| signal_of(*s)).collect();
    let blocked: SigSet = launcher.signals.blocked.iter().map(|s| signal_of(*s)).collect();
    let limits: Vec<(Resource, u64)> =
        launcher.limits.iter().map(|(resource, most)| (resource_of(*resource), *most)).collect();
    let nice = launcher.nice;
    let mask = launcher.umask.map(|mask| Mode::from_bits_truncate(mask.bits().into()));
    // SAFETY: the closure only makes system calls on what was prepared before the fork.
    unsafe {
        command.pre_exec(move || {
            ignored.iter().try_for_each(|number| signal(*number, SigHandler::SigIgn).map(drop))?;
            sigprocmask(SigmaskHow::SIG_BLOCK, Some(&blocked), None)?;
            if let Some(mask) = mask {
                umask(mask);
            }
            nice.map_or(Ok(()), set_nice)?;
            limits.iter().try_for_each(|(resource, most)| {
                setrlimit(*resource, *most, *most).map_err(io::Error::from)
            })
        });
    }
}

fn set_nice(nice: u8) -> Result<(), Errno> {
    // SAFETY: takes integers, and changes the calling process alone.
    Errno::result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice.into()) }).map(drop)
}

/// Tries whether a child may have this nice value.
pub(crate) fn try_nice(nice: u8) -> io::Result<()> {
    in_child(|| set_nice(nice))
}

/// Returns the limit of `resource` where a child may not raise it.
pub(crate) fn firm_limit(resource: LimitedResource) -> Option<u64> {
    let resource = resource_of(resource);
    let (_, hard) = getrlimit(resource).ok()?;
    // One more than without a limit is no number.
    let more = hard.checked_add(1)?;
    in_child(|| setrlimit(resource, more, more)).is_err().then_some(hard)
}

fn signal_of(signal: CatchableSignal) -> Signal {
    match signal {
        CatchableSignal::Hup => Signal::SIGHUP,
        CatchableSignal::Int => Signal::SIGINT,
        CatchableSignal::Quit => Signal::SIGQUIT,
        CatchableSignal::Usr1 => Signal::SIGUSR1,
        CatchableSignal::Usr2 => Signal::SIGUSR2,
        CatchableSignal::Pipe => Signal::SIGPIPE,
        CatchableSignal::Alrm => Signal::SIGALRM,
        CatchableSignal::Term => Signal::SIGTERM,
        CatchableSignal::Chld => Signal::SIGCHLD,
        CatchableSignal::Cont => Signal::SIGCONT,
        CatchableSignal::Tstp => Signal::SIGTSTP,
        CatchableSignal::Ttin => Signal::SIGTTIN,
        CatchableSignal::Ttou => Signal::SIGTTOU,
        CatchableSignal::Winch => Signal::SIGWINCH,
    }
}

fn resource_of(resource: LimitedResource) -> Resource {
    match resource {
        LimitedResource::As => Resource::RLIMIT_AS,
        LimitedResource::Core => Resource::RLIMIT_CORE,
        LimitedResource::Cpu => Resource::RLIMIT_CPU,
        LimitedResource::Fsize => Resource::RLIMIT_FSIZE,
        LimitedResource::Nofile => Resource::RLIMIT_NOFILE,
        LimitedResource::Stack => Resource::RLIMIT_STACK,
    }
}
