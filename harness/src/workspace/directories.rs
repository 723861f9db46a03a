//! The arm's own directories, before and after: an oracle is worth something only where they are
//! what was laid out. Main types: [`ArmDirectories`] and [`DirectoryChange`].

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::ArmWorkspace;
use crate::sys;

/// The identity of each of the arm's own directories: the worker's, the arm's, and those below it.
#[derive(Debug)]
pub(crate) struct ArmDirectories(
    Vec<(&'static str, PathBuf, DirectoryIdentity)>,
    BTreeMap<String, PathBuf>,
);

/// The identity of one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DirectoryIdentity {
    Directory {
        /// Device, inode and mount.
        object: (u64, u64, u64),
        mode: u32,
        owner: (u32, u32),
        /// True if its entries can be listed and reached.
        open: bool,
    },
    Other(&'static str),
    Absent,
    Unseen(io::ErrorKind),
}

/// The change to one directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DirectoryChange {
    /// The path of the directory before the change.
    pub(crate) path: PathBuf,
    /// One sentence.
    pub(crate) sentence: String,
    /// The visibility of the entries below it.
    pub(crate) sight: EntryVisibility,
}

/// The visibility of the entries below a changed directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryVisibility {
    /// As before.
    Clear,
    /// It is the same directory, but closed to us.
    Closed,
    /// It is not the directory that was laid out.
    Replaced,
}

/// The bits of a mode that tell the type of a file, and two of their values; libc has them in types
/// that differ from system to system.
const FILE_TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const LINK: u32 = 0o120_000;

/// The names of the directories above the workspace, outermost first.
const ABOVE: [&str; 3] = ["RUN", "WORKER", "ARM"];

impl ArmDirectories {
    /// Looks at the directories of `workspace`, and at what is beside them.
    pub(crate) fn observe_workspace(workspace: &ArmWorkspace) -> Self {
        Self(Self::observe_identities(workspace).0, strays(workspace.root()))
    }

    /// Looks at the directories of `workspace` alone.
    pub(super) fn observe_identities(workspace: &ArmWorkspace) -> Self {
        let root = workspace.root();
        let above = ABOVE.into_iter().zip(above(root).map(Path::to_owned));
        let own = workspace.directories().chain([("STATE", workspace.state())]);
        let all = above.chain(own).map(|(name, path)| {
            let identity = DirectoryIdentity::observe_path(&path);
            (name, path, identity)
        });
        Self(all.collect(), BTreeMap::new())
    }

    /// Lists the differences in `now`, outermost first; omits those below a directory that cannot
    /// be trusted.
    pub(crate) fn changes(&self, now: &Self) -> Vec<DirectoryChange> {
        let mut changes: Vec<DirectoryChange> = Vec::new();
        for ((name, path, before), (_, _, now)) in self.0.iter().zip(&now.0) {
            let hidden = |change: &DirectoryChange| {
                change.sight != EntryVisibility::Clear && path.starts_with(&change.path)
            };
            if before == now || changes.iter().any(hidden) {
                continue;
            }
            let (what, sight) = now.against(before);
            let sentence = format!("${name} {what}");
            changes.push(DirectoryChange { path: path.clone(), sentence, sight });
        }
        changes
    }

    /// Lists the entries that appeared beside the arm and beside its directories: as `$ARM/name`,
    /// with their paths.
    pub(crate) fn appeared(&self, now: &Self) -> Vec<(String, PathBuf)> {
        let new = now.1.iter().filter(|(name, _)| !self.1.contains_key(*name));
        new.map(|(name, path)| (name.clone(), path.clone())).collect()
    }
}

/// The directories that [`ABOVE`] names.
fn above(root: &Path) -> [&Path; 3] {
    let worker = root.parent().unwrap_or(root);
    [worker.parent().unwrap_or(worker), worker, root]
}

/// Lists the entries of the worker's directory and of the arm's, as `$WORKER/name` and `$ARM/name`.
fn strays(root: &Path) -> BTreeMap<String, PathBuf> {
    /// The most names of one directory that are told.
    const MOST: usize = 1000;
    // Changes in the run's directory are the doing of other workers, too.
    let names = ABOVE.into_iter().zip(above(root)).skip(1).flat_map(|(name, path)| {
        let entries = path.read_dir().into_iter().flatten().flatten();
        entries.take(MOST).map(move |entry| {
            (format!("${name}/{}", entry.file_name().to_string_lossy()), entry.path())
        })
    });
    names.collect()
}

impl DirectoryIdentity {
    fn observe_path(path: &Path) -> Self {
        let found = match sys::file_status(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::Absent,
            Err(error) => return Self::Unseen(error.kind()),
        };
        match found.mode & FILE_TYPE {
            DIRECTORY => {}
            LINK => return Self::Other("is a link now"),
            _ => return Self::Other("is no directory any more"),
        }
        Self::Directory {
            object: (found.device, found.inode, found.mount),
            mode: found.mode & 0o7777,
            owner: found.owner,
            open: access(path, AccessFlags::R_OK | AccessFlags::X_OK).is_ok(),
        }
    }

    /// Describes in a few words the change from `before`.
    fn against(&self, before: &Self) -> (String, EntryVisibility) {
        match (before, self) {
            (_, Self::Absent) => ("is gone".to_owned(), EntryVisibility::Replaced),
            (_, Self::Other(what)) => ((*what).to_owned(), EntryVisibility::Replaced),
            (_, Self::Unseen(kind)) => {
                (format!("cannot be looked at: {kind}"), EntryVisibility::Closed)
            }
            (
                Self::Directory { object, mode, owner, open },
                Self::Directory { object: is_object, mode: is_mode, owner: _, open: is_open },
            ) => {
                if object != is_object {
                    let hidden = object.2 != is_object.2;
                    let what = if hidden { "is on another mount" } else { "is another directory" };
                    return (what.to_owned(), EntryVisibility::Replaced);
                }
                let sight = if *open && !is_open {
                    EntryVisibility::Closed
                } else {
                    EntryVisibility::Clear
                };
                if mode != is_mode {
                    return (format!("has mode {is_mode:04o} instead of {mode:04o}"), sight);
                }
                (format!("has another owner than {}:{}", owner.0, owner.1), sight)
            }
            (_, Self::Directory { .. }) => {
                ("is another directory".to_owned(), EntryVisibility::Replaced)
            }
        }
    }
}

/// The directories that one process works in, held open: although their names may change, modes are
/// given back to these directories and to no other.
#[derive(Debug)]
pub(crate) struct HeldDirectories(Vec<(PathBuf, File, Permissions)>);

impl HeldDirectories {
    /// Opens `paths`.
    ///
    /// # Errors
    /// The errno of open(2) or fstat(2).
    pub(crate) fn open(paths: &[&Path]) -> io::Result<Self> {
        let open = |path: &&Path| {
            let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
            let held = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
            let permissions = held.metadata()?.permissions();
            Ok((path.to_path_buf(), held, permissions))
        };
        Ok(Self(paths.iter().map(open).collect::<io::Result<_>>()?))
    }

    /// Returns the change times (ctime, mtime) of each directory.
    pub(crate) fn times(&self) -> Vec<[(i64, i64); 2]> {
        let metas = self.0.iter().filter_map(|(_, held, _)| held.metadata().ok());
        let times =
            |m: std::fs::Metadata| [(m.ctime(), m.ctime_nsec()), (m.mtime(), m.mtime_nsec())];
        metas.map(times).collect()
    }

    /// Returns whether the mode or owner of one was changed since it had the times `before`; an
    /// entry that comes or goes changes both times.
    pub(crate) fn were_closed(&self, before: &[[(i64, i64); 2]]) -> bool {
        let now = self.times();
        now.iter().zip(before).any(|(now, before)| now[0] != before[0] && now[0] != now[1])
    }

    /// Gives them the modes that they had.
    ///
    /// # Errors
    /// Returns an error when one is not where it was any more.
    pub(crate) fn restore(&self) -> io::Result<()> {
        for (path, held, permissions) in &self.0 {
            let meta = held.metadata()?;
            if meta.mode() != permissions.mode() {
                held.set_permissions(permissions.clone())?;
            }
            let there = path.symlink_metadata().ok();
            if there.is_none_or(|there| (there.dev(), there.ino()) != (meta.dev(), meta.ino())) {
                let message = format!("{}: it is another directory now", path.display());
                return Err(io::Error::other(message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::case;
    use rstest::rstest;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[rstest]
    #[case::nothing(|_: &Path| {}, &[])]
    #[case::entries(|arm: &Path| fs::write(arm.join("ws/f"), "").unwrap(), &[])]
    #[case::mode(|arm: &Path| set_mode(&arm.join("out"), 0o777), &["$OUT has mode 0777 instead of 0755"])]
    #[case::gone(|arm: &Path| fs::remove_dir_all(arm.join("home")).unwrap(), &["$HOME is gone"])]
    #[case::link(|arm: &Path| { fs::remove_dir_all(arm.join("ws")).unwrap(); symlink("out", arm.join("ws")).unwrap(); }, &["$WS is a link now"])]
    #[case::file(|arm: &Path| { fs::remove_dir(arm.join("state")).unwrap(); fs::write(arm.join("state"), "").unwrap(); }, &["$STATE is no directory any more"])]
    #[case::another(|arm: &Path| { fs::rename(arm.join("tmp"), arm.join("old")).unwrap(); fs::create_dir(arm.join("tmp")).unwrap(); }, &["$TMPDIR is another directory"])]
    #[case::arm(|arm: &Path| { fs::rename(arm, arm.with_file_name("old")).unwrap(); symlink("old", arm).unwrap(); }, &["$ARM is a link now"])]
    #[case::two(|arm: &Path| { set_mode(&arm.join("ws"), 0o700); set_mode(&arm.join("tmp"), 0o700); }, &["$WS has mode 0700 instead of 0755", "$TMPDIR has mode 0700 instead of 0755"])]
    fn what_is_done_to_a_directory_is_told(#[case] act: fn(&Path), #[case] told: &[&str]) {
        let directory = tempfile::tempdir().unwrap();
        let case = case("act: {sh: 'true'}\nexpect: {allowed: {}}\n");
        let root = directory.path().join("arm");
        let workspace = ArmWorkspace::lay_out(&case, &root, "/p".as_ref(), "bx7").unwrap();
        ["ws", "out", "tmp"].iter().for_each(|name| set_mode(&root.join(name), 0o755));
        let before = ArmDirectories::observe_workspace(&workspace);
        act(&root);
        let changes = before.changes(&ArmDirectories::observe_workspace(&workspace));
        let sentences: Vec<&str> = changes.iter().map(|c| c.sentence.as_str()).collect();
        assert_eq!(sentences, told);
        let clear = told.iter().all(|sentence| sentence.contains("mode"));
        assert_eq!(changes.iter().all(|change| change.sight == EntryVisibility::Clear), clear);
    }

    #[test]
    fn what_appears_beside_them_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let case = case("act: {sh: 'true'}\nexpect: {allowed: {}}\n");
        let root = directory.path().join("arm");
        let workspace = ArmWorkspace::lay_out(&case, &root, "/p".as_ref(), "bx7").unwrap();
        let before = ArmDirectories::observe_workspace(&workspace);
        fs::write(root.join("new"), "").unwrap();
        fs::create_dir(directory.path().join("arm.old")).unwrap();
        let appeared = before.appeared(&ArmDirectories::observe_workspace(&workspace));
        let wanted = [
            ("$ARM/new".to_owned(), root.join("new")),
            ("$WORKER/arm.old".to_owned(), directory.path().join("arm.old")),
        ];
        assert_eq!(appeared, wanted);
    }

    #[test]
    fn held_directories_get_their_modes_back_and_others_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let (own, other) = (directory.path().join("own"), directory.path().join("other"));
        [&own, &other].iter().for_each(|path| fs::create_dir(path).unwrap());
        set_mode(&own, 0o755);
        set_mode(&other, 0o700);
        let held = HeldDirectories::open(&[&own]).unwrap();
        let before = held.times();
        fs::write(own.join("f"), "").unwrap();
        assert!(!held.were_closed(&before));
        set_mode(&own, 0o000);
        assert!(held.were_closed(&before));
        held.restore().unwrap();
        let mode = |path: &Path| path.symlink_metadata().unwrap().mode() & 0o777;
        assert_eq!(mode(&own), 0o755);
        fs::rename(&own, directory.path().join("moved")).unwrap();
        symlink("other", &own).unwrap();
        assert!(held.restore().unwrap_err().to_string().contains("another directory"));
        assert_eq!(mode(&other), 0o700);
    }
}
