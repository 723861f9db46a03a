//! The bytes that the agent and execd exchange through the proxy.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use rstest::rstest;
use serde_json::{Value, json};

use crate::proxy::support::{Answer, Channel, PATIENCE, raw, sha};

/// An execd that answers always the same, in these pieces, and tells what it was asked.
fn canned(pieces: &'static [&'static [u8]]) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, asked) = channel();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let tell = tell.clone();
            std::thread::spawn(move || reply(stream, pieces, &tell));
        }
    });
    (address, asked)
}

fn reply(mut stream: TcpStream, pieces: &[&[u8]], tell: &Sender<Vec<u8>>) {
    stream.set_nodelay(true).unwrap();
    let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        if !is_whole(&seen) {
            continue;
        }
        // A test that does not look is no matter.
        let _unheard = tell.send(std::mem::take(&mut seen));
        if pieces.iter().any(|piece| stream.write_all(piece).is_err()) {
            return;
        }
    }
}

/// Returns whether a request is complete; bodies end with a brace or a last chunk here.
fn is_whole(seen: &[u8]) -> bool {
    let text = String::from_utf8_lossy(seen);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length {
        Some(length) => body.len() >= length.parse::<usize>().unwrap(),
        None => !head.contains("transfer-encoding") || body.ends_with("0\r\n\r\n"),
    }
}

/// A body without its chunks.
fn whole(answer: &Answer) -> Vec<u8> {
    if !answer.head.to_lowercase().contains("transfer-encoding: chunked") {
        return answer.body.clone();
    }
    let (mut rest, mut body) = (&answer.body[..], Vec::new());
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

const STREAM: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Odd-cASE: a\r\nX-Twice: 1\r\nX-Twice: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"10\r\n{\"type\":\"init\",\"\r\n",
    b"5\r\ntext\"\r\n",
    b"3\r\n:\"\xc3\r\n",
    b"5\r\n\xa9\"}\n\n\r\n",
    b"1e\r\n{\"type\":\"stdout\",\"text\":\"\xc3\xa9\"}\n\r\n",
    b"1\r\n\n\r\n",
    b"21\r\ndata: {\"type\":\"stdout\",\"text\":\"b\"\r\n",
    b"3\r\n}\n\n\r\n",
    b"1f\r\n{\"type\":\"execution_complete\"}\n\n\r\n",
    b"0\r\n\r\n",
];

const PLAIN: &[&[u8]] =
    &[b"HTTP/1.1 500 Odd Words\r\ncontent-LENGTH: 4\r\nDate: then\r\n\r\n", b"{\"a\""];

const NOTHING: &[&[u8]] = &[b"HTTP/1.1 204 No Content\r\nX-a: b\r\n\r\n"];

const POST: &str = "POST /command HTTP/1.1\r\nhOST: e\r\nX-aGENT: 1\r\nContent-Length: 18\r\nConnection: close\r\n\r\n{\"command\":\"true\"}";

fn lines(answer: &Answer) -> Vec<&str> {
    let own = |line: &&str| !line.to_lowercase().starts_with("connection:");
    answer.head.lines().filter(own).collect()
}

#[rstest]
#[case::events(STREAM)]
#[case::plain(PLAIN)]
#[case::nothing(NOTHING)]
fn answers_are_the_same_with_and_without(#[case] pieces: &'static [&'static [u8]]) {
    let (execd, asked) = canned(pieces);
    let channel = Channel::before(execd, &[]);
    let proxied = Answer::parse_response(&raw(channel.proxy.address, POST.as_bytes()));
    let direct = Answer::parse_response(&pieces.concat());
    assert_eq!(lines(&proxied), lines(&direct));
    assert_eq!(whole(&proxied), whole(&direct));
    let seen = String::from_utf8(asked.recv_timeout(PATIENCE).unwrap()).unwrap();
    for line in ["POST /command HTTP/1.1\r\n", "hOST: e\r\n", "X-aGENT: 1\r\n"] {
        assert!(seen.contains(line), "{seen}");
    }
    assert!(seen.ends_with("{\"command\":\"true\"}"), "{seen}");
}

#[test]
fn a_stream_in_any_pieces_is_read() {
    let (execd, _asked) = canned(STREAM);
    let channel = Channel::before(execd, &[]);
    raw(
        channel.proxy.address,
        POST.replace("/command", "/code").replace("command", "codecod").as_bytes(),
    );
    raw(channel.proxy.address, POST.as_bytes());
    let frames = channel.frames(2);
    let logs = "{\"t\":\"stdout\",\"x\":\"\u{e9}\"}\n{\"t\":\"stdout\",\"x\":\"b\"}\n";
    assert_eq!(frames[0]["output"]["logs_hash"], sha(logs.as_bytes()));
    assert_eq!(frames[1]["output"], json!({"exit_code": 0}));
}

#[test]
fn an_answer_that_breaks_off_is_a_failure_unless_its_last_event_came() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const LAST: &str = "{\"type\":\"execution_complete\"}\n";
    let broken = (None, json!("execd broke off its answer"));
    let whole = (Some(json!({"exit_code": 0})), Value::Null);
    for (chunk, told) in [(format!("1e\r\n{LAST}"), broken), (format!("1f\r\n{LAST}\n"), whole)] {
        let answer: &[u8] = format!("{HEAD}{chunk}\r\nzz").into_bytes().leak();
        let (execd, _asked) = canned(vec![answer].leak());
        let channel = Channel::before(execd, &[]);
        raw(channel.proxy.address, POST.as_bytes());
        let frame = &channel.frames(1)[0];
        assert_eq!((frame.get("output").cloned(), frame["error"].clone()), told);
    }
}

const OK: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"];

#[test]
fn a_length_beside_chunks_does_not_reach_execd() {
    let (execd, asked) = canned(OK);
    let channel = Channel::before(execd, &[]);
    let body = "12\r\n{\"command\":\"true\"}\r\n0\r\n\r\n";
    let request = format!(
        "POST /command HTTP/1.1\r\nHost: e\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{body}"
    );
    raw(channel.proxy.address, request.as_bytes());
    let seen = String::from_utf8(asked.recv_timeout(PATIENCE).unwrap()).unwrap().to_lowercase();
    assert!(
        seen.contains("content-length: 18\r\n") && !seen.contains("transfer-encoding"),
        "{seen}"
    );
    assert_eq!(channel.frames(1)[0]["input"], json!({"command": "true"}));
}

/// RFC 9110, 7.6.1: what concerns one connection alone is not passed on, in either direction.
#[test]
fn headers_of_one_connection_stay_on_it() {
    let (execd, asked) = canned(&[
        b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\nX-Theirs: 1\r\nContent-Length: 0\r\n\r\n",
    ]);
    let channel = Channel::before(execd, &[]);
    let request = "GET /files/download?path=a HTTP/1.1\r\nHost: e\r\nConnection: close\r\nKeep-Alive: x\r\nProxy-Connection: x\r\nTE: trailers\r\nTrailer: x\r\nUpgrade: x\r\nExpect: x\r\nX-Ours: 1\r\n\r\n";
    let answer = raw(channel.proxy.address, request.as_bytes());
    let asked = asked.recv_timeout(PATIENCE).unwrap();
    let names = |message: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(message).to_lowercase();
        let lines = text.lines().skip(1).take_while(|line| !line.is_empty());
        lines.map(|line| line.split_once(':').unwrap().0.to_owned()).collect()
    };
    assert_eq!(names(&asked), ["host", "x-ours"]);
    // The agent's own connection is to be closed, as it asked.
    assert_eq!(names(&answer), ["x-theirs", "connection", "content-length"]);
}

#[rstest]
#[case::folded(
    "POST /command HTTP/1.1\r\nHost: e\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    false
)]
#[case::two_lengths(
    "POST /command HTTP/1.1\r\nHost: e\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    false
)]
#[case::odd_coding(
    "POST /command HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: chunked, x\r\n\r\n",
    false
)]
#[case::absolute("GET http://other/command HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n", true)]
#[case::escape("GET /%zz HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n", true)]
fn messages_with_two_readings_are_refused(#[case] request: &str, #[case] told: bool) {
    let (execd, asked) = canned(OK);
    let channel = Channel::before(execd, &[]);
    let answer = Answer::parse_response(&raw(channel.proxy.address, request.as_bytes()));
    assert_eq!(answer.status, 400);
    channel.send("POST", "/command", r#"{"command":"marker"}"#);
    let frames = channel.frames(1 + usize::from(told));
    assert_eq!(frames[0]["decision"], if told { "denied" } else { "allowed" });
    let seen = String::from_utf8(asked.recv_timeout(PATIENCE).unwrap()).unwrap();
    assert!(seen.ends_with(r#"{"command":"marker"}"#), "{seen}");
}

/// Memory that the process holds now, in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_does_not_follow_the_stream() {
    let mib: usize = std::env::var("BOXPROOF_STREAM_MIB").map_or(32, |text| text.parse().unwrap());
    let channel = Channel::start();
    let file = channel.path("large");
    std::fs::write(&file, vec![b'x'; 1 << 20]).unwrap();
    channel.send("GET", &format!("/files/download?path={file}"), "");
    let before = resident(channel.proxy.pid());
    let body = format!("{{\"command\":\"head -c {mib}M /dev/zero | fold -w 4096\"}}");
    let answer = channel.send("POST", "/command", &body);
    assert!(answer.body.len() > mib << 20);
    assert_eq!(channel.frames(2)[1]["output"], json!({"exit_code": 0}));
    let grown = resident(channel.proxy.pid()) - before;
    assert!(grown < 24 << 10, "{mib} MiB took {grown} KiB more");
}
