//! Calls that are only looked at, and then go on by themselves: whether the kernel refuses one is asked
//! about the object that its path means now. Nothing depends on the answer but what is told, as the path
//! can come to mean another object before the call reads it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{AccessFlags, faccessat};

use super::broker::{SyscallBroker, stat_name};
use super::caller::CallingThread;
use super::calls::{PathArgument, UnmediatedCall};
use super::emulate::own_path;
use super::mounts;
use super::walk::{PathWalk, PinnedName, kind};
use crate::control::{ObservedChange, RefusedObject};
use crate::sys::notify::{self, SeccompNotification};

/// A refusal that was found: where, of what, and how.
type FoundRefusal = (PathBuf, ObservedChange, Errno);

impl SyscallBroker {
    /// Tells of the call of `notice` if the kernel refuses it, and notes one that `goes_on` and makes a name.
    pub(super) fn observe(
        &self,
        caller: CallingThread<'_>,
        notice: &SeccompNotification,
        goes_on: bool,
    ) {
        let Some(ledger) = self.ledger.as_ref().filter(|_| self.observes) else { return };
        let Some(call) = UnmediatedCall::decode_notice(notice) else { return };
        match self.refused(caller, call) {
            Some((place, change, errno)) => {
                let object = RefusedObject::Observed { path: place.into(), change };
                ledger.tell(caller, object, errno);
            }
            None if goes_on && ledger.has_told() && self.makes(caller, call) => {
                ledger.note_progress(caller);
            }
            None => {}
        }
    }

    /// Returns whether `call`, which the kernel does not refuse, makes a name.
    fn makes(&self, caller: CallingThread<'_>, call: UnmediatedCall) -> bool {
        let (UnmediatedCall::Make(at) | UnmediatedCall::Link(_, at) | UnmediatedCall::Open(at)) =
            call
        else {
            return false;
        };
        let spot = self.spot(caller, at);
        spot.is_ok_and(|spot| !spot.stands && stat_name(&spot).is_err())
    }

    /// Tells of a call that reaches the address of an internet socket, if there is no route to it.
    pub(super) fn observe_address(&self, caller: CallingThread<'_>, address: &[u8]) {
        let Some(ledger) = self.ledger.as_ref().filter(|_| self.observes) else { return };
        if let Some((address, errno)) = internet_address(address).and_then(unrouted) {
            ledger.tell(caller, RefusedObject::Address(address), errno);
        }
    }

    fn refused(&self, caller: CallingThread<'_>, call: UnmediatedCall) -> Option<FoundRefusal> {
        match call {
            UnmediatedCall::Write(at) => self.write_refused(caller, at),
            UnmediatedCall::Open(at) => match self.object(caller, at) {
                Err(Errno::ENOENT) => self.entry_refused(caller, at, Some(false)),
                _ => self.write_refused(caller, at),
            },
            UnmediatedCall::Make(at) => self.entry_refused(caller, at, Some(false)),
            UnmediatedCall::Remove(at) => self.entry_refused(caller, at, Some(true)),
            // What is not there is neither linked nor moved outside, and no file takes the place of a
            // directory.
            UnmediatedCall::Link(from, _) if self.type_of(caller, from).is_err() => None,
            UnmediatedCall::Link(_, to) => self.entry_refused(caller, to, Some(false)),
            UnmediatedCall::Move(from, _) if self.type_of(caller, from).is_err() => None,
            UnmediatedCall::Move(from, to) if self.replaces_directory(caller, from, to) => None,
            UnmediatedCall::Move(from, to) => self
                .entry_refused(caller, from, Some(true))
                .or_else(|| self.entry_refused(caller, to, None)),
            UnmediatedCall::Metadata(at, follows) => self.metadata_refused(caller, at, follows),
        }
    }

    /// Returns the object that a path of the caller's leads to.
    fn object(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
    ) -> nix::Result<std::os::fd::OwnedFd> {
        let (base, path) = self.path(caller, at)?;
        PathWalk::new(caller).object(base.as_fd(), &path)
    }

    /// Returns whether `from`, which is no directory, is to take the place of one, as no host lets it.
    fn replaces_directory(
        &self,
        caller: CallingThread<'_>,
        from: PathArgument,
        to: PathArgument,
    ) -> bool {
        let is_directory = |at| self.type_of(caller, at) == Ok(SFlag::S_IFDIR);
        is_directory(to) && !is_directory(from)
    }

    /// Returns the type of the object that a name is of, or of the descriptor that stands for it.
    fn type_of(&self, caller: CallingThread<'_>, at: PathArgument) -> nix::Result<SFlag> {
        let (base, path) = self.path(caller, at)?;
        if path.is_empty() {
            return fstat(&base).map(|found| kind(&found));
        }
        let spot = PathWalk::new(caller).spot(base.as_fd(), &path)?;
        stat_name(&spot).map(|found| kind(&found))
    }

    /// Returns the refusal of a write to a file that is there.
    fn write_refused(&self, caller: CallingThread<'_>, at: PathArgument) -> Option<FoundRefusal> {
        let object = match self.object(caller, at) {
            Err(Errno::EACCES) => return self.closed(caller, at, ObservedChange::Content),
            found => found.ok()?,
        };
        (kind(&fstat(&object).ok()?) == SFlag::S_IFREG).then_some(())?;
        let errno = unwritable(object.as_fd())?;
        Some((mounts::shown_path_of(object.as_fd()).ok()?, ObservedChange::Content, errno))
    }

    /// Returns the refusal of a change of the directory that `at` is a name in; a name that is there, or
    /// is not, as `stands` says, is no use otherwise.
    fn entry_refused(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        stands: Option<bool>,
    ) -> Option<FoundRefusal> {
        let spot = match self.spot(caller, at) {
            Err(Errno::EACCES) => return self.closed(caller, at, ObservedChange::Entry),
            found => found.ok()?,
        };
        if spot.stands || stands.is_some_and(|stands| stat_name(&spot).is_ok() != stands) {
            return None;
        }
        let held = || (stands == Some(true) && is_mount_point(&spot)).then_some(Errno::EBUSY);
        let errno = unwritable(spot.directory.as_fd()).or_else(held)?;
        Some((place_of(&spot)?, ObservedChange::Entry, errno))
    }

    /// Returns the refusal of a change of what a file system says of an object.
    fn metadata_refused(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        follows: bool,
    ) -> Option<FoundRefusal> {
        let object = match follows {
            true => self.object(caller, at),
            false => self.spot(caller, at).and_then(|spot| {
                let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
                openat(&spot.directory, spot.name.as_c_str(), flags, Mode::empty())
            }),
        };
        let object = match object {
            Err(Errno::EACCES) => return self.closed(caller, at, ObservedChange::Metadata),
            found => found.ok()?,
        };
        let sealed = fstatvfs(&object).ok()?.flags().contains(FsFlags::ST_RDONLY);
        let place = mounts::shown_path_of(object.as_fd()).ok()?;
        sealed.then_some((place, ObservedChange::Metadata, Errno::EROFS))
    }

    /// Returns the refusal of a call whose path leads through a directory that cannot be entered.
    fn closed(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        change: ObservedChange,
    ) -> Option<FoundRefusal> {
        let (base, path) = self.path(caller, at).ok()?;
        let base = mounts::path_of(base.as_fd()).ok()?;
        Some((base.join(std::ffi::OsStr::from_bytes(&path)), change, Errno::EACCES))
    }
}

pub(super) fn place_of(spot: &PinnedName) -> Option<PathBuf> {
    let directory = mounts::path_of(spot.directory.as_fd()).ok()?;
    Some(directory.join(std::ffi::OsStr::from_bytes(spot.bare())))
}

/// Returns whether something is mounted at `spot`, which keeps its name.
fn is_mount_point(spot: &PinnedName) -> bool {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    let object = openat(&spot.directory, spot.name.as_c_str(), flags, Mode::empty());
    let mount = |file: BorrowedFd<'_>| notify::mount_of(file).ok();
    object.is_ok_and(|object| mount(object.as_fd()) != mount(spot.directory.as_fd()))
}

/// Returns the error of a write to `object` by this process, whose user, groups and capabilities are the
/// command's.
fn unwritable(object: BorrowedFd<'_>) -> Option<Errno> {
    let path = own_path(object).ok()?;
    let found = faccessat(AT_FDCWD, path.as_c_str(), AccessFlags::W_OK, AtFlags::AT_EACCESS);
    found.err().filter(|errno| matches!(errno, Errno::EROFS | Errno::EACCES))
}

fn internet_address(address: &[u8]) -> Option<SocketAddr> {
    let family = i32::from(u16::from_ne_bytes(*address.first_chunk()?));
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    let ip: IpAddr = match family {
        libc::AF_INET => Ipv4Addr::from(<[u8; 4]>::try_from(address.get(4..8)?).ok()?).into(),
        libc::AF_INET6 => Ipv6Addr::from(<[u8; 16]>::try_from(address.get(8..24)?).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Returns the address, and the error for want of a route in the network of this process, which is the
/// command's. No packet is sent.
fn unrouted(address: SocketAddr) -> Option<(String, Errno)> {
    let own: IpAddr = match address.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let error = UdpSocket::bind((own, 0)).ok()?.connect(address).err()?;
    let errno = Errno::from_raw(error.raw_os_error()?);
    let unreachable = matches!(errno, Errno::ENETUNREACH | Errno::EHOSTUNREACH);
    unreachable.then(|| (address.to_string(), errno))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_read() {
        let mut four = vec![0; 16];
        four[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        four[2..8].copy_from_slice(&[0, 80, 192, 0, 2, 1]);
        assert_eq!(internet_address(&four), Some("192.0.2.1:80".parse().unwrap()));
        let mut six = vec![0; 28];
        six[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        (six[3], six[23]) = (53, 1);
        assert_eq!(internet_address(&six), Some("[::1]:53".parse().unwrap()));
        assert_eq!(internet_address(&four[..7]), None);
        assert_eq!(internet_address(&[1, 0, b'/', 0]), None);
        assert_eq!(unrouted("127.0.0.1:9".parse().unwrap()), None);
    }
}
