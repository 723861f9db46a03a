//! Files: their content and their metadata.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use rstest::rstest;
use tempfile::TempDir;

use crate::support::{Call, is_root, number, probe, text};

/// Makes a directory that any user may enter, with a file `f` of three bytes.
fn directory() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temp directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("our directory");
    let file = dir.path().join("f");
    fs::write(&file, "old").expect("our file");
    (dir, file)
}

#[test]
fn read_gives_the_bytes_up_to_the_cap() {
    let (_dir, file) = directory();
    let detail = probe("read").path(&file).run().succeeded();
    assert_eq!((text(&detail, "data"), number(&detail, "bytes")), ("old", 3));
    fs::write(&file, "x".repeat(5000)).expect("our file");
    assert_eq!(text(&probe("read").path(&file).run().succeeded(), "data"), "x".repeat(4096));
    fs::write(&file, b"a\xffb").expect("our file");
    assert_eq!(text(&probe("read").path(&file).run().succeeded(), "data"), "a\u{fffd}b");
}

#[test]
fn write_replaces_and_append_adds() {
    let (_dir, file) = directory();
    probe("write").path(&file).arg("text", "n").run().succeeded();
    assert_eq!(fs::read(&file).expect("our file"), b"n");
    probe("append").path(&file).arg("text", "ew").run().succeeded();
    assert_eq!(fs::read(&file).expect("our file"), b"new");
}

#[rstest]
#[case::read(probe("read"), "openat")]
#[case::write(probe("write").arg("text", "x"), "openat")]
#[case::append(probe("append").arg("text", "x"), "openat")]
#[case::truncate(probe("truncate"), "truncate")]
#[case::open(probe("open").arg("flags", "read"), "openat")]
#[case::chmod(probe("chmod").arg("mode", "600"), "fchmodat")]
#[case::chown(probe("chown"), "fchownat")]
#[case::utimes(probe("utimes"), "utimensat")]
#[case::setxattr(probe("setxattr").arg("name", "user.a").arg("text", "b"), "setxattr")]
#[case::getxattr(probe("getxattr").arg("name", "user.a"), "getxattr")]
#[case::stat(probe("stat"), "fstatat")]
#[case::access(probe("access").arg("flags", "exists"), "access")]
#[case::unlink(probe("unlink"), "unlink")]
#[case::rmdir(probe("rmdir"), "rmdir")]
#[case::readdir(probe("readdir"), "openat")]
#[case::readlink(probe("readlink"), "readlink")]
#[case::link(probe("link").arg("to", "x"), "linkat")]
#[case::rename(probe("rename").arg("to", "x"), "rename")]
fn what_is_not_there_is_enoent_and_stays_away(#[case] call: Call, #[case] name: &str) {
    let (dir, _) = directory();
    let absent = dir.path().join("absent");
    call.path(&absent).run().refused("ENOENT", name);
    assert!(!absent.exists());
}

#[rstest]
#[case::read(probe("read"), "openat")]
#[case::write(probe("write").arg("text", "x"), "openat")]
#[case::truncate(probe("truncate"), "truncate")]
#[case::access(probe("access").arg("flags", "read,write"), "access")]
fn what_is_closed_to_all_is_eacces(#[case] call: Call, #[case] name: &str) {
    let (_dir, file) = directory();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o0)).expect("our file");
    call.ordinary().path(&file).run().refused("EACCES", name);
    assert_eq!(file.metadata().expect("our file").len(), 3);
}

#[rstest]
#[case::create(probe("create").arg("text", "x"), "openat")]
#[case::mkdir(probe("mkdir"), "mkdir")]
#[case::symlink(probe("symlink").arg("to", "x"), "symlinkat")]
#[case::fifo(probe("mknod-fifo"), "mknod")]
#[case::open(probe("open").arg("flags", "creat").arg("flags", "excl"), "openat")]
fn what_is_there_is_eexist_and_stays(#[case] call: Call, #[case] name: &str) {
    let (_dir, file) = directory();
    call.path(&file).run().refused("EEXIST", name);
    assert_eq!(fs::read(&file).expect("our file"), b"old");
}

#[rstest]
#[case::truncates("write,trunc", "f", None)]
#[case::creates("rdwr,creat,excl", "new", None)]
#[case::directory("read,directory", ".", None)]
#[case::not_a_directory("read,directory", "f", Some("ENOTDIR"))]
#[case::writes_a_directory("write", ".", Some("EISDIR"))]
#[case::read_and_write_a_directory("read,write", ".", Some("EISDIR"))]
#[case::follows("read", "l", None)]
#[case::does_not_follow("read,nofollow", "l", Some("ELOOP"))]
#[case::dots_as_given("read", "f/..", Some("ENOTDIR"))]
fn open_uses_exactly_the_flags_named(
    #[case] flags: &str,
    #[case] name: &str,
    #[case] errno: Option<&str>,
) {
    let (dir, file) = directory();
    std::os::unix::fs::symlink("f", dir.path().join("l")).expect("our directory");
    let ran = probe("open").path(dir.path().join(name)).arg("flags", flags).run();
    match errno {
        Some(errno) => ran.refused(errno, "openat"),
        None => drop(ran.succeeded()),
    }
    assert_eq!(dir.path().join("new").exists(), flags.contains("creat"));
    let left = if flags.contains("trunc") { 0 } else { 3 };
    assert_eq!(file.metadata().expect("our file").len(), left);
}

#[test]
fn create_makes_the_file_with_text_and_mode() {
    let (dir, _) = directory();
    let new = dir.path().join("new");
    probe("create").path(&new).arg("text", "abc").arg("mode", "0600").run().succeeded();
    assert_eq!(fs::read(&new).expect("made"), b"abc");
    assert_eq!(new.metadata().expect("made").mode() & 0o7777, 0o600);
}

#[test]
fn truncate_cuts_and_stretches() {
    let (_dir, file) = directory();
    for (size, expected) in [(Some("5"), b"old\0\0".as_slice()), (Some("1"), b"o"), (None, b"")] {
        let call = probe("truncate").path(&file);
        size.into_iter().fold(call, |call, size| call.arg("size", size)).run().succeeded();
        assert_eq!(fs::read(&file).expect("our file"), expected);
    }
}

#[test]
fn chmod_utimes_and_stat_agree_with_the_host() {
    let (dir, file) = directory();
    probe("chmod").path(&file).arg("mode", "4751").run().succeeded();
    probe("utimes").path(&file).arg("seconds", "1000000000").run().succeeded();
    let host = file.metadata().expect("our file");
    assert_eq!((host.mode() & 0o7777, host.mtime()), (0o4751, 1_000_000_000));
    let detail = probe("stat").path(&file).run().succeeded();
    assert_eq!(text(&detail, "mode"), "4751");
    assert_eq!(text(&detail, "kind"), "file");
    assert_eq!(text(&detail, "mtime"), "1000000000.000000000");
    assert_eq!((number(&detail, "size"), number(&detail, "ino")), (3, host.ino()));
    assert_eq!((number(&detail, "nlink"), number(&detail, "uid")), (1, host.uid().into()));
    let link = dir.path().join("l");
    std::os::unix::fs::symlink("f", &link).expect("our directory");
    let followed = probe("stat").path(&link).run().succeeded();
    let unfollowed = probe("stat").path(&link).switch("nofollow").run().succeeded();
    assert_eq!((text(&followed, "kind"), text(&unfollowed, "kind")), ("file", "symlink"));
}

#[test]
fn chown_to_another_needs_privilege() {
    let (_dir, file) = directory();
    probe("chown").ordinary().path(&file).arg("uid", "1").run().refused("EPERM", "fchownat");
    let group = file.metadata().expect("our file").gid();
    let uid = if is_root() { 1501 } else { nix::unistd::geteuid().as_raw() };
    probe("chown").path(&file).arg("uid", uid.to_string()).run().succeeded();
    let host = file.metadata().expect("our file");
    assert_eq!((host.uid(), host.gid()), (uid, group));
}

#[test]
fn an_attribute_set_is_an_attribute_read() {
    let (_dir, file) = directory();
    let named = |name| probe(name).path(&file).arg("name", "user.boxproof");
    named("setxattr").arg("text", "seen").run().succeeded();
    assert_eq!(text(&named("getxattr").run().succeeded(), "data"), "seen");
    let other = probe("getxattr").path(&file).arg("name", "user.other").run();
    other.refused(if cfg!(target_os = "linux") { "ENODATA" } else { "ENOATTR" }, "getxattr");
}

#[test]
fn access_asks_for_each_flag() {
    let (_dir, file) = directory();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("our file");
    let ask = |flags| probe("access").ordinary().path(&file).arg("flags", flags).run();
    ask("exists").succeeded();
    ask("read").succeeded();
    ask("write").refused("EACCES", "access");
    ask("exec").refused("EACCES", "access");
}
