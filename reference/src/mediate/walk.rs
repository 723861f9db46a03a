//! Resolution of the caller's paths to pinned directories and one plain name each.
//!
//! The kernel resolves nearly all of them at once. A path through `/proc` is walked by hand: there
//! `self` must mean the caller, and only the caller's own directories are followed.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat};
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};
use nix::unistd::Pid;

use super::caller::CallingThread;
use super::mounts;

/// Links followed before a path counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;

/// A pinned directory, and one name in it.
#[derive(Debug)]
pub(super) struct PinnedName {
    /// The directory.
    pub(super) directory: OwnedFd,
    /// The name: no slash in it, except where the path ended in one.
    pub(super) name: CString,
    /// The path ended in a slash.
    pub(super) slash: bool,
    /// The name is `.`, `..` or `/`, which always exist.
    pub(super) stands: bool,
}

impl PinnedName {
    /// The name without the slash.
    pub(super) fn bare(&self) -> &[u8] {
        let bytes = self.name.to_bytes();
        if self.slash && !self.stands { &bytes[..bytes.len() - 1] } else { bytes }
    }
}

/// Resolves the paths of one caller.
#[derive(Debug)]
pub(super) struct PathWalk<'a> {
    caller: CallingThread<'a>,
    /// The caller's process as `/proc` shows it, once it was read.
    process: OnceCell<Pid>,
    links: usize,
    /// A part of the path was resolved in this process, not by the kernel.
    pub(super) handmade: bool,
}

impl<'a> PathWalk<'a> {
    /// Starts a walk for `caller`.
    pub(super) fn new(caller: CallingThread<'a>) -> Self {
        Self { caller, process: OnceCell::new(), links: 0, handmade: false }
    }

    fn process(&self) -> nix::Result<Pid> {
        if let Some(process) = self.process.get() {
            return Ok(*process);
        }
        let process = self.caller.status()?.shown;
        Ok(*self.process.get_or_init(|| process))
    }

    /// The directory that the last name of `path` lies in, and that name; `base` is where a
    /// relative path starts.
    pub(super) fn spot(&mut self, base: BorrowedFd<'_>, path: &[u8]) -> nix::Result<PinnedName> {
        let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
        let start = path[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        if path.is_empty() {
            return Err(Errno::ENOENT);
        }
        let slash = end < path.len();
        let name = match &path[start..end] {
            b"" => b"/".to_vec(),
            name if slash => [name, b"/"].concat(),
            name => name.to_vec(),
        };
        let stands = matches!(&path[start..end], b"" | b"." | b"..");
        let directory = self.directory(base, &path[..start])?;
        Ok(PinnedName { directory, name: text(&name)?, slash, stands })
    }

    /// The object that `path` means, pinned; links at its end are followed.
    pub(super) fn object(&mut self, base: BorrowedFd<'_>, path: &[u8]) -> nix::Result<OwnedFd> {
        let spot = self.spot(base, path)?;
        let found = self.by_hand(spot.directory.as_fd(), spot.name.to_bytes())?;
        let directory = fstat(&found).is_ok_and(|found| kind(&found) == SFlag::S_IFDIR);
        if spot.slash && !directory { Err(Errno::ENOTDIR) } else { Ok(found) }
    }

    /// The directory that `path`, all but the last name, leads to.
    fn directory(&mut self, base: BorrowedFd<'_>, path: &[u8]) -> nix::Result<OwnedFd> {
        let straight = match path {
            b"" => base.try_clone_to_owned().map_err(|_| Errno::EMFILE),
            path => find(base, &text(path)?, OFlag::O_DIRECTORY),
        };
        let directory = match straight {
            Ok(directory) if !is_proc(directory.as_fd())? => return Ok(directory),
            // Through `/proc` nothing the kernel tells us is about the caller, errors included.
            _ => self.by_hand(base, path)?,
        };
        if is_proc(directory.as_fd())? {
            self.own(directory.as_fd())?;
        }
        Ok(directory)
    }

    /// Resolves `path` name by name.
    fn by_hand(&mut self, base: BorrowedFd<'_>, path: &[u8]) -> nix::Result<OwnedFd> {
        self.handmade = true;
        let mut at = start(base, path)?;
        let mut ahead = parts(path);
        while let Some(part) = ahead.pop_front() {
            let name = text(&part)?;
            let proc = is_proc(at.as_fd())?;
            let straight = if proc { None } else { outside_proc(at.as_fd(), &name)? };
            at = match straight {
                Some(found) => found,
                None => match self.step(at.as_fd(), &name, proc)? {
                    WalkStep::To(found) => found,
                    WalkStep::Along(link) => {
                        for part in parts(&link).into_iter().rev() {
                            ahead.push_front(part);
                        }
                        start(at.as_fd(), &link)?
                    }
                },
            };
        }
        Ok(at)
    }

    /// Resolves one name that the kernel cannot resolve for us.
    fn step(&mut self, at: BorrowedFd<'_>, name: &CStr, proc: bool) -> nix::Result<WalkStep> {
        if proc && let Some(link) = self.substitute(at, name.to_bytes())? {
            return Ok(WalkStep::Along(link));
        }
        let found = openat(at, name, PINNED | OFlag::O_NOFOLLOW, Mode::empty())?;
        if kind(&fstat(&found)?) != SFlag::S_IFLNK {
            return Ok(WalkStep::To(found));
        }
        self.follow(at, name, found.as_fd())
    }

    /// Follows the link `name` in `at`, pinned as `link`.
    pub(super) fn follow(
        &mut self,
        at: BorrowedFd<'_>,
        name: &CStr,
        link: BorrowedFd<'_>,
    ) -> nix::Result<WalkStep> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::ELOOP);
        }
        if is_proc(at)? {
            if let Some(link) = self.substitute(at, name.to_bytes())? {
                return Ok(WalkStep::Along(link));
            }
            if mounts::path_of(at).map_err(|_| Errno::EACCES)? != std::path::Path::new(PROC) {
                // Below a process all links are the kernel's own.
                return openat(at, name, PINNED, Mode::empty()).map(WalkStep::To);
            }
        }
        let target = readlinkat(link, c"")?;
        Ok(WalkStep::Along(std::os::unix::ffi::OsStringExt::into_vec(target)))
    }

    /// Returns the replacement for `name` in a directory of `/proc`, where it depends on the
    /// reading process; EACCES for directories of other processes.
    fn substitute(&self, at: BorrowedFd<'_>, name: &[u8]) -> nix::Result<Option<Vec<u8>>> {
        if mounts::path_of(at).map_err(|_| Errno::EACCES)? != std::path::Path::new(PROC) {
            return self.own(at).map(|()| None);
        }
        let (process, thread) = (self.process()?, self.caller.shown()?);
        match name {
            b"self" => Ok(Some(process.to_string().into_bytes())),
            b"thread-self" => Ok(Some(format!("{process}/task/{thread}").into_bytes())),
            name if name.iter().all(u8::is_ascii_digit) && !self.is_own(name)? => {
                Err(Errno::EACCES)
            }
            _ => Ok(None),
        }
    }

    fn is_own(&self, number: &[u8]) -> nix::Result<bool> {
        let own = [self.process()?, self.caller.shown()?].map(|pid| pid.to_string().into_bytes());
        Ok(own.iter().any(|own| own == number))
    }

    /// EACCES for a directory of `/proc` that belongs to another process, or to another `/proc`.
    fn own(&self, directory: BorrowedFd<'_>) -> nix::Result<()> {
        let path = mounts::path_of(directory).map_err(|_| Errno::EACCES)?;
        let Ok(below) = path.strip_prefix(PROC) else { return Err(Errno::EACCES) };
        let first = below.iter().next().map(std::os::unix::ffi::OsStrExt::as_bytes);
        match first {
            Some(name) if name[0].is_ascii_digit() && !self.is_own(name)? => Err(Errno::EACCES),
            _ => Ok(()),
        }
    }
}

/// The result of resolving one name.
pub(super) enum WalkStep {
    /// The object that it leads to.
    To(OwnedFd),
    /// Along this text, from the directory that the name lies in.
    Along(Vec<u8>),
}

/// The one place of proc in a view.
const PROC: &str = "/proc";
/// The flags with which objects are pinned.
const PINNED: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC);

/// Opens the target of `path`; ELOOP if magic links of the kernel lie on the way.
fn find(base: BorrowedFd<'_>, path: &CStr, flags: OFlag) -> nix::Result<OwnedFd> {
    let how = OpenHow::new().flags(PINNED | flags).resolve(ResolveFlag::RESOLVE_NO_MAGICLINKS);
    openat2(base, path, how)
}

/// Opens the target of `name`, if the kernel can resolve it without passing through `/proc`.
fn outside_proc(at: BorrowedFd<'_>, name: &CStr) -> nix::Result<Option<OwnedFd>> {
    match find(at, name, OFlag::empty()) {
        Ok(found) if !is_proc(found.as_fd())? => Ok(Some(found)),
        _ => Ok(None),
    }
}

fn is_proc(file: BorrowedFd<'_>) -> nix::Result<bool> {
    Ok(fstatfs(file)?.filesystem_type() == PROC_SUPER_MAGIC)
}

/// The kind of a file.
pub(super) fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_retain(found.st_mode & SFlag::S_IFMT.bits())
}

/// Opens the directory at which `path` starts.
fn start(base: BorrowedFd<'_>, path: &[u8]) -> nix::Result<OwnedFd> {
    match path.first() {
        Some(b'/') => openat(AT_FDCWD, c"/", PINNED, Mode::empty()),
        _ => base.try_clone_to_owned().map_err(|_| Errno::EMFILE),
    }
}

fn parts(path: &[u8]) -> VecDeque<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b"."));
    parts.map(<[u8]>::to_vec).collect()
}

fn text(bytes: &[u8]) -> nix::Result<CString> {
    CString::new(bytes).map_err(|_| Errno::EINVAL)
}
