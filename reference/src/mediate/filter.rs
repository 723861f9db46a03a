//! The seccomp program that sends the calls to the supervisor, and closes the ways around it.

use std::ffi::{c_long, c_uint};

use super::calls::{ALWAYS, OPENING, REMOVING};
use crate::sys::notify::Step;

/// Calls that the kernel seems not to have: `openat2` has its flags in memory, where no filter
/// sees them (callers fall back to `openat`).
const ABSENT: [c_long; 1] = [libc::SYS_openat2];

/// Calls that change the meaning of a path, which require capabilities anyway, or that delay a
/// process which reads the memory of another.
const CLOSED: [c_long; 10] = [
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_userfaultfd,
];

/// Requests that make subvolumes and snapshots, and with them names: the low 16 bits. The first
/// four are of btrfs, the last of bcachefs.
const SUBVOLUMES: [u32; 5] = [0x9401, 0x940e, 0x9417, 0x9418, 0xbc10];

/// Namespaces in which the command could mount or change its root.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u32;

const NUMBER: u32 = 0;
const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;
const PASS: u32 = libc::SECCOMP_RET_ALLOW;

fn refuse(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

/// Returns the offset of an argument's low half in the filter's data.
fn argument(index: u8) -> u32 {
    const FIRST: u32 = 16;
    let high_first = if cfg!(target_endian = "big") { 4 } else { 0 };
    FIRST + 8 * u32::from(index) + high_first
}

/// Builds the program; `keeps` if calls that remove a name are mediated as well. The filter below
/// it has rejected other architectures and x32 already.
pub(super) fn program(keeps: bool) -> Vec<Step> {
    let mut steps = vec![load(NUMBER)];
    let ends = |numbers: &[c_long], with: u32| -> Vec<Step> {
        numbers
            .iter()
            .filter(|number| !dropped!("mediated-calls", number))
            .flat_map(|number| [unless(libc::BPF_JEQ, *number as u32, 1), end(with)])
            .collect()
    };
    steps.extend(ends(ALWAYS, ASK));
    if keeps && !fault!("mediate.removals") {
        steps.extend(ends(REMOVING, ASK));
    }
    steps.extend(ends(&ABSENT, refuse(libc::ENOSYS)));
    steps.extend(ends(&CLOSED, refuse(libc::EPERM)));
    // A Landlock domain of the command would not apply to our calls: the command must not assume
    // one.
    if !fault!("mediate.own-landlock") {
        steps.extend(ends(&[libc::SYS_landlock_create_ruleset], refuse(libc::EOPNOTSUPP)));
    }
    for (number, flags) in OPENING.iter().filter(|(number, _)| !dropped!("mediated-calls", number))
    {
        steps.extend(creation(*number, *flags));
    }
    for number in [libc::SYS_unshare, libc::SYS_clone] {
        let bits = if fault!("mediate.namespaces") { 0 } else { NAMESPACES };
        steps.extend(if_any_bit(number, 0, bits, refuse(libc::EPERM)));
    }
    if !fault!("mediate.subvolumes") {
        steps.extend(subvolumes());
    }
    steps.push(end(PASS));
    steps
}

/// Mediates `number` if its flags may create a file: O_CREAT does, but not with O_PATH.
fn creation(number: c_long, flags: u8) -> [Step; 6] {
    [
        unless(libc::BPF_JEQ, number as u32, 5),
        load(argument(flags)),
        unless(libc::BPF_JSET, libc::O_CREAT as u32, 2),
        if_not(libc::BPF_JSET, libc::O_PATH as u32, 1),
        end(ASK),
        end(PASS),
    ]
}

/// Ends `number` with `with` if the argument has one of `bits`, else passes it.
fn if_any_bit(number: c_long, index: u8, bits: u32, with: u32) -> [Step; 5] {
    [
        unless(libc::BPF_JEQ, number as u32, 4),
        load(argument(index)),
        unless(libc::BPF_JSET, bits, 1),
        end(with),
        end(PASS),
    ]
}

fn subvolumes() -> Vec<Step> {
    let compared: Vec<Step> = SUBVOLUMES
        .iter()
        .flat_map(|request| [unless(libc::BPF_JEQ, *request, 1), end(refuse(libc::EPERM))])
        .collect();
    let mask = step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xffff, 0);
    let skipped = compared.len() as u8 + 2;
    let mut steps =
        vec![unless(libc::BPF_JEQ, libc::SYS_ioctl as u32, skipped), load(argument(1)), mask];
    steps.extend(compared);
    steps
}

fn load(place: u32) -> Step {
    step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, place, 0)
}

/// Continues if the comparison with `value` holds, else skips `count` steps.
fn unless(comparison: c_uint, value: u32, count: u8) -> Step {
    step(libc::BPF_JMP | comparison | libc::BPF_K, value, count)
}

/// Continues if the comparison with `value` fails, else skips `count` steps.
fn if_not(comparison: c_uint, value: u32, count: u8) -> Step {
    let code = (libc::BPF_JMP | comparison | libc::BPF_K) as u16;
    Step { code, jt: count, jf: 0, k: value }
}

fn end(with: u32) -> Step {
    step(libc::BPF_RET | libc::BPF_K, with, 0)
}

fn step(code: c_uint, k: u32, jf: u8) -> Step {
    Step { code: code as u16, jt: 0, jf, k }
}
