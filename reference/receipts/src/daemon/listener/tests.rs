//! Files at the path of the socket, and around it.

use std::os::unix::fs::symlink;

use rstest::rstest;

use super::*;

fn closed_directory() -> tempfile::TempDir {
    let mode = Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir().unwrap()
}

fn refused(path: &Path, anywhere: bool) -> String {
    listen(path, anywhere).unwrap_err()
}

#[rstest]
#[case("127.0.0.1:9000")]
#[case("[::1]:9000")]
#[case("localhost:9000")]
#[case("tcp://127.0.0.1:9000")]
#[case("unix:///run/x.sock")]
#[case("tcp:9000")]
fn addresses_are_refused(#[case] address: &str) {
    assert!(refused(Path::new(address), true).contains("address of a network"));
}

#[test]
fn the_socket_is_for_owner_and_group_in_a_directory_of_their_own() {
    let directory = closed_directory();
    let path = directory.path().join("made/events.sock");
    let listener = listen(&path, true).unwrap();
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o660);
    assert_eq!(path.parent().unwrap().metadata().unwrap().mode() & 0o7777, 0o750);
    assert!(refused(&path, true).contains("listens there already"));
    drop(listener);
    assert!(path.symlink_metadata().is_err());
}

#[test]
fn a_directory_that_the_world_reaches_is_refused() {
    let directory = closed_directory();
    for mode in [0o755, 0o751, 0o702] {
        std::fs::set_permissions(directory.path(), Permissions::from_mode(mode)).unwrap();
        let error = refused(&directory.path().join("s"), true);
        assert!(error.contains("open to the world"), "{mode:o}: {error}");
    }
}

#[test]
fn outside_the_run_directories_it_takes_a_word() {
    let directory = closed_directory();
    let error = refused(&directory.path().join("s"), false);
    assert!(error.contains("--unsafe-socket-path"), "{error}");
}

#[test]
fn a_stale_socket_is_replaced_and_nothing_else() {
    let directory = closed_directory();
    let path = directory.path().join("s");
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.symlink_metadata().is_ok());
    drop(listen(&path, true).unwrap());
    std::fs::write(&path, "mine").unwrap();
    assert!(refused(&path, true).contains("something else than a socket"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    let (link, target) = (directory.path().join("link"), directory.path().join("target"));
    let _live = UnixListener::bind(&target).unwrap();
    symlink(&target, &link).unwrap();
    assert!(refused(&link, true).contains("something else than a socket"));
}

#[test]
fn a_socket_of_another_kind_is_not_stale() {
    let directory = closed_directory();
    let path = directory.path().join("s");
    let _datagrams = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    assert!(refused(&path, true).contains("cannot be told to be stale"));
    assert!(path.symlink_metadata().is_ok());
}
