//! Executing something else on the way: [`run`], and `memfd-exec`.

use std::ffi::{CString, OsStr};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{alarm, execveat};

use crate::args::ProbeArguments;
use crate::deadline;
use crate::exit_code as exit;
use crate::observe::report_pipe;
use crate::outcome::{CallContext, ProbeError, ProbeResult, succeed_with};
use crate::output::{read_up_to, write_all};
use crate::record::DetailValue;
use crate::sys::{self, ChildStatus, ForkSide};

/// The largest program that is copied into memory, in bytes.
const PROGRAM_CAP: usize = 64 << 20;

/// Copies a program into memory and executes it there; a script needs a shell and /dev/fd.
pub(crate) fn memfd_exec(args: &ProbeArguments) -> ProbeResult {
    let path = args.path()?;
    let file = openat(AT_FDCWD, path, OFlag::O_RDONLY, Mode::empty()).at("openat")?;
    let program = read_up_to(&file, PROGRAM_CAP).at("read")?;
    // Not close-on-exec: a script's interpreter opens it by its number.
    let memory = memfd_create("boxprobe", MFdFlags::empty()).at("memfd_create")?;
    write_all(&memory, &program).at("write")?;
    let argv = [c_string(path)?];
    run("execveat", || {
        let flags = AtFlags::AT_EMPTY_PATH;
        execveat(&memory, c"", &argv, &environment(), flags)
            .map_or_else(|errno| errno, |no| match no {})
    })
}

pub(super) fn c_string(text: &OsStr) -> Result<CString, ProbeError> {
    sys::c_string(text).map_err(|_| ProbeError::Fault("a NUL byte in an argument".to_owned()))
}

pub(super) fn environment() -> Vec<CString> {
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        let mut entry = name;
        entry.push("=");
        entry.push(value);
        sys::c_string(&entry).ok()
    };
    std::env::vars_os().filter_map(entry).collect()
}

/// Runs what `exec` executes in a child: its `exit`, 128+n for signal n. `exec` comes back
/// only with what was said to `call`.
pub(super) fn run(call: &'static str, exec: impl FnOnce() -> Errno) -> ProbeResult {
    let (read, write) = report_pipe()?;
    match sys::fork().at("fork")? {
        ForkSide::Child => {
            drop(read);
            let errno = prepared().map_or_else(|errno| errno, |()| exec());
            // Without the number the parent takes it for a fault.
            let _ = write_all(&write, &(errno as i32).to_ne_bytes());
            sys::exit_now(exit::FAULT);
        }
        ForkSide::Parent(child) => {
            drop(write);
            let told = read_up_to(&read, 4).at("read")?;
            let ended = sys::wait(child).at("waitpid")?;
            concluded(call, &told, &ended)
        }
    }
}

/// Resets the state that the executed program must not inherit from a probe; the program lives no
/// longer than a probe.
fn prepared() -> nix::Result<()> {
    sys::default_action(Signal::SIGPIPE)?;
    sys::default_action(Signal::SIGALRM)?;
    alarm::set(deadline::LONGEST);
    Ok(())
}

fn concluded(call: &'static str, told: &[u8], ended: &ChildStatus) -> ProbeResult {
    if let Ok(number) = told.try_into() {
        let errno = Errno::from_raw(i32::from_ne_bytes(number));
        return Err(ProbeError::Refused { call, errno });
    }
    let code = match ended {
        ChildStatus::Exited(code) => *code,
        ChildStatus::Signaled(signal) => exit::SIGNAL_BASE + signal,
    };
    succeed_with([("exit", DetailValue::Number(u64::from(code.unsigned_abs())))])
}
