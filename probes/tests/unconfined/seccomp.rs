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
#[case::bpf(probe("bpf-map"), libc::SYS_bpf)]
#[case::pidfd(probe("pidfd-getfd").arg("pid", "parent").arg("fd", "0"), libc::SYS_pidfd_getfd)]
#[case::setns(probe("unshare").arg("flags", "user"), libc::SYS_unshare)]
#[case::packet(probe("socket").arg("kind", "packet"), libc::SYS_socket)]
fn being_killed_is_an_observation(#[case] call: Call, #[case] number: libc::c_long) {
    filtered(call, rule(number, KILL)).run().killed("SIGSYS", libc::SIGSYS);
}

#[rstest]
fn the_errno_is_the_kernels(
    #[values(Errno::EROFS, Errno::EACCES, Errno::EPERM, Errno::ENOSYS)] errno: Errno,
) {
    let dir = tempfile::tempdir().expect("a temp directory");
    let file = dir.path().join("f");
    std::fs::write(&file, "old").expect("our file");
    let writes = Rule { call: libc::SYS_openat, only: Some((4, WRITING)), action: fail(errno) };
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
#[case::openat2(probe("open-resolve").path("/absent"), libc::SYS_openat2, "openat2")]
#[case::handle(probe("open-by-handle").path("/absent"), libc::SYS_name_to_handle_at, "name_to_handle_at")]
#[case::mknod(probe("mknod-device").path("/absent/x").arg("kind", "char"), libc::SYS_mknodat, "mknod")]
#[case::fsopen(probe("mount-tmpfs").path("/absent").arg("via", "fsmount"), libc::SYS_fsopen, "fsopen")]
#[case::open_tree(probe("bind-mount").path("/").arg("to", "/absent").arg("via", "open-tree"), libc::SYS_open_tree, "open_tree")]
#[case::setattr(probe("remount-rw").path("/absent").arg("via", "mount-setattr"), libc::SYS_mount_setattr, "mount_setattr")]
#[case::vm_readv(probe("process-vm-readv").arg("pid", "parent"), libc::SYS_process_vm_readv, "process_vm_readv")]
#[case::pidfd_open(probe("pidfd-open").arg("pid", "parent"), libc::SYS_pidfd_open, "pidfd_open")]
#[case::pidfd_signal(probe("pidfd-signal").arg("pid", "parent").arg("signal", "0"), libc::SYS_pidfd_send_signal, "pidfd_send_signal")]
#[case::memfd(probe("memfd-exec").path("/bin/sh"), libc::SYS_memfd_create, "memfd_create")]
#[case::exec(probe("memfd-exec").path("/bin/sh"), libc::SYS_execveat, "execveat")]
#[case::chroot(probe("chroot").path("/"), libc::SYS_chroot, "chroot")]
#[case::hostname(probe("hostname-same"), libc::SYS_sethostname, "sethostname")]
#[case::reboot(probe("reboot-invalid"), libc::SYS_reboot, "reboot")]
#[case::module(probe("init-module-empty"), libc::SYS_init_module, "init_module")]
#[case::add_key(probe("keyctl-add").arg("name", "x"), libc::SYS_add_key, "add_key")]
#[case::request_key(probe("keyctl-request").arg("name", "x"), libc::SYS_request_key, "request_key")]
#[case::sendmsg(probe("udp-send").arg("addr", "127.0.0.1:1").arg("text", "x").arg("via", "sendmsg"), libc::SYS_sendmsg, "sendmsg")]
#[case::sendmmsg(probe("udp-send").arg("addr", "127.0.0.1:1").arg("text", "x").arg("via", "sendmmsg"), libc::SYS_sendmmsg, "sendmmsg")]
#[case::fastopen(probe("tcp-fastopen").arg("addr", "127.0.0.1:1").arg("text", "x"), libc::SYS_sendto, "sendto")]
#[case::dns(probe("dns-query").arg("addr", "127.0.0.1:1").arg("name", "x"), libc::SYS_sendto, "sendto")]
#[case::listen(probe("tcp-listen"), libc::SYS_listen, "listen")]
#[case::rights(probe("scm-rights"), libc::SYS_sendmsg, "sendmsg")]
fn the_call_named_is_the_call_made(
    #[case] call: Call,
    #[case] number: libc::c_long,
    #[case] name: &str,
) {
    // An errno that none of these calls gives by itself.
    filtered(call, rule(number, fail(Errno::EXFULL))).run().refused("EXFULL", name);
}

#[rstest]
#[case::tcp(probe("tcp-connect"))]
#[case::fastopen(probe("tcp-fastopen").arg("text", "x"))]
#[case::udp(probe("udp-send").arg("text", "x"))]
#[case::dns(probe("dns-query").arg("name", "x"))]
fn a_mapped_address_takes_an_ipv6_socket(#[case] call: Call) {
    // Only AF_INET6 of the two families has this bit.
    let only = Some((0, (libc::AF_INET6 & !libc::AF_INET) as u32));
    let rule = Rule { call: libc::SYS_socket, only, action: fail(Errno::EXFULL) };
    let call = call.arg("addr", "127.0.0.1:1").switch("mapped");
    filtered(call, rule).run().refused("EXFULL", "socket");
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
