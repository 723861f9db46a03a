//! A substitute for Linux's socket options: those that every system has.

use std::net::IpAddr;

use tokio::net::TcpStream;

/// Sets a connection.
pub(super) fn set(stream: &TcpStream, _peer: IpAddr) {
    let _slower = stream.set_nodelay(true);
}
