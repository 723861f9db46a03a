//! The `private_ns` control: a throw-away user, mount and pid namespace with an equivalent of
//! what a sandbox would have made, so that an act on it is shown to be possible without touching
//! the host. Files of `deny_read` are masked by a bind mount; pid 1 keeps the launcher's
//! environment.

use std::ffi::OsString;
use std::path::Path;

use boxproof_cases::protocol::WirePath;

/// The hidden verb under which the program builds one.
pub const VERB: &str = "__private-ns";

/// The command line that runs `command` in a private namespace with `masks` masked.
pub(super) fn wrap(program: &Path, masks: &[WirePath], command: &[String]) -> Vec<OsString> {
    let mut argv: Vec<OsString> = vec![program.into(), VERB.into()];
    argv.extend(masks.iter().map(|mask| mask.0.clone().into_os_string()));
    argv.push("--".into());
    argv.extend(command.iter().map(Into::into));
    argv
}

/// Runs what `wrap` asked for and returns its exit code: 128+n for a signal, 71 when the
/// namespace cannot be built.
#[cfg(target_os = "linux")]
pub fn serve(args: impl Iterator<Item = OsString>) -> i32 {
    linux::serve(args).unwrap_or_else(|error| {
        eprintln!("private namespace: {error}");
        NOT_BUILT
    })
}

/// Fails: there are no namespaces here.
#[cfg(not(target_os = "linux"))]
pub fn serve(_args: impl Iterator<Item = OsString>) -> i32 {
    NOT_BUILT
}

/// EX_OSERR of sysexits.h: not an exit code of any act.
const NOT_BUILT: i32 = 71;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::io;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use nix::errno::Errno;
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitStatus, wait, waitpid};
    use nix::unistd::{Pid, getegid, geteuid};

    use crate::sys;

    pub(super) fn serve(args: impl Iterator<Item = OsString>) -> io::Result<i32> {
        let mut masks: Vec<OsString> = args.collect();
        let at = masks.iter().position(|arg| arg == "--").ok_or(io::ErrorKind::InvalidInput)?;
        let command = masks.split_off(at);
        enter()?;
        for mask in &masks {
            bind("/dev/null".as_ref(), mask.as_ref())?;
        }
        let init = sys::fork(|| {
            init(&command[1..]).unwrap_or_else(|error| {
                eprintln!("private namespace: {error}");
                NOT_BUILT
            })
        })?;
        Ok(code_of(waitpid(init, None)?))
    }

    /// Enters new user, mount and pid namespaces, in which the caller is mapped to root.
    fn enter() -> io::Result<()> {
        let (uid, gid) = (geteuid(), getegid());
        let flags = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
        unshare(flags)?;
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
        std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))?;
        let none = None::<&Path>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
        Ok(())
    }

    fn bind(from: &Path, over: &Path) -> io::Result<()> {
        Ok(mount(Some(from), over, None::<&Path>, MsFlags::MS_BIND, None::<&Path>)?)
    }

    /// Acts as pid 1: keeps our environment, mounts its own /proc and waits for the command.
    fn init(command: &[OsString]) -> io::Result<i32> {
        sys::die_with_parent(Signal::SIGKILL)?;
        let none = None::<&Path>;
        match mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), none) {
            // A host that covers parts of /proc allows no other; most acts need none.
            Ok(()) | Err(Errno::EPERM) => {}
            Err(errno) => return Err(errno.into()),
        }
        let (program, args) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let child = Command::new(program).args(args).process_group(0).spawn()?;
        let child = Pid::from_raw(child.id().cast_signed());
        loop {
            let status = wait()?;
            if status.pid() == Some(child) {
                return Ok(code_of(status));
            }
        }
    }

    fn code_of(status: WaitStatus) -> i32 {
        match status {
            WaitStatus::Exited(_, code) => code,
            WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
            _ => NOT_BUILT,
        }
    }
}
