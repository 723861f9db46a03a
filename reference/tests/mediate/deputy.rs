//! The supervisor does nothing for a command that the command could not do itself.

use std::ffi::CString;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;

use libtest_mimic::Trial;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::Pid;
use serde_json::json;

use crate::acts::{both, confined, stage, tell};
use crate::sys::{at, below_4g, call, forked, mkdir_by_int80};

pub(crate) fn trials() -> Vec<Trial> {
    let tests = [
        both("nothing_of_another_process_is_opened", nothing_of_others),
        both("ways_around_the_supervisor_are_closed", ways_around),
        both("what_is_hidden_from_reading_works_as_before", hidden_callers),
    ];
    tests.into_iter().flatten().collect()
}

fn nothing_of_others(who: &'static str) {
    let (bed, actor) = stage(who);
    let lines = confined(&bed, &actor, &["deputy"], &json!({"protect": "metadata"}));
    let refused = [": EACCES", ": EPERM", ": EROFS"];
    let (own, others): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.starts_with("own"));
    assert!(others.len() > 12, "{others:?}");
    for line in others.iter().filter(|line| !line.starts_with("closed")) {
        assert!(refused.iter().any(|errno| line.ends_with(errno)), "{line}");
    }
    let failed: Vec<_> = own.iter().filter(|line| !line.ends_with(": done")).collect();
    assert!(own.len() > 3 && failed.is_empty(), "{failed:?}");
}

fn ways_around(who: &'static str) {
    let (bed, actor) = stage(who);
    let lines = confined(&bed, &actor, &["deputy"], &json!({"protect": "metadata"}));
    let closed: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("closed: ")).collect();
    let expected = [
        "openat2: ENOSYS",
        "openat2 for reading: ENOSYS",
        "x32 mkdir: ENOSYS",
        "io_uring: EPERM",
        "user namespace: EPERM",
        "user namespace by clone: EPERM",
        "mount namespace: EPERM",
        "chroot: EPERM",
        "Landlock domain: EOPNOTSUPP",
        "second listener: EBUSY",
        "btrfs snapshot: EPERM",
        "kill pid 1: ignored",
        "a core file's name: limited",
        "int 0x80: SIGSYS",
    ];
    assert_eq!(closed, expected);
    assert!(!bed.ws(".git").exists());
}

const CREATE: OFlag = OFlag::O_CREAT.union(OFlag::O_RDWR).union(OFlag::O_CLOEXEC);

fn try_open(label: &str, path: &str, flags: OFlag) {
    tell(label, open(path, flags, Mode::from_bits_truncate(0o644)));
}

pub(crate) fn act() {
    let sibling = forked(|| {
        nix::unistd::pause();
        0
    });
    let me = std::process::id();
    let aims = [Pid::from_raw(1), sibling];
    for pid in aims {
        for file in ["mem", "environ", "fd/0", "oom_score_adj", "attr/current"] {
            try_open(&format!("{file} of {}", who(pid)), &format!("/proc/{pid}/{file}"), CREATE);
        }
        for way in ["cwd", "root"] {
            let path = format!("/proc/{pid}/{way}/made");
            try_open(&format!("through {way} of {}", who(pid)), &path, CREATE);
        }
        by_directory(pid);
    }
    for (label, path) in
        [("name", "/proc/self/comm".into()), ("number", format!("/proc/{me}/comm"))]
    {
        try_open(&format!("own comm by {label}"), path.as_str(), CREATE);
    }
    try_open("own memory", "/proc/self/mem", CREATE);
    try_open("own thread's comm", "/proc/thread-self/comm", CREATE);
    try_open("own device", "/dev/null", CREATE);
    kill(sibling, Signal::SIGKILL).unwrap();
    nix::sys::wait::waitpid(sibling, None).unwrap();
    closed();
}

fn who(pid: Pid) -> &'static str {
    if pid.as_raw() == 1 { "pid 1" } else { "a sibling" }
}

/// From a descriptor of the other's directory, which everybody may open.
fn by_directory(pid: Pid) {
    let directory = fs::File::open(format!("/proc/{pid}")).unwrap();
    for path in ["mem", "cwd/made", "task/../mem"] {
        let opened = nix::fcntl::openat(&directory, path, CREATE, Mode::from_bits_truncate(0o644));
        tell(&format!("{path} by a directory of {}", who(pid)), opened);
    }
}

fn closed() {
    let path = CString::new(".git").unwrap();
    let free = CString::new("free").unwrap();
    let shut = |label: &str, number, args| tell(&format!("closed: {label}"), call(number, args));
    let create: [u64; 3] = [(libc::O_CREAT | libc::O_WRONLY) as u64, 0o644, 0];
    let read: [u64; 3] = [0, 0, 0];
    let here = libc::AT_FDCWD as usize;
    let how = |how: &[u64; 3], path| [here, at(path), how.as_ptr() as usize, 24, 0, 0];
    shut("openat2", libc::SYS_openat2, how(&create, &free));
    shut("openat2 for reading", libc::SYS_openat2, how(&read, &free));
    shut("x32 mkdir", 0x4000_0000 | libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]);
    shut("io_uring", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0, 0]);
    let (user, mount) = (libc::CLONE_NEWUSER as usize, libc::CLONE_NEWNS as usize);
    shut("user namespace", libc::SYS_unshare, [user, 0, 0, 0, 0, 0]);
    shut(
        "user namespace by clone",
        libc::SYS_clone,
        [user | libc::SIGCHLD as usize, 0, 0, 0, 0, 0],
    );
    shut("mount namespace", libc::SYS_unshare, [mount, 0, 0, 0, 0, 0]);
    let root = CString::new("/").unwrap();
    shut("chroot", libc::SYS_chroot, [at(&root), 0, 0, 0, 0, 0]);
    let ruleset: [u64; 1] = [1];
    let args = [ruleset.as_ptr() as usize, 8, 0, 0, 0, 0];
    shut("Landlock domain", libc::SYS_landlock_create_ruleset, args);
    shut("second listener", libc::SYS_seccomp, listener_args(&[pass()]));
    let directory = fs::File::open(".").unwrap();
    shut(
        "btrfs snapshot",
        libc::SYS_ioctl,
        [directory.as_raw_fd() as usize, 0x5000_9417, 0, 0, 0, 0],
    );
    println!("closed: kill pid 1: {}", ignored());
    println!("closed: a core file's name: {}", core_limit());
    let child = forked(|| {
        let path = CString::new(".git").unwrap();
        i32::from(mkdir_by_int80(below_4g(&path)) == 0)
    });
    match nix::sys::wait::waitpid(child, None).unwrap() {
        nix::sys::wait::WaitStatus::Signaled(_, signal, _) => {
            println!("closed: int 0x80: {signal}");
        }
        other => println!("closed: int 0x80: {other:?}"),
    }
}

fn pass() -> libc::sock_filter {
    let code = (libc::BPF_RET | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }
}

/// Leaks one small program, as its address has to stay good.
fn listener_args(program: &[libc::sock_filter]) -> [usize; 6] {
    let filter = Box::leak(program.to_vec().into_boxed_slice());
    let length = filter.len() as u16;
    let program =
        Box::leak(Box::new(libc::sock_fprog { len: length, filter: filter.as_mut_ptr() }));
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as usize;
    [libc::SECCOMP_SET_MODE_FILTER as usize, flags, std::ptr::from_mut(program) as usize, 0, 0, 0]
}

fn ignored() -> &'static str {
    let init = Pid::from_raw(1);
    let tried =
        [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGSEGV].map(|signal| kill(init, signal));
    // It still decides afterwards.
    let works = fs::create_dir("after").is_ok() && fs::create_dir(".git").is_err();
    if works && tried.iter().all(|tried| tried.is_ok() || *tried == Err(Errno::EPERM)) {
        "ignored"
    } else {
        "heeded"
    }
}

fn core_limit() -> &'static str {
    let limit = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_CORE);
    if limit == Ok((0, 0)) { "limited" } else { "free" }
}

/// A caller whose memory is closed to readers, and one whose program cannot be read.
fn hidden_callers(who: &'static str) {
    let (bed, actor) = stage(who);
    let lines = confined(&bed, &actor, &["hidden"], &json!({"protect": "metadata"}));
    assert_eq!(lines, ["mkdir free: done", "open free: done", "mkdir .git: EACCES"]);
    assert!(bed.ws("free").is_dir() && !bed.ws(".git").exists());
}

pub(crate) fn act_hidden() {
    nix::sys::prctl::set_dumpable(false).unwrap();
    let mkdir = |path: &str| nix::unistd::mkdir(Path::new(path), Mode::S_IRWXU);
    tell("mkdir free", mkdir("free"));
    try_open("open free", "free/f", CREATE);
    tell("mkdir .git", mkdir(".git"));
}
