//! Sockets against listeners on loopback and in temporary directories.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
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

/// Binds a TCP socket that does not listen but keeps its port from all other processes.
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
    let dir = tempfile::tempdir().expect("a temp directory");
    let path = dir.path().join("s");
    probe("unix-connect").path(&path).run().refused("ENOENT", "connect");
    let listener = UnixListener::bind(&path).expect("our directory");
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
    let dir = tempfile::tempdir().expect("a temp directory");
    let path = dir.path().join("s");
    let send = || probe("unix-dgram-send").path(&path).arg("text", "hello").run();
    send().refused("ENOENT", "sendto");
    let socket = UnixDatagram::bind(&path).expect("our directory");
    send().succeeded();
    socket.set_read_timeout(PATIENCE).expect("a socket");
    let received = || {
        let mut buffer = [0; 16];
        let count = socket.recv(&mut buffer).expect("it came");
        buffer[..count].to_vec()
    };
    assert_eq!(received(), b"hello");
    for via in ["sendto", "sendmsg", "send"] {
        probe("unix-dgram-send").path(&path).arg("text", via).arg("via", via).run().succeeded();
        assert_eq!(received(), via.as_bytes());
    }
    #[cfg(target_os = "linux")]
    {
        let several = probe("unix-dgram-send").path(&path).arg("text", "x").arg("via", "sendmmsg");
        several.run().succeeded();
        assert_eq!(received(), b"x");
    }
}

#[test]
fn sockets_of_its_own_work() {
    probe("socketpair").run().succeeded();
    probe("tcp-listen-connect").run().succeeded();
    probe("tcp-listen-connect").arg("addr", "[::1]:0").run().succeeded();
    let dir = tempfile::tempdir().expect("a temp directory");
    let path = dir.path().join("s");
    probe("unix-listen").path(&path).run().succeeded();
    assert!(path.exists());
    probe("unix-listen").path(&path).run().refused("EADDRINUSE", "bind");
}

#[test]
fn an_address_of_someone_else_is_eaddrnotavail() {
    // TEST-NET-1 is assigned to no network, so no host has it.
    let ran = probe("tcp-listen-connect").arg("addr", "192.0.2.1:0").run();
    ran.refused("EADDRNOTAVAIL", "bind");
}

#[test]
fn a_mapped_address_is_the_ipv4_one() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let here = listener.local_addr().expect("bound").to_string();
    let call = probe("tcp-connect").arg("addr", &here).switch("mapped").arg("send", "me");
    call.run().succeeded();
    let mut said = String::new();
    let mut stream = listener.accept().expect("it came").0;
    stream.set_read_timeout(PATIENCE).expect("a socket");
    stream.read_to_string(&mut said).expect("it said so");
    assert_eq!(said, "me");
    probe("tcp-connect").arg("addr", "[::1]:1").switch("mapped").run().silent(64);
}

#[rstest]
#[case("sendto")]
#[case("sendmsg")]
#[case("send")]
#[cfg_attr(target_os = "linux", case("sendmmsg"))]
fn udp_send_arrives_by_every_call(#[case] via: &str, #[values(false, true)] mapped: bool) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let here = socket.local_addr().expect("bound").to_string();
    let call = probe("udp-send").arg("addr", here).arg("text", "hello").arg("via", via);
    if mapped { call.switch("mapped") } else { call }.run().succeeded();
    assert_eq!(received(&socket), b"hello");
}

/// The next datagram.
fn received(socket: &UdpSocket) -> Vec<u8> {
    socket.set_read_timeout(PATIENCE).expect("a socket");
    let mut buffer = vec![0; 512];
    let count = socket.recv(&mut buffer).expect("it came");
    buffer.truncate(count);
    buffer
}

#[test]
fn dns_query_is_one_question() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let here = socket.local_addr().expect("bound").to_string();
    probe("dns-query").arg("addr", &here).arg("name", "a.example").run().succeeded();
    assert!(received(&socket).ends_with(b"\x01a\x07example\0\0\x01\0\x01"));
    probe("dns-query").arg("addr", &here).arg("name", "a..b").run().silent(64);
}

#[cfg(target_os = "linux")]
#[test]
fn tcp_fastopen_sends_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let here = listener.local_addr().expect("bound").to_string();
    let ran = probe("tcp-fastopen").arg("addr", &here).arg("text", "me").run();
    let switch = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_fastopen").unwrap_or_default();
    if switch.trim().parse::<u32>().is_ok_and(|bits| bits & 1 == 0) {
        ran.refused("EOPNOTSUPP", "sendto");
        return;
    }
    ran.succeeded();
    let mut said = String::new();
    listener.accept().expect("it came").0.read_to_string(&mut said).expect("it said so");
    assert_eq!(said, "me");
    let (_held, closed) = bound_tcp();
    let call = probe("tcp-fastopen").arg("addr", closed).arg("text", "me");
    call.run().refused("ECONNREFUSED", "sendto");
}

#[test]
fn tcp_listen_takes_a_free_port() {
    let detail = probe("tcp-listen").run().succeeded();
    assert_ne!(crate::support::number(&detail, "port"), 0);
    let (_held, address) = bound_tcp();
    probe("tcp-listen").arg("addr", address).run().refused("EADDRINUSE", "bind");
}

#[cfg(target_os = "linux")]
#[test]
fn raw_sockets_take_privilege_and_plain_ones_do_not() {
    let open = |kind: &str| probe("socket").ordinary().arg("kind", kind).run();
    for kind in ["tcp", "udp", "unix", "netlink"] {
        open(kind).succeeded();
    }
    open("icmp").refused("EPERM", "socket");
    open("packet").refused("EPERM", "socket");
    if crate::support::is_root() {
        probe("socket").arg("kind", "icmp").run().succeeded();
    }
}

#[test]
fn descriptors_travel_over_unix_sockets() {
    probe("scm-rights").run().succeeded();
    let dir = tempfile::tempdir().expect("a temp directory");
    let (path, file) = (dir.path().join("s"), dir.path().join("f"));
    std::fs::write(&file, "smuggled").expect("our file");
    let send = || probe("unix-send-fd").path(&path).arg("file", &file).arg("send", "me").run();
    send().refused("ENOENT", "connect");
    let listener = UnixListener::bind(&path).expect("our directory");
    send().succeeded();
    assert_eq!(received_file(&listener), "smuggled");
}

/// Returns the content of the file whose descriptor comes over the next connection.
fn received_file(listener: &UnixListener) -> String {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    use std::os::fd::AsRawFd as _;
    let stream = listener.accept().expect("it came").0;
    let (mut bytes, mut space) = ([0; 8], nix::cmsg_space!([i32; 1]));
    let mut parts = [std::io::IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::empty();
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut space), flags);
    let message = message.expect("a message");
    let fd = message.cmsgs().expect("whole").find_map(|part| match part {
        ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
        _ => None,
    });
    // The file is opened by name, so that the descriptor itself need not be taken over.
    let text = std::fs::read_to_string(format!("/dev/fd/{}", fd.expect("a descriptor")));
    nix::unistd::close(fd.expect("a descriptor")).expect("ours");
    text.expect("our file")
}

#[cfg(target_os = "linux")]
#[test]
fn unix_seqpacket_works_once_for_a_path() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let path = dir.path().join("s");
    probe("unix-seqpacket").path(&path).run().succeeded();
    assert!(path.exists());
    probe("unix-seqpacket").path(&path).run().refused("EADDRINUSE", "bind");
}

#[test]
fn a_question_over_tcp_has_its_length_in_front() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let here = listener.local_addr().expect("bound").to_string();
    probe("dns-query")
        .arg("addr", &here)
        .arg("name", "a.example")
        .arg("over", "tcp")
        .run()
        .succeeded();
    let (mut stream, _) = listener.accept().expect("it came");
    let mut asked = Vec::new();
    stream.set_read_timeout(PATIENCE).expect("a socket");
    stream.read_to_end(&mut asked).expect("it said so");
    assert_eq!(asked[..2], [0, 27]);
    assert_eq!(asked[14..24], *b"\x01a\x07example");
}

#[cfg(target_os = "linux")]
#[test]
fn a_raw_datagram_is_for_root_alone() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let here = socket.local_addr().expect("bound").to_string();
    let call = probe("raw-udp-send").arg("addr", here).arg("text", "hello");
    if !nix::unistd::geteuid().is_root() {
        call.run().refused("EPERM", "socket");
        return;
    }
    call.run().succeeded();
    socket.set_read_timeout(PATIENCE).expect("a socket");
    let mut buffer = [0; 16];
    let count = socket.recv(&mut buffer).expect("it came");
    assert_eq!(&buffer[..count], b"hello");
}

#[cfg(target_os = "linux")]
#[test]
fn seqpacket_connect_is_refused_by_another_kind() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let path = dir.path().join("s");
    probe("seqpacket-connect").path(&path).run().refused("ENOENT", "connect");
    let _listener = UnixListener::bind(&path).expect("our directory");
    probe("seqpacket-connect").path(&path).run().refused("EPROTOTYPE", "connect");
}

/// Case does not matter in a name, also where the resolver of the C library heeds it.
#[rstest]
fn fetch_without_a_proxy_goes_by_itself(#[values("127.0.0.1", "LocalHost")] host: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let here = listener.local_addr().expect("bound").to_string();
    let call = probe("fetch").arg("addr", &here).arg("host", host);
    call.arg("way", "connect").arg("send", "me").run().succeeded();
    let (mut stream, _) = listener.accept().expect("it came");
    let mut said = String::new();
    stream.set_read_timeout(PATIENCE).expect("a socket");
    stream.read_to_string(&mut said).expect("it said so");
    assert_eq!(said, "me");
}

#[test]
fn fetch_goes_where_it_is_sent_only_if_told() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let here = listener.local_addr().expect("bound").to_string();
    let away = format!("HTTP/1.1 302 Found\r\nLocation: http://{here}/b\r\n\r\n");
    let origin = std::thread::spawn(move || {
        let answers = [away.as_str(), away.as_str(), "HTTP/1.1 204 Nothing\r\n\r\n"];
        answers.map(|answer| {
            let (stream, _) = listener.accept().expect("it came");
            stream.set_read_timeout(PATIENCE).expect("a socket");
            let lines = BufReader::new(&stream).lines().map(|line| line.expect("it said so"));
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            (&stream).write_all(answer.as_bytes()).expect("an answer");
            head.into_iter().next()
        })
    });
    let call = || probe("fetch").arg("addr", &here).arg("host", "a@127.0.0.1").arg("way", "get");
    call().arg("send", "a").run().succeeded();
    call().arg("send", "a").switch("follow").run().succeeded();
    let asked = origin.join().expect("three requests").map(Option::unwrap_or_default);
    assert_eq!(asked, ["GET /a HTTP/1.1", "GET /a HTTP/1.1", "GET /b HTTP/1.1"]);
}

/// A proxy that is named by name takes its account, by each way.
#[test]
fn fetch_shows_the_account_of_its_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let proxy = std::thread::spawn(move || {
        ["connect", "get", "socks"].map(|way| {
            let (mut stream, _) = listener.accept().expect("it came");
            stream.set_read_timeout(PATIENCE).expect("a socket");
            if way == "socks" {
                return log_in(&mut stream);
            }
            let lines = BufReader::new(&stream).lines().map(|line| line.expect("it said so"));
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            stream.write_all(b"HTTP/1.1 204 Nothing\r\n\r\n").expect("an answer");
            head.into_iter().find(|line| line.starts_with("Proxy-Authorization")).expect("a field")
        })
    });
    let url = |scheme| format!("{scheme}://a%40b:c@localhost:{port}");
    for way in ["connect", "get", "socks"] {
        let mut call = probe("fetch").arg("addr", "192.0.2.1:1").arg("way", way).arg("send", "me");
        call.command.env("http_proxy", url("http")).env("all_proxy", url("socks5h"));
        call.run().succeeded();
    }
    let basic = "Proxy-Authorization: Basic YUBiOmM=".to_owned();
    assert_eq!(proxy.join().expect("three"), [basic.clone(), basic, "a@b c".to_owned()]);
}

/// Takes an account and a request as a SOCKS server does; returns name and password.
fn log_in(stream: &mut std::net::TcpStream) -> String {
    assert_eq!(read(stream, 4), [5, 2, 0, 2]);
    stream.write_all(&[5, 2]).expect("an answer");
    assert_eq!(read(stream, 1), [1]);
    let [name, password] = [(); 2].map(|()| {
        let length = read(stream, 1)[0];
        String::from_utf8(read(stream, length)).expect("text")
    });
    stream.write_all(&[1, 0]).expect("an answer");
    // A request for a host of nine characters.
    assert_eq!(read(stream, 5), [5, 1, 0, 3, 9]);
    read(stream, 11);
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).expect("an answer");
    format!("{name} {password}")
}

fn read(stream: &mut std::net::TcpStream, count: u8) -> Vec<u8> {
    let mut bytes = vec![0; count.into()];
    stream.read_exact(&mut bytes).expect("it said so");
    bytes
}
