//! The decision about a call: [`SyscallBroker`], shared by all workers. Every name is made or moved through
//! [`SyscallBroker::vet`], with its directory pinned and the name plain.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, fstatat};

use super::caller::CallingThread;
use super::calls::PathArgument;
use super::mounts::MountTable;
use super::refusal_log::RefusalLog;
use super::rules::{AbsenceRules, DevicePath, RuleMatch};
use super::socket_register::SocketRegister;
use super::sticky::StickyProtection;
use super::walk::{PathWalk, PinnedName};
use crate::sys;

/// The result of a successful call.
#[derive(Debug)]
pub(super) enum CallAnswer {
    /// Nothing more to say.
    Done,
    /// A descriptor of this for the caller, closed on exec or not.
    Descriptor(OwnedFd, bool),
    /// A number.
    Count(usize),
    /// The caller's own call goes on.
    OwnCall,
    /// Another thread answers.
    Later,
}

/// The object that is about to get a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewEntry {
    /// A new and empty object.
    Fresh,
    /// Another name of something that was there before and is no link.
    Linked,
    /// Another name of a link.
    PointingLinked,
    /// A link, which leads elsewhere.
    Pointing,
}

/// The parts of a broker that are prepared before the command is started.
#[derive(Debug)]
pub(super) struct BrokerParts {
    pub(super) rules: AbsenceRules,
    pub(super) mounts: MountTable,
    pub(super) sockets: Option<SocketRegister>,
    pub(super) ledger: Option<RefusalLog>,
    pub(super) root: OwnedFd,
    pub(super) holds: HeldNames,
    pub(super) observes: bool,
}

/// The calls on names that are carried out here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldNames {
    /// None of them.
    Nothing,
    /// Those that make or move names.
    Made,
    /// Those that remove names, too.
    MadeAndRemoved,
}

/// The rules, and the resources for enforcing them.
#[derive(Debug)]
pub(super) struct SyscallBroker {
    pub(super) listener: OwnedFd,
    pub(super) rules: AbsenceRules,
    pub(super) mounts: MountTable,
    pub(super) sticky: StickyProtection,
    /// Whose sockets are whose, where that is asked about.
    pub(super) sockets: Option<SocketRegister>,
    /// The log of refusals, if there is one.
    pub(super) ledger: Option<RefusalLog>,
    /// The root, pinned: where absolute paths need no directory of the caller's.
    pub(super) root: OwnedFd,
    /// Held shared from locating a directory to making a name in it, and exclusively by calls that
    /// may move directories.
    pub(super) gate: RwLock<()>,
    /// The calls on names that are carried out here; others only come to be looked at.
    pub(super) holds: HeldNames,
    /// Refusals by the kernel itself are told, too.
    pub(super) observes: bool,
    /// `/proc` belongs to another pid namespace than this process.
    pub(super) foreign: bool,
}

impl SyscallBroker {
    /// Creates the broker of the calls that come to `listener`.
    pub(super) fn new(listener: OwnedFd, parts: BrokerParts) -> Self {
        let BrokerParts { rules, mounts, sockets, ledger, root, holds, observes } = parts;
        let (sticky, gate) = (StickyProtection::read(), RwLock::new(()));
        let foreign = !sys::is_shown_as_itself();
        Self {
            listener,
            rules,
            mounts,
            sticky,
            sockets,
            ledger,
            root,
            gate,
            holds,
            observes,
            foreign,
        }
    }

    /// The path at `named` and the directory it starts at.
    pub(super) fn path(
        &self,
        caller: CallingThread<'_>,
        named: PathArgument,
    ) -> nix::Result<(OwnedFd, Vec<u8>)> {
        let path = caller.string(named.1)?.into_bytes();
        Ok((self.base(caller, named, &path)?, path))
    }

    /// The directory that `path`, read already, starts at.
    pub(super) fn base(
        &self,
        caller: CallingThread<'_>,
        named: PathArgument,
        path: &[u8],
    ) -> nix::Result<OwnedFd> {
        match path.first() {
            Some(b'/') => self.root.try_clone().map_err(|_| Errno::EMFILE),
            None => Err(Errno::ENOENT),
            _ if fault!("mediate.directory-descriptors") => caller.base(libc::AT_FDCWD),
            _ => caller.base(named.0),
        }
    }

    /// The spot that a path of the caller's means.
    pub(super) fn spot(
        &self,
        caller: CallingThread<'_>,
        named: PathArgument,
    ) -> nix::Result<PinnedName> {
        let (base, path) = self.path(caller, named)?;
        PathWalk::new(caller).spot(base.as_fd(), &path)
    }

    /// Keeps all directories from being moved until the guard is dropped.
    pub(super) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Locks out every other creation or move of a name while the guard lives.
    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Checks that an object may get the name `spot`; EEXIST where the name is taken, which takes
    /// precedence over the rules, as in the kernel.
    pub(super) fn vet(
        &self,
        caller: CallingThread<'_>,
        spot: &PinnedName,
        coming: NewEntry,
    ) -> nix::Result<()> {
        use RuleMatch::{Above, Forbidden, Free, Towards, Within};
        let errno = match (self.judge(spot)?, coming) {
            (Forbidden, NewEntry::Linked) if fault!("mediate.hard-links") => return Ok(()),
            (Forbidden, NewEntry::Pointing) if fault!("mediate.links") => return Ok(()),
            (Above, NewEntry::Pointing) if fault!("mediate.links-above") => return Ok(()),
            (Forbidden, _) => Errno::EACCES,
            (Free | Within, _)
            | (Above | Towards, NewEntry::Fresh)
            | (Towards, NewEntry::Linked) => {
                return Ok(());
            }
            (Above, NewEntry::Linked) | (Above | Towards, NewEntry::PointingLinked) => Errno::EXDEV,
            (Above | Towards, NewEntry::Pointing) => Errno::EACCES,
        };
        match stat_name(spot) {
            Ok(_) if !fault!("mediate.taken-names") => Err(Errno::EEXIST),
            Ok(_) => Err(errno),
            Err(Errno::ENOENT) => Err(self.refusal(caller, spot, errno)),
            Err(other) => Err(other),
        }
    }

    /// Returns `errno`, by which the call of `caller` is refused at `spot`; the supervisor is told.
    pub(super) fn refusal(
        &self,
        caller: CallingThread<'_>,
        spot: &PinnedName,
        errno: Errno,
    ) -> Errno {
        if !fault!("mediate.notes") {
            self.ledger.iter().for_each(|ledger| ledger.note(caller, spot, errno));
        }
        errno
    }

    /// Checks that the object at `spot` may be removed: EACCES for a link that has to stay.
    pub(super) fn vet_removal(
        &self,
        caller: CallingThread<'_>,
        spot: &PinnedName,
    ) -> nix::Result<()> {
        match self.judge(spot)? {
            RuleMatch::Forbidden => {
                stat_name(spot).and_then(|_| Err(self.refusal(caller, spot, Errno::EACCES)))
            }
            _ => Ok(()),
        }
    }

    /// Returns the judgement of the rules about `spot`; EACCES where a rule may apply to its name and the
    /// place of `spot` is unknown. Other names are asked about, too: they may lie in what the host made.
    pub(super) fn judge(&self, spot: &PinnedName) -> nix::Result<RuleMatch> {
        match self.place(spot) {
            _ if spot.stands || spot.slash && fault!("mediate.slash-at-end") => Ok(RuleMatch::Free),
            Err(_) if !self.rules.concern(spot.bare()) => Ok(RuleMatch::Free),
            place => place.map(|place| self.rules.judge(&place)),
        }
    }

    /// Returns the place of `spot` in its file system.
    pub(super) fn place(&self, spot: &PinnedName) -> nix::Result<DevicePath> {
        let directory = self.mounts.place(spot.directory.as_fd()).ok_or(Errno::EACCES)?;
        let name = std::os::unix::ffi::OsStrExt::from_bytes(spot.bare());
        let path = directory.path.join::<&std::ffi::OsStr>(name);
        Ok(DevicePath { device: directory.device, path })
    }
}

/// Stats the object at `spot` itself, following no link.
pub(super) fn stat_name(spot: &PinnedName) -> nix::Result<FileStat> {
    let name = std::ffi::CString::new(spot.bare()).map_err(|_| Errno::EINVAL)?;
    look_at(spot, &name)
}

fn look_at(spot: &PinnedName, name: &CStr) -> nix::Result<FileStat> {
    fstatat(&spot.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)
}
