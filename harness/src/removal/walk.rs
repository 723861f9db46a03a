//! The walk that empties a directory: a few levels at a time, so that neither depth nor number of
//! its entries costs descriptors, stack or memory. Main type: [`RemovalWalk`].

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::renameat;
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::{Leftover, open};

/// The number of levels open at once. A deeper directory is moved up and met again.
const LEVELS: usize = 12;
/// The number of leftovers that are named.
const NAMED: usize = 8;
/// The deadline of the removal of one directory: a process may fill it faster than it is emptied.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state of one removal.
pub(super) struct RemovalWalk {
    left: Vec<Leftover>,
    /// The number of leftovers, those that are not named included.
    count: usize,
    /// The number of entries that this pass has removed or moved up.
    progress: u64,
    moved: u64,
    until: Instant,
}

/// A directory in the middle of the walk.
#[derive(Clone, Copy)]
struct WalkLevel<'a> {
    directory: BorrowedFd<'a>,
    at: &'a Path,
    depth: usize,
    /// The directory that is emptied, where what is too deep is moved to.
    top: BorrowedFd<'a>,
}

impl RemovalWalk {
    pub(super) fn new() -> Self {
        let until = Instant::now() + PATIENCE;
        Self { left: Vec::new(), count: 0, progress: 0, moved: 0, until }
    }

    /// Removes everything in `top`, as often as that makes progress.
    pub(super) fn empty(&mut self, top: BorrowedFd<'_>, at: &Path) {
        loop {
            (self.count, self.progress) = (0, 0);
            self.left.clear();
            let seen = self.pass(WalkLevel { directory: top, at, depth: 1, top });
            if seen == 0 || self.progress == 0 || self.is_late() {
                return;
            }
        }
    }

    /// Removes `name` in `parent`, with everything in it.
    pub(super) fn take(&mut self, parent: BorrowedFd<'_>, name: &OsStr, at: &Path) {
        match open::directory(parent, name) {
            Ok(directory) => {
                self.empty(directory.as_fd(), at);
                let removed = unlinkat(parent, name, UnlinkatFlags::RemoveDir);
                self.note(removed, at);
            }
            Err(Errno::ENOENT) => {}
            Err(Errno::ELOOP | Errno::ENOTDIR) => {
                self.note(unlinkat(parent, name, UnlinkatFlags::NoRemoveDir), at);
            }
            Err(errno) => self.note(Err(errno), at),
        }
    }

    /// Returns the entries that could not be removed.
    pub(super) fn into_leftovers(mut self) -> Vec<Leftover> {
        if let (true, Some(last)) = (self.count > self.left.len(), self.left.last_mut()) {
            let more = self.count - NAMED;
            last.reason = format!("{}, and {more} more", last.reason);
        }
        self.left
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Goes once through the entries of a directory and returns how many there were.
    fn pass(&mut self, level: WalkLevel<'_>) -> u64 {
        let opened = open::again(level.directory).and_then(Dir::from_fd);
        let mut directory = match opened {
            Ok(directory) => directory,
            Err(errno) => {
                self.note(Err(errno), level.at);
                return 0;
            }
        };
        let mut seen = 0;
        for entry in directory.iter() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    self.note(Err(errno), level.at);
                    break;
                }
            };
            if [c".", c".."].contains(&entry.file_name()) {
                continue;
            }
            seen += 1;
            if self.is_late() {
                self.add(level.at, format!("not empty after {} s", PATIENCE.as_secs()));
                break;
            }
            self.entry(level, entry.file_name(), entry.file_type());
        }
        seen
    }

    fn entry(&mut self, level: WalkLevel<'_>, name: &CStr, kind: Option<Type>) {
        let remove = |flag| unlinkat(level.directory, name, flag);
        let removed = match kind {
            Some(Type::Directory) | None => remove(UnlinkatFlags::RemoveDir),
            Some(_) => remove(UnlinkatFlags::NoRemoveDir),
        };
        let removed = match removed {
            Err(Errno::ENOTDIR) => remove(UnlinkatFlags::NoRemoveDir),
            removed => removed,
        };
        let at = level.at.join(OsStr::from_bytes(name.to_bytes()));
        match removed {
            Err(Errno::ENOTEMPTY | Errno::EEXIST | Errno::EACCES | Errno::EISDIR)
                if matches!(kind, Some(Type::Directory) | None) =>
            {
                self.descend(level, name, &at);
            }
            removed => self.note(removed, &at),
        }
    }

    /// Empties and removes the directory `name`, or moves it up if it is too deep.
    fn descend(&mut self, level: WalkLevel<'_>, name: &CStr, at: &Path) {
        let directory = match open::directory(level.directory, OsStr::from_bytes(name.to_bytes())) {
            Ok(directory) => directory,
            Err(errno) => return self.note(Err(errno), at),
        };
        if level.depth >= LEVELS {
            self.moved += 1;
            let new = format!(".removed-{}-{}", std::process::id(), self.moved);
            let moved = renameat(level.directory, name, level.top, new.as_str());
            return self.note(moved, at);
        }
        let before = self.count;
        let below = WalkLevel { directory: directory.as_fd(), at, depth: level.depth + 1, ..level };
        self.pass(below);
        match unlinkat(level.directory, name, UnlinkatFlags::RemoveDir) {
            // Told already, by what is in it.
            Err(Errno::ENOTEMPTY | Errno::EEXIST) if self.count > before => {}
            removed => self.note(removed, at),
        }
    }

    /// Takes down what came of one removal.
    fn note(&mut self, done: nix::Result<()>, at: &Path) {
        match done {
            Ok(()) => self.progress += 1,
            Err(Errno::ENOENT) => {}
            Err(errno) => self.add(at, reason(errno, at)),
        }
    }

    fn add(&mut self, at: &Path, reason: String) {
        self.count += 1;
        if self.left.len() < NAMED {
            self.left.push(Leftover { path: at.to_owned(), reason });
        }
    }
}

/// Returns the reason why `at` could not be removed.
pub(super) fn reason(errno: Errno, at: &Path) -> String {
    match errno {
        Errno::EXDEV | Errno::EBUSY => super::mounts::reason(at),
        Errno::ENOTEMPTY | Errno::EEXIST => "something is put into it again and again".to_owned(),
        Errno::EPERM => "removing it is not permitted (a file attribute?)".to_owned(),
        errno => errno.desc().to_owned(),
    }
}
