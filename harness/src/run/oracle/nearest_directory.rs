//! Files that are absent as the case asks, and may have existed: a backend has places of its own to
//! move them to. Main type: [`NearestDirectory`].

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::workspace::{ArmWorkspace, FoundEntry, walk};

/// The directory that is nearest above a path, before the act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NearestDirectory {
    path: PathBuf,
    /// Device, inode and ctime: an entry that comes or goes in the directory changes it.
    facts: Option<(u64, u64, i64, i64)>,
}

impl NearestDirectory {
    pub(super) fn nearest_above(place: &Path) -> Self {
        let there = place.ancestors().skip(1).find_map(|path| Some((path, facts(path)?)));
        let (path, facts) = there.unzip();
        Self { path: path.unwrap_or(place).to_owned(), facts }
    }

    /// Finds an object with the name of `place` among those of the backend, if a name came or went
    /// above `place` since: whether the object was at `place` cannot be known then.
    ///
    /// # Errors
    /// The reason why not everything was searched.
    pub(super) fn namesake(
        &self,
        place: &Path,
        workspace: &ArmWorkspace,
        strays: &[PathBuf],
    ) -> Result<Option<PathBuf>, String> {
        if self.facts == facts(&self.path) {
            return Ok(None);
        }
        let below = workspace
            .directories()
            .find_map(|(_, directory)| place.strip_prefix(&directory).ok().map(Path::to_owned));
        let Some(below) = below else { return Ok(None) };
        let mut found = None;
        for top in [&workspace.state()].into_iter().chain(strays) {
            walk(top, |entry| {
                let FoundEntry::Entry(path, meta) = entry else { return };
                if found.is_none() && meta.is_dir() && path.join(&below).symlink_metadata().is_ok()
                {
                    found = Some(path.join(&below));
                }
            })?;
        }
        Ok(found)
    }
}

fn facts(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec()))
}
