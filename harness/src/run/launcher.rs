//! The launcher: a process between harness and backend, for cases in which the starter of the
//! backend is killed, or its terminal goes to another process afterwards.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use boxproof_cases::protocol::exit::{NOT_FOUND, REFUSED, SIGNAL_BASE};
use nix::sys::signal::Signal;
use nix::unistd::{getpgrp, isatty, tcgetpgrp};

/// The hidden verb under which the program is one.
pub const VERB: &str = "__launcher";

/// The launcher's exit code when the terminal is no longer its own.
const TERMINAL_LOST: i32 = 72;

/// The command line that has a launcher start `argv`.
pub(super) fn wrap(program: &Path, argv: &[OsString]) -> Vec<OsString> {
    let own = [program.into(), VERB.into()];
    own.into_iter().chain(argv.iter().cloned()).collect()
}

/// Starts what `wrap` asked for, waits for it and ends as it does, 128+n for a signal.
pub fn serve(args: impl Iterator<Item = OsString>) -> i32 {
    let argv: Vec<OsString> = args.collect();
    match launch(&argv) {
        Ok(code) if is_in_background() => {
            eprintln!("launcher: not in the terminal's foreground any more, after exit {code}");
            TERMINAL_LOST
        }
        Ok(code) => code,
        Err(error) => {
            eprintln!("launcher: {error}");
            if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { REFUSED }
        }
    }
}

fn launch(argv: &[OsString]) -> io::Result<i32> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args);
    if has_terminal() {
        // Typed signals go to the whole group; like a shell, this one leaves them to the command.
        for signal in [Signal::SIGINT, Signal::SIGQUIT] {
            signal_hook::flag::register(signal as i32, Arc::new(AtomicBool::new(false)))?;
        }
    } else {
        command.process_group(0);
    }
    let status = command.status()?;
    let signal = || SIGNAL_BASE + status.signal().unwrap_or_default();
    Ok(status.code().unwrap_or_else(signal))
}

fn has_terminal() -> bool {
    isatty(io::stdin().as_fd()) == Ok(true)
        || isatty(io::stdout().as_fd()) == Ok(true)
        || isatty(io::stderr().as_fd()) == Ok(true)
}

/// Returns whether one of our streams is our terminal and another process group is in its
/// foreground.
fn is_in_background() -> bool {
    let lost = |group: nix::Result<nix::unistd::Pid>| group.is_ok_and(|group| group != getpgrp());
    lost(tcgetpgrp(io::stdin())) || lost(tcgetpgrp(io::stdout())) || lost(tcgetpgrp(io::stderr()))
}
