//! Opening with O_CREAT: an existing object is opened as pinned, a missing one is created under one
//! plain name that must not exist.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, umask};

use super::broker::{CallAnswer, NewEntry, SyscallBroker};
use super::caller::CallingThread;
use super::calls::PathArgument;
use super::emulate::own_path;
use super::walk::{PathWalk, PinnedName, WalkStep, kind};
use crate::sys::notify;

/// Times we look again because the name came or went meanwhile.
const ATTEMPTS: usize = 1000;
/// Bytes of stack for a thread that only opens.
const STACK: usize = 64 << 10;

/// One opening call.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenCall {
    pub(super) flags: OFlag,
    pub(super) mode: Mode,
}

impl OpenCall {
    /// Reads the call's arguments.
    pub(super) fn new(flags: i32, mode: u32) -> Self {
        Self { flags: OFlag::from_bits_retain(flags), mode: Mode::from_bits_truncate(mode) }
    }

    fn has(self, flag: OFlag) -> bool {
        if fault!("mediate.exclusive") && flag == OFlag::O_EXCL {
            return false;
        }
        if fault!("mediate.close-on-exec") && flag == OFlag::O_CLOEXEC {
            return false;
        }
        self.flags.contains(flag)
    }

    /// Returns whether the flags refuse every existing object, or this one because it is a link.
    fn refuses(self, kind: SFlag) -> bool {
        self.has(OFlag::O_EXCL) || self.has(OFlag::O_NOFOLLOW) && kind == SFlag::S_IFLNK
    }

    /// Returns the flags for an existing object: nothing may be created, and no terminal become
    /// ours.
    fn existing(self) -> OFlag {
        let mut dropped = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        if fault!("mediate.truncate") {
            dropped |= OFlag::O_TRUNC;
        }
        if fault!("mediate.append") {
            dropped |= OFlag::O_APPEND;
        }
        self.flags.difference(dropped) | OFlag::O_CLOEXEC | OFlag::O_NOCTTY
    }

    fn descriptor(self, file: OwnedFd) -> CallAnswer {
        CallAnswer::Descriptor(file, self.has(OFlag::O_CLOEXEC))
    }
}

impl SyscallBroker {
    /// Opens for `caller`; `id` is its call's, should another thread have to answer.
    pub(super) fn open(
        self: &Arc<Self>,
        caller: CallingThread<'_>,
        id: u64,
        at: PathArgument,
        opening: OpenCall,
    ) -> nix::Result<CallAnswer> {
        // As the kernel, which has nothing to make a directory with here. O_TMPFILE holds this
        // flag.
        if opening.has(OFlag::O_DIRECTORY) {
            return Err(Errno::EINVAL);
        }
        let (base, path) = self.path(caller, at)?;
        let mut walk = PathWalk::new(caller);
        let (mut base, mut path) = (base, path);
        for _ in 0..ATTEMPTS {
            let spot = walk.spot(base.as_fd(), &path)?;
            match (spot.stands, spot.slash) {
                (true, _) if opening.has(OFlag::O_EXCL) => return Err(Errno::EEXIST),
                (false, false) => {}
                _ => return Err(Errno::EISDIR),
            }
            let found = match self.find(caller, &spot, opening) {
                Err(Errno::EAGAIN) => continue,
                other => other?,
            };
            if let OpenedEntry::There(object, kind) = &found
                && !opening.refuses(*kind)
            {
                self.sticky.vet(&spot.directory, object)?;
            }
            match found {
                OpenedEntry::Made(file) => return Ok(opening.descriptor(file)),
                OpenedEntry::There(_, _) if opening.has(OFlag::O_EXCL) => {
                    return Err(Errno::EEXIST);
                }
                OpenedEntry::There(object, SFlag::S_IFLNK) => {
                    if opening.has(OFlag::O_NOFOLLOW) {
                        return Err(Errno::ELOOP);
                    }
                    match walk.follow(spot.directory.as_fd(), &spot.name, object.as_fd())? {
                        WalkStep::To(object) => return self.reopen(caller, id, object, opening),
                        WalkStep::Along(link) if link.is_empty() => return Err(Errno::ENOENT),
                        WalkStep::Along(link) => {
                            base = match link.first() {
                                Some(b'/') => self.root.try_clone().map_err(|_| Errno::EMFILE)?,
                                _ => spot.directory,
                            };
                            path = link;
                        }
                    }
                }
                OpenedEntry::There(object, _) => return self.reopen(caller, id, object, opening),
            }
        }
        Err(Errno::ELOOP)
    }

    /// Returns the object at `spot`, or the one created there; EAGAIN if the name changed
    /// meanwhile.
    fn find(
        &self,
        caller: CallingThread<'_>,
        spot: &PinnedName,
        opening: OpenCall,
    ) -> nix::Result<OpenedEntry> {
        let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        match openat(&spot.directory, spot.name.as_c_str(), flags, Mode::empty()) {
            Err(Errno::ENOENT) => self.make(caller, spot, opening).map(OpenedEntry::Made),
            Err(errno) => Err(errno),
            Ok(object) => {
                let kind = kind(&fstat(&object)?);
                Ok(OpenedEntry::There(object, kind))
            }
        }
    }

    fn make(
        &self,
        caller: CallingThread<'_>,
        spot: &PinnedName,
        opening: OpenCall,
    ) -> nix::Result<OwnedFd> {
        let status = caller.status()?;
        let must_be_new = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        let flags = opening.flags | must_be_new | OFlag::O_CLOEXEC;
        let _still = self.shared();
        let made = self.vet(caller, spot, NewEntry::Fresh).and_then(|()| {
            umask(if fault!("mediate.umask") { Mode::empty() } else { status.umask });
            openat(&spot.directory, spot.name.as_c_str(), flags, opening.mode)
        });
        made.map_err(|errno| if errno == Errno::EEXIST { Errno::EAGAIN } else { errno })
    }

    /// Opens the pinned `object` as the caller asked, in a thread of its own where that may block.
    fn reopen(
        self: &Arc<Self>,
        caller: CallingThread<'_>,
        id: u64,
        object: OwnedFd,
        opening: OpenCall,
    ) -> nix::Result<CallAnswer> {
        let found = fstat(&object)?;
        let object = match own_terminal(caller, &found)? {
            Some(terminal) => terminal,
            None => object,
        };
        match kind(&found) {
            SFlag::S_IFDIR => return Err(Errno::EISDIR),
            SFlag::S_IFREG => match at_once(&object, opening) {
                Err(Errno::EAGAIN) if !opening.has(OFlag::O_NONBLOCK) => {}
                other => return other.map(|file| opening.descriptor(file)),
            },
            SFlag::S_IFCHR if is_quick(&found) => {
                return plainly(&object, opening).map(|file| opening.descriptor(file));
            }
            _ => {}
        }
        let desk = Arc::clone(self);
        let apart = std::thread::Builder::new().stack_size(STACK);
        let started = apart.spawn(move || {
            let opened = plainly(&object, opening).map(|file| opening.descriptor(file));
            drop(object);
            desk.answer(id, opened);
        });
        started.map(|_| CallAnswer::Later).map_err(|_| Errno::EAGAIN)
    }

    /// Ends the call `id`.
    pub(super) fn answer(&self, id: u64, result: nix::Result<CallAnswer>) {
        let listener = self.listener.as_fd();
        match result {
            Ok(CallAnswer::Later) => {}
            Ok(CallAnswer::OwnCall) => notify::let_go_on(listener, id),
            Ok(CallAnswer::Done) => notify::answer(listener, id, Ok(0)),
            Ok(CallAnswer::Count(count)) => notify::answer(listener, id, Ok(count as i64)),
            Err(errno) => notify::answer(listener, id, Err(errno)),
            Ok(CallAnswer::Descriptor(file, close_on_exec)) => {
                let given = notify::hand_over(listener, id, file.as_fd(), close_on_exec);
                // Before the caller continues: a second descriptor of a writable file would keep it
                // from being executed, and hold its locks.
                drop(file);
                notify::answer(listener, id, given.map(i64::from));
            }
        }
    }
}

enum OpenedEntry {
    Made(OwnedFd),
    There(OwnedFd, SFlag),
}

fn plainly(object: &OwnedFd, opening: OpenCall) -> nix::Result<OwnedFd> {
    open(own_path(object.as_fd())?.as_c_str(), opening.existing(), Mode::empty())
}

/// Opens a file without waiting for the holder of a lease on it: EAGAIN then.
fn at_once(object: &OwnedFd, opening: OpenCall) -> nix::Result<OwnedFd> {
    let flags = opening.existing();
    let path = own_path(object.as_fd())?;
    let file = open(path.as_c_str(), flags | OFlag::O_NONBLOCK, Mode::empty())?;
    if !flags.contains(OFlag::O_NONBLOCK) {
        let set = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
        fcntl(&file, FcntlArg::F_SETFL(set.difference(OFlag::O_NONBLOCK)))?;
    }
    Ok(file)
}

/// Devices whose opening never waits: memory ones and pseudo terminals.
fn is_quick(found: &FileStat) -> bool {
    const MEMORY: u32 = 1;
    matches!(libc::major(found.st_rdev), MEMORY | 136..=143)
}

/// Opens the caller's terminal for `/dev/tty`, which means another terminal to us.
fn own_terminal(caller: CallingThread<'_>, found: &FileStat) -> nix::Result<Option<OwnedFd>> {
    const CONTROLLING: (u32, u32) = (5, 0);
    let device = (libc::major(found.st_rdev), libc::minor(found.st_rdev));
    if kind(found) != SFlag::S_IFCHR || device != CONTROLLING {
        return Ok(None);
    }
    let device = caller.terminal()?.ok_or(Errno::ENXIO)?;
    let path = format!("/dev/pts/{}", libc::minor(device));
    let terminal = open(path.as_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty());
    let terminal = terminal.map_err(|_| Errno::ENXIO)?;
    match fstat(&terminal)?.st_rdev == device {
        true => Ok(Some(terminal)),
        false => Err(Errno::ENXIO),
    }
}
