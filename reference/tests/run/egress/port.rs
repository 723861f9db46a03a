//! `network: {proxy: {port}}`: one port of the host's loopback address.

use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, getsockname, socket};
use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, DEADLINE, NAMESPACES, ORDINARY};
use crate::egress::fixture::EgressFixture;
use crate::egress::origin::{Origin, TEXT};

#[rstest]
fn one_port_is_reached_and_no_other(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let fixture = EgressFixture::new(mechanism);
    let other = Origin::new(&fixture.bed.out("files"));
    let policy = json!({"network": {"proxy": {"port": fixture.origin.port}}});
    for (number, host) in ["127.0.0.1", "[::1]", "localhost"].iter().enumerate() {
        let done =
            fixture.bash_under(&policy, &format!("curl -sSf --noproxy '*' http://{host}:PORT/x"));
        assert_eq!(done.expect(0).out, TEXT);
        assert_eq!(fixture.origin.connections(), number + 1);
    }
    // Through the port, as a proxy: what it lets through is its own business.
    let done = fixture.bash_under(&policy, "curl -sSf http://any.boxproof.test/x");
    assert_eq!(done.expect(0).out, TEXT);
    assert_eq!(
        fixture.origin.take().last().unwrap(),
        "any.boxproof.test GET http://any.boxproof.test/x proxy-connection"
    );
    let line = format!("curl -sS --noproxy '*' http://127.0.0.1:{}/x", other.port);
    fixture.bash_under(&policy, &line).expect(7);
    assert_eq!(other.connections(), 0);
}

/// Reserves a port of loopback without a listener; it stays free of others while the socket is
/// open.
fn unserved() -> (OwnedFd, u16) {
    let (family, kind) = (AddressFamily::Inet, SockType::Stream);
    let held = socket(family, kind, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(held.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    let name: SockaddrIn = getsockname(held.as_raw_fd()).unwrap();
    (held, name.port())
}

#[rstest]
fn a_port_that_nobody_serves_gives_nothing() {
    let fixture = EgressFixture::new(NAMESPACES);
    let (_held, free) = unserved();
    let policy = json!({"network": {"proxy": {"port": free}}});
    let line = format!("curl -sS --max-time 30 --noproxy '*' http://127.0.0.1:{free}/x");
    let done = fixture.bash_under(&policy, &line);
    // 52 and 56: accepted, and closed without a word.
    assert!(matches!(done.code, Some(52 | 56)), "{:?} {}", done.code, done.err);
}

#[rstest]
fn datagrams_to_that_port_stay_inside() {
    // A port that is free for datagrams as well.
    let free = || {
        let fixture = EgressFixture::new(NAMESPACES);
        UdpSocket::bind(("127.0.0.1", fixture.origin.port)).ok().map(|socket| (fixture, socket))
    };
    let (fixture, socket) = std::iter::repeat_with(free).take(20).flatten().next().unwrap();
    let policy = json!({"network": {"proxy": {"port": fixture.origin.port}}});
    let _refused = fixture.bash_under(&policy, "echo x > /dev/udp/127.0.0.1/PORT");
    // A datagram sent from here comes after all datagrams from there.
    socket.send_to(b"end", socket.local_addr().unwrap()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut word = [0; 4];
    assert_eq!((socket.recv(&mut word).unwrap(), &word[..3]), (3, &b"end"[..]));
}

#[rstest]
#[case::zero(json!({"network": {"proxy": {"port": 0}}}), "policy.network.proxy.port: 0 is no port")]
#[case::star(json!({"network": {"domains": {"allow": ["*"]}}}), "policy.network.domains.allow: `*`")]
#[case::url(json!({"network": {"domains": {"deny": ["http://x/"]}}}), "policy.network.domains.deny: `http://x/`")]
fn what_is_no_rule_is_told(#[case] policy: serde_json::Value, #[case] why: &str) {
    let fixture = EgressFixture::new(NAMESPACES);
    let done = fixture.bash_under(&policy, "true");
    assert_eq!(done.result["started"], false, "{}", done.result);
    done.complains(why);
}
