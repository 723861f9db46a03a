//! `background`: leaves a child behind that beats until it is killed or its time is up.
//!
//! The child does not execute anything, so its command line is still ours, nonce
//! and tag included, and no sandbox can keep it from starting by hiding a file.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{close, getpid, setsid};

use crate::args::ProbeArguments;
use crate::deadline;
use crate::observe::code;
use crate::observe::{fault, receive, report_pipe, send};
use crate::outcome::{CallContext, ProbeError, ProbeResult, succeed_with};
use crate::output::{RecordOutput, write_all};
use crate::record::DetailValue;
use crate::sys::{self, ForkSide};

/// Between two beats.
const INTERVAL: Duration = Duration::from_millis(50);

/// Returns once the first beat is in the file.
pub(crate) fn background(args: &ProbeArguments, out: &RecordOutput<'_>) -> Result<i32, ProbeError> {
    let (read, write) = report_pipe()?;
    match fork()? {
        ForkSide::Child => {
            drop(read);
            detach_and_beat(args, out, write)
        }
        ForkSide::Parent(_) => {
            drop(write);
            let record = receive(&read)?;
            out.record(&record)?;
            Ok(code(&record))
        }
    }
}

fn fork() -> Result<ForkSide, ProbeError> {
    sys::fork().map_err(|errno| fault("no child to leave behind", errno))
}

fn detach_and_beat(args: &ProbeArguments, out: &RecordOutput<'_>, report: OwnedFd) -> ! {
    let begun = detach(args, out.limit).and_then(|()| first_beat(args));
    let (heartbeat, seen) = match begun {
        Ok(heartbeat) => (Some(heartbeat), started()),
        Err(stop) => (None, Err(stop)),
    };
    let sent = send(&report, out.probe, seen);
    drop(report);
    match heartbeat {
        Some(heartbeat) if sent == 0 => beat_on(&heartbeat, &args.nonce, out.limit),
        _ => sys::exit_now(sent),
    }
}

/// The middle process of a double fork is gone at once.
fn detach(args: &ProbeArguments, seconds: u32) -> Result<(), ProbeError> {
    let how = args.one("how")?;
    if how != "plain" {
        setsid().at("setsid")?;
    }
    if how == "double-fork" && matches!(fork()?, ForkSide::Parent(_)) {
        sys::exit_now(0);
    }
    for signal in args.signals()? {
        sys::ignore(signal).at("sigaction")?;
    }
    // Alarms are not inherited over a fork.
    deadline::arm(seconds).map_err(|errno| fault("the time limit can't be set", errno))
}

/// The heartbeat is opened first: it must not get the number of a closed stream.
fn first_beat(args: &ProbeArguments) -> Result<OwnedFd, ProbeError> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_APPEND;
    let mode = Mode::from_bits_truncate(0o644);
    let heartbeat = openat(AT_FDCWD, args.one("heartbeat")?, flags, mode).at("openat")?;
    if args.one("stdio")? == "close" {
        (0..=2).try_for_each(close).at("close")?;
    }
    beat(&heartbeat, &args.nonce).at("write")?;
    Ok(heartbeat)
}

fn started() -> ProbeResult {
    succeed_with([("pid", DetailValue::Number(getpid().as_raw().unsigned_abs().into()))])
}

fn beat_on(heartbeat: &OwnedFd, nonce: &str, seconds: u32) -> ! {
    let end = Instant::now() + Duration::from_secs(seconds.into());
    while Instant::now() < end && beat(heartbeat, nonce).is_ok() {
        deadline::pause(INTERVAL);
    }
    sys::exit_now(0)
}

/// One line, in one write: the file can be read at any moment.
fn beat(heartbeat: &OwnedFd, nonce: &str) -> nix::Result<()> {
    write_all(heartbeat, format!("beat {nonce}\n").as_bytes())
}
