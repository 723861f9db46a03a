//! Processes by descriptor, their memory, and programs in memory.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::Signal;

use crate::support::{Running, is_root, number, probe};

/// A process of the test, which nothing but the test and its probes touches.
fn victim() -> Running {
    probe("hold").until_ready()
}

/// Returns whether the host lets a process trace another one of the same user.
fn may_trace() -> bool {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    matches!((is_root(), scope.trim()), (_, "" | "0") | (true, "1" | "2"))
}

#[test]
fn pidfd_signal_reaches_a_victim() {
    let victim = victim();
    let pid = victim.pid().to_string();
    probe("pidfd-open").arg("pid", &pid).run().succeeded();
    let send = |signal: &str| probe("pidfd-signal").arg("pid", &pid).arg("signal", signal).run();
    send("0").succeeded();
    send("USR1").succeeded();
    victim.ended_by(Signal::SIGUSR1);
    send("0").refused("ESRCH", "pidfd_open");
    probe("pidfd-open").arg("pid", &pid).run().refused("ESRCH", "pidfd_open");
}

#[test]
fn pidfd_signal_of_another_user_is_eperm() {
    let victim = victim();
    let call = probe("pidfd-signal").ordinary().arg("pid", victim.pid().to_string());
    let ran = call.arg("signal", "0").run();
    match is_root() {
        true => ran.refused("EPERM", "pidfd_send_signal"),
        false => drop(ran.succeeded()),
    }
}

#[test]
fn pidfd_getfd_takes_a_descriptor_that_works() {
    let mut victim = victim();
    let pid = victim.pid().to_string();
    let take = |fd| probe("pidfd-getfd").arg("pid", &pid).arg("fd", fd).arg("text", "stolen");
    if !may_trace() {
        take("1").run().refused("EPERM", "pidfd_getfd");
        return;
    }
    take("1").run().succeeded();
    let mut said = [0; 6];
    victim.child.stdout.as_mut().expect("a pipe").read_exact(&mut said).expect("it came");
    assert_eq!(&said, b"stolen");
    take("150").run().refused("EBADF", "pidfd_getfd");
    if is_root() {
        take("1").ordinary().run().refused("EPERM", "pidfd_getfd");
    }
}

#[test]
fn process_vm_readv_reads_a_byte_of_a_program() {
    let victim = victim();
    let dir = tempfile::tempdir().expect("a temp directory");
    let copy = dir.path().join("copy");
    let pid = victim.pid().to_string();
    let ran = probe("process-vm-readv").arg("pid", &pid).arg("to", &copy).run();
    if may_trace() {
        assert_eq!(number(&ran.succeeded(), "bytes"), 1);
        // The first mapping is the program itself.
        assert_eq!(fs::read(&copy).expect("made"), b"\x7f");
    } else {
        ran.refused("EPERM", "process_vm_readv");
        assert!(!copy.exists());
    }
    if is_root() {
        let other = probe("process-vm-readv").ordinary().arg("pid", &pid);
        other.run().refused("EPERM", "process_vm_readv");
    }
    let nobody = probe("process-vm-readv").arg("pid", "2147483647");
    nobody.run().refused("ESRCH", "process_vm_readv");
}

#[test]
fn memfd_exec_runs_what_may_not_be_executed_itself() {
    let dir = tempfile::tempdir().expect("a temp directory");
    let (script, out) = (dir.path().join("script"), dir.path().join("out"));
    fs::write(&script, format!("#!/bin/sh\necho ran > {}\nexit 7\n", out.display())).expect("ours");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).expect("our file");
    assert_eq!(number(&probe("memfd-exec").path(&script).run().succeeded(), "exit"), 7);
    assert_eq!(fs::read(&out).expect("made"), b"ran\n");
    fs::write(&script, "#!/bin/sh\nkill -KILL $$\n").expect("ours");
    assert_eq!(number(&probe("memfd-exec").path(&script).run().succeeded(), "exit"), 137);
    fs::write(&script, "\0\0\0\0").expect("ours");
    probe("memfd-exec").path(&script).run().refused("ENOEXEC", "execveat");
    probe("memfd-exec").path(dir.path()).run().refused("EISDIR", "read");
}
