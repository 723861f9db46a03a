//! Other processes, inherited descriptors and privilege.

use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;

use nix::sys::signal::Signal;

use crate::support::{Running, close, is_root, names, number, probe, text};
use crate::sys::inheriting;

/// A process of the test, which nothing but the test and its probes touches.
fn victim() -> Running {
    let mut call = probe("hold");
    call.command.env_clear().env("CANARY_NAME", "canary-value").env("OTHER", "x");
    call.until_ready()
}

#[test]
fn kill_reaches_a_victim() {
    let victim = victim();
    let pid = victim.pid().to_string();
    let kill = |signal: &str| probe("kill").arg("pid", &pid).arg("signal", signal).run();
    kill("0").succeeded();
    kill("USR1").succeeded();
    victim.ended_by(Signal::SIGUSR1);
    kill("0").refused("ESRCH", "kill");
}

#[test]
fn kill_of_another_user_is_eperm() {
    // Only root can have a victim of another user; without it the filter's test stands in.
    let victim = victim();
    let kill = probe("kill").ordinary().arg("pid", victim.pid().to_string()).arg("signal", "0");
    let ran = kill.run();
    match is_root() {
        true => ran.refused("EPERM", "kill"),
        false => drop(ran.succeeded()),
    }
    victim.signal(Signal::SIGTERM);
    victim.ended_by(Signal::SIGTERM);
}

#[test]
fn ptrace_attach_lets_its_victim_go_again() {
    let victim = victim();
    let ran = probe("ptrace-attach").arg("pid", victim.pid().to_string()).run();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match (is_root(), scope.trim()) {
        (_, "" | "0") | (true, "1" | "2") => drop(ran.succeeded()),
        _ => ran.refused("EPERM", "ptrace"),
    }
    victim.signal(Signal::SIGTERM);
    victim.ended_by(Signal::SIGTERM);
    probe("ptrace-attach").arg("pid", "2147483647").run().refused("ESRCH", "ptrace");
}

#[test]
fn read_environ_shows_names_and_counts_but_no_values() {
    let victim = victim();
    let read =
        |text| probe("read-environ").arg("pid", victim.pid().to_string()).arg("match", text).run();
    let ran = read("canary-value");
    assert_eq!(names(&ran.succeeded()), ["CANARY_NAME", "OTHER"]);
    assert_eq!(number(&ran.succeeded(), "count"), 1);
    assert_eq!(number(&ran.succeeded(), "bytes"), 33);
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("canary-value"));
    assert_eq!(number(&read("another-value").succeeded(), "count"), 0);
}

#[test]
fn the_parent_is_who_started_the_program() {
    let environ = fs::read("/proc/self/environ").expect("our own");
    let entries = environ.split(|b| *b == 0).filter(|entry| !entry.is_empty());
    let detail = probe("read-environ").arg("pid", "parent").run().succeeded();
    assert_eq!(names(&detail).len(), entries.count());
    assert_eq!(number(&detail, "bytes"), environ.len() as u64);
    probe("read-environ").arg("pid", "2147483647").run().refused("ENOENT", "openat");
}

#[test]
fn list_pids_counts_a_victim_and_not_its_own_line() {
    let victim = victim();
    let count = || {
        let detail = probe("list-pids").arg("match", &victim.nonce).run().succeeded();
        let listed = names(&detail).contains(&victim.pid().to_string());
        (number(&detail, "count"), listed)
    };
    assert_eq!(count(), (1, true));
    let absent = crate::support::fresh();
    let detail = probe("list-pids").arg("match", absent).run().succeeded();
    assert_eq!(number(&detail, "count"), 0);
    assert_eq!(probe("list-pids").run().succeeded().get("count"), None);
}

fn file(content: &str) -> (tempfile::NamedTempFile, OwnedFd) {
    let mut named = tempfile::NamedTempFile::new().expect("a temp file");
    named.write_all(content.as_bytes()).expect("our file");
    let fd = named.reopen().expect("our file").into();
    (named, fd)
}

#[test]
fn inherited_descriptors_are_listed_and_own_ones_are_not() {
    let (named, fd) = file("");
    let list = |call| names(&crate::support::Call::run(call).succeeded()).to_vec();
    let bare = list(probe("fds"));
    let mut expected = bare.clone();
    expected.push(format!("77 -> {}", named.path().display()));
    expected.sort();
    assert_eq!(list(inheriting(probe("fds"), &fd, 77)), expected);
}

#[test]
fn an_inherited_file_is_read_from_its_start() {
    let (_named, fd) = file("secret");
    let mut at_end = fs::File::from(fd);
    at_end.seek(std::io::SeekFrom::End(0)).expect("our file");
    let fd = at_end.into();
    let detail = inheriting(probe("read-fd").arg("fd", "7"), &fd, 7).run().succeeded();
    assert_eq!((text(&detail, "data"), number(&detail, "bytes")), ("secret", 6));
}

#[test]
fn an_inherited_pipe_is_read_and_written() {
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(b"in").expect("our pipe");
    let read: OwnedFd = reader.try_clone().expect("our pipe").into();
    let ran = inheriting(probe("read-fd").arg("fd", "7"), &read, 7).run();
    assert_eq!(text(&ran.succeeded(), "data"), "in");
    let call = probe("write-fd").arg("fd", "7").arg("text", "out");
    inheriting(call, &writer.into(), 7).run().succeeded();
    let mut out = String::new();
    reader.read_to_string(&mut out).expect("our pipe");
    assert_eq!(out, "out");
}

#[test]
fn the_reader_of_a_broken_pipe_shows_as_epipe() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    close(reader);
    let call = probe("write-fd").arg("fd", "7").arg("text", "out");
    inheriting(call, &writer.into(), 7).run().refused("EPIPE", "write");
}

#[test]
fn a_closed_descriptor_is_ebadf_whatever_the_probe_has_open() {
    for fd in 100..110 {
        let fd = fd.to_string();
        probe("read-fd").arg("fd", &fd).run().refused("EBADF", "pread");
        probe("write-fd").arg("fd", &fd).arg("text", "x").run().refused("EBADF", "write");
    }
}

#[test]
fn proc_root_read_goes_round() {
    let (named, _fd) = file("here");
    let read = |path| probe("proc-root-read").path(path).run();
    assert_eq!(text(&read(named.path()).succeeded(), "data"), "here");
    read(&named.path().join("x")).refused("ENOTDIR", "openat");
}

#[test]
fn caps_and_modes_are_those_of_proc() {
    let status = fs::read_to_string("/proc/self/status").expect("our own");
    let ours = |key| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let detail = probe("caps").run().succeeded();
    for (name, key) in [
        ("effective", "CapEff:"),
        ("permitted", "CapPrm:"),
        ("inheritable", "CapInh:"),
        ("bounding", "CapBnd:"),
        ("ambient", "CapAmb:"),
    ] {
        assert_eq!(Some(text(&detail, name)), ours(key), "{name}");
    }
    assert_eq!(text(&probe("caps").ordinary().run().succeeded(), "effective"), "0".repeat(16));
    let nnp = number(&probe("nnp").run().succeeded(), "value");
    assert_eq!(Some(nnp.to_string().as_str()), ours("NoNewPrivs:"));
    let mode = number(&probe("seccomp-mode").run().succeeded(), "mode");
    assert_eq!(Some(mode.to_string().as_str()), ours("Seccomp:"));
}

#[test]
fn setuid0_needs_privilege() {
    probe("setuid0").ordinary().run().refused("EPERM", "setuid");
    if is_root() {
        probe("setuid0").run().succeeded();
    }
}
