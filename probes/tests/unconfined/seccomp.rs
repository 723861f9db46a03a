//! Refusals by a filter: the probe names the very errno and call, and sees its own death.

use nix::errno::Errno;
use rstest::rstest;

use crate::support::{Call, number, probe};
use crate::sys::{KILL, Rule, fail, filtered};

const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT) as u32;

fn rule(call: libc::c_long, action: u32) -> Rule {
    Rule { call, only: None, action }
}

#[rstest]
#[case::unshare(probe("unshare-user"), libc::SYS_unshare)]
#[case::ptrace(probe("ptrace-attach").arg("pid", "parent"), libc::SYS_ptrace)]
#[case::mount(probe("mount-tmpfs").path("/absent"), libc::SYS_mount)]
#[case::keyctl(probe("keyctl-join"), libc::SYS_keyctl)]
#[case::socketpair(probe("socketpair"), libc::SYS_socketpair)]
#[case::io_uring(probe("io-uring-setup"), libc::SYS_io_uring_setup)]
fn being_killed_is_an_observation(#[case] call: Call, #[case] number: libc::c_long) {
    filtered(call, rule(number, KILL)).run().killed("SIGSYS", libc::SIGSYS);
}

#[rstest]
fn the_errno_is_the_kernels(
    #[values(Errno::EROFS, Errno::EACCES, Errno::EPERM, Errno::ENOSYS)] errno: Errno,
) {
    let dir = tempfile::tempdir().expect("a temp folder");
    let file = dir.path().join("f");
    std::fs::write(&file, "old").expect("our file");
    let writes = Rule { call: libc::SYS_openat, only: Some((2, WRITING)), action: fail(errno) };
    let name = format!("{errno:?}");
    for call in [
        probe("write").path(&file).arg("text", "x"),
        probe("append").path(&file).arg("text", "x"),
        probe("create").path(dir.path().join("new")),
        probe("open").path(&file).arg("flags", "rdwr"),
    ] {
        filtered(call, writes).run().refused(&name, "openat");
    }
    filtered(probe("read").path(&file), writes).run().succeeded();
    assert_eq!(std::fs::read(&file).expect("our file"), b"old");
    assert!(!dir.path().join("new").exists());
}

#[rstest]
#[case::chmod(probe("chmod").path("/absent").arg("mode", "0"), libc::SYS_fchmodat, "fchmodat")]
#[case::chown(probe("chown").path("/absent"), libc::SYS_fchownat, "fchownat")]
#[case::utimes(probe("utimes").path("/absent"), libc::SYS_utimensat, "utimensat")]
#[case::truncate(probe("truncate").path("/absent"), libc::SYS_truncate, "truncate")]
#[case::link(probe("link").path("/absent").arg("to", "/x"), libc::SYS_linkat, "linkat")]
#[case::symlink(probe("symlink").path("/absent/x").arg("to", "y"), libc::SYS_symlinkat, "symlinkat")]
#[case::socket(probe("tcp-connect").arg("addr", "127.0.0.1:1"), libc::SYS_socket, "socket")]
#[case::bind(probe("tcp-listen-connect"), libc::SYS_bind, "bind")]
#[case::sendto(probe("udp-send").arg("addr", "127.0.0.1:1").arg("text", "x"), libc::SYS_sendto, "sendto")]
#[case::kill(probe("kill").arg("pid", "parent").arg("signal", "0"), libc::SYS_kill, "kill")]
#[case::umount(probe("umount").path("/absent"), libc::SYS_umount2, "umount2")]
#[case::remount(probe("remount-rw").path("/absent"), libc::SYS_mount, "mount")]
#[case::keyctl(probe("keyctl-get"), libc::SYS_keyctl, "keyctl")]
#[case::shm(probe("sysv-shm").arg("key", "1"), libc::SYS_shmget, "shmget")]
#[case::personality(probe("personality"), libc::SYS_personality, "personality")]
#[case::setuid(probe("setuid0"), libc::SYS_setuid, "setuid")]
#[case::io_uring(probe("io-uring-setup"), libc::SYS_io_uring_setup, "io_uring_setup")]
fn the_call_named_is_the_call_made(
    #[case] call: Call,
    #[case] number: libc::c_long,
    #[case] name: &str,
) {
    // An errno that none of these calls gives by itself.
    filtered(call, rule(number, fail(Errno::EXFULL))).run().refused("EXFULL", name);
}

#[test]
fn a_probe_that_cannot_fork_has_seen_nothing() {
    for call in [libc::SYS_clone, libc::SYS_pipe2] {
        filtered(probe("cwd"), rule(call, fail(Errno::EPERM))).run().silent(70);
    }
}

#[test]
fn a_filter_is_seen_with_its_no_new_privs() {
    let under =
        |name| filtered(probe(name), rule(libc::SYS_umount2, fail(Errno::EPERM))).run().succeeded();
    let bare = probe("seccomp-mode").run().succeeded();
    let seen = under("seccomp-mode");
    assert_eq!(number(&seen, "mode"), 2);
    assert_eq!(number(&seen, "filters"), number(&bare, "filters") + 1);
    assert_eq!(number(&under("nnp"), "value"), 1);
}
