//! Hosts whose filter refuses calls, as those of containers do: what a sandbox is built of is
//! missing, and that is the host's fault.

use std::ffi::{OsString, c_long};
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::baseline::{ALLOWED, DENIED};
use crate::context::{BOTH, HostileRow, RowContext};
use crate::short_host::accuses_no_one;
use crate::sys;

/// The first argument by which the test program installs a filter.
pub(crate) const VERB: &str = "__refuse";

const MOUNT: &[c_long] = &[libc::SYS_mount];
/// The newer interface to mounts.
const NEWER: &[c_long] = &[
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
];
const ROOT: &[c_long] = &[libc::SYS_pivot_root];
const UNSHARE: &[c_long] = &[libc::SYS_unshare, libc::SYS_setns];

/// Backends of each mechanism.
const BACKENDS: [&str; 3] = ["reference", "bubblewrap", "unshare"];

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, check| HostileRow { name, users: BOTH, slow: false, check };
    vec![
        row("host-refuses-mount", |context| refused(context, "mount", libc::EPERM)),
        row("host-refuses-mount-by-access", |context| refused(context, "mount", libc::EACCES)),
        row("host-refuses-newer-mounts", |context| refused(context, "newer", libc::EPERM)),
        row("host-lacks-newer-mounts", |context| refused(context, "newer", libc::ENOSYS)),
        row("host-refuses-pivot-root", |context| refused(context, "root", libc::EPERM)),
        row("host-refuses-every-mount", |context| refused(context, "mounts", libc::EPERM)),
        row("host-refuses-unshare", |context| refused(context, "unshare", libc::EPERM)),
    ]
}

/// Returns the calls that `word` stands for.
fn calls(word: &str) -> Vec<c_long> {
    match word {
        "mount" => MOUNT.to_vec(),
        "newer" => NEWER.to_vec(),
        "root" => ROOT.to_vec(),
        "unshare" => UNSHARE.to_vec(),
        _ => [MOUNT, NEWER, ROOT, &[libc::SYS_umount2]].concat(),
    }
}

/// Executes `CALLS ERRNO PROGRAM ARGS…` below a filter that answers CALLS with ERRNO.
pub(crate) fn serve(args: &[OsString]) -> i32 {
    let word = |at: usize| args[at].to_str().unwrap();
    sys::refuse(&calls(word(0)), word(1).parse().unwrap());
    panic!("{}", Command::new(&args[2]).args(&args[3..]).exec());
}

/// Runs honest backends below the filter: none is accused, and a row without a pass names the host.
fn refused(context: &RowContext, calls: &str, errno: i32) {
    let own = std::env::current_exe().unwrap();
    let errno = errno.to_string();
    let wrapper = [own.to_str().unwrap(), VERB, calls, &errno];
    let args = context.arguments(&BACKENDS, &[ALLOWED, DENIED]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command_under(&wrapper, &args));
    ran.is_bounded();
    accuses_no_one(&ran);
    assert!(!ran.rows.is_empty(), "{ran:#?}");
    for row in ran.rows.iter().filter(|row| row["verdict"] == "error") {
        let message = row["message"].as_str().unwrap();
        assert_eq!(row["reason"], "host", "{}: {message}", row["id"]);
        assert!(message.contains("the host is short of "), "{}: {message}", row["id"]);
    }
}
