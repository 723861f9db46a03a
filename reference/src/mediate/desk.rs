//! The decision about a call: [`Desk`], shared by all workers. Every name is made or moved through
//! [`Desk::vet`], with its directory pinned and the name plain.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, fstatat};

use super::caller::Caller;
use super::calls::Named;
use super::ledger::Ledger;
use super::mounts::Mounts;
use super::rules::{Judgement, Place, Rules};
use super::sticky::Sticky;
use super::walk::{Spot, Walk};

/// The result of a successful call.
#[derive(Debug)]
pub(super) enum Answer {
    /// Nothing more to say.
    Done,
    /// A descriptor of this for the caller, closed on exec or not.
    Descriptor(OwnedFd, bool),
    /// Another thread answers.
    Later,
}

/// The object that is about to get a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coming {
    /// A new and empty object.
    Fresh,
    /// Another name of something that was there before and is no link.
    Linked,
    /// Another name of a link.
    PointingLinked,
    /// A link, which leads elsewhere.
    Pointing,
}

/// The rules, and the resources for enforcing them.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) listener: OwnedFd,
    pub(super) rules: Rules,
    pub(super) mounts: Mounts,
    pub(super) sticky: Sticky,
    /// The log of refusals, if there is one.
    pub(super) ledger: Option<Ledger>,
    /// The root, pinned: where absolute paths need no directory of the caller's.
    pub(super) root: OwnedFd,
    /// Held shared from locating a directory to making a name in it, and exclusively by calls that
    /// may move directories.
    pub(super) gate: RwLock<()>,
    /// `/proc` belongs to another pid namespace than this process.
    pub(super) foreign: bool,
}

impl Desk {
    /// The path at `named` and the directory it starts at.
    pub(super) fn path(&self, caller: Caller<'_>, named: Named) -> nix::Result<(OwnedFd, Vec<u8>)> {
        let path = caller.string(named.1)?.into_bytes();
        Ok((self.base(caller, named, &path)?, path))
    }

    /// The directory that `path`, read already, starts at.
    pub(super) fn base(
        &self,
        caller: Caller<'_>,
        named: Named,
        path: &[u8],
    ) -> nix::Result<OwnedFd> {
        match path.first() {
            Some(b'/') => self.root.try_clone().map_err(|_| Errno::EMFILE),
            None => Err(Errno::ENOENT),
            _ => caller.base(named.0),
        }
    }

    /// The spot that a path of the caller's means.
    pub(super) fn spot(&self, caller: Caller<'_>, named: Named) -> nix::Result<Spot> {
        let (base, path) = self.path(caller, named)?;
        Walk::new(caller).spot(base.as_fd(), &path)
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
    pub(super) fn vet(&self, spot: &Spot, coming: Coming) -> nix::Result<()> {
        use Judgement::{Above, Forbidden, Free, Towards, Within};
        let errno = match (self.judge(spot)?, coming) {
            (Forbidden, _) => Errno::EACCES,
            (Free | Within, _) | (Above | Towards, Coming::Fresh) | (Towards, Coming::Linked) => {
                return Ok(());
            }
            (Above, Coming::Linked) | (Above | Towards, Coming::PointingLinked) => Errno::EXDEV,
            (Above | Towards, Coming::Pointing) => Errno::EACCES,
        };
        match look(spot) {
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) if errno == Errno::EACCES => Err(self.refusal(spot, errno)),
            Err(Errno::ENOENT) => Err(errno),
            Err(other) => Err(other),
        }
    }

    /// `errno`, by which something at `spot` is refused for good; noted for the explanation.
    pub(super) fn refusal(&self, spot: &Spot, errno: Errno) -> Errno {
        self.ledger.iter().for_each(|ledger| ledger.note(spot));
        errno
    }

    /// Checks that the object at `spot` may be removed: EACCES for a link that has to stay.
    pub(super) fn vet_removal(&self, spot: &Spot) -> nix::Result<()> {
        match self.judge(spot)? {
            Judgement::Forbidden => look(spot).and_then(|_| Err(self.refusal(spot, Errno::EACCES))),
            _ => Ok(()),
        }
    }

    /// Returns the judgement of the rules about `spot`; EACCES where a rule may apply and the place
    /// of `spot` is unknown.
    pub(super) fn judge(&self, spot: &Spot) -> nix::Result<Judgement> {
        if spot.stands || !self.rules.concern(spot.bare()) {
            return Ok(Judgement::Free);
        }
        self.place(spot).map(|place| self.rules.judge(&place))
    }

    /// Returns the place of `spot` in its file system.
    pub(super) fn place(&self, spot: &Spot) -> nix::Result<Place> {
        let folder = self.mounts.place(spot.folder.as_fd()).ok_or(Errno::EACCES)?;
        let name = std::os::unix::ffi::OsStrExt::from_bytes(spot.bare());
        let path = folder.path.join::<&std::ffi::OsStr>(name);
        Ok(Place { device: folder.device, path })
    }
}

/// Stats the object at `spot` itself, following no link.
pub(super) fn look(spot: &Spot) -> nix::Result<FileStat> {
    let name = std::ffi::CString::new(spot.bare()).map_err(|_| Errno::EINVAL)?;
    look_at(spot, &name)
}

fn look_at(spot: &Spot, name: &CStr) -> nix::Result<FileStat> {
    fstatat(&spot.folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)
}
