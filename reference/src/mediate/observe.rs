//! Calls that are only looked at, and then go on by themselves: whether the kernel refuses one is asked
//! about the object that its path means now. Nothing depends on the answer but what is told, as the path
//! can come to mean another object before the call reads it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, openat, openat2};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::unistd::{AccessFlags, faccessat};
use rustix::fs::RenameFlags;

use super::broker::{SyscallBroker, stat_name};
use super::caller::CallingThread;
use super::calls::PathArgument;
use super::emulate::own_path;
use super::hindrances;
use super::mounts;
use super::observed_calls::{MetadataChange, ObservedOpening, UnmediatedCall};
use super::walk::{PathWalk, PinnedName, kind};
use crate::control::{ObservedChange, RefusedObject};
use crate::sys::notify::SeccompNotification;

/// A refusal that was found: where, of what, and how.
type FoundRefusal = (PathBuf, ObservedChange, Errno);

/// The result of a look: a refusal if there is one, or the error by which the call fails on every host, or by
/// which the look does.
type Look = nix::Result<Option<FoundRefusal>>;

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
        let Ok(call) = call.with_opening(caller) else { return };
        match self.refused(caller, call) {
            Ok(Some((place, change, errno))) => {
                let object = RefusedObject::Observed { path: place.into(), change };
                ledger.tell(caller, object, errno);
            }
            Err(errno) if is_want(errno) => ledger.note_unseen(),
            _ if goes_on && ledger.has_told() && self.makes(caller, call) => {
                ledger.note_progress(caller);
            }
            _ => {}
        }
    }

    /// Returns whether `call`, which the kernel does not refuse, makes a name.
    fn makes(&self, caller: CallingThread<'_>, call: UnmediatedCall) -> bool {
        let spot = match call {
            UnmediatedCall::Make(at, _) | UnmediatedCall::Link(_, at, _) => self.spot(caller, at),
            UnmediatedCall::Open(opening) if opening.flags.contains(OFlag::O_CREAT) => {
                self.opened_spot(caller, opening)
            }
            _ => return false,
        };
        spot.is_ok_and(|spot| !spot.stands && stat_name(&spot).is_err())
    }

    /// Tells of a call that reaches the address of an internet socket, if there is no route to it.
    pub(super) fn observe_address(&self, caller: CallingThread<'_>, address: &[u8]) {
        let Some(ledger) = self.ledger.as_ref().filter(|_| self.observes) else { return };
        if let Some((address, errno)) = internet_address(address).and_then(unrouted) {
            ledger.tell(caller, RefusedObject::Address(address), errno);
        }
    }

    fn refused(&self, caller: CallingThread<'_>, call: UnmediatedCall) -> Look {
        match call {
            UnmediatedCall::Cut(at) => match self.object(caller, at) {
                Err(Errno::EACCES) => self.closed(caller, at, ObservedChange::Content),
                found => content_refused(found?.as_fd(), SFlag::S_IFREG),
            },
            UnmediatedCall::Open(opening) => self.opening_refused(caller, opening),
            UnmediatedCall::OpenBy(..) => Ok(None),
            UnmediatedCall::Make(at, form) => {
                let spot = self.spot(caller, at);
                self.entry_refused(caller, at, &spot, |spot| hindrances::can_be_made(spot, form))
            }
            UnmediatedCall::Remove(at, directory) => self.removal_refused(caller, at, directory),
            UnmediatedCall::Link(from, to, flags) => {
                let spot = self.spot(caller, to);
                self.entry_refused(caller, to, &spot, |spot| {
                    let is_directory = self.linked_type(caller, from, flags)? == SFlag::S_IFDIR;
                    Ok(!is_directory && hindrances::can_be_made(spot, SFlag::S_IFREG)?)
                })
            }
            UnmediatedCall::Move(from, to, flags) => self.move_refused(caller, from, to, flags),
            UnmediatedCall::Metadata(at, flags, change) => {
                self.metadata_refused(caller, at, flags, change)
            }
        }
    }

    /// Returns the object that a path of the caller's leads to.
    fn object(&self, caller: CallingThread<'_>, at: PathArgument) -> nix::Result<OwnedFd> {
        let (base, path) = self.path(caller, at)?;
        PathWalk::new(caller).object(base.as_fd(), &path)
    }

    /// Returns the object that is opened. Where the caller restricts how its path is resolved, the kernel
    /// resolves it likewise.
    fn opened_object(
        &self,
        caller: CallingThread<'_>,
        opening: ObservedOpening,
    ) -> nix::Result<OwnedFd> {
        if opening.resolve.is_empty() {
            return self.object(caller, opening.at);
        }
        let how = OpenHow::new().flags(PINNED).resolve(opening.resolve);
        openat2(caller.base(opening.at.0)?, caller.string(opening.at.1)?.as_c_str(), how)
    }

    /// Returns the name that is opened.
    fn opened_spot(
        &self,
        caller: CallingThread<'_>,
        opening: ObservedOpening,
    ) -> nix::Result<PinnedName> {
        if opening.resolve.is_empty() {
            return self.spot(caller, opening.at);
        }
        let path = caller.string(opening.at.1)?.into_bytes();
        let start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let above: &[u8] = if start == 0 { b"." } else { &path[..start] };
        let how = OpenHow::new().flags(PINNED | OFlag::O_DIRECTORY).resolve(opening.resolve);
        let base = caller.base(opening.at.0)?;
        let directory = openat2(base, above, how)?;
        PathWalk::new(caller).spot(directory.as_fd(), &path[start..])
    }

    /// Returns the type of the object that gets another name.
    fn linked_type(
        &self,
        caller: CallingThread<'_>,
        from: PathArgument,
        flags: i32,
    ) -> nix::Result<SFlag> {
        let follows =
            if flags & libc::AT_SYMLINK_FOLLOW == 0 { libc::AT_SYMLINK_NOFOLLOW } else { 0 };
        let object = self.changed_object(caller, from, flags & libc::AT_EMPTY_PATH | follows)?;
        fstat(&object).map(|found| kind(&found))
    }

    /// Returns the refusal of an opening for writing, or of one that makes a missing file.
    fn opening_refused(&self, caller: CallingThread<'_>, opening: ObservedOpening) -> Look {
        let has = |flag| opening.flags.contains(flag);
        let (makes, mode) = (has(OFlag::O_CREAT), opening.flags & OFlag::O_ACCMODE);
        let is_temporary = has(OFlag::O_TMPFILE);
        let writes = mode != OFlag::O_RDONLY || has(OFlag::O_TRUNC);
        // One for a directory writes nothing and makes nothing but a file without a name.
        let is_void = has(OFlag::O_DIRECTORY) && (!is_temporary || makes) || has(OFlag::O_PATH);
        if is_void || !makes && !writes {
            return Ok(None);
        }
        let makes_entry = || {
            let spot = self.opened_spot(caller, opening);
            let can = |spot: &PinnedName| hindrances::can_be_made(spot, SFlag::S_IFREG);
            self.entry_refused(caller, opening.at, &spot, can)
        };
        if makes && has(OFlag::O_EXCL) {
            return makes_entry();
        }
        if has(OFlag::O_NOFOLLOW) && self.is_link(caller, opening)? {
            return Err(Errno::ELOOP);
        }
        let object = match self.opened_object(caller, opening) {
            Err(Errno::ENOENT) if makes => return makes_entry(),
            Err(Errno::EACCES) => {
                let content = ObservedChange::Content;
                let change = if makes { ObservedChange::MadeContent } else { content };
                return self.closed(caller, opening.at, change);
            }
            found => found?,
        };
        // With both bits of the access mode, a file is neither read nor written, only asked about.
        let only_asks = mode == OFlag::O_ACCMODE && !has(OFlag::O_TRUNC);
        let form = if is_temporary { SFlag::S_IFDIR } else { SFlag::S_IFREG };
        let found = if writes { content_refused(object.as_fd(), form)? } else { None };
        Ok(found.filter(|(_, _, errno)| !only_asks || *errno == Errno::EACCES))
    }

    /// Returns whether the name that is opened is of a link.
    fn is_link(&self, caller: CallingThread<'_>, opening: ObservedOpening) -> nix::Result<bool> {
        let spot = self.opened_spot(caller, opening);
        Ok(match spot {
            Err(Errno::EACCES | Errno::ENOENT) => false,
            spot => {
                let spot = spot?;
                !spot.slash && stat_name(&spot).is_ok_and(|found| kind(&found) == SFlag::S_IFLNK)
            }
        })
    }

    /// Returns the refusal of a change of the directory that `spot`, which `at` leads to, is a name in.
    fn entry(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        spot: &nix::Result<PinnedName>,
    ) -> Look {
        match spot {
            Err(Errno::EACCES) => self.closed(caller, at, ObservedChange::Entry),
            Err(errno) => Err(*errno),
            Ok(spot) if spot.stands => Ok(None),
            Ok(spot) => match unwritable(spot.directory.as_fd())? {
                Some(errno) => Ok(Some((place_of(spot)?, ObservedChange::Entry, errno))),
                None => Ok(None),
            },
        }
    }

    /// Returns the refusal of a change at `spot` which every host lets be made, as `can` says.
    fn entry_refused(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        spot: &nix::Result<PinnedName>,
        can: impl FnOnce(&PinnedName) -> nix::Result<bool>,
    ) -> Look {
        match (self.entry(caller, at, spot)?, spot) {
            (Some(found), Ok(spot)) => Ok(can(spot)?.then_some(found)),
            (found, _) => Ok(found),
        }
    }

    /// Returns the refusal of a removal; what something is mounted at keeps its name.
    fn removal_refused(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        directory: bool,
    ) -> Look {
        let spot = self.spot(caller, at);
        let can = |spot: &PinnedName| hindrances::can_be_removed(spot, directory);
        match (self.entry_refused(caller, at, &spot, can)?, &spot) {
            (None, Ok(spot)) if !spot.stands && hindrances::is_mount_point(spot)? && can(spot)? => {
                Ok(Some((place_of(spot)?, ObservedChange::Entry, Errno::EBUSY)))
            }
            (found, _) => Ok(found),
        }
    }

    /// Returns the refusal of a move, at the name that is lost or else at the one that is got.
    fn move_refused(
        &self,
        caller: CallingThread<'_>,
        from: PathArgument,
        to: PathArgument,
        flags: RenameFlags,
    ) -> Look {
        let (old, new) = (self.spot(caller, from), self.spot(caller, to));
        let found = match self.entry(caller, from, &old)? {
            None => self.entry(caller, to, &new)?,
            found => found,
        };
        let Some(found) = found else { return Ok(None) };
        let can = match (&old, &new) {
            (Ok(old), Ok(new)) => hindrances::can_be_moved(old, new, flags)?,
            // Nothing is known of what lies in a closed directory.
            (Err(Errno::EACCES), _) | (_, Err(Errno::EACCES)) => true,
            (Err(errno), _) | (_, Err(errno)) => return Err(*errno),
        };
        Ok(can.then_some(found))
    }

    /// Returns the refusal of a change of what a file system says of an object.
    fn metadata_refused(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        flags: i32,
        change: MetadataChange,
    ) -> Look {
        let object = match self.changed_object(caller, at, flags) {
            Err(Errno::EACCES) => return self.closed(caller, at, ObservedChange::Metadata),
            found => found?,
        };
        let sealed = fstatvfs(&object)?.flags().contains(FsFlags::ST_RDONLY);
        if !sealed || !hindrances::can_be_changed(caller, object.as_fd(), change)? {
            return Ok(None);
        }
        Ok(Some((shown(object.as_fd())?, ObservedChange::Metadata, Errno::EROFS)))
    }

    /// Returns the object of a call with `flags`: that of a path, or of the descriptor where there is none.
    fn changed_object(
        &self,
        caller: CallingThread<'_>,
        at: PathArgument,
        flags: i32,
    ) -> nix::Result<OwnedFd> {
        let is_empty = || Ok(at.1 == 0 || caller.string(at.1)?.is_empty());
        if flags & libc::AT_EMPTY_PATH != 0 && is_empty()? {
            return caller.base(at.0);
        }
        if flags & libc::AT_SYMLINK_NOFOLLOW == 0 {
            return self.object(caller, at);
        }
        let spot = self.spot(caller, at)?;
        openat(&spot.directory, spot.name.as_c_str(), PINNED | OFlag::O_NOFOLLOW, Mode::empty())
    }

    /// Returns the refusal of a call whose path leads through a directory that cannot be entered.
    fn closed(&self, caller: CallingThread<'_>, at: PathArgument, change: ObservedChange) -> Look {
        let (base, path) = self.path(caller, at)?;
        let base = mounts::path_of(base.as_fd()).map_err(|_| Errno::EIO)?;
        Ok(Some((base.join(std::ffi::OsStr::from_bytes(&path)), change, Errno::EACCES)))
    }
}

const PINNED: OFlag = OFlag::O_PATH.union(OFlag::O_CLOEXEC);

/// Returns whether `errno` says that this process lacks what it takes to look.
fn is_want(errno: Errno) -> bool {
    matches!(errno, Errno::EMFILE | Errno::ENFILE | Errno::ENOMEM)
}

/// Returns the refusal of a write to `object`, which has to be of this type.
fn content_refused(object: BorrowedFd<'_>, form: SFlag) -> Look {
    if kind(&fstat(object)?) != form {
        return Ok(None);
    }
    match unwritable(object)? {
        Some(errno) => Ok(Some((shown(object)?, ObservedChange::Content, errno))),
        None => Ok(None),
    }
}

fn shown(object: BorrowedFd<'_>) -> nix::Result<PathBuf> {
    mounts::shown_path_of(object).map_err(|_| Errno::EIO)
}

pub(super) fn place_of(spot: &PinnedName) -> nix::Result<PathBuf> {
    let directory = mounts::path_of(spot.directory.as_fd()).map_err(|_| Errno::EIO)?;
    Ok(directory.join(std::ffi::OsStr::from_bytes(spot.bare())))
}

/// Returns the error of a write to `object` by this process, whose user, groups and capabilities are the
/// command's.
fn unwritable(object: BorrowedFd<'_>) -> nix::Result<Option<Errno>> {
    let path = own_path(object)?;
    match faccessat(AT_FDCWD, path.as_c_str(), AccessFlags::W_OK, AtFlags::AT_EACCESS) {
        Err(errno @ (Errno::EROFS | Errno::EACCES)) => Ok(Some(errno)),
        Err(errno) if is_want(errno) => Err(errno),
        _ => Ok(None),
    }
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
