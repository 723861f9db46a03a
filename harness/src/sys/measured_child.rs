//! One child, and the cost of its whole tree ([`run_measured`]).

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The time after which a measured child counts as hung.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The cost of a process and of everything below it that was waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProcessCost {
    /// Elapsed time, from before the start to after the end.
    pub(crate) wall: Duration,
    /// The moment of the end, on the monotonic clock, in nanoseconds.
    pub(crate) ended_ns: u64,
    /// Processor time, user and system.
    pub(crate) cpu: Duration,
    /// Minor page faults.
    pub(crate) faults: u64,
    /// The largest resident set of one process, in KiB.
    pub(crate) rss_kib: u64,
}

/// Starts `command` in a process group of its own and waits for it; one that does not end is
/// killed.
///
/// # Errors
/// The errno of the start or of wait4(2).
pub(crate) fn run_measured(command: &mut Command) -> io::Result<(ExitStatus, ProcessCost)> {
    let started = Instant::now();
    let child = command.process_group(0).spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let guard = KillGuard::set(pid);
    let (status, usage) = wait_with_usage(pid)?;
    let (wall, ended_ns) = (started.elapsed(), monotonic_ns());
    drop(guard);
    let rss = u64::try_from(usage.ru_maxrss).unwrap_or_default();
    let cost = ProcessCost {
        wall,
        ended_ns,
        cpu: duration(usage.ru_utime) + duration(usage.ru_stime),
        faults: u64::try_from(usage.ru_minflt).unwrap_or_default(),
        // macOS counts bytes.
        rss_kib: if cfg!(target_os = "macos") { rss / 1024 } else { rss },
    };
    Ok((status, cost))
}

/// Returns the monotonic clock in nanoseconds: it is the same in every process of this host.
pub(crate) fn monotonic_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| {
        let (seconds, nanoseconds) = (now.tv_sec(), now.tv_nsec());
        (seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(nanoseconds as u64)
    })
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}

/// Returns the processor time and minor faults of this process and of its children so far.
///
/// # Errors
/// The errno of getrusage(2).
pub(crate) fn own_usage() -> io::Result<(Duration, u64)> {
    use nix::sys::resource::{UsageWho, getrusage};
    let (mut cpu, mut faults) = (Duration::ZERO, 0);
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        cpu += duration(*usage.user_time().as_ref()) + duration(*usage.system_time().as_ref());
        faults += u64::try_from(usage.minor_page_faults()).unwrap_or_default();
    }
    Ok((cpu, faults))
}

/// Returns the largest resident set of this process so far, in KiB: a child starts with it, and
/// its own cannot be told below it.
pub(crate) fn own_peak_kib() -> f64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let peak = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
    if cfg!(target_os = "macos") { peak as f64 / 1024.0 } else { peak as f64 }
}

fn wait_with_usage(pid: Pid) -> io::Result<(ExitStatus, libc::rusage)> {
    loop {
        let mut status = 0;
        // SAFETY: rusage is a plain record of integers, for which zeroes are values.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both places outlive the call, which fills them.
        let waited = unsafe { libc::wait4(pid.as_raw(), &raw mut status, 0, &raw mut usage) };
        match Errno::result(waited) {
            Ok(_) => return Ok((ExitStatus::from_raw(status), usage)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Kills the process group of a child that outlives [`PATIENCE`]. Drop it before the child's number
/// can belong to another process.
pub(crate) struct KillGuard {
    ended: Option<mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl KillGuard {
    pub(crate) fn set(group: Pid) -> Self {
        let (ended, wait) = mpsc::channel::<()>();
        let watch = move || {
            if wait.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                // One that is gone already is what is wanted.
                let _ = killpg(group, Signal::SIGKILL);
            }
        };
        Self { ended: Some(ended), thread: Some(std::thread::spawn(watch)) }
    }
}

impl Drop for KillGuard {
    fn drop(&mut self) {
        self.ended.take();
        if let Some(thread) = self.thread.take() {
            // A watch that panicked has killed nothing.
            let _ = thread.join();
        }
    }
}
