//! Hosts that lack a file system, room for files, processes or an ordinary environment: an honest
//! backend passes there, or the host is named.

use std::process::Command;

use crate::context::{
    BOTH, FinishedRun, HELLO, HostileRow, ORDINARY_ALONE, OUTSIDE, ROOT, RowContext,
};
use crate::short_host::{CASES, accuses_no_one, is_short_of};

/// Variables that change what programs do, which no verdict depends on.
const ODD_VARIABLES: &[(&str, &str)] = &[
    ("BASH_ENV", "/dev/null"),
    ("BOXPROOF_ARM", "w0"),
    ("GIT_DIR", "/absent"),
    ("IFS", "/"),
    ("LANG", "tr_TR.ISO-8859-9"),
    ("LC_ALL", "absent"),
    ("LD_PRELOAD", "/absent/library.so"),
    ("TZ", ":/absent/zone"),
];

/// Leaves no file in `/etc`.
const EMPTY_ETC: &str = "mount -t tmpfs none /etc";
/// Makes `/tmp` read-only.
const TEMPORARY_READ_ONLY: &str = "mount -t tmpfs -o ro none /tmp";
/// Makes `/proc` read-only.
const PROC_READ_ONLY: &str = "mount --bind /proc /proc && mount -o remount,bind,ro /proc";

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, check| HostileRow { name, users, slow: false, check };
    vec![
        row("host-without-sys", BOTH, |c| mounted(c, "mount -t tmpfs none /sys") as ()),
        row("host-without-shared-memory", BOTH, |c| {
            mounted(c, "mount -t tmpfs -o ro none /dev/shm");
        }),
        row("host-with-empty-etc", ORDINARY_ALONE, |c| mounted(c, EMPTY_ETC)),
        row("host-without-accounts", ROOT, |c| refused(c, EMPTY_ETC, "there is no account `root`")),
        row("host-temporary-files-read-only", BOTH, |c| {
            refused(c, TEMPORARY_READ_ONLY, "/tmp: Read-only file system");
        }),
        row("host-proc-read-only", BOTH, proc_read_only),
        row("host-odd-environment", BOTH, odd_environment),
        row("host-empty-path", BOTH, empty_path),
        row("host-working-directory-gone", BOTH, no_working_directory),
        row("host-no-new-privileges", BOTH, no_new_privileges),
        row("host-like-a-container", ROOT, like_a_container),
        row("host-without-home", ORDINARY_ALONE, no_home),
        row("host-no-more-user-namespaces", ROOT, no_more_namespaces),
        row("host-scratch-read-only", BOTH, |c| refused_scratch(c, "ro", "Read-only file system")),
        row("host-scratch-of-20-mib", ORDINARY_ALONE, |c| {
            refused_scratch(c, "size=20m", "bytes are free, and a run needs");
        }),
        row("host-20-inodes", ORDINARY_ALONE, few_inodes),
        row("host-processes-run-out", ORDINARY_ALONE, processes_run_out),
    ]
}

/// Runs [`CASES`] in `command` and checks that nothing is left and no verdict accuses the reference.
#[track_caller]
fn finish(context: &RowContext, command: Command) -> FinishedRun {
    let ran = context.finish(command);
    ran.is_bounded();
    accuses_no_one(&ran);
    ran
}

/// Returns the arguments of a run of [`CASES`] against the reference.
fn cases(context: &RowContext) -> Vec<String> {
    context.arguments(&["reference"], CASES)
}

fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Checks that every case passes in a mount namespace of its own, after the shell line `line`.
fn mounted(context: &RowContext, line: &str) {
    let ran = finish(context, context.in_own_mounts(line, &borrowed(&cases(context))));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Checks that the run is refused, after the shell line `line`, with a sentence that says `why`.
fn refused(context: &RowContext, line: &str, why: &str) {
    let ran = finish(context, context.in_own_mounts(line, &borrowed(&cases(context))));
    assert!(ran.rows.is_empty() && ran.code == 2 && ran.stderr.contains(why), "{ran:#?}");
}

/// Checks that the host is named where an ordinary user's sandbox cannot map its user.
fn proc_read_only(context: &RowContext) {
    let ran = finish(context, context.in_own_mounts(PROC_READ_ONLY, &borrowed(&cases(context))));
    assert!(ran.code == 0 || is_short_of(&ran, "mounts"), "{ran:#?}");
}

fn odd_environment(context: &RowContext) {
    let mut command = context.command(&borrowed(&cases(context)));
    command.envs(ODD_VARIABLES.iter().copied()).env_remove("TERM");
    assert_eq!(finish(context, command).code, 0);
}

/// Checks both an empty PATH and none.
fn empty_path(context: &RowContext) {
    for wrapper in [&["env", "PATH="][..], &["env", "-u", "PATH"]] {
        let ran = finish(context, context.command_under(wrapper, &borrowed(&cases(context))));
        assert_eq!(ran.code, 0, "{wrapper:?}: {}", ran.stderr);
    }
}

fn no_working_directory(context: &RowContext) {
    let gone = context.place.arg("gone");
    let line = format!("mkdir {gone} && cd {gone} && rmdir {gone}");
    let ran = finish(context, context.below_shell(&line, &borrowed(&cases(context))));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

fn no_new_privileges(context: &RowContext) {
    let wrapper = ["setpriv", "--no-new-privs", "--"];
    let ran = finish(context, context.command_under(&wrapper, &borrowed(&cases(context))));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Runs as the root of a user namespace with mounts and processes of its own, as a container does.
fn like_a_container(context: &RowContext) {
    let wrapper = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--"];
    let ran = finish(context, context.command_under(&wrapper, &borrowed(&cases(context))));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Checks that the run asks for a place where no home and no relative one can hold its files.
fn no_home(context: &RowContext) {
    let mut args = cases(context);
    let at = args.iter().position(|arg| arg == "--scratch").unwrap();
    args.drain(at..at + 2);
    for home in [None, Some(""), Some("home")] {
        let mut command = context.command(&borrowed(&args));
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        let ran = finish(context, command);
        assert!(ran.rows.is_empty() && [2, 3].contains(&ran.code), "{home:?}: {ran:#?}");
        assert!(ran.stderr.contains("--scratch"), "{home:?}: {ran:#?}");
    }
}

/// Runs as the root of a user namespace that may have no other one in it.
fn no_more_namespaces(context: &RowContext) {
    let none = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", none, "sh"];
    let ran = finish(context, context.command_under(&wrapper, &borrowed(&cases(context))));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Runs [`CASES`] with their scratch directory on a tmpfs with `options`.
#[track_caller]
fn on_own_scratch(context: &RowContext, options: &str) -> FinishedRun {
    let scratch = context.place.arg("small");
    std::fs::create_dir(&scratch).unwrap();
    let mut args = cases(context);
    let at = args.iter().position(|arg| arg == "--scratch").unwrap() + 1;
    args[at] = format!("{scratch}/here");
    let line = format!("mount -t tmpfs -o mode=1777,{options} small {scratch}");
    finish(context, context.in_own_mounts(&line, &borrowed(&args)))
}

/// Checks that the run is refused with a sentence that names the scratch directory and says `why`.
fn refused_scratch(context: &RowContext, options: &str, why: &str) {
    let ran = on_own_scratch(context, options);
    assert!(ran.rows.is_empty() && [2, 3].contains(&ran.code), "{ran:#?}");
    let told = ran.stderr.contains(&context.place.arg("small/here")) && ran.stderr.contains(why);
    assert!(told, "{ran:#?}");
}

/// Checks that a run without inodes is refused, or that its rows name them.
fn few_inodes(context: &RowContext) {
    for number in [20, 60] {
        let ran = on_own_scratch(context, &format!("nr_inodes={number}"));
        assert_ne!(ran.code, 0, "{number}: {ran:#?}");
        assert!(ran.stderr.contains("inodes") || is_short_of(&ran, "inodes"), "{ran:#?}");
        std::fs::remove_dir(context.place.path("small")).unwrap();
    }
}

/// Lowers the number of processes that the user may have until a sandbox cannot start its own: the
/// host is named for it. The user namespace has a count of its own, so that other rows take none
/// away.
fn processes_run_out(context: &RowContext) {
    let own = context.own_cases(&[HELLO, OUTSIDE]);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let args = context.arguments(&["reference"], &own);
    let mut short = Vec::new();
    for count in 4..10 {
        let limit = format!("--nproc={count}");
        let wrapper = ["unshare", "--user", "--map-current-user", "prlimit", &limit, "--"];
        let _ = std::fs::remove_file(context.place.path("record.ndjson"));
        let ran = finish(context, context.command_under(&wrapper, &borrowed(&args)));
        short.push((count, ran.code, is_short_of(&ran, "processes")));
    }
    assert!(short.iter().any(|(_, _, is_short)| *is_short), "no limit bit: {short:?}");
    assert!(short.last().is_some_and(|(_, code, _)| *code == 0), "never enough: {short:?}");
}
