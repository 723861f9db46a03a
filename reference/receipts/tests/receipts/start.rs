//! The conditions that stop a start: each with its reason, and nothing written.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use rstest::rstest;
use serde_json::json;

use crate::support::{ACTION, Daemon, Scene, connect, each, send};

fn refused(scene: &Scene) -> String {
    refused_at(scene, &scene.socket())
}

fn refused_at(scene: &Scene, socket: &Path) -> String {
    let said = refuses(scene.command_at(socket, &[]));
    assert!(scene.bytes().is_empty(), "something was signed");
    said
}

fn refuses(command: Command) -> String {
    let (status, said) = Daemon::spawned(command).ended();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

#[test]
fn a_socket_for_owner_and_group() {
    let scene = Scene::new();
    let daemon = scene.start(&[]);
    assert_eq!(scene.socket().metadata().unwrap().mode() & 0o7777, 0o660);
    assert_eq!(each(&scene.receipts(), ACTION), [&json!("agent_receipts.daemon_started")]);
    let (status, said) = daemon.end(Signal::SIGTERM);
    assert!(status.success(), "{said}");
    assert!(scene.socket().symlink_metadata().is_err());
}

#[rstest]
#[case::open_to_the_world(0o755)]
#[case::writable_by_the_world(0o702)]
fn a_directory_that_others_reach(#[case] mode: u32) {
    let scene = Scene::new();
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(scene.directory.path(), permissions).unwrap();
    assert!(refused(&scene).contains("open to the world"));
}

#[test]
fn a_network_address() {
    let scene = Scene::new();
    for address in ["127.0.0.1:0", "tcp://127.0.0.1:9000", "localhost:9000"] {
        assert!(refused_at(&scene, Path::new(address)).contains("address of a network"));
    }
}

#[test]
fn something_else_at_its_place_stays() {
    let scene = Scene::new();
    std::fs::write(scene.socket(), "mine").unwrap();
    assert!(refused(&scene).contains("something else than a socket"));
    assert_eq!(std::fs::read(scene.socket()).unwrap(), b"mine");
}

#[test]
fn a_key_that_others_can_read() {
    let scene = Scene::new();
    let permissions = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(scene.path("key"), permissions).unwrap();
    assert!(refused(&scene).contains("0644"));
}

#[test]
fn a_second_daemon_and_a_dead_one() {
    let scene = Scene::new();
    let first = scene.start(&[]);
    assert!(refuses(scene.command(&[])).contains("another daemon writes to it"));
    first.end(Signal::SIGKILL);
    // The socket of the dead one is stale.
    assert!(scene.socket().symlink_metadata().is_ok());
    let daemon = scene.start(&[]);
    send(&mut connect(&scene), json!({}));
    scene.await_receipts(3);
    daemon.end(Signal::SIGKILL);
    scene.assert_valid();
}

#[test]
fn a_store_of_another_key() {
    let scene = Scene::new();
    scene.start(&[]).end(Signal::SIGTERM);
    std::fs::remove_file(scene.path("key")).unwrap();
    std::fs::remove_file(scene.path("key.pub")).unwrap();
    boxproof_receipts::keys::make(&scene.path("key")).unwrap();
    assert!(refuses(scene.command(&[])).contains("not signed by --key"));
}
