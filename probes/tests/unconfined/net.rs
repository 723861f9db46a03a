//! Sockets against listeners on loopback and in temp folders.

use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

use rstest::rstest;

use crate::support::{close, probe};

/// A socket that a lost message can't keep waiting.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

#[rstest]
#[case::v4("127.0.0.1:0")]
#[case::v6("[::1]:0")]
fn tcp_connect_comes_and_says_who_it_is(#[case] address: &str) {
    let listener = TcpListener::bind(address).expect("loopback");
    let here = listener.local_addr().expect("bound").to_string();
    probe("tcp-connect").arg("addr", &here).arg("send", "it's me").run().succeeded();
    let (mut stream, _) = listener.accept().expect("it came");
    let mut said = String::new();
    stream.set_read_timeout(PATIENCE).expect("a socket");
    stream.read_to_string(&mut said).expect("it said so");
    assert_eq!(said, "it's me");
}

#[test]
fn a_closed_port_is_econnrefused() {
    let (_held, address) = bound_tcp();
    probe("tcp-connect").arg("addr", address).run().refused("ECONNREFUSED", "connect");
}

/// A TCP socket that does not listen but keeps its port from everyone else.
fn bound_tcp() -> (std::os::fd::OwnedFd, String) {
    use nix::sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket,
    };
    use std::os::fd::AsRawFd as _;
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None);
    let socket = socket.expect("a socket");
    bind(socket.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).expect("loopback");
    let address: SockaddrIn = getsockname(socket.as_raw_fd()).expect("bound");
    (socket, address.to_string())
}

#[cfg(target_os = "linux")]
#[test]
fn a_listener_that_never_answers_is_etimedout() {
    let (listener, address) = bound_tcp();
    // A queue of one, and one in it: further connections are left unanswered.
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(0).expect("a number"))
        .expect("bound");
    let _filler = std::net::TcpStream::connect(&address).expect("the first is taken");
    probe("tcp-connect").arg("addr", address).run().refused("ETIMEDOUT", "poll");
}

#[rstest]
#[case::v4("127.0.0.1:0")]
#[case::v6("[::1]:0")]
fn udp_send_arrives(#[case] address: &str) {
    let socket = UdpSocket::bind(address).expect("loopback");
    let here = socket.local_addr().expect("bound").to_string();
    probe("udp-send").arg("addr", here).arg("text", "hello").run().succeeded();
    socket.set_read_timeout(PATIENCE).expect("a socket");
    let mut buffer = [0; 16];
    let count = socket.recv(&mut buffer).expect("it came");
    assert_eq!(&buffer[..count], b"hello");
}

#[test]
fn unix_connect_reaches_a_path() {
    let dir = tempfile::tempdir().expect("a temp folder");
    let path = dir.path().join("s");
    probe("unix-connect").path(&path).run().refused("ENOENT", "connect");
    let listener = UnixListener::bind(&path).expect("our folder");
    probe("unix-connect").path(&path).arg("send", "me").run().succeeded();
    let mut said = String::new();
    listener.accept().expect("it came").0.read_to_string(&mut said).expect("it said so");
    assert_eq!(said, "me");
    close(listener);
    probe("unix-connect").path(&path).run().refused("ECONNREFUSED", "connect");
    probe("unix-connect").path("x".repeat(200)).run().silent(64);
}

#[cfg(target_os = "linux")]
#[test]
fn abstract_connect_reaches_a_name() {
    use std::os::linux::net::SocketAddrExt as _;
    let name = crate::support::fresh();
    let connect = || probe("abstract-connect").arg("name", &name).arg("send", "me").run();
    connect().refused("ECONNREFUSED", "connect");
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("short");
    let listener = UnixListener::bind_addr(&address).expect("a free name");
    connect().succeeded();
    let mut said = String::new();
    listener.accept().expect("it came").0.read_to_string(&mut said).expect("it said so");
    assert_eq!(said, "me");
}

#[test]
fn unix_dgram_send_arrives() {
    let dir = tempfile::tempdir().expect("a temp folder");
    let path = dir.path().join("s");
    let send = || probe("unix-dgram-send").path(&path).arg("text", "hello").run();
    send().refused("ENOENT", "sendto");
    let socket = UnixDatagram::bind(&path).expect("our folder");
    send().succeeded();
    socket.set_read_timeout(PATIENCE).expect("a socket");
    let mut buffer = [0; 16];
    let count = socket.recv(&mut buffer).expect("it came");
    assert_eq!(&buffer[..count], b"hello");
}

#[test]
fn sockets_of_its_own_work() {
    probe("socketpair").run().succeeded();
    probe("tcp-listen-connect").run().succeeded();
    probe("tcp-listen-connect").arg("addr", "[::1]:0").run().succeeded();
    let dir = tempfile::tempdir().expect("a temp folder");
    let path = dir.path().join("s");
    probe("unix-listen").path(&path).run().succeeded();
    assert!(path.exists());
    probe("unix-listen").path(&path).run().refused("EADDRINUSE", "bind");
}

#[test]
fn an_address_of_someone_else_is_eaddrnotavail() {
    // TEST-NET-1 belongs to nobody, so no host has it.
    let ran = probe("tcp-listen-connect").arg("addr", "192.0.2.1:0").run();
    ran.refused("EADDRNOTAVAIL", "bind");
}
