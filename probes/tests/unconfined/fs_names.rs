//! Names in directories: made, removed, renamed, linked, listed.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use rstest::rstest;
use tempfile::TempDir;

use crate::support::{names, number, probe, text};

/// Makes a directory with the files `a` and `b`, which hold their names.
fn directory() -> (TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    fs::write(&a, "a").expect("our file");
    fs::write(&b, "b").expect("our file");
    (dir, a, b)
}

fn content(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[test]
fn mkdir_and_rmdir() {
    let (dir, a, _) = directory();
    let sub = dir.path().join("sub");
    probe("mkdir").path(&sub).arg("mode", "700").run().succeeded();
    assert_eq!(sub.metadata().expect("made").mode() & 0o7777, 0o700);
    probe("rmdir").path(&sub).run().succeeded();
    assert!(!sub.exists());
    probe("rmdir").path(&a).run().refused("ENOTDIR", "rmdir");
    probe("rmdir").path(dir.path()).run().refused("ENOTEMPTY", "rmdir");
}

#[test]
fn unlink_removes_the_name() {
    let (dir, a, _) = directory();
    probe("unlink").path(&a).run().succeeded();
    assert!(!a.exists());
    let errno = if cfg!(target_os = "linux") { "EISDIR" } else { "EPERM" };
    probe("unlink").path(dir.path()).run().refused(errno, "unlink");
}

#[rstest]
#[case::default(&[])]
#[case::rename(&["rename"])]
#[case::renameat(&["renameat"])]
#[cfg_attr(target_os = "linux", case::renameat2(&["renameat2"]))]
fn rename_replaces(#[case] via: &[&str]) {
    let (_dir, a, b) = directory();
    let call = probe("rename").path(&a).arg("to", &b);
    via.iter().fold(call, |call, via| call.arg("via", via)).run().succeeded();
    assert_eq!((content(&a), content(&b)), (None, Some("a".into())));
}

#[cfg(target_os = "linux")]
#[test]
fn rename_exchanges_or_spares_what_is_there() {
    let (dir, a, b) = directory();
    let rename = |to: &Path, via| probe("rename").path(&a).arg("to", to).arg("via", via).run();
    rename(&b, "noreplace").refused("EEXIST", "renameat2");
    rename(&dir.path().join("c"), "exchange").refused("ENOENT", "renameat2");
    assert_eq!((content(&a), content(&b)), (Some("a".into()), Some("b".into())));
    rename(&b, "exchange").succeeded();
    assert_eq!((content(&a), content(&b)), (Some("b".into()), Some("a".into())));
}

#[cfg(not(target_os = "linux"))]
#[test]
fn rename_flags_exist_on_linux_only() {
    let (_dir, a, b) = directory();
    probe("rename").path(&a).arg("to", &b).arg("via", "exchange").run().silent(64);
}

#[test]
fn link_gives_a_second_name_and_follows_nothing() {
    let (dir, a, b) = directory();
    let new = dir.path().join("new");
    probe("link").path(&a).arg("to", &new).run().succeeded();
    assert_eq!(a.metadata().expect("ours").ino(), new.metadata().expect("made").ino());
    probe("link").path(&a).arg("to", &b).run().refused("EEXIST", "linkat");
}

#[test]
fn symlink_says_what_it_was_told_and_readlink_reads_it() {
    let (dir, a, _) = directory();
    let new = dir.path().join("new");
    probe("symlink").path(&new).arg("to", "../no//such/./place").run().succeeded();
    let detail = probe("readlink").path(&new).run().succeeded();
    assert_eq!(text(&detail, "data"), "../no//such/./place");
    probe("readlink").path(&a).run().refused("EINVAL", "readlink");
}

#[test]
fn mknod_fifo_makes_a_pipe() {
    let (dir, ..) = directory();
    let new = dir.path().join("new");
    probe("mknod-fifo").path(&new).run().succeeded();
    assert!(new.metadata().expect("made").file_type().is_fifo());
}

#[test]
fn readdir_lists_names() {
    let (dir, a, _) = directory();
    symlink("nowhere", dir.path().join("dangling")).expect("our directory");
    let detail = probe("readdir").path(dir.path()).run().succeeded();
    assert_eq!(names(&detail), ["a", "b", "dangling"]);
    assert_eq!(number(&detail, "count"), 3);
    probe("readdir").path(&a).run().refused("ENOTDIR", "openat");
}

#[cfg(target_os = "linux")]
#[test]
fn bytes_of_a_path_are_kept() {
    use std::os::unix::ffi::OsStrExt as _;
    let (dir, ..) = directory();
    let odd = dir.path().join(std::ffi::OsStr::from_bytes(b"\xff --x\n"));
    probe("create").path(&odd).run().succeeded();
    assert!(odd.exists());
    probe("unlink").path(&odd).run().succeeded();
    assert!(!odd.exists());
}
