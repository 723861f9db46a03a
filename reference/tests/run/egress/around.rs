//! Ways around the proxy: none leads anywhere.

use std::net::UdpSocket;

use rstest::rstest;

use crate::bed::{BUBBLEWRAP, DEADLINE, NAMESPACES, ORDINARY};
use crate::egress::fixture::EgressFixture;

#[rstest]
fn without_the_proxy_nothing_is_reached(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let fixture = EgressFixture::new(mechanism);
    // These are the names and addresses that are allowed.
    let unset = "unset http_proxy HTTP_PROXY all_proxy ALL_PROXY;";
    for host in ["127.0.0.1", "ALLOWED", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"] {
        let done = fixture.bash(&format!("{unset} curl -sS --max-time 30 http://{host}:PORT/x"));
        assert!(matches!(done.code, Some(6 | 7)), "{host}: {:?} {}", done.code, done.err);
        assert_eq!(fixture.origin.connections(), 0, "{host}");
    }
    fixture.bash("curl -sSf http://ALLOWED:PORT/x").expect(0);
    assert_eq!(fixture.origin.connections(), 1);
}

/// Sends a datagram to each address, or fails.
const SEND: &str = "import socket, sys
for at in sys.argv[2:]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.sendto(b'out', (at, int(sys.argv[1])))
    except OSError as error: print(error.strerror)
print('tried')";

#[rstest]
fn datagrams_stay_inside(#[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str) {
    let fixture = EgressFixture::new(mechanism);
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let addresses = ["127.0.0.1", "127.0.0.2", "203.0.113.1", "169.254.169.254"];
    let argv: Vec<&str> = ["python3", "-c", SEND, &port].into_iter().chain(addresses).collect();
    let send =
        |policy| fixture.run(policy, serde_json::json!({"argv": argv}), &serde_json::json!({}));
    let (none, host) = (fixture.policy(), serde_json::json!({"network": {"host": {}}}));
    let out = send(&none).expect(0).out.clone();
    assert!(out.ends_with("tried\n") && out.contains("unreachable"), "{out}");
    let mut word = [0; 8];
    // A datagram sent from here comes after all datagrams from there.
    let here = ("127.0.0.1", socket.local_addr().unwrap().port());
    socket.send_to(b"end", here).unwrap();
    assert_eq!((socket.recv(&mut word).unwrap(), &word[..3]), (3, &b"end"[..]));
    // The socket hears who is on the host's network.
    send(&host).expect(0);
    assert_eq!((socket.recv(&mut word).unwrap(), &word[..3]), (3, &b"out"[..]));
}

#[rstest]
fn the_command_is_told_of_the_proxy(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let fixture = EgressFixture::new(mechanism);
    let out = fixture.bash("env | grep -i _proxy= | sort").expect(0).out.clone();
    let proxy = "http://127.0.0.1:3128";
    let names = ["ALL", "FTP", "HTTP", "HTTPS"];
    let expected = names.iter().flat_map(|name| [(*name).to_owned(), name.to_lowercase()]);
    for name in expected {
        let ending = if name.chars().all(char::is_uppercase) { "_PROXY" } else { "_proxy" };
        assert!(out.contains(&format!("{name}{ending}={proxy}\n")), "{name}: {out}");
    }
    // The addresses of the loopback that its rules allow are the host's.
    let own = ["no_proxy", "NO_PROXY"].map(|name| format!("{name}=localhost,::1,[::1]\n"));
    assert!(own.iter().all(|line| out.contains(line)), "{out}");
    let done = fixture.bash_under(&serde_json::json!({}), "env | grep -i _proxy=");
    done.expect(1);
}

/// The launcher's list of names is none of the command's business.
#[rstest]
fn a_command_cannot_name_hosts() {
    let fixture = EgressFixture::new(NAMESPACES);
    std::fs::write(fixture.bed.ws("hosts"), "127.0.0.1 made.boxproof.test\n").unwrap();
    let mut policy = fixture.policy();
    let allow = policy["network"]["domains"]["allow"].as_array_mut().unwrap();
    allow.push("made.boxproof.test:*".into());
    policy["env"] = serde_json::json!({"set": {"REFBOX_EGRESS_HOSTS": fixture.bed.ws("hosts")}});
    let done = fixture.bash_under(&policy, "curl -sSf http://made.boxproof.test:PORT/x");
    assert_eq!(done.code, Some(22), "{}", done.err);
    done.complains("502");
    assert_eq!(fixture.origin.connections(), 0);
}
