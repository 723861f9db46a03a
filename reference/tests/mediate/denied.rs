//! A name that must not come to be is made by no call and by no way of naming it.

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use libtest_mimic::Trial;
use nix::errno::Errno;
use serde_json::json;

use crate::acts::{both, confined, open, stage, tell};
use crate::sys::{at, call};

const HERE: usize = libc::AT_FDCWD as usize;
const CREATE: usize = (libc::O_CREAT | libc::O_WRONLY) as usize;

pub(crate) fn trials() -> Vec<Trial> {
    both("no_call_and_no_spelling_makes_a_denied_name", every_way).into()
}

fn every_way(who: &'static str) {
    let (bed, actor) = stage(who);
    let free = open(&bed, &actor, &["denied"]);
    assert!(free.len() > 60, "{free:?}");
    let stuck: Vec<_> = free.iter().filter(|line| !line.ends_with(": done")).collect();
    assert!(stuck.is_empty(), "what cannot be done anyway shows nothing: {stuck:?}");
    let held = confined(&bed, &actor, &["denied"], &json!({"protect": "metadata"}));
    let labels = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| line.rsplit_once(": ").unwrap().0.to_owned()).collect()
    };
    assert_eq!(labels(&held), labels(&free));
    let refused = [": EACCES", ": EXDEV", ": EPERM", ": ENOSYS"];
    let through: Vec<_> =
        held.iter().filter(|line| !refused.iter().any(|errno| line.ends_with(errno))).collect();
    assert!(through.is_empty(), "{through:?}");
    assert!(fs::symlink_metadata(bed.ws(".git")).is_err());
}

/// Tries every way; what came to be is taken away again.
pub(crate) fn act() {
    fs::create_dir_all("sub/deep").unwrap();
    symlink(".", "here").unwrap();
    by_directories();
    by_files();
    by_moving();
    by_links();
    by_descriptors();
    by_sockets();
}

/// A label that is the same wherever and whenever it is told.
fn anywhere(label: &str) -> String {
    let cwd = std::env::current_dir().unwrap();
    let numbers = label.replace(&format!("/proc/{}/", std::process::id()), "/proc/PID/");
    let fd = numbers.split("fd/").map(|part| part.trim_start_matches(char::is_numeric));
    fd.collect::<Vec<_>>().join("fd/").replace(cwd.to_str().unwrap(), "/CWD")
}

fn attempt(label: &str, number: libc::c_long, args: [usize; 6]) {
    let _old = fs::remove_dir_all(".git");
    let _old = fs::remove_file(".git");
    let result = call(number, args);
    if let (Ok(fd), true) = (result, opens(number)) {
        nix::unistd::close(fd as i32).unwrap();
    }
    let there = fs::symlink_metadata(".git").is_ok();
    let result = result.and(if there { Ok(()) } else { Err(Errno::ENOENT) });
    tell(&anywhere(label), result);
    assert!(result.is_ok() || !there, "{label}: refused, but it is there");
}

fn opens(number: libc::c_long) -> bool {
    [libc::SYS_openat, libc::SYS_open, libc::SYS_creat, libc::SYS_openat2].contains(&number)
}

fn text(path: &str) -> CString {
    CString::new(path).unwrap()
}

/// Every spelling of the name in the working directory.
fn spellings() -> Vec<String> {
    let cwd = std::env::current_dir().unwrap();
    let (cwd, me) = (cwd.to_str().unwrap(), std::process::id());
    [
        ".git",
        "./.git",
        ".//./.git",
        "sub/../.git",
        "sub/deep/../../.git",
        "here/.git",
        "here/here/./.git",
        "/proc/self/cwd/.git",
        "/proc/thread-self/cwd/.git",
        "/proc/self/task/../cwd/.git",
        "/proc/self/cwd/sub/../.git",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([
        format!("{cwd}/.git"),
        format!("/{cwd}//.git"),
        format!("/proc/self/root{cwd}/.git"),
        format!("/proc/{me}/cwd/.git"),
        format!("/proc/{me}/root{cwd}/sub/../.git"),
    ])
    .collect()
}

fn by_directories() {
    for path in spellings() {
        let path = text(&path);
        attempt(&format!("mkdir {path:?}"), libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
    }
    for path in [".git/", ".git//", "sub/..//.git/"].map(text) {
        attempt(&format!("mkdir {path:?}"), libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
    }
    let path = text(".git");
    attempt("mkdirat", libc::SYS_mkdirat, [HERE, at(&path), 0o755, 0, 0, 0]);
}

fn by_files() {
    for path in spellings() {
        let path = text(&path);
        attempt(
            &format!("openat {path:?}"),
            libc::SYS_openat,
            [HERE, at(&path), CREATE, 0o644, 0, 0],
        );
    }
    let path = text(".git");
    let exclusive = CREATE | libc::O_EXCL as usize;
    attempt("open", libc::SYS_open, [at(&path), CREATE, 0o644, 0, 0, 0]);
    attempt("open, high bits", libc::SYS_open, [at(&path), CREATE | 1 << 32, 0o644, 0, 0, 0]);
    attempt("open exclusively", libc::SYS_open, [at(&path), exclusive, 0o644, 0, 0, 0]);
    attempt("creat", libc::SYS_creat, [at(&path), 0o644, 0, 0, 0, 0]);
    let how: [u64; 3] = [CREATE as u64, 0o644, 0];
    let how = [HERE, at(&path), how.as_ptr() as usize, 24, 0, 0];
    attempt("openat2", libc::SYS_openat2, how);
    for (label, kind) in
        [("fifo", libc::S_IFIFO), ("file", libc::S_IFREG), ("socket", libc::S_IFSOCK)]
    {
        let mode = (kind | 0o644) as usize;
        attempt(&format!("mknod {label}"), libc::SYS_mknod, [at(&path), mode, 0, 0, 0, 0]);
        attempt(&format!("mknodat {label}"), libc::SYS_mknodat, [HERE, at(&path), mode, 0, 0, 0]);
    }
}

fn by_moving() {
    let new = text(".git");
    let file = text("file");
    let directory = text("directory");
    let both = [("file", &file), ("directory", &directory)];
    for (label, old) in both {
        let move_it = |how: &str, number, args| {
            let _gone = fs::remove_dir_all("directory");
            fs::create_dir("directory").unwrap();
            fs::write("file", "").unwrap();
            attempt(&format!("{how} a {label}"), number, args);
        };
        move_it("rename", libc::SYS_rename, [at(old), at(&new), 0, 0, 0, 0]);
        move_it("renameat", libc::SYS_renameat, [HERE, at(old), HERE, at(&new), 0, 0]);
        for (how, flags) in [("renameat2", 0), ("renameat2, no replace,", 1)] {
            move_it(how, libc::SYS_renameat2, [HERE, at(old), HERE, at(&new), flags, 0]);
        }
    }
}

fn by_links() {
    fs::write("file", "").unwrap();
    let (new, file) = (text(".git"), text("file"));
    attempt("symlink", libc::SYS_symlink, [at(&file), at(&new), 0, 0, 0, 0]);
    attempt("symlinkat", libc::SYS_symlinkat, [at(&file), HERE, at(&new), 0, 0, 0]);
    attempt("link", libc::SYS_link, [at(&file), at(&new), 0, 0, 0, 0]);
    attempt("linkat", libc::SYS_linkat, [HERE, at(&file), HERE, at(&new), 0, 0]);
    let cwd = std::env::current_dir().unwrap();
    let dangling =
        [("relative", ".git".into()), ("absolute", cwd.join(".git")), ("two", "l1".into())];
    symlink(".git", "l1").unwrap();
    for (label, target) in dangling {
        let _old = fs::remove_file("dangling");
        symlink(target, "dangling").unwrap();
        let path = text("dangling");
        let args = [HERE, at(&path), CREATE, 0o644, 0, 0];
        attempt(&format!("through a dangling link, {label}"), libc::SYS_openat, args);
    }
    symlink("/proc/self/cwd", "magic").unwrap();
    let path = text("magic/.git");
    attempt("through a link to a magic link", libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
}

fn by_descriptors() {
    let up = text("../.git");
    let plain = text(".git");
    let sub =
        nix::fcntl::open("sub", nix::fcntl::OFlag::O_PATH, nix::sys::stat::Mode::empty()).unwrap();
    let sub_fd = sub.as_raw_fd() as usize;
    attempt("mkdirat up from a descriptor", libc::SYS_mkdirat, [sub_fd, at(&up), 0o755, 0, 0, 0]);
    let here = fs::File::open(".").unwrap();
    let fd = here.as_raw_fd();
    attempt("mkdirat by descriptor", libc::SYS_mkdirat, [fd as usize, at(&plain), 0o755, 0, 0, 0]);
    // A number that no process of the sandbox itself has open, so that only the caller's can serve.
    let high = nix::fcntl::fcntl(&here, nix::fcntl::FcntlArg::F_DUPFD(150)).unwrap();
    let path = text(&format!("/proc/self/fd/{high}/.git"));
    attempt("mkdir below a high descriptor", libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
    for path in [format!("/proc/self/fd/{fd}/.git"), format!("/dev/fd/{fd}/.git")].map(|p| text(&p))
    {
        attempt("mkdir below a descriptor's link", libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
    }
    let unnamed = nix::fcntl::open(
        ".",
        nix::fcntl::OFlag::O_TMPFILE | nix::fcntl::OFlag::O_WRONLY,
        nix::sys::stat::Mode::from_bits_truncate(0o644),
    )
    .unwrap();
    let by_proc = text(&format!("/proc/self/fd/{}", unnamed.as_raw_fd()));
    let (follow, new) = (libc::AT_SYMLINK_FOLLOW as usize, at(&plain));
    attempt("linkat a nameless file", libc::SYS_linkat, [HERE, at(&by_proc), HERE, new, follow, 0]);
    thread_with_its_own_directory();
}

fn thread_with_its_own_directory() {
    let there = std::env::current_dir().unwrap();
    let _old = fs::remove_file(".git");
    std::thread::spawn(move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).unwrap();
        std::env::set_current_dir("sub").unwrap();
        let path = text("../.git");
        let made = call(libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
        let stood = there.join(".git").exists();
        assert_eq!(made.is_ok(), stood);
        tell("mkdir by a thread with a directory of its own", made);
        let _gone = fs::remove_dir(there.join(".git"));
    })
    .join()
    .unwrap();
}

fn by_sockets() {
    use std::os::unix::net::{UnixDatagram, UnixListener};
    let cwd = std::env::current_dir().unwrap();
    for path in
        [".git".into(), cwd.join(".git"), "sub/../.git".into(), "/proc/self/cwd/.git".into()]
    {
        let _old = fs::remove_file(".git");
        let label = anywhere(&path.display().to_string());
        let result =
            UnixListener::bind(&path).map(drop).map_err(|error| crate::acts::errno(&error));
        tell(&format!("bind {label}"), result);
    }
    let _old = fs::remove_file(".git");
    tell(
        "bind a datagram socket",
        UnixDatagram::bind(".git").map(drop).map_err(|e| crate::acts::errno(&e)),
    );
    let _old = fs::remove_file(".git");
}
