//! Terminals: their detection, their owner, and the queries that are allowed.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::pty::{OpenptyResult, Winsize, openpty};

use crate::support::{is_root, number, probe, text};
use crate::sys::{Rule, fail, filtered, on_terminal};

const NONE: Option<&OwnedFd> = None;

fn pty() -> OpenptyResult {
    let size = Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 };
    openpty(Some(&size), None).expect("a pty")
}

#[test]
fn tiocsti_types_into_the_terminal_if_the_kernel_lets_it() {
    for high in [false, true] {
        let pty = pty();
        let call = probe("tiocsti").arg("text", "typed\n");
        // The kernel does not read the upper half of the number.
        let call = if high { call.switch("high") } else { call };
        let ran = on_terminal(call, Some(&pty.slave)).run();
        let legacy = std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
        if is_root() || legacy.is_ok_and(|value| value.trim() == "1") {
            ran.succeeded();
            let mut typed = [0; 6];
            File::from(pty.slave).read_exact(&mut typed).expect("our pty");
            assert_eq!(&typed, b"typed\n");
        } else {
            ran.refused("EIO", "ioctl");
        }
    }
}

#[test]
fn only_a_high_request_has_the_high_bit() {
    let action = fail(Errno::EXFULL);
    let high = Rule { call: libc::SYS_ioctl, only: Some((3, 1)), action };
    let pty = pty();
    let run = |call| on_terminal(filtered(call, high), Some(&pty.slave)).run();
    run(probe("tiocsti").switch("high")).refused("EXFULL", "ioctl");
    run(probe("ctty")).succeeded();
}

#[test]
fn without_a_terminal_there_is_none_to_open() {
    for name in ["tiocsti", "tioclinux", "ctty", "job-control"] {
        on_terminal(probe(name), NONE).run().refused("ENXIO", "openat");
    }
}

#[test]
fn tioclinux_is_for_consoles() {
    let pty = pty();
    // A pty knows no such request; only root's own kernel check could come before that.
    on_terminal(probe("tioclinux"), Some(&pty.slave)).run().refused("ENOTTY", "ioctl");
}

#[test]
fn ctty_shows_size_and_foreground() {
    let pty = pty();
    let detail = on_terminal(probe("ctty"), Some(&pty.slave)).run().succeeded();
    assert_eq!((number(&detail, "rows"), number(&detail, "columns")), (33, 77));
    assert_ne!(number(&detail, "pgrp"), 0);
}

#[test]
fn a_new_terminal_takes_a_line() {
    let detail = probe("open-terminal").run().succeeded();
    assert!(text(&detail, "data").starts_with("/dev/"), "{detail:?}");
    // Refused where the multiplexer is, too.
    let no_request = Rule { call: libc::SYS_ioctl, only: None, action: fail(Errno::EXFULL) };
    filtered(probe("open-terminal"), no_request).run().refused("EXFULL", "openpty");
}

#[test]
fn job_control_takes_and_gives_back_the_foreground() {
    let pty = pty();
    on_terminal(probe("job-control"), Some(&pty.slave)).run().succeeded();
}

#[test]
fn isatty_and_tty_name_tell_a_terminal_from_a_pipe() {
    let pty = pty();
    let path = nix::unistd::ttyname(&pty.slave).expect("a pty");
    let on = |name: &str| {
        let mut call = probe(name);
        call.command.stdin(pty.slave.try_clone().expect("our pty"));
        call.run().succeeded()
    };
    let detail = on("isatty");
    let streams = ["stdin", "stdout", "stderr"].map(|stream| number(&detail, stream));
    assert_eq!(streams, [1, 0, 0]);
    assert_eq!(text(&on("tty-name"), "data"), path.to_string_lossy());
    assert_eq!(number(&probe("isatty").run().succeeded(), "stdin"), 0);
    probe("tty-name").arg("fd", "1").run().refused("ENOTTY", "ttyname_r");
    probe("tty-name").run().refused("ENOTTY", "ttyname_r");
}
