//! Every call but opening, carried out for the caller on pinned directories.

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, RenameFlags, renameat2};
use nix::sys::stat::{Mode, SFlag, fstat, mkdirat, mknodat, umask};
use nix::unistd::{UnlinkatFlags, fchdir, linkat, symlinkat, unlinkat};

use super::caller::Caller;
use super::calls::{Call, Named};
use super::desk::{Answer, Coming, Desk, look};
use super::walk::{Spot, Walk, kind};
use crate::sys::notify;

impl Desk {
    /// Carries out `call` (no opening one) for `caller`.
    pub(super) fn act(&self, caller: Caller<'_>, call: Call) -> nix::Result<Answer> {
        let done = match call {
            Call::Open { .. } => Err(Errno::ENOSYS),
            Call::Mkdir { at, mode } => self.mkdir(caller, at, mode),
            Call::Mknod { at, mode, device } => self.mknod(caller, at, mode, device),
            Call::Symlink { target, at } => self.symlink(caller, target, at),
            Call::Link { from, to, flags } => self.link(caller, from, to, flags),
            Call::Rename { from, to, flags } => self.rename(caller, from, to, flags),
            Call::Remove { at, flags } => self.remove(caller, at, flags),
            Call::Bind { socket, address, length } => self.bind(caller, socket, address, length),
        };
        done.map(|()| Answer::Done)
    }

    fn mkdir(&self, caller: Caller<'_>, at: Named, mode: u32) -> nix::Result<()> {
        let spot = self.spot(caller, at)?;
        let status = caller.status()?;
        let _still = self.shared();
        self.vet(&spot, Coming::Fresh)?;
        umask(status.umask);
        mkdirat(&spot.folder, spot.name.as_c_str(), Mode::from_bits_truncate(mode))
    }

    fn mknod(&self, caller: Caller<'_>, at: Named, mode: u32, device: u64) -> nix::Result<()> {
        let spot = self.spot(caller, at)?;
        let status = caller.status()?;
        let _still = self.shared();
        self.vet(&spot, Coming::Fresh)?;
        umask(status.umask);
        let kind = SFlag::from_bits_retain(mode & SFlag::S_IFMT.bits());
        let mode = Mode::from_bits_truncate(mode);
        mknodat(&spot.folder, spot.name.as_c_str(), kind, mode, decoded(device))
    }

    fn symlink(&self, caller: Caller<'_>, target: u64, at: Named) -> nix::Result<()> {
        let target = caller.string(target)?;
        let spot = self.spot(caller, at)?;
        let _still = self.shared();
        self.vet(&spot, Coming::Pointing)?;
        symlinkat(target.as_c_str(), &spot.folder, spot.name.as_c_str())
    }

    fn link(&self, caller: Caller<'_>, from: Named, to: Named, flags: i32) -> nix::Result<()> {
        if flags & !(libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Err(Errno::EINVAL);
        }
        let source = self.source(caller, from, flags)?;
        let spot = self.spot(caller, to)?;
        // No link can replace the object after the check.
        let _alone = self.alone();
        self.vet(&spot, source.coming()?)?;
        let name = spot.name.as_c_str();
        match &source {
            Source::Named(old) => {
                linkat(&old.folder, old.name.as_c_str(), &spot.folder, name, AtFlags::empty())
            }
            Source::Pinned(object) => {
                let follow = AtFlags::AT_SYMLINK_FOLLOW;
                linkat(&self.root, own_path(object.as_fd())?.as_c_str(), &spot.folder, name, follow)
            }
        }
    }

    /// Resolves the object that a hard link is made of.
    fn source(&self, caller: Caller<'_>, from: Named, flags: i32) -> nix::Result<Source> {
        let path = caller.string(from.1)?.into_bytes();
        if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            return caller.base(from.0).map(Source::Pinned);
        }
        let base = self.base(caller, from, &path)?;
        let mut walk = Walk::new(caller);
        match flags & libc::AT_SYMLINK_FOLLOW {
            0 => walk.spot(base.as_fd(), &path).map(Source::Named),
            _ => walk.object(base.as_fd(), &path).map(Source::Pinned),
        }
    }

    fn rename(&self, caller: Caller<'_>, from: Named, to: Named, flags: u32) -> nix::Result<()> {
        let flags = move_flags(flags)?;
        let old = self.spot(caller, from)?;
        let new = self.spot(caller, to)?;
        let _alone = self.alone();
        if !old.stands && !new.stands {
            self.vet_move(&old, &new, flags)?;
        }
        renameat2(&old.folder, old.name.as_c_str(), &new.folder, new.name.as_c_str(), flags)
    }

    fn remove(&self, caller: Caller<'_>, at: Named, flags: i32) -> nix::Result<()> {
        let flag = match flags {
            0 => UnlinkatFlags::NoRemoveDir,
            libc::AT_REMOVEDIR => UnlinkatFlags::RemoveDir,
            _ => return Err(Errno::EINVAL),
        };
        let spot = self.spot(caller, at)?;
        let _still = self.shared();
        self.vet_removal(&spot)?;
        unlinkat(&spot.folder, spot.name.as_c_str(), flag)
    }

    fn bind(
        &self,
        caller: Caller<'_>,
        socket: RawFd,
        address: u64,
        length: u64,
    ) -> nix::Result<()> {
        /// Bytes of the longest address.
        const LONGEST: u64 = 128;
        let status = caller.status()?;
        let socket = caller.descriptor(socket, status.process).map_err(|errno| match errno {
            Errno::ENOENT => Errno::EBADF,
            other => other,
        })?;
        // The kernel reads the length as 32 bits with a sign.
        let length = u64::from(length as u32);
        if length > LONGEST {
            return Err(Errno::EINVAL);
        }
        let address = caller.memory(address, length as usize)?;
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
        caller: Caller<'_>,
        socket: &OwnedFd,
        address: &[u8],
        path: &[u8],
    ) -> nix::Result<()> {
        let base = self.base(caller, (libc::AT_FDCWD, 0), path)?;
        let _alone = self.alone();
        let mut walk = Walk::new(caller);
        let spot = walk.spot(base.as_fd(), path)?;
        self.vet(&spot, Coming::Fresh).map_err(|errno| match errno {
            Errno::EEXIST => Errno::EADDRINUSE,
            other => other,
        })?;
        if walk.handmade {
            // The text means something else to us than to the caller.
            let address = pinned_address(&spot)?;
            return notify::bind(socket, &address);
        }
        // The caller's own text, as others will ask the socket for it. The lock keeps directories
        // from being moved and links from being made meanwhile.
        fchdir(base.as_fd())?;
        notify::bind(socket, address)
    }
}

/// The flags of a move; EINVAL for unknown ones and such as exclude each other.
fn move_flags(bits: u32) -> nix::Result<RenameFlags> {
    let flags = RenameFlags::from_bits(bits).ok_or(Errno::EINVAL)?;
    let alone = RenameFlags::RENAME_NOREPLACE | RenameFlags::RENAME_WHITEOUT;
    let clash = flags.contains(RenameFlags::RENAME_EXCHANGE) && flags.intersects(alone);
    if clash { Err(Errno::EINVAL) } else { Ok(flags) }
}

enum Source {
    /// The object at a name, even if it is a link.
    Named(Spot),
    /// An object.
    Pinned(OwnedFd),
}

impl Source {
    fn coming(&self) -> nix::Result<Coming> {
        let found = match self {
            Self::Named(spot) => look(spot)?,
            Self::Pinned(object) => fstat(object)?,
        };
        Ok(if kind(&found) == SFlag::S_IFLNK { Coming::PointingLinked } else { Coming::Linked })
    }
}

/// A name of ours for a descriptor.
pub(super) fn own_path(object: BorrowedFd<'_>) -> nix::Result<CString> {
    CString::new(format!("/proc/self/fd/{}", object.as_raw_fd())).map_err(|_| Errno::EINVAL)
}

/// The path in a unix socket's address, if it is one with a path.
fn path_in(address: &[u8]) -> Option<&[u8]> {
    let (family, path) = address.split_first_chunk::<2>()?;
    let unix = i32::from(u16::from_ne_bytes(*family)) == libc::AF_UNIX;
    let path = path.split(|byte| *byte == 0).next()?;
    (unix && !path.is_empty()).then_some(path)
}

/// An address for the pinned spot.
fn pinned_address(spot: &Spot) -> nix::Result<Vec<u8>> {
    let family = (libc::AF_UNIX as u16).to_ne_bytes();
    let folder = own_path(spot.folder.as_fd())?;
    Ok([&family[..], folder.as_bytes(), b"/", spot.name.as_bytes_with_nul()].concat())
}

/// The kernel packs device numbers into 32 bits.
fn decoded(device: u64) -> libc::dev_t {
    let device = device as u32;
    libc::makedev(device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xf_ff00)
}
