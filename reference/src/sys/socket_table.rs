//! The kernel's table of unix sockets in this network namespace: which object one of them is bound to.

use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::stat::fstat;

use super::sockets;

/// The bytes of a netlink header, and of the table's own.
const HEADER: usize = size_of::<libc::nlmsghdr>();
const OWN_HEADER: usize = 16;
/// `SOCK_DIAG_BY_FAMILY`, `UDIAG_SHOW_VFS` and `UNIX_DIAG_VFS`.
const BY_FAMILY: u16 = 20;
const SHOW_OBJECT: u32 = 2;
const OBJECT: u16 = 1;

/// One socket, told from all others as long as the kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketIdentity {
    inode: u32,
    cookie: u64,
}

/// The object that a socket is bound to: the device of its file system and the inode, as the kernel
/// has them and as wide as it tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoundObject {
    pub(crate) device: u32,
    pub(crate) inode: u32,
}

impl SocketIdentity {
    /// Returns the identity of `socket`.
    pub(crate) fn from_socket(socket: BorrowedFd<'_>) -> nix::Result<Self> {
        let cookie = sockets::option(socket, libc::SO_COOKIE)?;
        Ok(Self { inode: fstat(socket)?.st_ino as u32, cookie: u64::from_ne_bytes(cookie) })
    }

    /// Returns the object that the socket is bound to: `None` if to none, ENOENT if the socket is
    /// gone, or belongs to another network namespace.
    pub(crate) fn bound(self) -> nix::Result<Option<BoundObject>> {
        let table = open()?;
        sockets::send_bytes(&table, &question(self.inode, self.cookie, 0))?;
        let mut answer = [0; 1024];
        let length = sockets::receive_bytes(&table, &mut answer)?;
        read(answer.get(..length).ok_or(Errno::EBADMSG)?)
    }
}

/// Returns the objects that sockets of this network namespace are bound to.
pub(crate) fn bound_objects() -> nix::Result<Vec<BoundObject>> {
    /// Bytes of one answer at most, as the kernel sends them.
    const ROOM: usize = 32 << 10;
    let table = open()?;
    sockets::send_bytes(&table, &question(0, 0, libc::NLM_F_DUMP as u32))?;
    let (mut found, mut buffer) = (Vec::new(), vec![0; ROOM]);
    loop {
        let length = sockets::receive_bytes(&table, &mut buffer)?;
        let mut rest = buffer.get(..length).unwrap_or_default();
        if rest.is_empty() {
            return Err(Errno::EBADMSG);
        }
        while let Some((kind, message, after)) = first_message(rest) {
            if i32::from(kind) == libc::NLMSG_DONE {
                return Ok(found);
            }
            found.extend(read(message)?);
            rest = after;
        }
    }
}

/// Splits `answers` behind the first message; returns its type, too.
fn first_message(answers: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(answers.get(..4)?.try_into().ok()?) as usize;
    let at = offset_of!(libc::nlmsghdr, nlmsg_type);
    let kind = u16::from_ne_bytes(answers.get(at..at + 2)?.try_into().ok()?);
    let message = answers.get(..length).filter(|message| message.len() >= HEADER)?;
    let next = length.next_multiple_of(4).min(answers.len());
    Some((kind, message, &answers[next..]))
}

/// A `unix_diag_req` for the socket with `inode` and `cookie` alone, or with `NLM_F_DUMP` in `flags` for
/// all of them.
fn question(inode: u32, cookie: u64, flags: u32) -> Vec<u8> {
    let length = (HEADER + 24) as u32;
    let kind = u32::from(BY_FAMILY) | (libc::NLM_F_REQUEST as u32 | flags) << 16;
    #[cfg(target_endian = "big")]
    let kind = kind.rotate_left(16);
    let family = u32::from_ne_bytes([libc::AF_UNIX as u8, 0, 0, 0]);
    let (low, high) = (cookie as u32, (cookie >> 32) as u32);
    let words = [length, kind, 1, 0, family, u32::MAX, inode, SHOW_OBJECT, low, high];
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn open() -> nix::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes three numbers and returns a new descriptor.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG) };
    let fd = Errno::result(fd)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Reads one answer: an error, or a header of the table's own and attributes.
fn read(answer: &[u8]) -> nix::Result<Option<BoundObject>> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?))
    };
    let half = |at: usize| -> Option<u16> {
        Some(u16::from_ne_bytes(answer.get(at..at + 2)?.try_into().ok()?))
    };
    match half(offset_of!(libc::nlmsghdr, nlmsg_type)).ok_or(Errno::EBADMSG)? {
        BY_FAMILY => {}
        _ => {
            let errno = word(HEADER).map_or(libc::EBADMSG, |errno| (errno as i32).wrapping_neg());
            return Err(Errno::from_raw(errno));
        }
    }
    let mut at = HEADER + OWN_HEADER;
    while let (Some(length @ 4..), Some(kind)) = (half(at), half(at + 2)) {
        if let (OBJECT, Some(inode), Some(device)) = (kind, word(at + 4), word(at + 8)) {
            return Ok(Some(BoundObject { device, inode }));
        }
        at += usize::from(length).next_multiple_of(4);
    }
    Ok(None)
}

/// Returns whether the table answers here.
pub(crate) fn is_there() -> bool {
    let probe = || -> nix::Result<bool> {
        // SAFETY: socket takes three numbers and returns a new descriptor.
        let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
        let fd = Errno::result(fd)?;
        // SAFETY: the kernel just made this descriptor for us.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        debug_assert!(socket.as_raw_fd() >= 0);
        let identity = SocketIdentity::from_socket(std::os::fd::AsFd::as_fd(&socket))?;
        identity.bound().map(|object| object.is_none())
    };
    probe().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    use super::*;

    #[test]
    fn a_socket_is_bound_to_the_object_at_its_path() {
        assert!(is_there());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let identity = SocketIdentity::from_socket(listener.as_fd()).unwrap();
        let other = UnixDatagram::bind(directory.path().join("t")).unwrap();
        let other = SocketIdentity::from_socket(other.as_fd()).unwrap();
        let object = identity.bound().unwrap().unwrap();
        assert_eq!(u64::from(object.inode), std::fs::metadata(&path).unwrap().ino() & 0xffff_ffff);
        assert_ne!(identity, other);
        // The name counts for nothing, and a closed socket is bound to nothing.
        std::fs::rename(&path, directory.path().join("u")).unwrap();
        assert_eq!(identity.bound(), Ok(Some(object)));
        assert!(bound_objects().unwrap().contains(&object));
        drop(listener);
        assert_eq!(identity.bound(), Err(Errno::ENOENT));
        assert!(!bound_objects().unwrap().contains(&object));
    }

    #[test]
    fn an_answer_that_is_cut_is_none() {
        assert_eq!(read(b""), Err(Errno::EBADMSG));
        assert_eq!(read(&[0; 8]), Err(Errno::EBADMSG));
        let short = [&36u32.to_ne_bytes()[..], &BY_FAMILY.to_ne_bytes(), &[0; 26]].concat();
        assert_eq!(read(&short), Ok(None));
    }
}
