//! The cost of supervision: nothing while nothing happens, and little memory for any amount of
//! output.

use std::fs;
use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::json;

use crate::bed::{BUBBLEWRAP, NAMESPACES, ORDINARY, TestBed, UNCONFINED, wait_until};
use crate::supervise::{finish, start};

/// Returns the number of context switches of process `id` and its children.
fn switches(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let count = |line: &str| line.rsplit_once('\t').unwrap().1.parse::<u64>().unwrap();
    status.lines().filter(|line| line.contains("ctxt_switches")).map(count).sum()
}

/// `id` and its descendants down to the command, which is the last.
fn chain(id: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let below = list.split_whitespace().flat_map(|child| chain(child.parse().unwrap()));
    std::iter::once(id).chain(below).collect()
}

#[rstest]
fn nobody_wakes_up_while_a_command_sleeps(
    #[values(NAMESPACES, ORDINARY, BUBBLEWRAP, UNCONFINED)] mechanism: &'static str,
) {
    let bed = TestBed::new(mechanism);
    let line = ": > ready; sleep 3; : > slept; until test -e go; do sleep 0.01; done";
    let child = start(&bed, line, &json!({"capture": true, "timeout_ms": 600_000}));
    let ids = || chain(child.id());
    let is_sleep = |id: &u32| fs::read_to_string(format!("/proc/{id}/comm")).unwrap() == "sleep\n";
    wait_until("the command sleeps", || ids().last().is_some_and(is_sleep));
    // The last two are the shell and its sleep.
    let supervisors = ids()[..ids().len() - 2].to_vec();
    let count = || supervisors.iter().map(|id| (*id, switches(*id))).collect::<Vec<_>>();
    let (mut before, mut since) = (count(), Instant::now());
    wait_until("everybody has gone to sleep", || {
        let now = count();
        if std::mem::replace(&mut before, now) != before {
            since = Instant::now();
        }
        since.elapsed() > Duration::from_millis(300)
    });
    wait_until("the command has slept", || bed.ws("slept").exists());
    let after = count();
    fs::write(bed.ws("go"), "").unwrap();
    finish(&bed, child).expect(0);
    assert!(supervisors.len() >= 2, "{supervisors:?}");
    assert_eq!(after, before, "(process, context switches)");
}

/// The highest the launcher's memory has been while it captured `line`, in KiB.
fn peak(line: &str) -> u64 {
    let bed = TestBed::new(UNCONFINED);
    let look = "sup=$(awk '/^PPid/ {print $2}' /proc/$PPID/status); \
                awk '/^VmHWM/ {print $2}' /proc/$sup/status >&2";
    let done =
        bed.go(&json!({}), json!({"shell": format!("{line}; {look}")}), &json!({"capture": true}));
    done.expect(0).result["stderr"].as_str().unwrap().trim().parse().unwrap()
}

#[test]
fn memory_stays_near_the_cap_whatever_is_captured() {
    const CAP: u64 = 1024;
    const SLACK: u64 = 8 * 1024;
    let (empty, full) = (peak(":"), peak("head -c 268435456 /dev/zero"));
    assert!(full <= empty + CAP + SLACK, "{empty} KiB without output, {full} KiB with 256 MiB");
}
