//! Network and unix sockets of the host.

use std::io::Read;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed};

/// A line that connects bash to a TCP port of this host.
fn dial(port: u16) -> serde_json::Value {
    json!({"argv": ["bash", "-c", format!("echo hi > /dev/tcp/127.0.0.1/{port}")]})
}

#[rstest]
fn the_network_is_the_hosts_or_none(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    bed.go(&json!({}), dial(port), &json!({})).expect(1).complains("/dev/tcp/127.0.0.1");
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    listener.set_nonblocking(false).unwrap();
    bed.go(&json!({"network": {"host": {}}}), dial(port), &json!({})).expect(0);
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hi\n");
}

/// Connects to the socket named by `$1` and says so; the shell has no words for that.
const CONNECT: &str = "import socket, sys
name = sys.argv[1]
s = socket.socket(socket.AF_UNIX)
s.connect('\\0' + name[1:] if name.startswith('@') else name)
print('connected')";

fn connect(name: &str) -> serde_json::Value {
    json!({"argv": ["python3", "-c", CONNECT, name]})
}

#[rstest]
fn path_sockets_are_out_of_reach_unless_listed(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    for (place, network) in [("o", "none"), ("w", "none"), ("o", "host"), ("w", "host")] {
        let path = if place == "o" { bed.out("s") } else { bed.ws("s") };
        let _listener = UnixListener::bind(&path).unwrap();
        let name = path.to_str().unwrap();
        let policy = json!({"network": {network: {}}});
        let done = bed.go(&policy, connect(name), &json!({}));
        let refused = ["PermissionError", "ConnectionRefusedError"];
        done.expect(1).complains(refused[usize::from(mechanism == BUBBLEWRAP)]);
        let policy = json!({"network": {network: {}}, "unix_sockets": [path]});
        assert_eq!(bed.go(&policy, connect(name), &json!({})).expect(0).out, "connected\n");
        std::fs::remove_file(path).unwrap();
    }
}

#[rstest]
fn abstract_sockets_are_out_of_reach_even_on_the_hosts_network(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let address = SocketAddr::from_abstract_name(bed.nonce()).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let name = format!("@{}", bed.nonce());
    let unconfined = json!({"mode": "unconfined"});
    assert_eq!(bed.go(&unconfined, connect(&name), &json!({})).expect(0).out, "connected\n");
    bed.go(&json!({}), connect(&name), &json!({})).expect(1).complains("Error");
    let host = bed.go(&json!({"network": {"host": {}}}), connect(&name), &json!({}));
    match host.result["enforced"]["unix_socket.abstract"].as_str() {
        Some("enforced") => drop(host.expect(1).complains("PermissionError")),
        other => assert_eq!(other, Some("none"), "{}", host.result),
    }
}

/// Sends to the datagram socket named by `$1`, by each of the calls that take an address.
const SEND: &str = "import socket, sys
for send in [lambda s: s.sendto(b'x', sys.argv[1]), lambda s: s.sendmsg([b'x'], [], 0, sys.argv[1]),
             lambda s: (s.connect(sys.argv[1]), s.send(b'x'))]:
    try: send(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)); print('sent')
    except OSError as error: print(error.strerror)";

#[rstest]
fn datagram_sockets_are_out_of_reach_unless_listed(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
    #[values(
        json!({"none": {}}),
        json!({"host": {}}),
        json!({"proxy": {"port": 3129}}),
        json!({"domains": {"allow": ["a.test"]}})
    )]
    network: serde_json::Value,
) {
    let bed = TestBed::new(mechanism);
    let path = bed.out("d");
    let socket = UnixDatagram::bind(&path).unwrap();
    // An ordinary user may send to it.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
    socket.set_nonblocking(true).unwrap();
    let argv = json!({"argv": ["python3", "-c", SEND, path.to_str().unwrap()]});
    let sent = |listed: &[&std::path::Path]| {
        let policy = json!({"network": network, "unix_sockets": listed});
        bed.go(&policy, argv.clone(), &json!({})).expect(0).out.clone()
    };
    // A mask that bwrap mounts over the name is no socket, but may be written to.
    let refused = if mechanism == BUBBLEWRAP { "Connection refused" } else { "Permission denied" };
    assert_eq!(sent(&[]), format!("{refused}\n").repeat(3));
    assert_eq!(socket.recv(&mut [0; 2]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(sent(&[&path]), "sent\n".repeat(3));
    for _ in 0..3 {
        assert_eq!(socket.recv(&mut [0; 2]).unwrap(), 1);
    }
}

/// Socket traffic among a command's own processes: none of it is the host's.
const OWN: &str = "import os, socket, sys
def both(s, at):
    s.bind(at); s.listen()
    c = socket.socket(s.family, s.type); c.connect(s.getsockname()); c.send(b'x')
    assert s.accept()[0].recv(2) == b'x'
a, b = socket.socketpair(); a.send(b'x'); assert b.recv(2) == b'x'
both(socket.socket(socket.AF_UNIX), 's'); both(socket.socket(socket.AF_UNIX), '/tmp/s')
both(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), 'q')
both(socket.socket(socket.AF_UNIX), '\\0' + sys.argv[1])
both(socket.socket(), ('127.0.0.1', 0)); both(socket.socket(socket.AF_INET6), ('::1', 0))
assert 'lo' in dict(map(reversed, socket.if_nameindex()))";

#[rstest]
fn own_sockets_work_whatever_the_network(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
    #[values(
        json!({"none": {}}),
        json!({"host": {}}),
        json!({"proxy": {"port": 3129}}),
        json!({"domains": {"allow": ["a.test"]}})
    )]
    network: serde_json::Value,
) {
    let bed = TestBed::new(mechanism);
    let argv = json!({"argv": ["python3", "-c", OWN, bed.nonce()]});
    bed.go(&json!({"network": network}), argv, &json!({})).expect(0);
}

#[rstest]
fn a_low_port_is_led_out_or_refused(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.go(&json!({"network": {"proxy": {"port": 9}}}), dial(9), &json!({}));
    if mechanism == BUBBLEWRAP {
        assert_eq!((done.code, &done.result["started"]), (Some(126), &json!(false)));
        done.complains("policy.network.proxy.port: 9 is below 1024");
    } else {
        // The host has no listener there, so that only the answer tells.
        done.expect(0);
    }
}
