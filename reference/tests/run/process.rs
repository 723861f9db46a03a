//! Processes, descriptors, kernel settings and privileges.

use std::fs;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, UNCONFINED};

/// A process of ours that ends with its stdin.
fn victim(nonce: &str) -> std::process::Child {
    let mut cat = Command::new("sh");
    cat.args(["-c", "read line", nonce]).stdin(Stdio::piped());
    cat.spawn().unwrap()
}

#[rstest]
fn host_processes_can_be_neither_seen_nor_signalled(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let mut victim = victim(&bed.nonce());
    let line = format!(
        "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 'nonc[e]-'
         kill -9 {}; echo done",
        victim.id()
    );
    let done = bed.sh(&json!({}), &line);
    let killed = victim.try_wait().unwrap();
    drop(victim.stdin.take());
    victim.wait().unwrap();
    assert_eq!(killed, None, "the victim was killed");
    assert_eq!(done.expect(0).complains("No such process").out, "0\ndone\n");
}

#[rstest]
fn inherited_descriptors_do_not_reach_the_command(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    fs::write(bed.out("f"), "canary").unwrap();
    let file = fs::File::open(bed.out("f")).unwrap();
    nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    let number = file.as_raw_fd();
    let line =
        format!("ls /proc/self/fd | tr '\\n' ' '; cat /proc/self/fd/{number}; cat <&{number}");
    let done = bed.sh(&json!({}), &line);
    // The fourth is the directory that ls reads.
    assert_eq!(done.out, "0 1 2 3 ", "{}", done.err);
}

#[rstest]
fn kernel_settings_cannot_be_written_not_even_the_same_value(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "for f in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness; do
            v=$(cat $f) || exit 9; (echo \"$v\" > $f) && exit 9
        done; exit 3";
    bed.sh(&json!({}), line).expect(3);
    if bed.is_root() {
        let done = bed.sh(
            &json!({}),
            "test -e /proc/sysrq-trigger && echo h > /proc/sysrq-trigger; \
            echo 1 > /proc/sys/vm/swappiness",
        );
        done.expect(2).complains("Read-only file system");
    }
}

#[rstest]
fn the_command_holds_no_privileges_and_cannot_gain_any(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.sh(&json!({}), "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
    let zero = "0000000000000000";
    let expected = format!(
        "CapInh:\t{zero}\nCapPrm:\t{zero}\nCapEff:\t{zero}\nCapBnd:\t{zero}\nCapAmb:\t{zero}\n\
         NoNewPrivs:\t1\nSeccomp:\t2\n"
    );
    assert_eq!(done.expect(0).out, expected);
}

#[rstest]
fn the_inner_stage_cannot_be_inspected_or_killed(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "readlink /proc/1/exe && exit 9; readlink /proc/1/fd/0 && exit 9; ls /proc/1/root/ && exit 9
        cat /proc/1/environ && exit 9; chmod 755 /proc/1/exe && exit 9; kill -9 1; kill -STOP 1; kill -TERM 1; exit 3";
    bed.sh(&json!({}), line).expect(3).complains("Permission denied");
}

#[rstest]
fn the_command_leads_a_session_without_a_terminal(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = "test $(cut -d' ' -f6 /proc/self/stat) = $$ && cut -d' ' -f7 /proc/self/stat";
    // Field 7 is the controlling terminal: 0 for none.
    assert_eq!(bed.sh(&json!({}), line).expect(0).out, "0\n");
}

/// Tries to mount the control groups with every privilege of namespaces of its own.
const CGROUPS: &str = "import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000 | 0x20000) != 0: sys.exit('no nested namespace')
if libc.mount(None, b'/tmp', b'tmpfs', 0, None) != 0: sys.exit('no privileges in it')
if libc.unshare(0x02000000) == 0: print('worked: cgroup namespace')
print(os.strerror(ctypes.get_errno()))
if libc.mount(None, b'/tmp', b'cgroup2', 0, None) == 0: print('worked: mount')
print(os.strerror(ctypes.get_errno()))";

#[rstest]
fn the_hosts_control_groups_cannot_be_mounted(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let done = bed.go(&json!({}), json!({"argv": ["python3", "-c", CGROUPS]}), &json!({}));
    assert_eq!(done.expect(0).out, "Operation not permitted\nOperation not permitted\n");
}
