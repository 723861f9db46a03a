//! Network and unix sockets of the host.

use std::io::Read;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, Bed, NAMESPACES, ORDINARY};

/// A line that connects bash to a TCP port of this host.
fn dial(port: u16) -> serde_json::Value {
    json!({"argv": ["bash", "-c", format!("echo hi > /dev/tcp/127.0.0.1/{port}")]})
}

#[rstest]
fn the_network_is_the_hosts_or_none(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
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
    let bed = Bed::new(mechanism);
    for (place, network) in [("o", "none"), ("w", "none"), ("o", "host"), ("w", "host")] {
        let path = if place == "o" { bed.out("s") } else { bed.ws("s") };
        let _listener = UnixListener::bind(&path).unwrap();
        let name = path.to_str().unwrap();
        let policy = json!({"network": {network: {}}});
        let done = bed.go(&policy, connect(name), &json!({}));
        done.expect(1).complains("PermissionError");
        let policy = json!({"network": {network: {}}, "unix_sockets": [path]});
        assert_eq!(bed.go(&policy, connect(name), &json!({})).expect(0).out, "connected\n");
        std::fs::remove_file(path).unwrap();
    }
}

#[rstest]
fn abstract_sockets_are_out_of_reach_even_on_the_hosts_network(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = Bed::new(mechanism);
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
