//! Files that a run leaves in shared directories. Main type: [`SharedDirectories`].

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The shared directories in which a run could leave a file.
const SHARED: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// The granularity of the time of a change: a directory that changed within it may have changed
/// again without another time to show.
const COARSE: Duration = Duration::from_millis(50);

/// The shared directories before a run.
#[derive(Debug)]
pub(crate) struct SharedDirectories {
    /// The time of each directory's last change; `None` if that tells nothing about later changes.
    changed: [Option<SystemTime>; SHARED.len()],
    /// The files laid out there for the act: removed with the rest, and no leftovers.
    laid: Vec<PathBuf>,
}

impl SharedDirectories {
    /// Looks before a run. Where a case prepares something, with the `nonce` that it may carry.
    pub(crate) fn before_run(nonce: Option<&str>) -> Self {
        let laid = nonce.into_iter().flat_map(|nonce| {
            SHARED.iter().flat_map(move |directory| carrying(Path::new(directory), nonce))
        });
        let changed = SHARED.map(|directory| settled(Path::new(directory)));
        Self { changed, laid: laid.collect() }
    }

    /// Removes files in the directories that have changed since whose name carries `nonce`, and
    /// says which.
    pub(crate) fn remove_residue(&self, nonce: &str) -> Vec<String> {
        let directories = SHARED.iter().map(Path::new).zip(&self.changed);
        let changed =
            directories.filter(|(at, before)| before.is_none() || changed(at) != **before);
        let found =
            changed.flat_map(|(directory, _)| carrying(directory, nonce)).chain(self.laid.clone());
        let found: BTreeSet<PathBuf> = found.collect();
        found.iter().filter_map(|path| self.remove(path)).collect()
    }

    /// Removes `path`, and says that it was left behind, if it was.
    fn remove(&self, path: &Path) -> Option<String> {
        let left = crate::removal::remove_path(path);
        let stays = left.first().map(|left| format!(", and stays: {left}")).unwrap_or_default();
        let is_laid = self.laid.iter().any(|laid| laid == path);
        (!is_laid).then(|| format!("{} was left behind{stays}", path.display()))
    }
}

/// Lists the entries of `directory` that have `nonce` in their names.
fn carrying(directory: &Path, nonce: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(move |path| path.to_string_lossy().contains(nonce))
}

/// Returns the ctime of `directory`.
fn changed(directory: &Path) -> Option<SystemTime> {
    let meta = directory.metadata().ok()?;
    let (seconds, nanos) = (u64::try_from(meta.ctime()).ok()?, u32::try_from(meta.ctime_nsec()));
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos.ok()?))
}

/// Returns the ctime of `directory`, if it is long enough ago that another change will show.
fn settled(directory: &Path) -> Option<SystemTime> {
    changed(directory).filter(|time| time.elapsed().is_ok_and(|past| past > COARSE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_is_left_is_found_whenever_the_directory_changed_before() {
        let nonce = format!("bx-shared-{}", std::process::id());
        let leave = || std::fs::write(format!("/tmp/{nonce}-x"), "left").unwrap();
        leave();
        // Changed just now: the time alone would not tell.
        let just_changed = SharedDirectories::before_run(None);
        leave();
        let found = [format!("/tmp/{nonce}-x was left behind")];
        assert_eq!(just_changed.remove_residue(&nonce), found);
        assert_eq!(SharedDirectories::before_run(None).remove_residue(&nonce), [""; 0]);
    }

    #[test]
    fn only_an_old_change_tells_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        assert_eq!(settled(at), None, "it was made just now");
        let deadline = Instant::now() + Duration::from_secs(10);
        while settled(at).is_none() {
            assert!(Instant::now() < deadline);
        }
        let before = settled(at);
        std::fs::write(at.join("f"), "").unwrap();
        assert!(before.is_some() && changed(at) != before);
    }
}
