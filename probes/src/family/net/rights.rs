//! Descriptors sent over unix sockets: `scm-rights`, `unix-send-fd`.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    recvmsg, sendmsg, socketpair,
};

use super::unix::{bound_to, reach};
use crate::args::ProbeArguments;
use crate::outcome::{CallContext, ProbeError, ProbeResult, done};
use crate::output::{raw, read_up_to, write_all};
use crate::sys;

/// The end of a pipe goes over a socket pair and still works.
pub(crate) fn scm_rights(_: &ProbeArguments) -> ProbeResult {
    let flags = SockFlag::empty();
    let pair = socketpair(AddressFamily::Unix, SockType::Stream, None, flags).at("socketpair")?;
    let (read, write) = nix::unistd::pipe().at("pipe")?;
    give(&pair.0, &read, b"!")?;
    drop(read);
    let taken = take(&pair.1)?;
    write_all(&write, b"?").at("write")?;
    if read_up_to(&taken, 1).at("read")? != b"?" {
        return Err(ProbeError::Fault("the descriptor led somewhere else".to_owned()));
    }
    done()
}

/// Hands a descriptor open on `--file` to the listener at `--path`.
pub(crate) fn unix_send_fd(args: &ProbeArguments) -> ProbeResult {
    let file = openat(AT_FDCWD, args.one("file")?, OFlag::O_RDONLY, nix::sys::stat::Mode::empty());
    let file = file.at("openat")?;
    let socket = reach(&bound_to(args.path()?)?)?;
    let send = args.bytes("send");
    // A descriptor needs at least one byte to travel with.
    give(&socket, &file, if send.is_empty() { b"!" } else { send })?;
    done()
}

fn give(socket: &OwnedFd, fd: &OwnedFd, bytes: &[u8]) -> Result<(), ProbeError> {
    let fds = [raw(fd)];
    let rights = [ControlMessage::ScmRights(&fds)];
    let parts = [IoSlice::new(bytes)];
    let sent = sendmsg(raw(socket), &parts, &rights, MsgFlags::empty(), None::<&UnixAddr>);
    sent.at("sendmsg").map(drop)
}

fn take(socket: &OwnedFd) -> Result<OwnedFd, ProbeError> {
    let (mut byte, mut space) = ([0; 1], nix::cmsg_space!([i32; 1]));
    let mut parts = [IoSliceMut::new(&mut byte)];
    let flags = MsgFlags::empty();
    let message = recvmsg::<UnixAddr>(raw(socket), &mut parts, Some(&mut space), flags);
    let message = message.at("recvmsg")?;
    let received = message.cmsgs().at("recvmsg")?.find_map(|part| match part {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    received.map(sys::own).ok_or_else(|| ProbeError::Fault("no descriptor came".to_owned()))
}
