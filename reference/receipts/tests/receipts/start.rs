//! The conditions that stop a start: each with its reason, and nothing written.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::json;

use crate::support::{ACTION, Daemon, DaemonFixture, connect, each, send};

fn refused(fixture: &DaemonFixture) -> String {
    refused_at(fixture, &fixture.socket())
}

fn refused_at(fixture: &DaemonFixture, socket: &Path) -> String {
    let said = refuses(fixture.command_at(socket, &[]));
    assert!(fixture.bytes().is_empty(), "something was signed");
    said
}

fn refuses(command: Command) -> String {
    let (status, said) = Daemon::spawned(command).ended();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

#[test]
fn a_socket_for_owner_and_group() {
    let fixture = DaemonFixture::new();
    let daemon = fixture.start(&[]);
    assert_eq!(fixture.socket().metadata().unwrap().mode() & 0o7777, 0o660);
    assert_eq!(each(&fixture.receipts(), ACTION), [&json!("agent_receipts.daemon_started")]);
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    assert!(fixture.socket().symlink_metadata().is_err());
}

#[rstest]
#[case::open_to_the_world(0o755)]
#[case::writable_by_the_world(0o702)]
fn a_directory_that_others_reach(#[case] mode: u32) {
    let fixture = DaemonFixture::new();
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(fixture.directory.path(), permissions).unwrap();
    assert!(refused(&fixture).contains("open to the world"));
}

#[test]
fn a_network_address() {
    let fixture = DaemonFixture::new();
    for address in ["127.0.0.1:0", "tcp://127.0.0.1:9000", "localhost:9000"] {
        assert!(refused_at(&fixture, Path::new(address)).contains("address of a network"));
    }
}

#[test]
fn something_else_at_its_place_stays() {
    let fixture = DaemonFixture::new();
    std::fs::write(fixture.socket(), "mine").unwrap();
    assert!(refused(&fixture).contains("something else than a socket"));
    assert_eq!(std::fs::read(fixture.socket()).unwrap(), b"mine");
}

#[test]
fn a_key_that_others_can_read() {
    let fixture = DaemonFixture::new();
    let permissions = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(fixture.path("key"), permissions).unwrap();
    assert!(refused(&fixture).contains("0644"));
}

#[test]
fn a_second_daemon_and_a_dead_one() {
    let fixture = DaemonFixture::new();
    let first = fixture.start(&[]);
    assert!(refuses(fixture.command(&[])).contains("another daemon writes to it"));
    first.end(Signal::SIGKILL);
    // The socket of the dead one is stale.
    assert!(fixture.socket().symlink_metadata().is_ok());
    let daemon = fixture.start(&[]);
    send(&mut connect(&fixture), json!({}));
    fixture.await_receipts(3);
    daemon.end(Signal::SIGKILL);
    fixture.assert_valid();
}

#[test]
fn a_store_of_another_key() {
    let fixture = DaemonFixture::new();
    fixture.start(&[]).end(Signal::SIGTERM);
    std::fs::remove_file(fixture.path("key")).unwrap();
    std::fs::remove_file(fixture.path("key.pub")).unwrap();
    boxproof_receipts::keys::make(&fixture.path("key")).unwrap();
    assert!(refuses(fixture.command(&[])).contains("not signed by --key"));
}
