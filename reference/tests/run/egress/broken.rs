//! A server that breaks off: its client learns of it at once, by every protocol.

use std::io::Read;
use std::net::TcpListener;

use nix::sys::socket::{setsockopt, sockopt};
use rstest::rstest;
use serde_json::json;

use crate::bed::NAMESPACES;
use crate::egress::fixture::EgressFixture;

/// Opens a tunnel if `$2` says so, sends, and waits for the end, for a bounded time.
const WAIT: &str = "import socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.settimeout(30)
if len(sys.argv) > 2:
    s.sendall(sys.argv[2].encode() + b' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
    assert b' 200 ' in s.recv(1000)
s.sendall(b'x')
try: print('ended', s.recv(1000))
except ConnectionError: print('ended')";

#[rstest]
#[case::tunnel(true)]
#[case::port(false)]
fn a_reset_reaches_the_client(#[case] tunnel: bool) {
    let fixture = EgressFixture::new(NAMESPACES);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        stream.read_exact(&mut [0]).unwrap();
        // Closing it resets the connection.
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&stream, sockopt::Linger, &linger).unwrap();
    });
    let (inside, network) = match tunnel {
        true => (3128, json!({"domains": {"allow": [format!("127.0.0.1:{port}")]}})),
        false => (port, json!({"proxy": {"port": port}})),
    };
    let mut argv = vec!["python3".to_owned(), "-c".to_owned(), WAIT.to_owned(), inside.to_string()];
    argv.extend(tunnel.then(|| format!("CONNECT 127.0.0.1:{port}")));
    let done = fixture.run(&json!({"network": network}), json!({"argv": argv}), &json!({}));
    assert!(done.expect(0).out.starts_with("ended"), "{}", done.out);
    server.join().unwrap();
}
