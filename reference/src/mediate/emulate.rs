//! Every call but opening, carried out for the caller on pinned directories.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::sys::stat::{Mode, SFlag, fstat, mkdirat, mknodat, umask};
use nix::unistd::{UnlinkatFlags, fchdir, linkat, symlinkat, unlinkat};
use rustix::fs::{RenameFlags, renameat_with};

use super::broker::{CallAnswer, NewEntry, SyscallBroker, stat_name};
use super::caller::CallingThread;
use super::calls::{MediatedCall, PathArgument};
use super::observe::place_of;
use super::walk::{PathWalk, PinnedName, kind};
use crate::control::{ObservedChange, RefusedObject};
use crate::sys::notify;

impl SyscallBroker {
    /// Carries out `call`, which makes or moves a name and does not open, for `caller`.
    pub(super) fn act(
        &self,
        caller: CallingThread<'_>,
        call: MediatedCall,
    ) -> nix::Result<CallAnswer> {
        let done = match call {
            MediatedCall::Open { .. }
            | MediatedCall::Connect { .. }
            | MediatedCall::SendTo { .. }
            | MediatedCall::Send { .. }
            | MediatedCall::ShareDescriptors { .. } => Err(Errno::ENOSYS),
            MediatedCall::Mkdir { at, mode } => self.mkdir(caller, at, mode),
            MediatedCall::Mknod { at, mode, device } => self.mknod(caller, at, mode, device),
            MediatedCall::Symlink { target, at } => self.symlink(caller, target, at),
            MediatedCall::Link { from, to, flags } => self.link(caller, from, to, flags),
            MediatedCall::Rename { from, to, flags } => self.rename(caller, from, to, flags),
            MediatedCall::Remove { at, flags } => self.remove(caller, at, flags),
            MediatedCall::Bind { socket, address, length } => {
                self.bind(caller, socket, address, length)
            }
        };
        done.map(|()| CallAnswer::Done)
    }

    fn mkdir(&self, caller: CallingThread<'_>, at: PathArgument, mode: u32) -> nix::Result<()> {
        let spot = self.spot(caller, at)?;
        let status = caller.status()?;
        let _still = self.shared();
        self.vet(caller, &spot, NewEntry::Fresh)?;
        umask(status.umask);
        let mode = if fault!("mediate.directory-modes") { 0o700 } else { mode };
        mkdirat(&spot.directory, spot.name.as_c_str(), Mode::from_bits_truncate(mode))
    }

    fn mknod(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        mode: u32,
        device: u64,
    ) -> nix::Result<()> {
        let spot = self.spot(caller, at)?;
        let status = caller.status()?;
        let _still = self.shared();
        self.vet(caller, &spot, NewEntry::Fresh)?;
        umask(status.umask);
        let kind = SFlag::from_bits_retain(mode & SFlag::S_IFMT.bits());
        let mode = Mode::from_bits_truncate(mode);
        mknodat(&spot.directory, spot.name.as_c_str(), kind, mode, decoded(device))
    }

    fn symlink(&self, caller: CallingThread<'_>, target: u64, at: PathArgument) -> nix::Result<()> {
        let target = caller.string(target)?;
        let spot = self.spot(caller, at)?;
        let _still = self.shared();
        self.vet(caller, &spot, NewEntry::Pointing)?;
        symlinkat(target.as_c_str(), &spot.directory, spot.name.as_c_str())
    }

    fn link(
        &self,
        caller: CallingThread<'_>,
        from: PathArgument,
        to: PathArgument,
        flags: i32,
    ) -> nix::Result<()> {
        if flags & !(libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let source = self.source(caller, from, flags)?;
        let spot = self.spot(caller, to)?;
        // No link can replace the object after the check.
        let _alone = self.alone();
        if !(fault!("mediate.descriptor-links") && matches!(source, LinkSource::Pinned(_))) {
            self.vet(caller, &spot, source.coming()?)?;
        }
        let name = spot.name.as_c_str();
        match &source {
            LinkSource::Named(old) => {
                linkat(&old.directory, old.name.as_c_str(), &spot.directory, name, AtFlags::empty())
            }
            LinkSource::Pinned(object) => {
                let follow = AtFlags::AT_SYMLINK_FOLLOW;
                linkat(
                    &self.root,
                    own_path(object.as_fd())?.as_c_str(),
                    &spot.directory,
                    name,
                    follow,
                )
            }
        }
    }

    /// Resolves the object that a hard link is made of.
    fn source(
        &self,
        caller: CallingThread<'_>,
        from: PathArgument,
        flags: i32,
    ) -> nix::Result<LinkSource> {
        let path = caller.string(from.1)?.into_bytes();
        if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            return caller.base(from.0).map(LinkSource::Pinned);
        }
        let base = self.base(caller, from, &path)?;
        let mut walk = PathWalk::new(caller);
        match flags & libc::AT_SYMLINK_FOLLOW {
            0 => walk.spot(base.as_fd(), &path).map(LinkSource::Named),
            _ => walk.object(base.as_fd(), &path).map(LinkSource::Pinned),
        }
    }

    fn rename(
        &self,
        caller: CallingThread<'_>,
        from: PathArgument,
        to: PathArgument,
        flags: u32,
    ) -> nix::Result<()> {
        let flags = move_flags(flags)?;
        let old = self.spot(caller, from)?;
        let new = self.spot(caller, to)?;
        let _alone = self.alone();
        if !old.stands && !new.stands && !fault!("mediate.moves") {
            self.vet_move(caller, &old, &new, flags)?;
        }
        let (from, to) = (old.name.as_c_str(), new.name.as_c_str());
        renameat_with(&old.directory, from, &new.directory, to, flags)
            .map_err(|error| Errno::from_raw(error.raw_os_error()))
    }

    fn remove(&self, caller: CallingThread<'_>, at: PathArgument, flags: i32) -> nix::Result<()> {
        let flag = match flags {
            0 => UnlinkatFlags::NoRemoveDir,
            libc::AT_REMOVEDIR => UnlinkatFlags::RemoveDir,
            _ => return Err(Errno::EINVAL),
        };
        let spot = self.spot(caller, at)?;
        let _still = self.shared();
        if !fault!("mediate.kept-links") {
            self.vet_removal(caller, &spot)?;
        }
        unlinkat(&spot.directory, spot.name.as_c_str(), flag)
    }

    fn bind(
        &self,
        caller: CallingThread<'_>,
        socket: RawFd,
        address: u64,
        length: u64,
    ) -> nix::Result<()> {
        let status = caller.status()?;
        let socket = caller.descriptor(socket)?;
        let address = caller.address(address, length)?;
        match path_in(&address) {
            None => notify::bind(&socket, &address),
            Some(path) => {
                umask(status.umask);
                self.bind_path(caller, &socket, &address, path)
            }
        }
    }

    fn bind_path(
        &self,
        caller: CallingThread<'_>,
        socket: &OwnedFd,
        address: &[u8],
        path: &[u8],
    ) -> nix::Result<()> {
        let base = self.base(caller, (libc::AT_FDCWD, 0), path)?;
        let _alone = self.alone();
        let mut walk = PathWalk::new(caller);
        let spot = walk.spot(base.as_fd(), path)?;
        let vetted = self.vet(caller, &spot, NewEntry::Fresh).map_err(|errno| match errno {
            Errno::EEXIST => Errno::EADDRINUSE,
            other => other,
        });
        if !fault!("mediate.sockets") {
            vetted?;
        }
        if walk.handmade {
            // The text means something else to us than to the caller.
            notify::bind(socket, &pinned_address(&spot)?)?;
        } else {
            // The caller's own text, as others will ask the socket for it. The lock keeps
            // directories from being moved and links from being made meanwhile.
            fchdir(base.as_fd())?;
            notify::bind(socket, address).map_err(|errno| self.unbound(caller, &spot, errno))?;
        }
        self.sockets.iter().for_each(|sockets| sockets.note(socket, &spot, &self.mounts));
        Ok(())
    }

    /// Returns `errno`, with which the kernel refuses a socket at `spot`; the supervisor is told if that is
    /// because nothing can be made there.
    fn unbound(&self, caller: CallingThread<'_>, spot: &PinnedName, errno: Errno) -> Errno {
        let unmade = matches!(errno, Errno::EROFS | Errno::EACCES);
        let place = place_of(spot).ok().filter(|_| unmade && !spot.stands);
        if let (Some(ledger), Some(place)) = (&self.ledger, place) {
            let change = ObservedChange::Entry;
            ledger.tell(caller, RefusedObject::Observed { path: place.into(), change }, errno);
        }
        errno
    }
}

/// The flags of a move; EINVAL for unknown ones and such as exclude each other.
pub(super) fn move_flags(bits: u32) -> nix::Result<RenameFlags> {
    let flags = RenameFlags::from_bits_retain(bits);
    let alone = RenameFlags::NOREPLACE | RenameFlags::WHITEOUT;
    let unknown = !(RenameFlags::EXCHANGE | alone).contains(flags);
    let clash = flags.contains(RenameFlags::EXCHANGE) && flags.intersects(alone);
    if unknown || clash { Err(Errno::EINVAL) } else { Ok(flags) }
}

enum LinkSource {
    /// The object at a name, even if it is a link.
    Named(PinnedName),
    /// An object.
    Pinned(OwnedFd),
}

impl LinkSource {
    fn coming(&self) -> nix::Result<NewEntry> {
        let found = match self {
            Self::Named(spot) => stat_name(spot)?,
            Self::Pinned(object) => fstat(object)?,
        };
        Ok(if kind(&found) == SFlag::S_IFLNK { NewEntry::PointingLinked } else { NewEntry::Linked })
    }
}

/// A name of ours for a descriptor.
pub(super) fn own_path(object: BorrowedFd<'_>) -> nix::Result<CString> {
    CString::new(format!("/proc/self/fd/{}", object.as_raw_fd())).map_err(|_| Errno::EINVAL)
}

/// The path in a unix socket's address, if it is one with a path.
pub(super) fn path_in(address: &[u8]) -> Option<&[u8]> {
    let (family, path) = address.split_first_chunk::<2>()?;
    let unix = i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX;
    let path = path.split(|byte| *byte == 0).next()?;
    (unix && !path.is_empty()).then_some(path)
}

/// An address for the pinned spot.
fn pinned_address(spot: &PinnedName) -> nix::Result<Vec<u8>> {
    let family = (libc::AF_UNIX as u16).to_ne_bytes();
    let directory = own_path(spot.directory.as_fd())?;
    Ok([&family[..], directory.as_bytes(), b"/", spot.name.as_bytes_with_nul()].concat())
}

/// The kernel packs device numbers into 32 bits.
fn decoded(device: u64) -> libc::dev_t {
    let device = device as u32;
    libc::makedev(device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00)
}
