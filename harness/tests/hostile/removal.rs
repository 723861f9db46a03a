//! Mounts, moves, locks and kills of a backend before the run removes its directories: foreign
//! directories keep their files and modes, and nothing of the run stays.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount, umount};
use nix::unistd::{Uid, geteuid};

use crate::baseline::ALLOWED;
use crate::context::{BOTH, FinishedRun, HostileRow, RowContext, User};
use crate::support::fakes::verdict;

const ROOT: &[User] = &[User::Root];
const ORDINARY_ONLY: &[User] = &[User::Ordinary];

/// The directories of arm, worker and run as a backend finds them, and the run's processes.
const NAMES: &str = "arm=$(dirname \"$PWD\") worker=$(dirname \"$arm\") run=$(dirname \"$worker\")
boss=$(cut -d' ' -f4 /proc/$PPID/stat)
read -r janitor workers < /proc/$boss/task/$boss/children
";

pub(crate) fn rows() -> Vec<HostileRow> {
    let row = |name, users, check| HostileRow { name, users, slow: false, check };
    let slow = |name, users, check| HostileRow { name, users, slow: true, check };
    vec![
        row("mount-on-arm", ROOT, mount_on_arm),
        row("mount-on-worker", ROOT, mount_on_worker),
        row("mount-on-run", ROOT, mount_on_run),
        row("mount-below-out", ROOT, mount_below_out),
        row("mount-above-run", ROOT, mount_above_run),
        row("mount-above-run-on-the-host", ROOT, mount_above_run_on_host),
        row("worker-made-read-only", ROOT, read_only_worker),
        slow("mounts-below-home", ROOT, mounts_below_home),
        row("mount-that-stays", ORDINARY_ONLY, mount_that_stays),
        row("unmounted-worker", ROOT, unmounted_worker),
        row("link-to-private-tree", BOTH, link_to_private_tree),
        row("closed-worker", ORDINARY_ONLY, closed_worker),
        row("closed-run", ORDINARY_ONLY, closed_run),
        row("moved-run", ORDINARY_ONLY, moved_run),
        row("killed-boss-and-workers", BOTH, killed_boss_and_workers),
        row("killed-everything", BOTH, killed_everything),
        row("killed-janitor", BOTH, killed_janitor),
        row("stopped-janitor", BOTH, stopped_janitor),
        row("umask-777", ORDINARY_ONLY, umask_777),
        row("scratch-below-shm", BOTH, scratch_below_shm),
        slow("deep-tree", BOTH, deep_tree),
        slow("many-files", BOTH, many_files),
        slow("full-home", ROOT, full_home),
    ]
}

/// A directory with two files that are not the run's.
fn target(context: &RowContext) -> PathBuf {
    for name in ["a", "b"] {
        context.place.write(&format!("target/{name}"), name);
        context.hand_over(&format!("target/{name}"));
    }
    context.hand_over("target");
    context.place.path("target")
}

#[track_caller]
fn is_kept(target: &Path) {
    let files = fs::read_dir(target).unwrap().count();
    assert_eq!(files, 2, "of the files of another directory {files} of 2 are there");
}

/// Runs a backend that runs the command and then `after`, which must succeed.
#[track_caller]
fn after_command(context: &RowContext, after: &str, filters: &[&str]) -> FinishedRun {
    let after = after.replace("$TARGET", &context.place.arg("target"));
    let script =
        format!("{NAMES}\"$@\"\ncode=$?\nset -e\ncd /\n{after}\n: > $STATE/reached\nexit $code");
    let spec = context.backend("after", &script);
    let ran = context.run(&spec, filters);
    assert!(context.place.path("state/reached").exists(), "it was not tried: {ran:#?}");
    ran
}

/// Checks the result of a backend that mounts a file system.
#[track_caller]
fn mounted(context: &RowContext, after: &str) {
    let target = target(context);
    let ran = after_command(context, after, &[ALLOWED]);
    is_kept(&target);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "leak left-behind");
}

fn mount_on_arm(context: &RowContext) {
    mounted(context, "mount --bind $TARGET \"$arm\"");
}

fn mount_on_worker(context: &RowContext) {
    mounted(context, "mount --bind $TARGET \"$worker\"");
}

/// The mount namespace of the janitor is the host's: the mount goes with the directory.
fn mount_on_run(context: &RowContext) {
    let target = target(context);
    let mount = "nsenter -t $janitor -m mount --bind $TARGET \"$run\"";
    let ran = after_command(context, mount, &[ALLOWED]);
    is_kept(&target);
    ran.is_bounded();
}

/// Hides the run's directory from the worker that is to remove its arm.
fn mount_above_run(context: &RowContext) {
    mounted(context, "mount --bind $TARGET \"$(dirname \"$run\")\"");
}

/// Hides it from everything on the host.
fn mount_above_run_on_host(context: &RowContext) {
    let target = target(context);
    let mount = "nsenter -t $janitor -m mount --bind $TARGET \"$(dirname \"$run\")\"";
    let ran = after_command(context, mount, &[ALLOWED]);
    is_kept(&target);
    ran.is_bounded();
}

fn read_only_worker(context: &RowContext) {
    mounted(context, "mount -o remount,ro \"$worker\"");
}

fn mount_below_out(context: &RowContext) {
    mounted(context, "mkdir \"$arm/out/m\"; mount --bind $TARGET \"$arm/out/m\"");
}

fn mounts_below_home(context: &RowContext) {
    mounted(
        context,
        "for i in $(seq 300); do mkdir \"$arm/home/$i\"; mount -t tmpfs x \"$arm/home/$i\"; done
mount --bind $TARGET \"$arm/home/300\"",
    );
}

/// Leaves a mount that its user cannot detach, as FUSE file systems do.
fn mount_that_stays(context: &RowContext) {
    if !geteuid().is_root() {
        return;
    }
    let target = target(context);
    let binder = context.place.path("binder");
    fs::copy(std::env::current_exe().unwrap(), &binder).unwrap();
    fs::set_permissions(&binder, fs::Permissions::from_mode(0o4755)).unwrap();
    let bind = format!("{} {BIND} $TARGET \"$arm/home\"", binder.display());
    let ran = after_command(context, &bind, &[ALLOWED]);
    is_kept(&target);
    assert_eq!(ran.verdict(ALLOWED), "leak left-behind");
    let told = ran.stderr.lines().find(|line| line.starts_with("boxproof: left behind: "));
    let told = told.unwrap_or_else(|| panic!("not told: {ran:#?}"));
    assert!(told.contains("/arm/home: something is mounted there"), "{told}");
    // Nothing but the directories above the mount stays.
    let point = ran.residue.iter().find_map(|line| line.split(' ').nth(5)).unwrap();
    umount(point).unwrap();
    let left: Vec<_> = files_below(&context.place.path("scratch"));
    assert_eq!(left, [""; 0]);
    fs::remove_dir_all(context.place.path("scratch")).unwrap();
    is_kept(&target);
}

/// The first argument by which the test program is a set-user-id program that binds a directory.
pub(crate) const BIND: &str = "__bind";

/// Binds the directory FROM over OVER, as the root that it becomes.
pub(crate) fn bind(args: &[std::ffi::OsString]) -> i32 {
    nix::unistd::setuid(Uid::from_raw(0)).unwrap();
    let (from, over) = (Path::new(&args[0]), Path::new(&args[1]));
    mount(Some(from), over, None::<&Path>, MsFlags::MS_BIND, None::<&Path>).unwrap();
    0
}

fn files_below(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files_below(&entry.path())),
            false => found.push(entry.path().display().to_string()),
        }
    }
    found
}

/// Checks that one arm pays for what it did; the next ones have another worker.
fn unmounted_worker(context: &RowContext) {
    let once = "if mkdir $STATE/once; then umount -l \"$worker\"; fi";
    let ran = after_command(context, once, &["exec/exit-codes/*"]);
    ran.is_bounded();
    let verdicts: Vec<String> = ran.rows.iter().map(verdict).collect();
    let leaks = verdicts.iter().filter(|verdict| *verdict == "leak left-behind").count();
    let passes = verdicts.iter().filter(|verdict| *verdict == "pass").count();
    assert!(leaks == 1 && passes > 1 && leaks + passes == verdicts.len(), "{:#?}", ran.rows);
}

/// The arm's directory is replaced by a link, and its parent closed, so that the link cannot be
/// removed at first.
fn link_to_private_tree(context: &RowContext) {
    for name in ["private", "private/d", "private/d/e"] {
        fs::create_dir(context.place.path(name)).unwrap();
        fs::set_permissions(context.place.path(name), fs::Permissions::from_mode(0o700)).unwrap();
        context.hand_over(name);
    }
    let close = match context.user {
        User::Root => "chattr +i \"$worker\"",
        User::Ordinary => "chmod 555 \"$worker\"",
    };
    let private = context.place.arg("private");
    let after = format!("mv \"$arm\" \"$worker/moved\"\nln -s {private} \"$arm\"\n{close}");
    let ran = after_command(context, &after, &[ALLOWED]);
    for name in ["private", "private/d", "private/d/e"] {
        let mode = fs::metadata(context.place.path(name)).unwrap().mode() & 0o7777;
        assert_eq!(mode, 0o700, "{name}");
    }
    ran.is_bounded();
}

fn closed_worker(context: &RowContext) {
    after_command(context, "chmod 000 \"$worker\"", &[ALLOWED]).is_bounded();
}

fn closed_run(context: &RowContext) {
    after_command(context, "chmod 000 \"$run\"", &[ALLOWED]).is_bounded();
}

fn moved_run(context: &RowContext) {
    let after = "mv \"$run\" \"$(dirname \"$run\")/other\"";
    after_command(context, after, &[ALLOWED]).is_bounded();
}

/// A backend that leaves a process and kills `who`.
fn killer(context: &RowContext, who: &str) -> String {
    let script = format!("{NAMES}setsid sleep 1000 &\nkill -9 {who}");
    context.backend("killer", &script)
}

fn killed_boss_and_workers(context: &RowContext) {
    let ran = context.run(&killer(context, "$boss $workers"), &[ALLOWED]);
    assert_eq!(ran.code, 137);
    ran.is_bounded();
}

fn killed_everything(context: &RowContext) {
    let spec = killer(context, "$boss $workers $janitor");
    let args = context.arguments(&[&spec], &[ALLOWED]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    assert_eq!(context.command(&args).status().unwrap().code(), Some(137));
    let dead: Vec<_> = fs::read_dir(context.place.path("scratch")).unwrap().collect();
    assert_eq!(dead.len(), 1, "{dead:?}");
    assert!(!context.processes().is_empty());

    let next = context.run(&context.backend("next", "exec \"$@\""), &[ALLOWED]);
    assert_eq!(next.verdict(ALLOWED), "pass");
    // The first run made it.
    let _ = fs::remove_dir(context.place.path("scratch"));
    let left: Vec<_> = next.residue.iter().filter(|line| !line.ends_with("/scratch")).collect();
    assert!(left.is_empty() && !context.place.path("scratch").exists(), "{left:#?}");
}

fn killed_janitor(context: &RowContext) {
    let ran = after_command(context, "kill -9 $janitor", &[ALLOWED]);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "pass");
}

fn stopped_janitor(context: &RowContext) {
    let ran = after_command(context, "kill -STOP $janitor", &[ALLOWED]);
    ran.is_bounded();
    assert_eq!(ran.verdict(ALLOWED), "pass");
    assert!(ran.seconds < 30.0, "{} s", ran.seconds);
}

/// The scratch directory is where it is by default.
fn umask_777(context: &RowContext) {
    let spec = context.backend("open", "exec \"$@\"");
    let mut args = context.arguments(&[&spec], &[ALLOWED]);
    let at = args.iter().position(|arg| arg == "--scratch").unwrap();
    args.drain(at..at + 2);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // The mask of the caller is the record's, too: it is there already.
    context.place.write("record.ndjson", "");
    context.hand_over("record.ndjson");
    let mut command = context.command(&args);
    command.env(crate::measure::UMASK, "777");
    let ran = context.finish(command);
    assert_eq!(ran.verdict(ALLOWED), "pass");
    ran.is_bounded();
    assert!(!context.place.path("home/.cache").exists());
}

fn scratch_below_shm(context: &RowContext) {
    let spec = context.backend("open", "exec \"$@\"");
    let mut args = context.arguments(&[&spec], &[ALLOWED]);
    let at = args.iter().position(|arg| arg == "--scratch").unwrap();
    args[at + 1] = format!("/dev/shm/boxproof-{}", std::process::id());
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ran = context.finish(context.command(&args));
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("/dev; `--scratch DIR` names another"), "{}", ran.stderr);
    assert!(!Path::new(&args[at + 1]).exists());
    ran.is_bounded();
}

fn deep_tree(context: &RowContext) {
    let deep = "cd \"$arm/home\"; perl -e 'for (1..6000) { mkdir(\"d\") && chdir(\"d\") or die }'";
    after_command(context, deep, &[ALLOWED]).is_bounded();
}

fn many_files(context: &RowContext) {
    let many = ": > $STATE/reached\ncd \"$arm/home\"
perl -e 'for $d (1..200) { mkdir $d; for (1..1000) { open(F, \">\", \"$d/$_\") or die } }'";
    after_command(context, many, &[ALLOWED]).is_bounded();
}

/// Writes 40 GB, of which a fraction fits.
fn full_home(context: &RowContext) {
    let fill = "! dd if=/dev/zero of=\"$arm/home/big\" bs=1M count=40000 2> $STATE/words
grep -q 'No space left' $STATE/words
[ $(stat -c %s \"$arm/home/big\") -le 1073741824 ]";
    after_command(context, fill, &[ALLOWED]).is_bounded();
}
