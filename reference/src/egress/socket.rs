//! How the sockets of a way out are set: who answers at once, and who is near.
//!
//! Near is whoever is on the same loopback. Nothing travels there, so that room for what travels is
//! room for bytes that nobody reads yet: with as much as the kernel would allow, megabytes lie in
//! between and have left the processor's caches when they are read. Far peers keep the kernel's own
//! choice, as their distance wants it.

use std::net::IpAddr;

use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_congestion,
};
use tokio::net::TcpStream;

/// Bytes that wait in one direction of a near socket; the kernel doubles it for its own use.
const ROOM: usize = 64 * 1024;
/// Allowed to everybody. One that paces what it sends finds no line here whose rate it could learn.
const CONGESTION: &str = "reno";

/// Sets a connection with `peer`. What a kernel does not take makes it slower, not wrong.
pub(super) fn set(stream: &TcpStream, peer: IpAddr) {
    // Small pieces go at once: these are conversations as often as downloads.
    let _slower = stream.set_nodelay(true);
    if peer.is_loopback() {
        let _slower = set_socket_recv_buffer_size(stream, ROOM);
        let _slower = set_socket_send_buffer_size(stream, ROOM);
        let _slower = set_tcp_congestion(stream, CONGESTION);
    }
}
