//! The control socket between supervisor and inner stage: [`InitReport`] one way, [`ControlCommand`] the other.
//!
//! One message is one packet of ten bytes: tag, detail, little-endian number and place.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use rustix::io::Errno as Bare;
use rustix::net::{RecvFlags, recv};

use crate::sys::{self, ProcessEnd, ProcessHandle};

/// Bytes in one message.
const PACKET: usize = 10;

/// The step of the inner stage that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailedStep {
    /// Locking itself or the command down.
    Confine,
    /// Having the command's calls decided.
    Mediate,
    /// Entering the working directory.
    Chdir,
    /// Executing the program.
    Exec,
    /// Building the box; the number is the mechanism's own name of the place.
    Build(u32),
}

/// The packets that found no route out of a network, by the kernel's count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UnreachableCounts {
    /// Packets without a route.
    pub(crate) routes: u32,
    /// Datagrams to a port of this host where nothing listens: a name server that is not there.
    pub(crate) ports: u32,
}

/// A report of the inner stage to the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InitReport {
    /// The inner stage runs; a descriptor of its process comes with the packet.
    Hello,
    /// The command is about to be executed; unless [`InitReport::Failed`] follows, it was.
    Starting,
    /// The command was executed; a descriptor of it comes with the packet.
    Started,
    /// The command could not be executed, with the errno.
    Failed(FailedStep, i32),
    /// The command exited with this code.
    Exited(i32),
    /// The command died of this signal.
    Signalled(i32),
    /// An order to signal the command reached it before its end was seen.
    Passed,
    /// The packets that found no route out of the command's own network.
    Unreached(UnreachableCounts),
}

/// An order of the supervisor to the inner stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlCommand {
    /// Send this signal to the command's process group.
    Signal(i32),
    /// Kill everything and exit.
    Kill,
}

fn pack(tag: u8, detail: u8, number: i32) -> [u8; PACKET] {
    pack_at(0, tag, detail, number)
}

fn pack_at(place: u32, tag: u8, detail: u8, number: i32) -> [u8; PACKET] {
    let [a, b, c, d] = number.to_le_bytes();
    let [e, f, g, h] = place.to_le_bytes();
    [tag, detail, a, b, c, d, e, f, g, h]
}

/// Tag, detail, number, place.
fn unpack(bytes: &[u8]) -> Option<(u8, u8, i32, u32)> {
    let [tag, detail, a, b, c, d, e, f, g, h] = *<&[u8; PACKET]>::try_from(bytes).ok()?;
    let number = i32::from_le_bytes([a, b, c, d]);
    Some((tag, detail, number, u32::from_le_bytes([e, f, g, h])))
}

impl From<ProcessEnd> for InitReport {
    fn from(end: ProcessEnd) -> Self {
        match end {
            ProcessEnd::Exited(code) => Self::Exited(code),
            ProcessEnd::Signalled(signal) => Self::Signalled(signal),
        }
    }
}

impl InitReport {
    /// Encodes it as a packet of the socket.
    pub(crate) fn encode(self) -> [u8; PACKET] {
        match self {
            Self::Hello => pack(b'H', 0, 0),
            Self::Starting => pack(b's', 0, 0),
            Self::Started => pack(b'S', 0, 0),
            Self::Failed(FailedStep::Confine, errno) => pack(b'F', b'l', errno),
            Self::Failed(FailedStep::Mediate, errno) => pack(b'F', b'm', errno),
            Self::Failed(FailedStep::Chdir, errno) => pack(b'F', b'c', errno),
            Self::Failed(FailedStep::Exec, errno) => pack(b'F', b'x', errno),
            Self::Failed(FailedStep::Build(place), errno) => pack_at(place, b'F', b'b', errno),
            Self::Exited(code) => pack(b'X', 0, code),
            Self::Signalled(signal) => pack(b'D', 0, signal),
            Self::Passed => pack(b'P', 0, 0),
            Self::Unreached(UnreachableCounts { routes, ports }) => {
                pack_at(ports, b'U', 0, routes.cast_signed())
            }
        }
    }

    /// Decodes a packet of the socket; `None` if it is no message of ours.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        Some(match unpack(bytes)? {
            (b'H', 0, 0, 0) => Self::Hello,
            (b's', 0, 0, 0) => Self::Starting,
            (b'S', 0, 0, 0) => Self::Started,
            (b'F', b'l', errno, 0) => Self::Failed(FailedStep::Confine, errno),
            (b'F', b'm', errno, 0) => Self::Failed(FailedStep::Mediate, errno),
            (b'F', b'c', errno, 0) => Self::Failed(FailedStep::Chdir, errno),
            (b'F', b'x', errno, 0) => Self::Failed(FailedStep::Exec, errno),
            (b'F', b'b', errno, place) => Self::Failed(FailedStep::Build(place), errno),
            (b'X', 0, code, 0) => Self::Exited(code),
            (b'D', 0, signal, 0) => Self::Signalled(signal),
            (b'P', 0, 0, 0) => Self::Passed,
            (b'U', 0, routes, ports) => {
                Self::Unreached(UnreachableCounts { routes: routes.cast_unsigned(), ports })
            }
            _ => return None,
        })
    }
}

impl ControlCommand {
    /// Encodes it as a packet of the socket.
    pub(crate) fn encode(self) -> [u8; PACKET] {
        match self {
            Self::Signal(number) => pack(b's', 0, number),
            Self::Kill => pack(b'k', 0, 0),
        }
    }

    /// Decodes a packet of the socket; `None` if it is no message of ours.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        Some(match unpack(bytes)? {
            (b's', 0, number, 0) => Self::Signal(number),
            (b'k', 0, 0, 0) => Self::Kill,
            _ => return None,
        })
    }
}

/// A connected pair: the supervisor's end and the inner stage's.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    sys::packet_pair()
}

/// Sends one message; a closed peer is no error here, as the reader notices it.
pub(crate) fn post(socket: impl AsFd, packet: [u8; PACKET]) -> io::Result<()> {
    match sys::send_packet(socket, &packet) {
        Ok(()) | Err(Bare::PIPE | Bare::CONNRESET) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits for one order; `None` once the supervisor has closed the socket.
pub(crate) fn next_order(socket: impl AsFd) -> io::Result<Option<ControlCommand>> {
    let mut packet = [0; PACKET];
    match recv(socket, &mut packet[..], RecvFlags::empty()) {
        Ok((0, _)) | Err(Bare::CONNRESET) => Ok(None),
        Ok((length, _)) => match ControlCommand::decode(&packet[..length]) {
            // Allocates nothing: see `sys::start_beside`.
            None => Err(io::ErrorKind::InvalidData.into()),
            order => Ok(order),
        },
        Err(errno) => Err(errno.into()),
    }
}

/// Sends `report` with a process's descriptor, which cannot come to mean another process, as a pid
/// can. A closed peer is no error, as in [`post`].
pub(crate) fn hand_over(
    socket: impl AsFd,
    report: InitReport,
    sent: &ProcessHandle,
) -> io::Result<()> {
    match sys::send_process(socket, &report.encode(), sent) {
        Ok(()) | Err(Errno::EPIPE | Errno::ECONNRESET) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// A message at the supervisor's end of the socket.
pub(crate) enum ControlEvent {
    /// A report, with the process that came with it.
    Report(InitReport, Option<ProcessHandle>),
    /// Nothing for now.
    Nothing,
    /// The end: no sender is left.
    End,
}

/// The next report, without waiting for it.
pub(crate) fn next_report(socket: impl AsFd) -> io::Result<ControlEvent> {
    let mut packet = [0; PACKET];
    let Some((length, sent)) = sys::next_packet(socket, &mut packet)? else {
        return Ok(ControlEvent::Nothing);
    };
    if length == 0 {
        return Ok(ControlEvent::End);
    }
    let report = InitReport::decode(&packet[..length])
        .ok_or_else(|| io::Error::other("the inner stage sent an unknown report"))?;
    Ok(ControlEvent::Report(report, sent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(InitReport::Hello)]
    #[case(InitReport::Starting)]
    #[case(InitReport::Started)]
    #[case(InitReport::Failed(FailedStep::Confine, 1))]
    #[case(InitReport::Failed(FailedStep::Mediate, 16))]
    #[case(InitReport::Failed(FailedStep::Chdir, 2))]
    #[case(InitReport::Failed(FailedStep::Exec, 13))]
    #[case(InitReport::Failed(FailedStep::Build(0xfff_ffff), 1))]
    #[case(InitReport::Exited(255))]
    #[case(InitReport::Signalled(9))]
    #[case(InitReport::Passed)]
    #[case(InitReport::Unreached(UnreachableCounts { routes: u32::MAX, ports: 2 }))]
    fn reports_round_trip(#[case] report: InitReport) {
        assert_eq!(InitReport::decode(&report.encode()), Some(report));
    }

    #[rstest]
    #[case(ControlCommand::Signal(15))]
    #[case(ControlCommand::Kill)]
    fn orders_round_trip(#[case] order: ControlCommand) {
        assert_eq!(ControlCommand::decode(&order.encode()), Some(order));
    }

    /// Checks that a post without a supervisor is no error: the stage has to end its processes.
    #[test]
    fn an_absent_listener_is_no_error() {
        let (ours, theirs) = pair().unwrap();
        let process = sys::open_process(nix::unistd::Pid::this()).unwrap();
        drop(ours);
        hand_over(&theirs, InitReport::Started, &process).unwrap();
        post(&theirs, InitReport::Starting.encode()).unwrap();
        assert_eq!(next_order(&theirs).unwrap(), None);
    }

    #[rstest]
    #[case::short(b"S".as_slice())]
    #[case::unknown_tag(b"?\0\0\0\0\0\0\0\0\0".as_slice())]
    #[case::unknown_detail(b"F?\0\0\0\0\0\0\0\0".as_slice())]
    fn garbage_is_no_message(#[case] bytes: &[u8]) {
        assert_eq!(InitReport::decode(bytes), None);
        assert_eq!(ControlCommand::decode(bytes), None);
    }
}
