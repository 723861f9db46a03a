//! The socket options of a way out: no delay for all connections, small buffers for near ones.
//!
//! A near peer is on the loopback. It has no latency, so a larger buffer only holds unread bytes:
//! with the kernel's maximum, megabytes lie in between and have left the processor's caches when
//! they are read. Far peers keep the kernel's own choice, as their distance requires.

use std::net::IpAddr;

use rustix::net::sockopt::{
    set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_congestion,
};
use tokio::net::TcpStream;

/// Bytes that wait in one direction of a near socket; the kernel doubles it for its own use.
const ROOM: usize = 64 * 1024;
/// A congestion control that every user may set. One that paces would find no rate to learn on
/// loopback.
const CONGESTION: &str = "reno";

/// Sets the options of a connection with `peer`. An option that the kernel refuses makes it slower,
/// not wrong.
pub(super) fn set(stream: &TcpStream, peer: IpAddr) {
    // Small pieces go at once: these are conversations as often as downloads.
    let _slower = stream.set_nodelay(true);
    if peer.is_loopback() {
        let _slower = set_socket_recv_buffer_size(stream, ROOM);
        let _slower = set_socket_send_buffer_size(stream, ROOM);
        let _slower = set_tcp_congestion(stream, CONGESTION);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use rustix::net::sockopt::{socket_recv_buffer_size, socket_send_buffer_size};
    use rustix::net::sockopt::{tcp_congestion, tcp_nodelay};
    use std::net::{Ipv4Addr, Ipv6Addr};
    use tokio::net::TcpListener;

    /// The options of a socket: no delay, its buffer each way, its congestion control.
    type Told = (bool, usize, usize, String);

    fn socket_settings(stream: &TcpStream) -> Told {
        let rooms = (socket_recv_buffer_size(stream), socket_send_buffer_size(stream));
        let congestion = tcp_congestion(stream).unwrap();
        (tcp_nodelay(stream).unwrap(), rooms.0.unwrap(), rooms.1.unwrap(), congestion)
    }

    /// A buffer size that no kernel gives by itself; some give just the size of a near socket.
    const OWN: usize = 24 * 1024;

    /// Returns the options of both ends of a connection before and after they were set for `peer`.
    async fn before_and_after(peer: IpAddr) -> Vec<(Told, Told)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let ends = [near, listener.accept().await.unwrap().0];
        let both = ends.iter().map(|end| {
            set_socket_recv_buffer_size(end, OWN).unwrap();
            set_socket_send_buffer_size(end, OWN).unwrap();
            let before = socket_settings(end);
            set(end, peer);
            (before, socket_settings(end))
        });
        both.collect()
    }

    #[rstest]
    #[case::four(Ipv4Addr::new(127, 0, 0, 9).into())]
    #[case::six(Ipv6Addr::LOCALHOST.into())]
    #[tokio::test]
    async fn near_sockets_have_little_room_and_nobody_who_paces(#[case] peer: IpAddr) {
        for (before, after) in before_and_after(peer).await {
            assert_eq!((before.0, before.1, before.2), (false, 2 * OWN, 2 * OWN));
            assert_eq!(after, (true, 2 * ROOM, 2 * ROOM, CONGESTION.to_owned()));
        }
    }

    #[rstest]
    #[case::four(Ipv4Addr::new(192, 0, 2, 1).into())]
    #[case::six("2001:db8::1".parse().unwrap())]
    #[tokio::test]
    async fn far_sockets_keep_what_they_had(#[case] peer: IpAddr) {
        for (before, after) in before_and_after(peer).await {
            let (_, receives, sends, congestion) = before;
            assert_eq!(after, (true, receives, sends, congestion));
        }
    }
}
