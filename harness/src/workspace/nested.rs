//! The parts of a nested host: the files laid out for it, and their mount points.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use boxproof_cases::case::Nested;

use super::{ArmWorkspace, fixture};
use crate::sys::{MountPlace, NestedPlaces};

/// Directories of the host that a nested one can have more in.
const ADDED_TO: [&str; 2] = ["/run", "/etc"];

impl ArmWorkspace {
    /// Lays out what `nested` has of its own, beside the directories that a command could write to.
    ///
    /// # Errors
    /// The part that could not be made, and the reason.
    pub(super) fn lay_nested(&mut self, nested: &Nested) -> Result<(), String> {
        let host = self.root().join("host");
        fixture::directory(self.directory.inode(), "host/root".as_ref())
            .map_err(|e| format!("nested host: {e}"))?;
        for (path, entry) in &nested.files {
            let place = host.join(path.trim_start_matches('/'));
            fixture::entry(&place, entry, self)
                .and_then(|()| fixture::mode(&place, entry, self))
                .map_err(|e| format!("nested {path}: {e}"))?;
        }
        for name in ADDED_TO {
            let own = host.join(name.trim_start_matches('/'));
            if own.is_dir() {
                merge(Path::new(name), &own, &mut self.host_mounts)
                    .map_err(|e| format!("nested {name}: {e}"))?;
                let (from, over) = (own, name.into());
                let mount = MountPlace { from, over, read_only: true, ..MountPlace::default() };
                self.host_mounts.push(mount);
            }
        }
        Ok(())
    }

    /// Returns the places of the parts of `nested`, for a process that starts in `cwd`.
    ///
    /// # Errors
    /// An unknown variable.
    pub(crate) fn nested_places(
        &self,
        nested: &Nested,
        cwd: &Path,
    ) -> Result<NestedPlaces, String> {
        let mut mounts = self.host_mounts.clone();
        for (over, mount) in &nested.mounts {
            let (read_only, deleted) = (mount.read_only, mount.deleted);
            let (from, over) = (self.place(&mount.bind)?, self.place(over)?);
            mounts.push(MountPlace { from, over, read_only, deleted, fleeting: false });
        }
        let root = nested.chroot.then(|| (self.root().join("host/root"), cwd.to_owned()));
        Ok(NestedPlaces { mounts, root })
    }
}

/// Makes places in `own` for everything in `there` that `own` has not, each to be mounted from
/// `there`.
fn merge(there: &Path, own: &Path, mounts: &mut Vec<MountPlace>) -> io::Result<()> {
    for entry in fs::read_dir(there)? {
        let entry = entry?;
        let (from, over) = (entry.path(), own.join(entry.file_name()));
        let kind = entry.file_type()?;
        match over.symlink_metadata() {
            Ok(laid) if laid.is_dir() && kind.is_dir() => merge(&from, &over, mounts)?,
            Ok(_) => {}
            Err(_) if kind.is_symlink() => symlink(fs::read_link(&from)?, &over)?,
            Err(_) => {
                let made = if kind.is_dir() { fs::create_dir(&over) } else { fs::write(&over, "") };
                made?;
                mounts.push(MountPlace { from, over, fleeting: true, ..MountPlace::default() });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_mounted_beside_what_is_laid_out_and_never_over_it() {
        let place = tempfile::tempdir().unwrap();
        let (there, own) = (place.path().join("there"), place.path().join("own"));
        for directory in ["d/deep", "whole"] {
            fs::create_dir_all(there.join(directory)).unwrap();
        }
        for file in ["f", "g", "d/h", "whole/i"] {
            fs::write(there.join(file), "theirs").unwrap();
        }
        symlink("f", there.join("link")).unwrap();
        fs::create_dir_all(own.join("d")).unwrap();
        fs::write(own.join("g"), "ours").unwrap();
        let mut mounts = Vec::new();
        merge(&there, &own, &mut mounts).unwrap();
        let mut names: Vec<_> = mounts.iter().map(|m| m.over.strip_prefix(&own).unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["d/deep", "d/h", "f", "whole"].map(Path::new));
        assert!(mounts.iter().all(|mount| mount.fleeting && mount.from.starts_with(&there)));
        assert_eq!(fs::read_link(own.join("link")).unwrap(), Path::new("f"));
        assert_eq!(fs::read_to_string(own.join("g")).unwrap(), "ours");
    }
}
