//! Kernel surface: what the probe sees is what the kernel tells this process.

use std::io::Read as _;
use std::os::fd::OwnedFd;

use crate::support::{Ran, is_root, number, probe};
use crate::sys;

/// Like a call of our own: succeeded, or refused with the same errno.
fn agrees<T>(ran: &Ran, truth: &nix::Result<T>, call: &str) {
    match truth {
        Ok(_) => drop(ran.succeeded()),
        Err(errno) => ran.refused(&format!("{errno:?}"), call),
    }
}

#[test]
fn sysctl_same_writes_back_what_it_read() {
    // A setting of the network namespace, which is the probe's own.
    let ours = "/proc/sys/net/ipv4/ip_default_ttl";
    sys::private(probe("sysctl-same").path(ours)).run().succeeded();
    probe("sysctl-same")
        .ordinary()
        .path("/proc/sys/kernel/hostname")
        .run()
        .refused("EACCES", "openat");
}

#[test]
fn tiocsti_types_into_the_terminal_if_the_kernel_lets_it() {
    let pty = nix::pty::openpty(None, None).expect("a pty");
    let call = probe("tiocsti").arg("text", "typed\n");
    let ran = sys::on_terminal(call, Some(&pty.slave)).run();
    let legacy = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    if is_root() || legacy.is_ok_and(|value| value.trim() == "1") {
        ran.succeeded();
        let mut typed = [0; 6];
        std::fs::File::from(pty.slave).read_exact(&mut typed).expect("our pty");
        assert_eq!(&typed, b"typed\n");
    } else {
        ran.refused("EIO", "ioctl");
    }
}

#[test]
fn tiocsti_without_a_terminal_is_enxio() {
    let none: Option<&OwnedFd> = None;
    sys::on_terminal(probe("tiocsti"), none).run().refused("ENXIO", "openat");
}

#[test]
fn io_uring_setup_agrees_with_ours() {
    agrees(&probe("io-uring-setup").run(), &sys::io_uring(), "io_uring_setup");
}

#[test]
fn personality_agrees_with_ours() {
    let detail = probe("personality").run().succeeded();
    assert_eq!(number(&detail, "value"), sys::personality());
}

#[test]
fn keyrings_agree_with_ours() {
    let ours = sys::session_keyring();
    let asked = probe("keyctl-get").run();
    agrees(&asked, &ours, "keyctl");
    let joined = probe("keyctl-join").run();
    agrees(&joined, &ours, "keyctl");
    if let Ok(serial) = ours {
        assert_eq!(number(&asked.succeeded(), "serial"), serial);
        assert_ne!(number(&joined.succeeded(), "serial"), serial);
    }
}

#[test]
fn sysv_shm_attaches_to_what_exists() {
    let key = 0x0b0e_0000 | (std::process::id() & 0xffff).cast_signed();
    let attach = || probe("sysv-shm").arg("key", key.to_string()).run();
    attach().refused("ENOENT", "shmget");
    let segment = sys::Segment::new(key);
    attach().succeeded();
    drop(segment);
    attach().refused("ENOENT", "shmget");
}

#[test]
fn unshare_user_agrees_with_the_host() {
    // In a child of ours, since it can't be taken back.
    let truth = sys::before_exec(probe("cwd"), || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER)
    });
    let mut truth = truth.command;
    let errno = truth.output().err().and_then(|error| error.raw_os_error());
    let truth = errno.map_or(Ok(()), |errno| Err(nix::errno::Errno::from_raw(errno)));
    agrees(&probe("unshare-user").run(), &truth, "unshare");
}
