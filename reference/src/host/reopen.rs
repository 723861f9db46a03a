//! Protected directories of which parts stay writable: their current entries ([`Opened`]).

use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Policy, WirePath};

use super::fold;
use super::paths::{self, Found};

/// An existing protected directory, and its parts that stay writable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    /// The directory (real path).
    pub(crate) folder: PathBuf,
    /// The parts of it that exist, directories all.
    pub(crate) parts: Vec<PathBuf>,
    /// All parts exist.
    pub(crate) whole: bool,
    /// Its other entries.
    pub(crate) rest: Vec<Found>,
    /// The volume ignores case.
    pub(crate) folds: bool,
}

/// The directories of `protected` that `policy` opens in part, and the others.
pub(super) fn opened(policy: &Policy, protected: Vec<Found>) -> (Vec<Opened>, Vec<Found>) {
    let mut opened = Vec::new();
    let kept = protected.into_iter().filter(|found| {
        let one = found.folder.then(|| open(policy, &found.real)).flatten();
        let stays = one.as_ref().is_none_or(|one| one.whole);
        opened.extend(one);
        stays
    });
    let kept = kept.collect();
    (opened, kept)
}

/// Returns the opened parts of `folder`; none where no part is opened, or it cannot be read.
fn open(policy: &Policy, folder: &Path) -> Option<Opened> {
    let wanted: Vec<&Path> = policy
        .reopen
        .iter()
        .map(WirePath::as_path)
        .filter(|path| path.parent() == Some(folder))
        .collect();
    if wanted.is_empty() {
        return None;
    }
    let is_folder =
        |path: &&Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let parts: Vec<PathBuf> =
        wanted.iter().copied().filter(is_folder).map(Path::to_owned).collect();
    let names = std::fs::read_dir(folder).ok()?.collect::<Result<Vec<_>, _>>().ok()?;
    let rest = names.iter().map(std::fs::DirEntry::path).filter(|path| !parts.contains(path));
    let rest = rest.map(|path| {
        paths::find(&path).unwrap_or_else(|| Found::at(path.clone(), false, vec![path]))
    });
    Some(Opened {
        folder: folder.to_owned(),
        whole: parts.len() == wanted.len(),
        rest: rest.collect(),
        parts,
        folds: fold::folds(folder),
    })
}
