//! The last steps before the command: session, streams, lock-down, working directory, exec.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{self, AccessFlags};

use super::{CommandLockdown, SandboxInit, StandardStreams, filter};
use crate::control::CommandContainment;
use crate::control::{FailedStep, InitReport};
use crate::mediate::Mediation;
use crate::sys;

/// The search path for programs when the command's environment has no PATH.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// Becomes the command; returns an exit code, which is not used, only if that failed and the
/// failure is reported.
pub(super) fn run(
    inner: &SandboxInit<'_>,
    mediation: Option<&Mediation>,
    failure: &OwnedFd,
) -> i32 {
    let (what, errno) = match become_command(inner, mediation) {
        Ok(never) => match never {},
        Err(failed) => failed,
    };
    let report = InitReport::Failed(what, errno as i32);
    // If even this cannot be written the pipe is cut, which the parent takes for an exec.
    match unistd::write(failure, &report.encode()) {
        Ok(_) => 0,
        Err(_) => std::process::abort(),
    }
}

fn become_command(
    inner: &SandboxInit<'_>,
    mediation: Option<&Mediation>,
) -> Result<std::convert::Infallible, (FailedStep, Errno)> {
    let launch = inner.launch;
    take_over(&inner.streams).map_err(|errno| (FailedStep::Confine, errno))?;
    if launch.hold == CommandContainment::Subreaper {
        // Without a namespace nothing else would end it with the inner stage.
        sys::die_with_parent().map_err(|errno| (FailedStep::Confine, errno))?;
    }
    let lockdown = inner.lockdown.as_ref();
    lockdown.map_or(Ok(()), confine).map_err(|errno| (FailedStep::Confine, errno))?;
    if let Some(mediation) = mediation {
        mediation.hold().map_err(|errno| (FailedStep::Mediate, errno))?;
    }
    unistd::chdir(launch.cwd.as_c_str()).map_err(|errno| (FailedStep::Chdir, errno))?;
    Err((FailedStep::Exec, execute(&launch.argv, &launch.env)))
}

/// New session (no terminal to type into), the command's own streams, clean signal state.
fn take_over(streams: &StandardStreams) -> nix::Result<()> {
    match fault!("mechanism.session") {
        true => unistd::setpgid(unistd::Pid::from_raw(0), unistd::Pid::from_raw(0))?,
        false => drop(unistd::setsid()?),
    }
    unistd::dup2_stdin(&streams.stdin)?;
    unistd::dup2_stdout(&streams.stdout)?;
    unistd::dup2_stderr(&streams.stderr)?;
    if !fault!("supervise.broken-pipe-ignored") {
        sys::default_action(Signal::SIGPIPE).map_err(|error| errno_of(&error))?;
    }
    match fault!("supervise.signals-blocked") {
        true => Ok(()),
        false => SigSet::empty().thread_set_mask(),
    }
}

fn confine(lockdown: &CommandLockdown) -> nix::Result<()> {
    sys::gain_nothing()?;
    sys::drop_capabilities().map_err(|error| errno_of(&error))?;
    if let Some(scope) = &lockdown.scope {
        sys::restrict_self(scope).map_err(|error| errno_of(&error))?;
    }
    filter::install(&lockdown.filter).map_err(|error| errno_of(&error))
}

fn errno_of(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)
}

/// Executes the first candidate that can be; the errno a shell would name otherwise.
fn execute(argv: &[CString], env: &[CString]) -> Errno {
    let named = argv[0].to_bytes().contains(&b'/');
    let mut verdict = Errno::ENOENT;
    for candidate in candidates(&argv[0], env) {
        let Err(errno) = unistd::execve(&candidate, argv, env);
        match errno {
            Errno::ENOENT | Errno::ENOTDIR => {}
            // A directory of PATH that cannot be entered says nothing about the program.
            Errno::EACCES if !named && unistd::access(&*candidate, AccessFlags::F_OK).is_err() => {}
            Errno::EACCES => verdict = errno,
            other => return other,
        }
    }
    verdict
}

/// The files `program` may mean: itself if it has a slash, else one in each directory of PATH.
fn candidates(program: &CStr, env: &[CString]) -> Vec<CString> {
    let name = program.to_bytes();
    if name.is_empty() {
        return Vec::new();
    }
    if name.contains(&b'/') {
        return vec![program.to_owned()];
    }
    let path = env.iter().find_map(|pair| pair.to_bytes().strip_prefix(b"PATH="));
    let directories = path.unwrap_or(DEFAULT_PATH).split(|byte| *byte == b':');
    directories.filter_map(|directory| CString::new(join(directory, name)).ok()).collect()
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let directory = if directory.is_empty() { b"." } else { directory };
    [directory, b"/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::slash("./x", &["PATH=/a"], &["./x"])]
    #[case::path("x", &["A=1", "PATH=/a:/b"], &["/a/x", "/b/x"])]
    #[case::empty_element("x", &["PATH=:/b"], &["./x", "/b/x"])]
    #[case::no_path("x", &[], &["/usr/local/bin/x", "/usr/bin/x", "/bin/x"])]
    #[case::empty_name("", &["PATH=/a"], &[])]
    fn programs_are_looked_up(
        #[case] program: &str,
        #[case] env: &[&str],
        #[case] expected: &[&str],
    ) {
        let strings = |texts: &[&str]| -> Vec<CString> {
            texts.iter().map(|text| CString::new(*text).unwrap()).collect()
        };
        let program = CString::new(program).unwrap();
        assert_eq!(candidates(&program, &strings(env)), strings(expected));
    }
}
