//! Calls that reach sockets: decided by the object that the address leads to, and carried out on a copy
//! of the caller's socket and on that object, so that neither can be exchanged in between.
//!
//! Where the caller is the only thread that has its table of descriptors, what its number means cannot
//! change while it waits. Then a call on a socket that leads to no path (no unix socket; or no message to
//! an address) goes on by itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::{SFlag, fstat};

use super::broker::{CallAnswer, SyscallBroker};
use super::caller::CallingThread;
use super::calls::MediatedCall;
use super::emulate::{own_path, path_in};
use super::filter::NAMESPACES;
use super::messages::MessageSource;
use super::mounts;
use super::walk::{PathWalk, kind};
use crate::sys::{notify, sockets};

/// Bytes of stack for a thread that only waits for a socket.
const STACK: usize = 64 << 10;
/// Bytes of the longest address of a unix socket.
const LONGEST: usize = size_of::<libc::sockaddr_un>();

/// A copy of the caller's socket.
#[derive(Debug)]
pub(super) struct CallerSocket {
    pub(super) socket: OwnedFd,
    unix: bool,
    kind: i32,
}

/// An address that the kernel resolves to the pinned object.
#[derive(Debug, Default)]
pub(super) struct PinnedAddress {
    pub(super) bytes: Vec<u8>,
    /// Held as long as the address is used.
    _object: Option<OwnedFd>,
}

impl PinnedAddress {
    /// An address that leads to no path.
    pub(super) fn plain(bytes: Vec<u8>) -> Self {
        Self { bytes, _object: None }
    }

    fn connect(&self, socket: &CallerSocket) -> nix::Result<()> {
        sockets::connect_to(&socket.socket, &self.bytes)
    }
}

impl CallerSocket {
    fn copy(caller: CallingThread<'_>, number: RawFd) -> nix::Result<Self> {
        let socket = caller.descriptor(number)?;
        let option = |name| sockets::option(socket.as_fd(), name).map(i32::from_ne_bytes);
        let (domain, kind) = (option(libc::SO_DOMAIN)?, option(libc::SO_TYPE)?);
        Ok(Self { socket, unix: domain == libc::AF_UNIX, kind })
    }

    /// Returns whether a message's address can lead to a path: other unix sockets take none.
    pub(super) fn sends_to_paths(&self) -> bool {
        self.unix && self.kind == libc::SOCK_DGRAM
    }

    /// Returns whether a broken connection is told by a signal.
    pub(super) fn is_stream(&self) -> bool {
        self.kind == libc::SOCK_STREAM
    }

    /// Returns whether calls on it wait.
    pub(super) fn waits(&self) -> bool {
        let flags = fcntl(&self.socket, FcntlArg::F_GETFL).map(OFlag::from_bits_retain);
        !flags.is_ok_and(|flags| flags.contains(OFlag::O_NONBLOCK))
    }
}

impl SyscallBroker {
    /// Carries out `call`, by the id `id`, if it reaches a socket.
    pub(super) fn reach(
        self: &Arc<Self>,
        caller: CallingThread<'_>,
        id: u64,
        call: MediatedCall,
    ) -> Option<nix::Result<CallAnswer>> {
        Some(match call {
            MediatedCall::Connect { socket, address, length } => {
                self.connect(caller, id, socket, (address, length))
            }
            MediatedCall::SendTo { socket, data, size, flags, address, length } => {
                let source = MessageSource::Plain { data, size, address, length };
                self.send(caller, id, socket, source, flags)
            }
            MediatedCall::Send { socket, headers, count, flags } => {
                let source = MessageSource::Headers { headers, count };
                self.send(caller, id, socket, source, flags)
            }
            MediatedCall::ShareDescriptors { flags } => self.share(flags),
            _ => return None,
        })
    }

    /// Lets a process share its descriptors, and heeds that from now on.
    fn share(&self, flags: u32) -> nix::Result<CallAnswer> {
        let sockets = self.sockets.as_ref().ok_or(Errno::ENOSYS)?;
        sockets.note_sharing();
        match flags & NAMESPACES != 0 && sockets.names_held {
            true => Err(Errno::EPERM),
            false => Ok(CallAnswer::OwnCall),
        }
    }

    /// Returns whether the caller's descriptors stay what they are while it waits.
    fn is_settled(&self, caller: CallingThread<'_>) -> nix::Result<bool> {
        let shared = |sockets: &super::socket_register::SocketRegister| {
            sockets.shares_descriptors.load(Ordering::SeqCst)
        };
        Ok(!self.sockets.as_ref().is_none_or(shared) && caller.status()?.alone)
    }

    fn connect(
        self: &Arc<Self>,
        caller: CallingThread<'_>,
        id: u64,
        number: RawFd,
        (address, length): (u64, u64),
    ) -> nix::Result<CallAnswer> {
        let socket = CallerSocket::copy(caller, number)?;
        let settled = !socket.unix && self.is_settled(caller)?;
        if settled && !self.observes {
            return Ok(CallAnswer::OwnCall);
        }
        let address = match caller.address(address, length) {
            // The kernel says what is wrong with it.
            Err(_) if settled => return Ok(CallAnswer::OwnCall),
            address => address?,
        };
        if !socket.unix {
            self.observe_address(caller, &address);
        }
        if settled {
            return Ok(CallAnswer::OwnCall);
        }
        let address = match socket.unix {
            true => self.pinned(caller, address)?,
            false => PinnedAddress::plain(address),
        };
        if socket.kind == libc::SOCK_DGRAM || !socket.waits() {
            return address.connect(&socket).map(|()| CallAnswer::Done);
        }
        self.apart(id, move |_| address.connect(&socket).map(|()| CallAnswer::Done))
    }

    fn send(
        self: &Arc<Self>,
        caller: CallingThread<'_>,
        id: u64,
        number: RawFd,
        source: MessageSource,
        flags: i32,
    ) -> nix::Result<CallAnswer> {
        let socket = CallerSocket::copy(caller, number)?;
        if !socket.unix && self.observes {
            source.address(caller).iter().for_each(|to| self.observe_address(caller, to));
        }
        if !socket.sends_to_paths() && self.is_settled(caller)? {
            return Ok(CallAnswer::OwnCall);
        }
        let waits = flags & libc::MSG_DONTWAIT == 0 && socket.waits();
        match self.send_at_once(caller, &socket, source, flags) {
            Err(Errno::EAGAIN) if waits => {}
            other => return other.map_err(|errno| tell_broken(caller, &socket, flags, errno)),
        }
        let message = self.message(caller, &socket, (source, 0), flags)?;
        let parked = caller.parked();
        self.apart(id, move |desk| {
            let caller = parked.waiting((desk.listener.as_fd(), id));
            let sent = message.send(&socket, 0);
            let bytes = sent.map_err(|errno| tell_broken(caller, &socket, flags, errno))?;
            source.note_length(caller, 0, bytes)?;
            Ok(CallAnswer::Count(if source.is_counted() { 1 } else { bytes }))
        })
    }

    /// Sends what can be sent without waiting; the error of the first message if none can be.
    fn send_at_once(
        &self,
        caller: CallingThread<'_>,
        socket: &CallerSocket,
        source: MessageSource,
        flags: i32,
    ) -> nix::Result<CallAnswer> {
        for index in 0..source.count() {
            let message = self.message(caller, socket, (source, index), flags);
            match message.and_then(|message| message.send(socket, libc::MSG_DONTWAIT)) {
                Ok(bytes) if source.is_counted() => source.note_length(caller, index, bytes)?,
                Ok(bytes) => return Ok(CallAnswer::Count(bytes)),
                Err(_) if index > 0 => return Ok(CallAnswer::Count(index)),
                Err(errno) => return Err(errno),
            }
        }
        Ok(CallAnswer::Count(source.count()))
    }

    /// Runs `body` in a thread of its own, which answers the call `id`.
    pub(super) fn apart(
        self: &Arc<Self>,
        id: u64,
        body: impl FnOnce(&Self) -> nix::Result<CallAnswer> + Send + 'static,
    ) -> nix::Result<CallAnswer> {
        let desk = Arc::clone(self);
        let apart = std::thread::Builder::new().stack_size(STACK);
        let started = apart.spawn(move || {
            let result = body(&desk);
            desk.answer(id, result);
        });
        started.map(|_| CallAnswer::Later).map_err(|_| Errno::EAGAIN)
    }

    /// Pins what a unix socket's `address` leads to. ECONNREFUSED, as for a socket that is bound by
    /// nothing, if that may not be reached.
    pub(super) fn pinned(
        &self,
        caller: CallingThread<'_>,
        address: Vec<u8>,
    ) -> nix::Result<PinnedAddress> {
        let Some(path) = path_in(&address) else {
            return Ok(PinnedAddress::plain(address));
        };
        if address.len() > LONGEST {
            return Err(Errno::EINVAL);
        }
        let base = self.base(caller, (libc::AT_FDCWD, 0), path)?;
        let object = PathWalk::new(caller).object(base.as_fd(), path);
        let object =
            object.inspect_err(|errno| self.note_unreached(caller, base.as_fd(), path, *errno))?;
        let found = fstat(&object)?;
        let is_socket = kind(&found) == SFlag::S_IFSOCK;
        let admitted =
            is_socket && self.sockets.as_ref().is_some_and(|sockets| sockets.admits(&found));
        if !admitted {
            self.note_unreached(caller, object.as_fd(), b"", Errno::ECONNREFUSED);
        }
        if is_socket && !admitted && !fault!("mediate.foreign-sockets") {
            return Err(Errno::ECONNREFUSED);
        }
        let family = (libc::AF_UNIX as u16).to_ne_bytes();
        let name = own_path(object.as_fd())?;
        let bytes = [&family[..], name.as_bytes_with_nul()].concat();
        Ok(PinnedAddress { bytes, _object: Some(object) })
    }
}

impl SyscallBroker {
    /// Notes that no socket was reached by `path` from `base`: the view has none there, a mask in its
    /// place, or one that is not the sandbox's. The supervisor knows whether the host has one.
    fn note_unreached(
        &self,
        caller: CallingThread<'_>,
        base: BorrowedFd<'_>,
        path: &[u8],
        errno: Errno,
    ) {
        let (Some(ledger), Ok(base)) = (&self.ledger, mounts::shown_path_of(base)) else { return };
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        let place = if path.as_os_str().is_empty() { base } else { base.join(path) };
        // What `/proc` says depends on who reads it.
        if !place.starts_with("/proc") && !fault!("mediate.notes") {
            ledger.note_socket(caller, &place, errno);
        }
    }
}

/// Tells the caller of a broken connection by the signal, too, as its own call would; returns `errno`.
fn tell_broken(
    caller: CallingThread<'_>,
    socket: &CallerSocket,
    flags: i32,
    errno: Errno,
) -> Errno {
    if errno == Errno::EPIPE && socket.is_stream() && flags & libc::MSG_NOSIGNAL == 0 {
        let process = caller.status().map(|status| status.process);
        process.iter().for_each(|process| notify::break_pipe(*process, caller.thread));
    }
    errno
}
