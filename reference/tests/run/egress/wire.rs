//! The proxy's protocols, word by word: what is odd is refused, what is forwarded is written anew.

use rstest::rstest;
use serde_json::json;

use crate::bed::{NAMESPACES, wait_until};
use crate::egress::fixture::{ALLOWED, DENIED, EgressFixture};

/// Sends each argument (with Python's escapes) after the whole answer to the one before, prints
/// answers. The body of an answer of HTTP can come later than its head.
const TALK: &str = "import re, socket, sys
s = socket.create_connection(('127.0.0.1', 3128)); s.settimeout(60)
def lacks(answer):
    head, end, body = answer.partition(b'\\r\\n\\r\\n')
    length = re.search(rb'\\ncontent-length: *([0-9]+)', head.lower())
    return not end or length and len(body) < int(length[1])
for text in sys.argv[1:]:
    s.sendall(text.encode().decode('unicode_escape').encode('latin1'))
    answer = more = s.recv(65536)
    while answer.startswith(b'HTTP/') and more and lacks(answer):
        more = s.recv(65536)
        answer += more
    print(repr(answer)[2:-1], flush=True)";

fn talk(fixture: &EgressFixture, words: &[&str]) -> Vec<String> {
    let mut argv = vec!["python3".to_owned(), "-c".to_owned(), TALK.to_owned()];
    argv.extend(words.iter().map(|word| fixture.fill(word)));
    let done = fixture.run(&fixture.policy(), json!({"argv": argv}), &json!({}));
    done.expect(0).out.lines().map(str::to_owned).collect()
}

impl EgressFixture {
    /// Fails the test unless the origin was connected to as often: a tunnel may be told before.
    fn is_connected(&self, once: bool) {
        if once {
            wait_until("a connection", || self.origin.connections() > 0);
        }
        assert_eq!(self.origin.connections(), usize::from(once));
    }
}

const HOST: &str = "Host: x\\r\\n\\r\\n";

#[rstest]
#[case::allowed("CONNECT ALLOWED:PORT", "200")]
#[case::case("CONNECT aLLoWeD.boxproof.TEST:PORT", "200")]
#[case::dot("CONNECT ALLOWED.:PORT", "200")]
#[case::denied("CONNECT DENIED:PORT", "403")]
#[case::other_port("CONNECT ALLOWED:1", "403")]
#[case::no_port("CONNECT ALLOWED", "400")]
#[case::port_0("CONNECT ALLOWED:0", "400")]
#[case::port_of_six("CONNECT ALLOWED:165536", "400")]
#[case::account("CONNECT ALLOWED@DENIED:PORT", "400")]
#[case::account_of_denied("CONNECT DENIED@ALLOWED:PORT", "400")]
#[case::decimal("CONNECT 2130706433:PORT", "200")]
#[case::octal("CONNECT 0177.0.0.1:PORT", "200")]
#[case::hex("CONNECT 0x7f.1:PORT", "200")]
#[case::mapped("CONNECT [::ffff:127.0.0.1]:PORT", "200")]
#[case::compatible("CONNECT [::127.0.0.1]:PORT", "200")]
#[case::six("CONNECT [::1]:PORT", "403")]
#[case::zone("CONNECT [fe80::1%25lo]:PORT", "400")]
#[case::metadata("CONNECT 169.254.169.254:80", "403")]
#[case::mapped_metadata("CONNECT [::ffff:169.254.169.254]:80", "403")]
#[case::unspecified("CONNECT 0.0.0.0:PORT", "200")]
#[case::url("CONNECT http://ALLOWED:PORT/", "400")]
#[case::get("GET http://ALLOWED:PORT/x", "200")]
#[case::get_denied("GET http://DENIED:PORT/x", "403")]
#[case::get_account("GET http://ALLOWED:PORT@DENIED:PORT/x", "400")]
#[case::usual_port("GET http://ALLOWED/x", "403")]
#[case::origin_form("GET /x", "400")]
#[case::another_scheme("GET https://ALLOWED:PORT/x", "400")]
#[case::ftp("GET ftp://ALLOWED:PORT/x", "400")]
fn a_request_line(#[case] line: &str, #[case] code: &str) {
    let fixture = EgressFixture::new(NAMESPACES);
    let answers = talk(&fixture, &[&format!("{line} HTTP/1.1\\r\\n{HOST}")]);
    assert!(answers[0].starts_with(&format!("HTTP/1.1 {code}")), "{answers:?}");
    let asked = fixture.origin.take();
    let reached = code == "200" && line.starts_with("GET");
    assert_eq!(asked.len(), usize::from(reached), "{asked:?}");
    fixture.is_connected(code == "200");
    if code == "403" {
        assert!(answers[0].to_lowercase().contains("x-boxproof-denied: "), "{answers:?}");
    }
}

#[test]
fn a_tunnel_carries_bytes() {
    let fixture = EgressFixture::new(NAMESPACES);
    let open = format!("CONNECT ALLOWED:PORT HTTP/1.1\\r\\n{HOST}");
    let answers = talk(&fixture, &[&open, "GET /y HTTP/1.1\\r\\nHost: inner\\r\\n\\r\\n"]);
    assert!(answers[1].contains("200 OK"), "{answers:?}");
    assert_eq!(fixture.origin.take(), ["inner GET /y"]);
}

#[test]
fn every_request_of_a_connection_is_decided() {
    let fixture = EgressFixture::new(NAMESPACES);
    let get = |host: &str| format!("GET http://{host}:PORT/x HTTP/1.1\\r\\n{HOST}");
    let answers = talk(&fixture, &[&get("ALLOWED"), &get("DENIED"), &get("ALLOWED")]);
    let codes: Vec<&str> = answers.iter().map(|answer| &answer[9..12]).collect();
    assert_eq!(codes, ["200", "403", "200"], "{answers:?}");
    assert_eq!(fixture.origin.take().len(), 2);
}

/// Checks that the request to the origin does not depend on the client's other claims.
#[test]
fn the_request_line_decides_and_neighbours_talk_ends_here() {
    let fixture = EgressFixture::new(NAMESPACES);
    let request = "GET http://ALLOWED:PORT/x HTTP/1.1\\r\\nHost: DENIED\\r\\nProxy-Authorization: \
                   Basic eA==\\r\\nProxy-Connection: keep-alive\\r\\nConnection: X-Hop\\r\\nX-Hop: \
                   1\\r\\nTE: trailers\\r\\n\\r\\n";
    talk(&fixture, &[request]);
    assert_eq!(fixture.origin.take(), [format!("{ALLOWED}:{} GET /x", fixture.origin.port)]);
}

/// Checks that a request with two possible ends is refused.
#[rstest]
#[case::two_lengths("Content-Length: 4\\r\\nContent-Length: 5\\r\\n")]
#[case::length_first("Content-Length: 3\\r\\nTransfer-Encoding: chunked\\r\\n")]
#[case::length_last("Transfer-Encoding: chunked\\r\\nContent-Length: 3\\r\\n")]
#[case::odd_coding("Transfer-Encoding: xchunked\\r\\n")]
#[case::coded_twice("Transfer-Encoding: chunked, identity\\r\\n")]
#[case::space("Content-Length : 4\\r\\n")]
#[case::folded("X: 1\\r\\n Content-Length: 4\\r\\n")]
#[case::signed("Content-Length: +4\\r\\n")]
fn a_request_of_two_lengths_is_refused(#[case] lines: &str) {
    let fixture = EgressFixture::new(NAMESPACES);
    let body = "0\\r\\n\\r\\nGET http://DENIED:PORT/smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n";
    let request =
        format!("POST http://ALLOWED:PORT/x HTTP/1.1\\r\\nHost: x\\r\\n{lines}\\r\\n{body}");
    let answers = talk(&fixture, &[&request]);
    assert!(answers[0].starts_with("HTTP/1.1 400"), "{answers:?}");
    assert_eq!(fixture.origin.take(), [""; 0]);
}

/// The second request of a connection is looked at like the first one, and what follows chunks on a
/// connection is not read.
#[test]
fn a_later_request_of_two_lengths_is_refused() {
    let fixture = EgressFixture::new(NAMESPACES);
    let first =
        "POST http://ALLOWED:PORT/x HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 3\\r\\n\\r\\nabc";
    let post = |lines: &str| {
        format!(
            "POST http://ALLOWED:PORT/y HTTP/1.1\\r\\nHost: x\\r\\n{lines}\\r\\n3\\r\\nabc\\r\\n0\\r\\n\\r\\n\
             GET http://ALLOWED:PORT/smuggled HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
        )
    };
    let both = post("Transfer-Encoding: chunked\\r\\nContent-Length: 3\\r\\n");
    let answers = talk(&fixture, &[first, &both]);
    assert!(answers[0].starts_with("HTTP/1.1 200"), "{answers:?}");
    assert!(answers[1].starts_with("HTTP/1.1 400"), "{answers:?}");
    let host = format!("{ALLOWED}:{}", fixture.origin.port);
    assert_eq!(fixture.origin.take(), [format!("{host} POST /x")]);
    let answers = talk(&fixture, &[&post("Transfer-Encoding: chunked\\r\\n")]);
    assert!(answers[0].contains("connection: close"), "{answers:?}");
    assert_eq!(fixture.origin.take(), [format!("{host} POST /y transfer-encoding abc")]);
}

const HELLO: &str = "\\x05\\x01\\x00";

/// SOCKS 5: the answer's code for a request to connect.
#[rstest]
#[case::name(1, ALLOWED, 0)]
#[case::denied(1, DENIED, 2)]
#[case::number_as_name(1, "2130706433", 0)]
#[case::account(1, "a@allowed.boxproof.test", 8)]
#[case::bind(2, ALLOWED, 7)]
#[case::datagrams(3, ALLOWED, 7)]
fn a_socks_request(#[case] command: u8, #[case] name: &str, #[case] code: u8) {
    let fixture = EgressFixture::new(NAMESPACES);
    let port = fixture.origin.port;
    let request = format!(
        "\\x05\\x{command:02x}\\x00\\x03\\x{:02x}{name}\\x{:02x}\\x{:02x}",
        name.len(),
        port >> 8,
        port & 0xff
    );
    let answers = talk(&fixture, &[HELLO, &request]);
    assert_eq!(answers[0], "\\x05\\x00");
    assert!(answers[1].starts_with(&format!("\\x05\\x{code:02x}\\x00\\x01")), "{answers:?}");
    fixture.is_connected(code == 0);
}

#[rstest]
#[case::four("\\x01\\x7f\\x00\\x00\\x01", 0)]
#[case::four_else("\\x01\\x7f\\x00\\x00\\x02", 2)]
#[case::mapped(
    "\\x04\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\xff\\xff\\x7f\\x00\\x00\\x01",
    0
)]
#[case::six(
    "\\x04\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01",
    2
)]
#[case::unknown("\\x05", 8)]
fn a_socks_address(#[case] address: &str, #[case] code: u8) {
    let fixture = EgressFixture::new(NAMESPACES);
    let port = fixture.origin.port;
    let request = format!("\\x05\\x01\\x00{address}\\x{:02x}\\x{:02x}", port >> 8, port & 0xff);
    let answers = talk(&fixture, &[HELLO, &request]);
    assert!(answers[1].starts_with(&format!("\\x05\\x{code:02x}")), "{answers:?}");
    fixture.is_connected(code == 0);
}

#[test]
fn accounts_are_not_taken() {
    let fixture = EgressFixture::new(NAMESPACES);
    assert_eq!(talk(&fixture, &["\\x05\\x01\\x02"])[0], "\\x05\\xff");
}
