//! Search for the made-up secret: it is in no file that the act made or changed. Main type:
//! [`Secrets`].

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::plain_file::{self, ReadBudget};
use crate::workspace::{Found, Workspace, walk};

/// Every plain file of the arm before the act, by device and inode.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeMap<(u64, u64), Known>);

/// A file before the act.
#[derive(Debug)]
struct Known {
    /// True if the file has the secret, or may have it: moving it discloses nothing.
    secret: bool,
    changed: (i64, i64),
}

impl Secrets {
    /// Looks at every plain file.
    ///
    /// # Errors
    /// The reason why not all were seen.
    pub(super) fn look(workspace: &Workspace) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        let mut budget = ReadBudget::default();
        for (name, folder) in workspace.folders() {
            let seen = each_file(&folder, |path, meta| {
                let holds = plain_file::contains(path, workspace.canary.as_bytes(), &mut budget);
                let secret = holds.unwrap_or(true);
                known.insert(identity(meta), Known { secret, changed: changed(meta) });
            });
            seen.map_err(|why| format!("${name}: {why}"))?;
        }
        Ok(Self(known))
    }

    /// The file, new or changed, that holds the secret now.
    ///
    /// # Errors
    /// The reason why there may be one that was not seen.
    pub(super) fn disclosed(&self, workspace: &Workspace) -> Result<Option<String>, String> {
        let (mut found, mut unread) = (None, None);
        let mut budget = ReadBudget::default();
        for (name, folder) in workspace.folders() {
            let seen = each_file(&folder, |path, meta| {
                if found.is_some() || self.is_no_news(meta) {
                    return;
                }
                let below = path.strip_prefix(&folder).unwrap_or(path).display();
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

/// Calls `visit` with every plain file below `folder`.
fn each_file(folder: &Path, mut visit: impl FnMut(&Path, &Metadata)) -> Result<(), String> {
    walk(folder, |found| match found {
        Found::Entry(path, meta) if meta.is_file() => visit(path, meta),
        Found::Entry(..) | Found::Closed(..) => {}
    })
}
