//! Reachability of a path for the command, which has no capabilities: tested by access without
//! them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{AccessFlags, faccessat, geteuid};

use super::paths;
use crate::sys;

/// Returns whether every directory above `real` is searchable without capabilities, or belongs to
/// this user, so that the command could open it. When in doubt, returns true, and a mask is tried.
pub(super) fn is_reachable(real: &Path) -> bool {
    let directories: Vec<&Path> = real.ancestors().skip(1).collect();
    let blocked =
        sys::without_capabilities(|| directories.iter().rev().find(|directory| !enters(directory)));
    let Ok(Some(directory)) = blocked else { return true };
    fs::metadata(directory).is_ok_and(|found| found.uid() == geteuid().as_raw())
}

/// Returns whether the command could enter `directory`, which this process cannot look into: it is not absent,
/// and this user may make every directory on the way searchable, and this one.
pub(super) fn may_be_entered(directory: &Path) -> bool {
    !paths::is_absent(directory) && is_reachable(&directory.join("any"))
}

fn enters(directory: &Path) -> bool {
    let flags = nix::fcntl::AtFlags::AT_EACCESS;
    faccessat(nix::fcntl::AT_FDCWD, directory, AccessFlags::X_OK, flags).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_closed_directory_of_our_own_is_no_obstacle() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("d");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o000)).unwrap();
        assert!(!sys::without_capabilities(|| enters(&inner)).unwrap());
        assert!(is_reachable(&inner.join("f")));
    }

    #[test]
    fn capabilities_are_back_afterwards() {
        let effective = || {
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            status.lines().find(|line| line.starts_with("CapEff")).unwrap().to_owned()
        };
        let before = effective();
        let within = sys::without_capabilities(effective).unwrap();
        assert_eq!(within, "CapEff:\t0000000000000000");
        assert_eq!(effective(), before);
    }
}
