//! Connections of a client, and what their errors say.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use nix::errno::Errno;

use super::CONNECT_MS;
use crate::outcome::ProbeError;

/// Connects to the first of `addresses` that takes a connection, as clients do, with their time limits.
pub(super) fn dial(addresses: &[SocketAddr]) -> Result<TcpStream, ProbeError> {
    let mut last = ProbeError::Fault("no address was found".to_owned());
    for address in addresses {
        match connect(*address) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn connect(address: SocketAddr) -> Result<TcpStream, ProbeError> {
    let limit = Duration::from_millis(CONNECT_MS.into());
    let stream = TcpStream::connect_timeout(&address, limit).map_err(refused("connect"))?;
    // A missing answer is itself an observation.
    let patient = stream.set_read_timeout(Some(limit * 2));
    patient.map_err(|error| ProbeError::Fault(error.to_string()))?;
    Ok(stream)
}

/// Returns what turns an error of `call` into a refusal.
pub(super) fn refused(call: &'static str) -> impl Fn(io::Error) -> ProbeError {
    move |error| ProbeError::Refused { call, errno: errno(&error, Errno::ETIMEDOUT) }
}

/// Returns the error number: ETIMEDOUT for a time limit, ECONNRESET for an early end, `other` if
/// there is none.
pub(super) fn errno(error: &io::Error, other: Errno) -> Errno {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut, _) => Errno::ETIMEDOUT,
        (io::ErrorKind::UnexpectedEof, _) => Errno::ECONNRESET,
        (_, Some(number)) => Errno::from_raw(number),
        (_, None) => other,
    }
}
