//! Search for the made-up secret: it is in no file that the act made or changed. Main type:
//! [`SecretFiles`].

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::plain_file::{self, ReadBudget};
use crate::workspace::{ArmWorkspace, FoundEntry, walk};

/// Every plain file of the arm before the act, by device and inode.
#[derive(Debug, Default)]
pub(super) struct SecretFiles(BTreeMap<(u64, u64), KnownFile>);

/// A file before the act.
#[derive(Debug)]
struct KnownFile {
    /// True if the file has the secret, or may have it: moving it discloses nothing.
    secret: bool,
    changed: (i64, i64),
}

impl SecretFiles {
    /// Looks at every plain file.
    ///
    /// # Errors
    /// The reason why not all were seen.
    pub(super) fn observe_files(workspace: &ArmWorkspace) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        let mut budget = ReadBudget::default();
        for (name, directory) in workspace.directories() {
            let seen = each_file(&directory, |path, meta| {
                let holds = plain_file::contains(path, workspace.canary.as_bytes(), &mut budget);
                let secret = holds.unwrap_or(true);
                known.insert(identity(meta), KnownFile { secret, changed: changed(meta) });
            });
            seen.map_err(|why| format!("${name}: {why}"))?;
        }
        Ok(Self(known))
    }

    /// The file, new or changed, that holds the secret now.
    ///
    /// # Errors
    /// The reason why there may be one that was not seen.
    pub(super) fn disclosed(&self, workspace: &ArmWorkspace) -> Result<Option<String>, String> {
        let (mut found, mut unread) = (None, None);
        let mut budget = ReadBudget::default();
        for (name, directory) in workspace.directories() {
            let seen = each_file(&directory, |path, meta| {
                if found.is_some() || self.is_no_news(meta) {
                    return;
                }
                let below = path.strip_prefix(&directory).unwrap_or(path).display();
                match plain_file::contains(path, workspace.canary.as_bytes(), &mut budget) {
                    Ok(false) => {}
                    Ok(true) => found = Some(format!("${name}/{below}")),
                    Err(error) => unread = Some(format!("${name}/{below}: {error}")),
                }
            });
            if let Err(why) = seen {
                unread.get_or_insert(format!("${name}: {why}"));
            }
        }
        match (found, unread) {
            (None, Some(why)) => Err(why),
            (found, _) => Ok(found),
        }
    }

    /// Returns whether a file had the secret before, or is unchanged.
    fn is_no_news(&self, meta: &Metadata) -> bool {
        let known = self.0.get(&identity(meta));
        known.is_some_and(|known| known.secret || known.changed == changed(meta))
    }
}

fn identity(meta: &Metadata) -> (u64, u64) {
    (meta.dev(), meta.ino())
}

fn changed(meta: &Metadata) -> (i64, i64) {
    (meta.ctime(), meta.ctime_nsec())
}

/// Calls `visit` with every plain file below `directory`.
fn each_file(directory: &Path, mut visit: impl FnMut(&Path, &Metadata)) -> Result<(), String> {
    walk(directory, |found| match found {
        FoundEntry::Entry(path, meta) if meta.is_file() => visit(path, meta),
        FoundEntry::Entry(..) | FoundEntry::Closed(..) => {}
    })
}
