//! The relay: who is let in, what is taken, and what the answers mean.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxproof_receipts::authority::CertificateAuthority;
use rstest::rstest;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::proxy::support::{Answer, Channel, PATIENCE, eventually};

type Files = (PathBuf, PathBuf);

/// A client of the relay that trusts `ca` and shows these files, or none.
fn client(ca: &Path, shown: Option<&Files>) -> Arc<ClientConfig> {
    // Another test may have installed it.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let builder = ClientConfig::builder().with_root_certificates(roots);
    Arc::new(match shown {
        None => builder.with_no_client_auth(),
        Some((cert, key)) => {
            let chain = vec![CertificateDer::from_pem_file(cert).unwrap()];
            let key = PrivateKeyDer::from_pem_file(key).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    })
}

/// Posts a body; an error where the relay does not even listen.
fn post(to: SocketAddr, tls: &Arc<ClientConfig>, body: &[u8]) -> Result<Answer, std::io::Error> {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::clone(tls), name).unwrap();
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let length = body.len();
    let head = format!(
        "POST /ingest HTTP/1.1\r\nHost: relay\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // It answers before it has read all of what is too long, and closes then.
        Err(error) if answer.is_empty() => Err(error),
        _ => Ok(Answer::parse_response(&answer)),
    }
}

fn frame() -> Value {
    json!({"v": "1", "ts_emit": "2026-01-01T00:00:00Z", "session_id": "s", "channel": "c",
        "tool": {"name": "t"}, "decision": "allowed", "drop_count": 3})
}

fn s1(channel: &Channel) -> Files {
    (channel.path("s1.pem").into(), channel.path("s1.key").into())
}

fn posted(channel: &Channel, shown: &Files, body: &[u8]) -> Answer {
    let tls = client(&channel.authority().certificate(), Some(shown));
    post(channel.relay.address, &tls, body).unwrap()
}

#[test]
fn a_frame_is_taken_and_named() {
    let channel = Channel::start();
    let answer = posted(&channel, &s1(&channel), frame().to_string().as_bytes());
    assert_eq!(answer.status, 202, "{}", answer.text());
    let told = &channel.frames(1)[0];
    assert_eq!((&told["sandbox_id"], &told["drop_count"]), (&json!("s1"), &json!(3)));
}

#[test]
fn without_a_certificate_of_ours_nothing_is_taken() {
    let channel = Channel::start();
    let elsewhere = TempDir::new().unwrap();
    let other = CertificateAuthority::new(elsewhere.path()).unwrap();
    let foreign = other.proxy("s1", &["urn:opensandbox:s1"]).unwrap();
    let ca = channel.authority().certificate();
    for shown in [None, Some(&foreign)] {
        let tls = client(&ca, shown);
        post(channel.relay.address, &tls, frame().to_string().as_bytes()).unwrap_err();
    }
    let marker = posted(&channel, &s1(&channel), frame().to_string().as_bytes());
    assert_eq!((marker.status, channel.frames(1).len()), (202, 1));
}

#[rstest]
#[case::two(&["urn:opensandbox:s1", "urn:opensandbox:s2"])]
#[case::none(&[])]
#[case::slash(&["urn:opensandbox:a/b"])]
fn a_certificate_without_one_name_is_refused(#[case] uris: &[&str]) {
    let channel = Channel::start();
    let shown = channel.authority().proxy("odd", uris).unwrap();
    assert_eq!(posted(&channel, &shown, frame().to_string().as_bytes()).status, 403);
    assert_eq!(posted(&channel, &s1(&channel), frame().to_string().as_bytes()).status, 202);
    assert_eq!(channel.frames(1)[0]["sandbox_id"], "s1");
}

#[test]
fn another_sandbox_is_not_spoken_for() {
    let channel = Channel::start();
    let mut claim = frame();
    claim["sandbox_id"] = json!("s2");
    assert_eq!(posted(&channel, &s1(&channel), claim.to_string().as_bytes()).status, 403);
    assert_eq!(posted(&channel, &s1(&channel), frame().to_string().as_bytes()).status, 202);
    assert_eq!(channel.frames(1)[0]["sandbox_id"], "s1");
}

#[test]
fn bodies_that_are_no_frame() {
    let channel = Channel::start();
    let shown = s1(&channel);
    let text = frame().to_string();
    let twice = text.replacen('{', r#"{"v":"1","#, 1);
    for body in [twice, format!("{text} x"), "[]".to_owned(), "{}".to_owned(), String::new()] {
        assert_eq!(posted(&channel, &shown, body.as_bytes()).status, 400, "{body}");
    }
    let long = format!("{text}{}", " ".repeat((1 << 20) + 1 - text.len()));
    assert_eq!(posted(&channel, &shown, long.as_bytes()).status, 413);
    assert_eq!(posted(&channel, &shown, text.as_bytes()).status, 202);
    assert_eq!(channel.frames(1).len(), 1);
}

#[test]
fn a_daemon_that_is_gone_is_503_until_it_is_back() {
    let mut channel = Channel::start();
    let (shown, text) = (s1(&channel), frame().to_string());
    assert_eq!(posted(&channel, &shown, text.as_bytes()).status, 202);
    channel.frames(1);
    channel.stop_sink();
    eventually("503", || posted(&channel, &shown, text.as_bytes()).status == 503);
    channel.start_sink();
    assert_eq!(posted(&channel, &shown, text.as_bytes()).status, 202);
    assert_eq!(channel.frames(1)[0]["drop_count"], 3);
}

#[test]
fn one_certificate_from_two_addresses_is_a_finding() {
    let channel = Channel::start();
    let tls = client(&channel.authority().certificate(), Some(&s1(&channel)));
    post(channel.relay.address, &tls, frame().to_string().as_bytes()).unwrap();
    assert!(!channel.relay.log().contains("shared_certificate"));
    let from: SocketAddr = "127.0.0.2:0".parse().unwrap();
    let socket = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Inet,
        nix::sys::socket::SockType::Stream,
        nix::sys::socket::SockFlag::empty(),
        None,
    )
    .unwrap();
    let (from, to) = match (from, channel.relay.address) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => (from, to),
        other => panic!("{other:?}"),
    };
    use nix::sys::socket::{SockaddrIn, bind, connect};
    use std::os::fd::AsRawFd;
    bind(socket.as_raw_fd(), &SockaddrIn::from(from)).unwrap();
    connect(socket.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(tls, name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::from(socket));
    stream.write_all(b"GET / HTTP/1.1\r\nHost: r\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(Answer::parse_response(&answer).status, 404);
    let log = channel.relay.log();
    assert!(log.contains("shared_certificate: that of sandbox s1"), "{log}");
}

#[test]
fn older_versions_of_tls_are_not_spoken() {
    // The client's library is built without them, so the relay's own words are read: its offer is 1.3.
    let channel = Channel::start();
    let tls = client(&channel.authority().certificate(), Some(&s1(&channel)));
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut connection = ClientConnection::new(tls, name).unwrap();
    let mut stream = TcpStream::connect(channel.relay.address).unwrap();
    connection.complete_io(&mut stream).unwrap();
    assert_eq!(connection.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
}
