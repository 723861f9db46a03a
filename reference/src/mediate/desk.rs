//! Where calls are decided: [`Desk`], shared by all workers. Every name is made or moved through
//! [`Desk::vet`], with its folder pinned and the name plain.

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

/// What ends a call well.
#[derive(Debug)]
pub(super) enum Answer {
    /// Nothing more to say.
    Done,
    /// A descriptor of this for the caller, closed on exec or not.
    Descriptor(OwnedFd, bool),
    /// Another thread answers.
    Later,
}

/// What is about to come to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coming {
    /// Something new and empty.
    Fresh,
    /// Another name of something that was there before and is no link.
    Linked,
    /// Another name of a link.
    PointingLinked,
    /// A link, which leads elsewhere.
    Pointing,
}

/// The rules, and what it takes to hold places against them.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) listener: OwnedFd,
    pub(super) rules: Rules,
    pub(super) mounts: Mounts,
    pub(super) sticky: Sticky,
    /// Where refusals are noted, if anywhere.
    pub(super) ledger: Option<Ledger>,
    /// The root, pinned: where absolute paths need no folder of the caller's.
    pub(super) root: OwnedFd,
    /// Held shared from finding out where a folder is to making a name in it, and alone by what
    /// may move folders.
    pub(super) gate: RwLock<()>,
    /// Whether `/proc` has other numbers than this pid namespace.
    pub(super) foreign: bool,
}

impl Desk {
    /// The path at `named` and the folder it starts at.
    pub(super) fn path(&self, caller: Caller<'_>, named: Named) -> nix::Result<(OwnedFd, Vec<u8>)> {
        let path = caller.string(named.1)?.into_bytes();
        Ok((self.base(caller, named, &path)?, path))
    }

    /// The folder that `path`, read already, starts at.
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

    /// Until the guard is gone, no folder is moved.
    pub(super) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Until the guard is gone, nobody else makes or moves a name.
    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whether something may come to `spot`; EEXIST where something stands in the way of it, which
    /// wins over the rules, as in the kernel.
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

    /// Whether what stands at `spot` may go: EACCES for a link that has to stay.
    pub(super) fn vet_removal(&self, spot: &Spot) -> nix::Result<()> {
        match self.judge(spot)? {
            Judgement::Forbidden => look(spot).and_then(|_| Err(self.refusal(spot, Errno::EACCES))),
            _ => Ok(()),
        }
    }

    /// What the rules say of `spot`; EACCES where a rule may be about it and it is not known where
    /// it lies.
    pub(super) fn judge(&self, spot: &Spot) -> nix::Result<Judgement> {
        if spot.stands || !self.rules.concern(spot.bare()) {
            return Ok(Judgement::Free);
        }
        self.place(spot).map(|place| self.rules.judge(&place))
    }

    /// Where `spot` lies.
    pub(super) fn place(&self, spot: &Spot) -> nix::Result<Place> {
        let folder = self.mounts.place(spot.folder.as_fd()).ok_or(Errno::EACCES)?;
        let name = std::os::unix::ffi::OsStrExt::from_bytes(spot.bare());
        let path = folder.path.join::<&std::ffi::OsStr>(name);
        Ok(Place { device: folder.device, path })
    }
}

/// What stands at `spot` itself.
pub(super) fn look(spot: &Spot) -> nix::Result<FileStat> {
    let name = std::ffi::CString::new(spot.bare()).map_err(|_| Errno::EINVAL)?;
    look_at(spot, &name)
}

fn look_at(spot: &Spot, name: &CStr) -> nix::Result<FileStat> {
    fstatat(&spot.folder, name, AtFlags::AT_SYMLINK_NOFOLLOW)
}
