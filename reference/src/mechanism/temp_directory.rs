//! A temporary directory for one run, removed with it: [`TempDirectory`].
//!
//! A separate process removes it after the end of all processes that hold the lifeline: so it is
//! also removed when this process is killed.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, setsid};

use boxproof_cases::protocol::{EnvBase, EnvPolicy};

use crate::plan::Plan;
use crate::request::RunJob;
use crate::sys;

/// The directory.
pub(crate) struct TempDirectory {
    path: PathBuf,
    /// The end of this, everywhere, is the directory's.
    lifeline: Option<OwnedFd>,
    remover: Pid,
}

impl TempDirectory {
    /// A new one below the temp directory of this process, which must have one thread only.
    pub(super) fn make() -> io::Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(named: &Path) -> io::Result<Self> {
        let unusable = |error: io::Error| {
            let why = format!(
                "{}: {error}; set TMPDIR to a directory that exists and can be written",
                named.display()
            );
            io::Error::new(error.kind(), why)
        };
        let template = fs::canonicalize(named).map_err(unusable)?.join("refbox-XXXXXX");
        let path = nix::unistd::mkdtemp(OsStr::from_bytes(template.as_os_str().as_bytes()));
        let path = path.map_err(|errno| unusable(errno.into()))?;
        let (waits, lifeline) = io::pipe()?;
        let (waits, lifeline) = (OwnedFd::from(waits), OwnedFd::from(lifeline));
        let directory = path.clone();
        match sys::fork(|| remover(&directory, waits)) {
            Ok(remover) => Ok(Self { path, lifeline: Some(lifeline), remover }),
            Err(errno) => {
                remove(&path)?;
                Err(errno.into())
            }
        }
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `plan` with `temp`, if there is one, for the command's temp directory.
    pub(super) fn planned<'a>(temp: Option<&Self>, plan: &'a Plan, job: &RunJob) -> Cow<'a, Plan> {
        temp.map_or(Cow::Borrowed(plan), |temp| Cow::Owned(temp.plan(plan, &job.policy.env)))
    }

    /// `plan` with this as the directory that the command is to use.
    fn plan(&self, plan: &Plan, policy: &EnvPolicy) -> Plan {
        let mut plan = plan.clone();
        let name = OsString::from("TMPDIR");
        let is_set = policy.set.contains_key("TMPDIR");
        let place = plan.env.iter_mut().find(|(known, _)| *known == name);
        match place {
            _ if is_set => {}
            Some((_, value)) => *value = self.path().into(),
            // /tmp, the usual place, is not writable.
            None if policy.base == EnvBase::Inherit => {
                plan.env.push((name, self.path().into()));
                plan.env.sort();
            }
            None => {}
        }
        plan
    }

    /// The descriptor that keeps the directory.
    pub(super) fn lifeline(&self) -> Option<RawFd> {
        self.lifeline.as_ref().map(AsRawFd::as_raw_fd)
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        while waitpid(self.remover, None) == Err(Errno::EINTR) {}
        if self.path.exists() {
            eprintln!("refbox: the temp directory {} could not be removed", self.path.display());
        }
    }
}

/// Waits for the end of the run, with no stream or signal of its own; then removes the directory.
fn remover(directory: &Path, waits: OwnedFd) -> i32 {
    let mut kept = [waits.as_raw_fd()];
    let alone = setsid().and_then(|_| sys::close_all_but(&mut kept));
    let alone = alone.map_err(io::Error::from).and_then(|()| leave_streams());
    let mut lifeline = File::from(waits);
    let ended = alone.and_then(|()| lifeline.read_to_end(&mut Vec::new()));
    i32::from(ended.and_then(|_| remove(directory)).is_err())
}

/// Closes the command's streams, as their reader waits for the last process that holds them.
fn leave_streams() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&nothing)?;
    nix::unistd::dup2_stdout(&nothing)?;
    Ok(nix::unistd::dup2_stderr(&nothing)?)
}

/// Removes all of `directory`, also directories that the command made inaccessible.
pub(super) fn remove(directory: &Path) -> io::Result<()> {
    if fs::remove_dir_all(directory).is_ok() {
        return Ok(());
    }
    reopen(directory);
    fs::remove_dir_all(directory)
}

/// Makes every directory below `directory` one that can be emptied; links are not followed.
fn reopen(directory: &Path) {
    let _stays_closed = fs::set_permissions(directory, Permissions::from_mode(0o700));
    let children = fs::read_dir(directory).into_iter().flatten().flatten();
    for child in children.filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir())) {
        reopen(&child.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temp_directory_that_is_missing_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none");
        let said = TempDirectory::make_in(&missing).err().unwrap().to_string();
        assert!(said.starts_with(&format!("{}: ", missing.display())), "{said}");
        assert!(said.contains("set TMPDIR"), "{said}");
    }
}
