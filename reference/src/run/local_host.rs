//! The host for the detection of a sandbox: its files, and programs that are run for a version, each for a bounded
//! time.

#[cfg(target_os = "linux")]
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::policy::caliban::HostInspector;

/// This host.
#[derive(Debug)]
pub(crate) struct LocalHost<'a> {
    /// The arguments before ours when the running executable is started again to test its own
    /// mechanisms; none where a run is about to test them anyway.
    pub(crate) prefix: Option<&'a [&'a str]>,
}

impl HostInspector for LocalHost<'_> {
    fn is_program(&self, path: &Path) -> bool {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }

    fn version(&self, path: &Path) -> Option<Vec<u8>> {
        asked(path, &["--version"]).map(|(_, said)| said)
    }

    fn can_confine(&self, path: &Path) -> bool {
        let trial = ["--ro-bind", "/", "/", "--unshare-user", "--", "/bin/true"];
        asked(path, &trial).is_some_and(|(code, _)| matches!(code, Some(0 | 127)))
    }

    fn own(&self) -> Option<String> {
        self.prefix.and_then(own)
    }
}

/// Runs `program` and returns its exit code and output; none if it could not be started or did not
/// end in time.
#[cfg(target_os = "linux")]
fn asked(program: &Path, args: &[&str]) -> Option<(Option<i32>, Vec<u8>)> {
    use super::process::{
        ProcessEnvironment, ProcessRequest, ProcessStdin, Unsandboxed, run_process,
    };
    /// The time limit for a program's answer.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
    let request = ProcessRequest {
        timeout: Some(PATIENCE),
        stdin: ProcessStdin::Null,
        environment: ProcessEnvironment::ClearAndSet(vec![(
            OsString::from("PATH"),
            OsString::from("/usr/bin:/bin"),
        )]),
        ..ProcessRequest::new(program).args(args)
    };
    let ended = run_process(request, &Unsandboxed).ok()?;
    (!ended.timed_out).then_some((ended.exit_code, ended.stdout))
}

/// Runs nothing: no mechanism confines there yet.
#[cfg(not(target_os = "linux"))]
fn asked(_program: &Path, _args: &[&str]) -> Option<(Option<i32>, Vec<u8>)> {
    None
}

#[cfg(target_os = "linux")]
fn own(prefix: &[&str]) -> Option<String> {
    super::trial::confines(prefix).err()
}

#[cfg(not(target_os = "linux"))]
fn own(_prefix: &[&str]) -> Option<String> {
    Some("no mechanism confines on this system".to_owned())
}
