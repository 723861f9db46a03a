//! Terminals over WebSocket, as another library speaks it.

use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::proxy::support::{Channel, PATIENCE, eventually, sha};

type Socket = WebSocket<TcpStream>;

fn record(channel: &Channel, body: &str) -> String {
    let answer = channel.send("POST", "/pty", body);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let made: Value = serde_json::from_slice(&answer.body).unwrap();
    made["session_id"].as_str().unwrap().to_owned()
}

fn attach(channel: &Channel, id: &str, query: &str) -> Socket {
    let stream = TcpStream::connect(channel.proxy.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let url = format!("ws://{}/pty/{id}/ws{query}", channel.proxy.address);
    tungstenite::client(url, stream).unwrap().0
}

fn type_in(socket: &mut Socket, text: &str) {
    socket.send(Message::binary([b"\0", text.as_bytes()].concat())).unwrap();
}

/// Reads until a message is as wanted; what was printed by then.
fn until(socket: &mut Socket, wanted: impl Fn(&Message, &str) -> bool) -> String {
    let mut printed = String::new();
    loop {
        let message = socket.read().unwrap();
        if let Message::Binary(bytes) = &message
            && bytes.first() == Some(&1)
        {
            printed.push_str(std::str::from_utf8(&bytes[1..]).unwrap());
        }
        if wanted(&message, &printed) {
            return printed;
        }
    }
}

fn prints(socket: &mut Socket, text: &str) -> String {
    until(socket, |_, printed| printed.contains(text))
}

fn is_exit(message: &Message, _: &str) -> bool {
    matches!(message, Message::Text(text) if text.contains("\"exit\""))
}

/// The hash over three streams.
fn io(stdin: &str, stdout: &str, stderr: &str) -> Value {
    use sha2::{Digest, Sha256};
    let digests: Vec<u8> = [stdin, stdout, stderr].iter().flat_map(Sha256::digest).collect();
    json!({"io_hash": sha(&digests)})
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["action_type"].as_str().unwrap()).collect()
}

const OPEN: &str = "system.pty.open";
const CLOSE: &str = "system.pty.close";

#[test]
fn a_terminal_from_its_first_connection_to_its_exit() {
    let channel = Channel::start();
    let id = record(&channel, r#"{"command":"cat; echo err >&2; exit 0"}"#);
    let mut socket = attach(&channel, &id, "?pty=0");
    type_in(&mut socket, "hello\n");
    prints(&mut socket, "hello\n");
    channel.sink.as_ref().unwrap().frames(1);
    // The end of the standard input is not to be had from here; a signal would be another test.
    socket.send(Message::text(r#"{"type":"signal","signal":"SIGINT"}"#)).unwrap();
    until(&mut socket, is_exit);
    let frames = channel.frames(2);
    assert_eq!(kinds(&frames), [OPEN, CLOSE]);
    assert_eq!(frames[0]["input"], json!({"command": "cat; echo err >&2; exit 0"}));
    assert_eq!(frames[0]["output"], json!({"pty_id": id}));
    assert!(frames[0]["correlation_id"].is_string());
    assert_eq!(frames[0]["correlation_id"], frames[1]["correlation_id"]);
    assert_eq!(frames[1]["binding"], json!({"sandbox_id": "s1", "endpoint": "/pty"}));
    assert_eq!(frames[1]["output"], io("hello\n", "hello\n", ""));
}

#[test]
fn an_exit_code_and_both_streams() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    let mut socket = attach(&channel, &id, "");
    type_in(&mut socket, "echo out; echo err >&2; ");
    socket.send(Message::text(r#"{"type":"stdin","data":"exit 5\n"}"#)).unwrap();
    until(&mut socket, is_exit);
    let frames = channel.frames(2);
    assert_eq!(frames[0]["input"], json!({}));
    assert_eq!((&frames[1]["input"], frames[1].get("error")), (&json!({"exit_code": 5}), None));
    assert_eq!(frames[1]["output"], io("echo out; echo err >&2; exit 5\n", "out\n", "err\n"));
}

#[test]
fn a_connection_that_comes_back_counts_bytes_once() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    let mut socket = attach(&channel, &id, "");
    type_in(&mut socket, "echo one\n");
    prints(&mut socket, "one\n");
    drop(socket);
    let mut socket = reattach(&channel, &id, "?since=2");
    // The replay has two bytes that were seen.
    type_in(&mut socket, "echo two; exit\n");
    until(&mut socket, is_exit);
    let frames = channel.frames(2);
    assert_eq!(kinds(&frames), [OPEN, CLOSE]);
    assert_eq!(frames[1]["output"], io("echo one\necho two; exit\n", "one\ntwo\n", ""));
}

/// Attaches as soon as execd has noticed that the one before is gone.
fn reattach(channel: &Channel, id: &str, query: &str) -> Socket {
    reattach_at(channel.proxy.address, id, query)
}

fn reattach_at(address: SocketAddr, id: &str, query: &str) -> Socket {
    let mut found = None;
    eventually("attached again", || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let url = format!("ws://{address}/pty/{id}/ws{query}");
        found = tungstenite::client(url, stream).ok().map(|(socket, _)| socket);
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_takeover_is_no_second_opening() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    let mut first = attach(&channel, &id, "");
    type_in(&mut first, "echo one\n");
    prints(&mut first, "one\n");
    let mut second = attach(&channel, &id, "?takeover=1&since=4");
    let closed = loop {
        if let Message::Close(Some(closed)) = first.read().unwrap() {
            break closed;
        }
    };
    assert_eq!((u16::from(closed.code), closed.reason.as_str()), (4001, "TAKEN_OVER"));
    type_in(&mut second, "exit\n");
    until(&mut second, is_exit);
    let frames = channel.frames(2);
    assert_eq!(kinds(&frames), [OPEN, CLOSE]);
    assert_eq!(frames[1]["output"], io("echo one\nexit\n", "one\n", ""));
}

#[test]
fn a_second_client_without_takeover_is_turned_away() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    let mut first = attach(&channel, &id, "");
    let stream = TcpStream::connect(channel.proxy.address).unwrap();
    let url = format!("ws://{}/pty/{id}/ws", channel.proxy.address);
    match tungstenite::client(url, stream) {
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
            assert_eq!(answer.status(), 409);
        }
        other => panic!("{other:?}"),
    }
    type_in(&mut first, "exit\n");
    until(&mut first, is_exit);
    assert_eq!(kinds(&channel.frames(2)), [OPEN, CLOSE]);
}

#[test]
fn a_signal_that_ended_the_shell_is_told() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    let mut socket = attach(&channel, &id, "");
    type_in(&mut socket, "echo up\n");
    prints(&mut socket, "up\n");
    socket.send(Message::text(r#"{"type":"signal","signal":"SIGHUP"}"#)).unwrap();
    until(&mut socket, is_exit);
    let frame = &channel.frames(2)[1];
    assert_eq!(frame["input"], json!({"exit_code": -1, "signal": "SIGHUP"}));
}

#[test]
fn deleting_is_a_kill() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    let mut socket = attach(&channel, &id, "");
    type_in(&mut socket, "echo up\n");
    prints(&mut socket, "up\n");
    assert_eq!(channel.send("DELETE", &format!("/pty/{id}"), "").status, 200);
    let frames = channel.frames(2);
    assert_eq!(kinds(&frames), [OPEN, CLOSE]);
    assert_eq!(frames[1]["input"]["signal"], "SIGKILL");
    let exit = &frames[1]["input"]["exit_code"];
    assert!(exit.is_null() || exit == -1, "{exit}");
}

#[test]
fn a_record_that_nobody_attaches_to_is_not_told() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    assert_eq!(channel.send("GET", &format!("/pty/{id}"), "").status, 200);
    assert_eq!(channel.send("DELETE", &format!("/pty/{id}"), "").status, 200);
    channel.send("POST", "/command", r#"{"command":"true"}"#);
    assert_eq!(kinds(&channel.frames(1)), ["system.command.execute"]);
}

#[test]
fn a_second_run_of_one_terminal_is_a_second_pair() {
    let channel = Channel::start();
    let id = record(&channel, "{}");
    for (run, typed) in ["exit 1\n", "exit 2\n"].into_iter().enumerate() {
        let mut socket = reattach(&channel, &id, "?since=1000000");
        type_in(&mut socket, typed);
        until(&mut socket, is_exit);
        channel.frames(2 * (run + 1));
    }
    let frames = channel.frames(4);
    assert_eq!(kinds(&frames), [OPEN, CLOSE, OPEN, CLOSE]);
    assert_eq!(frames[3]["input"], json!({"exit_code": 2}));
    assert_eq!(frames[2]["correlation_id"], frames[3]["correlation_id"]);
    assert_ne!(frames[0]["correlation_id"], frames[2]["correlation_id"]);
}

#[test]
fn two_terminals_at_once_are_two_pairs() {
    let channel = Channel::start();
    let ids = [record(&channel, "{}"), record(&channel, "{}")];
    let mut sockets = ids.each_ref().map(|id| attach(&channel, id, ""));
    type_in(&mut sockets[0], "exit 3\n");
    until(&mut sockets[0], is_exit);
    type_in(&mut sockets[1], "exit 4\n");
    until(&mut sockets[1], is_exit);
    let frames = channel.frames(4);
    assert_eq!(kinds(&frames), [OPEN, OPEN, CLOSE, CLOSE]);
    assert_eq!(frames[0]["correlation_id"], frames[2]["correlation_id"]);
    assert_eq!(frames[1]["correlation_id"], frames[3]["correlation_id"]);
    assert_ne!(frames[0]["correlation_id"], frames[1]["correlation_id"]);
}

#[test]
fn an_end_that_nobody_saw_is_told_at_the_next_connection() {
    let channel = Channel::start();
    let fifo = channel.path("fifo");
    nix::unistd::mkfifo(fifo.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let id = record(&channel, &json!({"command": format!("echo up; read x < {fifo}")}).to_string());
    let mut socket = attach(&channel, &id, "");
    prints(&mut socket, "up\n");
    drop(socket);
    // One client at a time: a client that is let in knows that the proxy's connection is over.
    let mut unseen = reattach_at(channel.execd.as_ref().unwrap().address(), &id, "");
    std::fs::write(&fifo, "go\n").unwrap();
    until(&mut unseen, is_exit);
    drop(unseen);
    let _again = reattach(&channel, &id, "");
    let frames = channel.frames(3);
    assert_eq!(kinds(&frames), [OPEN, CLOSE, OPEN]);
    assert_eq!(
        (frames[1].get("input"), &frames[1]["error"]),
        (None, &json!("the end was not seen"))
    );
    assert_ne!(frames[0]["correlation_id"], frames[2]["correlation_id"]);
    std::fs::write(&fifo, "go\n").unwrap();
}

#[test]
fn a_stop_of_the_proxy_closes() {
    let mut channel = Channel::start();
    let id = record(&channel, "{}");
    let mut socket = attach(&channel, &id, "");
    type_in(&mut socket, "echo up\n");
    prints(&mut socket, "up\n");
    assert!(channel.proxy.terminate().success());
    let frames = channel.frames(2);
    assert_eq!(kinds(&frames), [OPEN, CLOSE]);
    assert_eq!(frames[1]["output"], io("echo up\n", "up\n", ""));
    assert!(frames[1]["error"].as_str().unwrap().contains("proxy was stopped"));
}

#[test]
fn an_execd_that_is_gone_closes() {
    let mut channel = Channel::start();
    let id = record(&channel, "{}");
    let mut socket = attach(&channel, &id, "");
    type_in(&mut socket, "echo up\n");
    prints(&mut socket, "up\n");
    drop(channel.execd.take());
    let frames = channel.frames(2);
    assert_eq!(kinds(&frames), [OPEN, CLOSE]);
    assert_eq!(frames[1]["error"], "execd is gone");
}

#[test]
fn an_unclear_record_is_refused_and_told() {
    let channel = Channel::start();
    let body = r#"{"command":"true","Command":"id"}"#;
    assert_eq!(channel.send("POST", "/pty", body).status, 400);
    let frame = &channel.frames(1)[0];
    assert_eq!((&frame["action_type"], &frame["decision"]), (&json!(OPEN), &json!("denied")));
}
