//! Protected directories of which parts stay writable: their current entries ([`ReopenedDirectory`]).

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Policy, WirePath};

use super::fold;
use super::paths::{self, ExistingPath};

/// An existing protected directory, and its parts that stay writable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReopenedDirectory {
    /// The directory (real path).
    pub(crate) directory: PathBuf,
    /// The parts of it that exist, directories all.
    pub(crate) parts: Vec<PathBuf>,
    /// All parts exist.
    pub(crate) whole: bool,
    /// Its other entries.
    pub(crate) rest: Vec<ExistingPath>,
    /// The volume ignores case.
    pub(crate) folds: bool,
}

/// The directories of `protected` that `policy` opens in part, and the others.
pub(super) fn opened(
    policy: &Policy,
    protected: Vec<ExistingPath>,
) -> (Vec<ReopenedDirectory>, Vec<ExistingPath>) {
    let mut opened = Vec::new();
    let kept = protected.into_iter().filter(|found| {
        let one = found.directory.then(|| open(policy, &found.real)).flatten();
        let stays = one.as_ref().is_none_or(|one| one.whole);
        opened.extend(one);
        stays
    });
    let kept = kept.collect();
    (opened, kept)
}

/// Returns the opened parts of `directory`; none where no part is opened, or it cannot be read.
fn open(policy: &Policy, directory: &Path) -> Option<ReopenedDirectory> {
    let wanted: Vec<&Path> = policy
        .reopen
        .iter()
        .map(WirePath::as_path)
        .filter(|path| path.parent() == Some(directory))
        .collect();
    if wanted.is_empty() {
        return None;
    }
    let is_directory =
        |path: &&Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let parts: Vec<PathBuf> =
        wanted.iter().copied().filter(is_directory).map(Path::to_owned).collect();
    let names = std::fs::read_dir(directory).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
    let rest = names.iter().map(std::fs::DirEntry::path).filter(|path| !parts.contains(path));
    let rest = rest.map(|path| {
        paths::find(&path).unwrap_or_else(|| ExistingPath::at(path.clone(), false, vec![path]))
    });
    Some(ReopenedDirectory {
        directory: directory.to_owned(),
        whole: parts.len() == wanted.len(),
        rest: rest.collect(),
        parts,
        folds: fold::folds(directory),
    })
}
