//! Laying out one entry of a fixture.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use boxproof_cases::case::{Entry, EntryKind};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::Workspace;

/// Makes `entry` at `path`, parents included.
///
/// # Errors
/// The call that failed.
pub(super) fn entry(path: &Path, entry: &Entry, workspace: &Workspace) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let expand = |text: &str| workspace.vars.expand(text).map_err(io::Error::other);
    match &entry.kind {
        EntryKind::File(text) => fs::write(path, expand(text)?),
        EntryKind::Dir => fs::create_dir_all(path),
        EntryKind::Link(target) => symlink(expand(target)?, path),
        EntryKind::Hardlink(target) => {
            fs::hard_link(workspace.place(target).map_err(io::Error::other)?, path)
        }
        EntryKind::Fifo => Ok(mkfifo(path, Mode::from_bits_truncate(0o644))?),
        EntryKind::Git => repository(path),
    }
}

/// Gives what is at `path` the mode that `entry` tells, if it does.
///
/// # Errors
/// The errno of chmod(2).
pub(super) fn mode(path: &Path, entry: &Entry) -> io::Result<()> {
    match entry.mode {
        Some(mode) => fs::set_permissions(path, fs::Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

/// The directories of the least that git takes for a repository; hand-made, so that no case costs a
/// git run.
pub const REPOSITORY_FOLDERS: [&str; 6] =
    ["objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info"];

/// The files of that repository: path and text.
pub const REPOSITORY_FILES: [(&str, &str); 3] = [
    ("HEAD", "ref: refs/heads/main\n"),
    ("info/exclude", ""),
    ("config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"),
];

fn repository(path: &Path) -> io::Result<()> {
    let git = path.join(".git");
    for folder in REPOSITORY_FOLDERS {
        fs::create_dir_all(git.join(folder))?;
    }
    REPOSITORY_FILES.into_iter().try_for_each(|(file, text)| fs::write(git.join(file), text))
}
