//! The installed probe program: every word of an act comes from it, so it must be what was
//! installed. Main type: [`InstalledProbe`].

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The probe program where backends execute it, and what it was when it was installed.
#[derive(Debug)]
pub struct InstalledProbe {
    /// The path of the probe.
    pub path: PathBuf,
    facts: ProgramIdentity,
}

/// The identity of the file. No call can set its ctime back.
#[derive(Debug, PartialEq, Eq)]
struct ProgramIdentity {
    identity: (u64, u64),
    size: u64,
    mode: u32,
    owner: (u32, u32),
    changed: (i64, i64),
}

impl InstalledProbe {
    /// Remembers what is at `path`.
    ///
    /// # Errors
    /// The errno of lstat(2).
    pub fn remember(path: PathBuf) -> io::Result<Self> {
        let facts = ProgramIdentity::read_identity(&path)?;
        Ok(Self { path, facts })
    }

    /// Describes the change to the probe in a few words; nothing if it is the installed one.
    pub fn change(&self) -> Option<String> {
        match ProgramIdentity::read_identity(&self.path) {
            Ok(now) if now == self.facts => None,
            Ok(now) if now.identity != self.facts.identity => {
                Some("the probe was replaced by another file".to_owned())
            }
            Ok(_) => Some("the probe program was changed".to_owned()),
            Err(error) => Some(format!("the probe program cannot be looked at: {error}")),
        }
    }
}

impl ProgramIdentity {
    fn read_identity(path: &Path) -> io::Result<Self> {
        let meta = path.symlink_metadata()?;
        Ok(Self {
            identity: (meta.dev(), meta.ino()),
            size: meta.len(),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::fs;
    use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

    #[rstest]
    #[case::nothing(|_: &Path| {}, None)]
    #[case::read(|p: &Path| drop(fs::read(p).unwrap()), None)]
    #[case::removed(|p: &Path| fs::remove_file(p).unwrap(), Some("cannot be looked at"))]
    #[case::link(|p: &Path| { fs::rename(p, p.with_extension("o")).unwrap(); symlink("p.o", p).unwrap(); }, Some("replaced"))]
    #[case::copied(|p: &Path| { fs::copy(p, p.with_extension("o")).unwrap(); fs::rename(p.with_extension("o"), p).unwrap(); }, Some("replaced"))]
    #[case::opened_to_others(|p: &Path| fs::set_permissions(p, PermissionsExt::from_mode(0o777)).unwrap(), Some("changed"))]
    #[case::longer(|p: &Path| fs::write(p, "probes").unwrap(), Some("changed"))]
    fn every_change_shows(#[case] act: fn(&Path), #[case] words: Option<&str>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p");
        fs::write(&path, "probe").unwrap();
        let probe = InstalledProbe::remember(path.clone()).unwrap();
        act(&path);
        match (probe.change(), words) {
            (Some(change), Some(words)) => assert!(change.contains(words), "{change}"),
            (change, words) => assert_eq!((change.as_deref(), words), (None, None)),
        }
    }

    #[test]
    fn a_change_that_is_undone_shows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p");
        fs::write(&path, "probe").unwrap();
        let probe = InstalledProbe::remember(path.clone()).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        // The kernel's clock for this goes in ticks.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while probe.change().is_none() && std::time::Instant::now() < deadline {
            file.write_all_at(b"PROBEprobe", 0).unwrap();
            file.set_len(5).unwrap();
            file.write_all_at(b"probe", 0).unwrap();
        }
        assert_eq!(probe.change().unwrap(), "the probe program was changed");
    }
}
