//! Messages in the caller's memory, read whole and once: [`OutgoingMessage`]. Descriptors that they pass are
//! copies of the caller's, and the process that they name as their sender is this one.

use std::mem::offset_of;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::unistd::Pid;

use super::broker::SyscallBroker;
use super::caller::CallingThread;
use super::socket_calls::{CallerSocket, PinnedAddress};
use crate::sys::sockets::{self, RawMessage};

/// Messages in one call, and parts of one message, at most.
const MOST: usize = 1024;
/// Bytes of data in one call. A stream takes the rest with the next one.
const MOST_DATA: usize = 16 << 20;
/// Bytes of control messages at most.
const MOST_CONTROL: usize = 128 << 10;
/// Descriptors in one control message at most (`SCM_MAX_FD`).
const MOST_PASSED: usize = 253;

/// The place of messages in the caller's memory.
#[derive(Debug, Clone, Copy)]
pub(super) enum MessageSource {
    /// Data, and an address.
    Plain { data: u64, size: u64, address: u64, length: u64 },
    /// Headers: one, or a counted number.
    Headers { headers: u64, count: Option<u32> },
}

/// One message, ready to be sent.
#[derive(Debug, Default)]
pub(super) struct OutgoingMessage {
    address: PinnedAddress,
    data: Vec<u8>,
    control: Vec<u8>,
    /// Descriptors that the control messages name.
    _passed: Vec<OwnedFd>,
    flags: i32,
}

impl MessageSource {
    /// Returns how many messages there are.
    pub(super) fn count(self) -> usize {
        match self {
            Self::Headers { count: Some(count), .. } => (count as usize).min(MOST),
            _ => 1,
        }
    }

    /// Returns the address of the first message, if it has one.
    pub(super) fn address(self, caller: CallingThread<'_>) -> Option<Vec<u8>> {
        let (address, length) = match self {
            Self::Plain { address, length, .. } => (address, length),
            Self::Headers { headers, .. } => {
                let header = caller.memory(headers, size_of::<libc::msghdr>()).ok()?;
                let length = number(&header, offset_of!(libc::msghdr, msg_namelen));
                (read_u64(&header, offset_of!(libc::msghdr, msg_name)), length as u64)
            }
        };
        if address == 0 { None } else { caller.address(address, length).ok() }
    }

    /// Returns whether the answer is the number of messages.
    pub(super) fn is_counted(self) -> bool {
        matches!(self, Self::Headers { count: Some(_), .. })
    }

    /// Writes to the header of message `index` how many of its bytes were sent.
    pub(super) fn note_length(
        self,
        caller: CallingThread<'_>,
        index: usize,
        bytes: usize,
    ) -> nix::Result<()> {
        let Self::Headers { headers, count: Some(_) } = self else { return Ok(()) };
        let at = index * size_of::<libc::mmsghdr>() + offset_of!(libc::mmsghdr, msg_len);
        let at = headers.checked_add(at as u64).ok_or(Errno::EFAULT)?;
        caller.write(at, &(bytes as u32).to_ne_bytes())
    }
}

impl SyscallBroker {
    /// Reads message `index` of `source`, with its address resolved.
    pub(super) fn message(
        &self,
        caller: CallingThread<'_>,
        socket: &CallerSocket,
        (source, index): (MessageSource, usize),
        flags: i32,
    ) -> nix::Result<OutgoingMessage> {
        if flags & libc::MSG_ZEROCOPY != 0 {
            // The data would have to stay in the caller's memory; callers then copy.
            return Err(Errno::ENOBUFS);
        }
        let (address, data, control) = match source {
            MessageSource::Plain { data, size, address, length } => {
                let parts = [(data, size)];
                (caller.address(address, length)?, read_parts(caller, socket, &parts)?, Vec::new())
            }
            MessageSource::Headers { headers, count } => {
                let each = match count {
                    None => size_of::<libc::msghdr>(),
                    Some(_) => size_of::<libc::mmsghdr>(),
                };
                let at = headers.checked_add((index * each) as u64).ok_or(Errno::EFAULT)?;
                read_header(caller, socket, at)?
            }
        };
        let address = match socket.sends_to_paths() {
            true => self.pinned(caller, address)?,
            false => PinnedAddress::plain(address),
        };
        let (control, passed) = own_control(caller, control)?;
        Ok(OutgoingMessage { address, data, control, _passed: passed, flags })
    }
}

impl OutgoingMessage {
    /// Sends it, with more `flags`; returns how many bytes went.
    pub(super) fn send(&self, socket: &CallerSocket, flags: i32) -> nix::Result<usize> {
        let message = RawMessage {
            address: &self.address.bytes,
            data: &self.data,
            control: &self.control,
            flags: self.flags | flags | libc::MSG_NOSIGNAL,
        };
        sockets::send_message(&socket.socket, message)
    }
}

type MessageParts = (Vec<u8>, Vec<u8>, Vec<u8>);

/// Reads the header at `at`, and the address, data and control messages that it leads to.
fn read_header(
    caller: CallingThread<'_>,
    socket: &CallerSocket,
    at: u64,
) -> nix::Result<MessageParts> {
    /// Bytes of an address that are looked at, of any family.
    const LONGEST: i32 = 128;
    let header = caller.memory(at, size_of::<libc::msghdr>())?;
    let member = |at: usize| read_u64(&header, at);
    let length = number(&header, offset_of!(libc::msghdr, msg_namelen));
    let address = match (member(offset_of!(libc::msghdr, msg_name)), length) {
        (0, _) | (_, 0) => Vec::new(),
        (_, ..0) => return Err(Errno::EINVAL),
        (name, length) => caller.memory(name, length.min(LONGEST) as usize)?,
    };
    let count = member(offset_of!(libc::msghdr, msg_iovlen)) as usize;
    if count > MOST {
        return Err(Errno::EMSGSIZE);
    }
    let vectors = member(offset_of!(libc::msghdr, msg_iov));
    let vectors = caller.memory(vectors, count * size_of::<libc::iovec>())?;
    let parts: Vec<(u64, u64)> = vectors
        .chunks_exact(size_of::<libc::iovec>())
        .map(|vector| (read_u64(vector, 0), read_u64(vector, size_of::<u64>())))
        .collect();
    let data = read_parts(caller, socket, &parts)?;
    let size = member(offset_of!(libc::msghdr, msg_controllen)) as usize;
    let control = match (member(offset_of!(libc::msghdr, msg_control)), size) {
        (0, _) | (_, 0) => Vec::new(),
        (_, size) if size > MOST_CONTROL => return Err(Errno::ENOBUFS),
        (control, size) => caller.memory(control, size)?,
    };
    Ok((address, data, control))
}

fn read_parts(
    caller: CallingThread<'_>,
    socket: &CallerSocket,
    parts: &[(u64, u64)],
) -> nix::Result<Vec<u8>> {
    let mut data = Vec::new();
    for (address, size) in parts {
        let room = MOST_DATA - data.len();
        let size = usize::try_from(*size).map_err(|_| Errno::EINVAL)?;
        if size > room && !socket.is_stream() {
            return Err(Errno::EMSGSIZE);
        }
        if size.min(room) > 0 {
            data.extend(caller.memory(*address, size.min(room))?);
        }
    }
    Ok(data)
}

/// Returns `control` as this process may send it, and the descriptors that it passes.
fn own_control(
    caller: CallingThread<'_>,
    mut control: Vec<u8>,
) -> nix::Result<(Vec<u8>, Vec<OwnedFd>)> {
    const HEAD: usize = size_of::<libc::cmsghdr>();
    let mut passed = Vec::new();
    let mut at = 0;
    while let Some(rest) = control.get_mut(at..).filter(|rest| rest.len() >= HEAD) {
        let length = read_u64(rest, offset_of!(libc::cmsghdr, cmsg_len)) as usize;
        let level = number(rest, offset_of!(libc::cmsghdr, cmsg_level));
        let kind = number(rest, offset_of!(libc::cmsghdr, cmsg_type));
        let body = rest.get_mut(HEAD..length).ok_or(Errno::EINVAL)?;
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                if body.len() > MOST_PASSED * size_of::<RawFd>() {
                    return Err(Errno::EINVAL);
                }
                for place in body.chunks_exact_mut(size_of::<RawFd>()) {
                    let copy = caller.descriptor(number(place, 0))?;
                    place.copy_from_slice(&copy.as_raw_fd().to_ne_bytes());
                    passed.push(copy);
                }
            }
            (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) => {
                let place = body.get_mut(..size_of::<RawFd>()).ok_or(Errno::EINVAL)?;
                if number(place, 0) != caller.status()?.process.as_raw() {
                    return Err(Errno::EPERM);
                }
                place.copy_from_slice(&Pid::this().as_raw().to_ne_bytes());
            }
            _ => {}
        }
        at += length.next_multiple_of(size_of::<usize>());
    }
    Ok((control, passed))
}

/// Returns the word at `at` of a structure of the kernel's, or 0 past its end.
fn read_u64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}

/// Returns the number at `at`.
fn number(bytes: &[u8], at: usize) -> i32 {
    bytes.get(at..at + 4).map_or(0, |four| i32::from_ne_bytes(four.try_into().unwrap_or_default()))
}
