//! The choice of `bwrap`: the one that is named, else the first in PATH.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::ErrorKind;

use super::super::helper_program::is_program;
use super::REMEDY;
use crate::error::Refusal;

/// The program.
pub(super) const PROGRAM: &str = "bwrap";
/// The search path where PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// The variable that names it.
const OVERRIDE: &str = "REFBOX_BWRAP";

/// The program, if there is one that can be executed; `untrusted` are directories that an earlier
/// run could write.
pub(super) fn program(untrusted: &[PathBuf]) -> Result<PathBuf, Refusal> {
    match std::env::var_os(OVERRIDE) {
        // Another than the one that was meant is not taken in its place.
        Some(named) => overridden(Path::new(&named), untrusted),
        None => find(std::env::var_os("PATH"), untrusted),
    }
}

fn overridden(named: &Path, untrusted: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let refuse = |why: &str| {
        let message = format!("{OVERRIDE}: {} {why}; {REMEDY}", named.display());
        Err(Refusal::new(ErrorKind::Unavailable, message))
    };
    match named.canonicalize() {
        _ if !named.is_absolute() => refuse("is not an absolute path"),
        Err(error) => refuse(&format!("is not there ({error})")),
        Ok(real) if is_below(&real, untrusted) => refuse("lies where commands can write"),
        Ok(real) if !is_program(&real) => refuse("is no file that can be executed"),
        Ok(real) => Ok(real),
    }
}

/// The first `bwrap` in absolute directories of `path` that an earlier run cannot have planted.
pub(super) fn find(path: Option<OsString>, untrusted: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let path = path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH).to_owned());
    let mut programs = std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .filter_map(|directory| directory.join(PROGRAM).canonicalize().ok())
        .filter(|program| is_program(program));
    programs.find(|program| !is_below(program, untrusted)).ok_or_else(|| {
        Refusal::new(
            ErrorKind::Unavailable,
            format!("bubblewrap (bwrap) was not found in PATH; {REMEDY}"),
        )
    })
}

/// The mode's bit by which a program runs as its owner.
const SET_USER_ID: u32 = 0o4000;

/// Returns a note on the program where user namespaces are refused: it is set-user-ID.
pub(super) fn set_user_id(untrusted: &[PathBuf]) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let program = program(untrusted).ok()?;
    let found = program.metadata().ok()?;
    (found.mode() & SET_USER_ID != 0).then(|| {
        format!(
            "{} is set-user-id and could do without one, but is always asked for one",
            program.display()
        )
    })
}

fn is_below(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    /// A directory with a `bwrap` of this mode.
    fn directory(mode: u32) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join(PROGRAM);
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(mode)).unwrap();
        directory
    }

    #[test]
    fn what_cannot_be_executed_is_passed_over_in_path() {
        let (closed, open) = (directory(0o644), directory(0o755));
        let hollow = tempfile::tempdir().unwrap();
        fs::create_dir(hollow.path().join(PROGRAM)).unwrap();
        let path = std::env::join_paths([hollow.path(), closed.path(), open.path()]).unwrap();
        let real = open.path().canonicalize().unwrap();
        assert_eq!(find(Some(path.clone()), &[]).unwrap(), real.join(PROGRAM));
        let refusal = find(Some(path), &[real]).unwrap_err();
        assert!(refusal.message.contains("not found in PATH"), "{refusal}");
    }

    #[test]
    fn a_named_program_is_that_or_none() {
        let (closed, open) = (directory(0o644), directory(0o755));
        let real = open.path().canonicalize().unwrap();
        let named = open.path().join(PROGRAM);
        assert_eq!(overridden(&named, &[]).unwrap(), real.join(PROGRAM));
        let cases = [
            (overridden(&closed.path().join(PROGRAM), &[]), "no file that can be executed"),
            (overridden(open.path(), &[]), "no file that can be executed"),
            (overridden(&open.path().join("none"), &[]), "is not there"),
            (overridden(Path::new("bwrap"), &[]), "not an absolute path"),
            (overridden(&named, &[real]), "where commands can write"),
        ];
        for (found, words) in cases {
            let refusal = found.unwrap_err();
            assert_eq!(refusal.kind, ErrorKind::Unavailable);
            assert!(refusal.message.contains(words), "{refusal}");
        }
    }
}
