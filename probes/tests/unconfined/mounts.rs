//! Mounts and read-only views, each in a mount namespace of the probe's own.

use std::fs;

use crate::support::{names, probe};
use crate::sys::{covered, private};

#[test]
fn a_read_only_mount_is_erofs() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let new = dir.path().join("new");
    let read_only = |call| covered(call, dir.path(), true).run();
    read_only(probe("create").path(&new)).refused("EROFS", "openat");
    read_only(probe("mkdir").path(&new)).refused("EROFS", "mkdir");
    read_only(probe("symlink").path(&new).arg("to", "x")).refused("EROFS", "symlinkat");
    read_only(probe("mknod-fifo").path(&new)).refused("EROFS", "mknod");
    read_only(probe("chmod").path(dir.path()).arg("mode", "700")).refused("EROFS", "fchmodat");
    read_only(probe("chown").path(dir.path())).refused("EROFS", "fchownat");
    read_only(probe("utimes").path(dir.path())).refused("EROFS", "utimensat");
    covered(probe("create").path(&new), dir.path(), false).run().succeeded();
    assert!(!new.exists(), "only the cover was written to");
}

#[test]
fn mounts_are_made_undone_and_made_writable() {
    let dir = tempfile::tempdir().expect("a temp directory");
    private(probe("mount-tmpfs").path(dir.path())).run().succeeded();
    covered(probe("umount").path(dir.path()), dir.path(), true).run().succeeded();
    covered(probe("umount").path(dir.path()).switch("detach"), dir.path(), true).run().succeeded();
    covered(probe("remount-rw").path(dir.path()), dir.path(), true).run().succeeded();
    private(probe("umount").path(dir.path())).run().refused("EINVAL", "umount2");
    private(probe("mount-tmpfs").path("/absent/x")).run().refused("ENOENT", "mount");
}

#[test]
fn a_cover_hides_what_is_below() {
    let dir = tempfile::tempdir().expect("a temp directory");
    fs::write(dir.path().join("below"), "").expect("our directory");
    let list = || probe("readdir").path(dir.path());
    assert_eq!(names(&list().run().succeeded()), ["below"]);
    assert!(names(&covered(list(), dir.path(), false).run().succeeded()).is_empty());
}

#[test]
fn mounts_need_privilege() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let call = |name| probe(name).ordinary().path(dir.path()).run();
    call("mount-tmpfs").refused("EPERM", "mount");
    call("umount").refused("EPERM", "umount2");
    call("remount-rw").refused("EPERM", "mount");
}
