//! The seccomp program that sends the calls to the supervisor, and closes the ways around it.

use std::ffi::{c_long, c_uint};

use super::calls::{
    ALWAYS, BINDING, OBSERVED, OPENING, OPENING_BY_MEMORY, REACHING, REMOVING, REMOVING_DIRECTORIES,
};
use crate::plan::{ForbiddenNames, ObservedCalls};
use crate::sys::notify::Step;

/// Calls that the kernel seems not to have: `openat2` has its flags in memory, where no filter
/// sees them (callers fall back to `openat`).
const ABSENT: &[c_long] = OPENING_BY_MEMORY;

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
pub(super) const NAMESPACES: u32 = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as u32;

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

/// Builds the program for what is `held`. The filter below it has rejected other architectures and
/// x32 already.
pub(super) fn program(held: &ForbiddenNames) -> Vec<Step> {
    let mut steps = vec![load(NUMBER)];
    steps.extend(ends(BINDING, ASK));
    if held.sockets.is_some() {
        steps.extend(sockets());
    }
    if held.observed != ObservedCalls::Nothing {
        steps.extend(observed(held.observed == ObservedCalls::All, held.holds_names()));
    }
    if held.holds_names() {
        steps.extend(names(held.keeps()));
    }
    steps.push(end(PASS));
    steps
}

/// The steps for calls that are looked at: `all`, or those that ordinary work makes seldom; names are
/// `held` besides. Those that an open descriptor decides on pass, and so do times of a descriptor, which
/// have no path.
fn observed(all: bool, held: bool) -> Vec<Step> {
    let seldom: Vec<c_long> = OBSERVED.iter().map(|(number, _)| *number).collect();
    let mut steps = ends(&seldom, ASK);
    if all {
        steps.extend(
            [ALWAYS, REMOVING, REMOVING_DIRECTORIES].map(|often| ends(often, ASK)).concat(),
        );
    }
    if all && !held {
        steps.extend(ends(OPENING_BY_MEMORY, ASK));
    }
    for (number, flags) in OPENING {
        steps.extend(writing(*number, *flags, all || held));
    }
    steps.extend(with_pointer(libc::SYS_utimensat, 1));
    steps
}

/// Asks about `number` if its flags open for writing, or cut; if they may create a file only where
/// `creating` says so. With O_PATH nothing is opened.
fn writing(number: c_long, flags: u8, creating: bool) -> [Step; 7] {
    const WRITING: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC;
    [
        unless(libc::BPF_JEQ, number as u32, 6),
        load(argument(flags)),
        if_not(libc::BPF_JSET, libc::O_PATH as u32, 3),
        if_not(libc::BPF_JSET, libc::O_CREAT as u32, if creating { 1 } else { 2 }),
        unless(libc::BPF_JSET, WRITING as u32, 1),
        end(ASK),
        end(PASS),
    ]
}

/// Asks about `number` if its argument `index` leads anywhere, else passes it.
fn with_pointer(number: c_long, index: u8) -> [Step; 7] {
    [
        unless(libc::BPF_JEQ, number as u32, 6),
        load(argument(index)),
        unless(libc::BPF_JEQ, 0, 3),
        load(argument(index) ^ 4),
        unless(libc::BPF_JEQ, 0, 1),
        end(PASS),
        end(ASK),
    ]
}

/// Ends each of `numbers` with `with`.
fn ends(numbers: &[c_long], with: u32) -> Vec<Step> {
    numbers
        .iter()
        .filter(|number| !dropped!("mediated-calls", number))
        .flat_map(|number| [unless(libc::BPF_JEQ, *number as u32, 1), end(with)])
        .collect()
}

/// The steps for calls that make and move names, or remove them where some must be kept.
fn names(keeps: bool) -> Vec<Step> {
    let mut steps = ends(ALWAYS, ASK);
    if keeps && !fault!("mediate.removals") {
        steps.extend(ends(REMOVING, ASK));
    }
    steps.extend(ends(ABSENT, refuse(libc::ENOSYS)));
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
    steps
}

/// The high half of the flags, which the kernel does not read, of the one `sendmsg` that passes: by it
/// the listener goes to the supervisor, before anyone is there to be asked. [`all_asked`] ends that.
pub(super) const UNASKED: u32 = 0x6c69_7374;

/// Builds the program that refuses the `sendmsg` that the other one passes.
pub(super) fn all_asked() -> Vec<Step> {
    let mut steps = vec![load(NUMBER)];
    steps.extend(marked(refuse(libc::EINVAL)));
    steps.push(end(PASS));
    steps
}

/// Ends the marked `sendmsg` with `with`.
fn marked(with: u32) -> [Step; 5] {
    [
        unless(libc::BPF_JEQ, libc::SYS_sendmsg as u32, 4),
        load(argument(2) ^ 4),
        unless(libc::BPF_JEQ, UNASKED, 1),
        end(with),
        load(NUMBER),
    ]
}

/// The steps for calls that reach a socket by its address. A `sendto` without one passes; whether
/// the others have one is in memory. Processes that share descriptors are told of.
fn sockets() -> Vec<Step> {
    let mut steps = marked(PASS).to_vec();
    steps.extend(ends(REACHING, ASK));
    if !dropped!("mediated-calls", &libc::SYS_sendto) {
        steps.extend(with_pointer(libc::SYS_sendto, 4));
    }
    steps.extend([
        unless(libc::BPF_JEQ, libc::SYS_clone as u32, 5),
        load(argument(0)),
        unless(libc::BPF_JSET, libc::CLONE_FILES as u32, 2),
        if_not(libc::BPF_JSET, libc::CLONE_THREAD as u32, 1),
        end(ASK),
        load(NUMBER),
    ]);
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
