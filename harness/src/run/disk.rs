//! Bound on the disk space of an arm: polled once a second, as the kernel sends no event for it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use walkdir::WalkDir;

/// The most bytes that the directories of an arm may take.
pub(super) const BOUND: u64 = 1 << 30;
/// The most entries that one look walks over.
const ENTRIES: usize = 50_000;
/// The interval between two measurements.
const INTERVAL: Duration = Duration::from_secs(1);

/// The bound of one arm.
#[derive(Debug)]
pub(super) struct DiskBound {
    root: PathBuf,
    due: Instant,
}

impl DiskBound {
    /// The bound of what lies below `root`.
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), due: Instant::now() + INTERVAL }
    }

    /// Returns whether the bound is exceeded. Between two measurements the answer is no.
    pub(super) fn is_exceeded(&mut self) -> bool {
        let now = Instant::now();
        if now < self.due {
            return false;
        }
        let exceeded = exceeds(&self.root, BOUND);
        // A large tree takes its time to look at, and is looked at seldom.
        self.due = Instant::now() + INTERVAL.max(now.elapsed() * 10);
        exceeded
    }
}

/// Returns whether more than `bound` bytes lie below `root`, on its own file system.
fn exceeds(root: &Path, bound: u64) -> bool {
    let walk = WalkDir::new(root).same_file_system(true).follow_links(false).max_open(8);
    let mut total = 0_u64;
    walk.into_iter().take(ENTRIES).flatten().any(|entry| {
        let blocks = entry.path().symlink_metadata().map_or(0, |meta| meta.blocks());
        total = total.saturating_add(blocks * 512);
        total > bound
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_disk_counts_and_holes_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join("sparse")).unwrap();
        file.set_len(1 << 40).unwrap();
        assert!(!exceeds(directory.path(), 1 << 20));
        std::fs::write(directory.path().join("full"), vec![1; 2 << 20]).unwrap();
        assert!(exceeds(directory.path(), 1 << 20));
    }
}
