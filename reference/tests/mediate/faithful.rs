//! Calls outside all rules behave as without a supervisor: results, errnos, modes, signals.

use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use libtest_mimic::Trial;
use nix::sys::stat::{Mode, umask};
use serde_json::json;

use crate::acts::{both, confined, open, stage, tell};
use crate::bed::{DEADLINE, NAMESPACES};
use crate::sys::{at, call, forked, storm, stormed};

const HERE: usize = libc::AT_FDCWD as usize;

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::from(both("everything_else_is_as_without", as_without));
    trials.extend(both("a_waiting_open_holds_up_nobody", waiting));
    for how in ["restart", "plain"] {
        trials.push(Trial::test(
            format!("a_storm_of_signals_does_nothing_twice::{how}"),
            move || {
                stormy(how);
                Ok(())
            },
        ));
    }
    trials
}

fn as_without(who: &'static str) {
    let (bed, actor) = stage(who);
    let without = open(&bed, &actor, &["faithful"]);
    let with = confined(&bed, &actor, &["faithful"], &json!({"protect": "metadata"}));
    assert!(without.len() > 90, "{}", without.len());
    let differ: Vec<_> = without.iter().zip(&with).filter(|(a, b)| a != b).collect();
    assert!(differ.is_empty() && with.len() == without.len(), "{differ:#?}");
}

pub(crate) fn act() {
    umask(Mode::from_bits_truncate(0o027));
    fs::create_dir("d").unwrap();
    fs::write("f", "text").unwrap();
    symlink("f", "l").unwrap();
    symlink("loop", "loop").unwrap();
    symlink("nowhere/x", "broken").unwrap();
    nix::unistd::mkfifo("fifo", Mode::S_IRWXU).unwrap();
    opens();
    directories_and_nodes();
    moves();
    links();
    modes();
    descriptors();
    sockets();
}

fn text(path: &str) -> CString {
    CString::new(path).unwrap()
}

/// A path as a label: what only says where we are is left out, and long ones are counted.
fn shown(path: &str) -> String {
    if path.len() > 60 { format!("{} bytes", path.len()) } else { path.to_owned() }
}

fn odd_paths() -> Vec<String> {
    let odd = [
        "",
        "/",
        ".",
        "..",
        "d",
        "d/",
        "d/.",
        "d/..",
        "f",
        "f/",
        "f/x",
        "l",
        "l/",
        "loop",
        "loop/x",
        "broken",
        "missing/x",
        "new/",
        "/proc/self/fd/99/x",
        "/proc/nothing/x",
        "d/./../f",
    ];
    let long = [
        "n".repeat(255),
        "n".repeat(256),
        format!("{}x", "d/../".repeat(800)),
        "d/../".repeat(900),
    ];
    odd.map(str::to_owned).into_iter().chain(long).collect()
}

fn opens() {
    let flags = [
        ("", 0),
        ("exclusive", libc::O_EXCL),
        ("nofollow", libc::O_NOFOLLOW),
        ("directory", libc::O_DIRECTORY),
        ("path", libc::O_PATH),
    ];
    for (label, flag) in flags {
        for path in odd_paths() {
            let flags = (libc::O_CREAT | libc::O_WRONLY | flag) as usize;
            let name = text(&path);
            let opened = call(libc::SYS_openat, [HERE, at(&name), flags, 0o666, 0, 0]);
            if let Ok(fd) = opened {
                nix::unistd::close(fd as i32).unwrap();
            }
            tell(&format!("open {label} {}", shown(&path)), opened);
        }
        let _new = fs::remove_file("n".repeat(255));
        let _new = fs::remove_file("x");
    }
    let tmp = libc::O_TMPFILE | libc::O_CREAT | libc::O_RDWR;
    let here = text(".");
    tell(
        "open nameless with O_CREAT",
        call(libc::SYS_openat, [HERE, at(&here), tmp as usize, 0, 0, 0]),
    );
    tell("open a bad address", call(libc::SYS_openat, [HERE, 8, libc::O_CREAT as usize, 0, 0, 0]));
    let name = text("x");
    tell(
        "open at a bad descriptor",
        call(libc::SYS_openat, [77, at(&name), libc::O_CREAT as usize, 0, 0, 0]),
    );
    let file = fs::File::open("f").unwrap();
    let at_file = [file.as_raw_fd() as usize, at(&name), libc::O_CREAT as usize, 0, 0, 0];
    tell("open at a file", call(libc::SYS_openat, at_file));
}

fn directories_and_nodes() {
    for path in odd_paths() {
        let name = text(&path);
        tell(
            &format!("mkdir {}", shown(&path)),
            call(libc::SYS_mkdir, [at(&name), 0o777, 0, 0, 0, 0]),
        );
        let _new = fs::remove_dir(&path);
        let _kept = fs::create_dir("d");
        let made = call(libc::SYS_mknod, [at(&name), libc::S_IFREG as usize | 0o666, 0, 0, 0, 0]);
        tell(&format!("mknod {}", shown(&path)), made);
        if made.is_ok() {
            fs::remove_file(&path).unwrap();
        }
    }
    let name = text("node");
    for (label, kind) in
        [("directory", libc::S_IFDIR), ("link", libc::S_IFLNK), ("device", libc::S_IFCHR)]
    {
        let made = call(libc::SYS_mknod, [at(&name), (kind | 0o666) as usize, 0x103, 0, 0, 0]);
        // Root outside may make devices; no user may inside.
        if label != "device" || !nix::unistd::geteuid().is_root() {
            tell(&format!("mknod a {label}"), made);
        }
        let _made = fs::remove_file("node");
    }
}

fn moves() {
    let shift = |label: &str, old: &str, new: &str, flags: usize| {
        let (a, b) = (text(old), text(new));
        let moved = call(libc::SYS_renameat2, [HERE, at(&a), HERE, at(&b), flags, 0]);
        tell(&format!("rename {label}"), moved);
    };
    fs::create_dir_all("m/full/x").unwrap();
    fs::create_dir("m/empty").unwrap();
    fs::write("m/f", "").unwrap();
    shift("missing", "m/no", "m/x", 0);
    shift("missing onto a denied name", "m/no", ".git", 0);
    shift("onto itself", "m/f", "m/f", 0);
    shift("file onto directory", "m/f", "m/empty", 0);
    shift("directory onto file", "m/empty", "m/f", 0);
    shift("onto a full directory", "m/empty", "m/full", 0);
    shift("into itself", "m/full", "m/full/x/y", 0);
    shift("with a slash", "m/full/", "m/full2/", 0);
    shift("file with a slash", "m/f/", "m/g", 0);
    shift("dot", "m/.", "m/y", 0);
    shift("onto dots", "m/f", "m/..", 0);
    shift("no replace", "m/f", "m/full2", 1);
    shift("exchange", "m/f", "m/full2", 2);
    shift("exchange with nothing", "m/f", "m/no", 2);
    shift("unknown flags", "m/f", "m/no", 64);
    shift("flags that exclude each other", "m/f", "m/full2", 3);
    shift("plain", "m/f", "m/g", 0);
}

fn links() {
    let link = |label: &str, old: &str, new: &str, flags: i32| {
        let (a, b) = (text(old), text(new));
        let linked = call(libc::SYS_linkat, [HERE, at(&a), HERE, at(&b), flags as usize, 0]);
        tell(&format!("link {label}"), linked);
    };
    link("file", "f", "k1", 0);
    link("onto a file", "f", "k1", 0);
    link("a link itself", "l", "k2", 0);
    link("what a link leads to", "l", "k3", libc::AT_SYMLINK_FOLLOW);
    link("directory", "d", "k4", 0);
    link("missing", "no", "k5", 0);
    link("broken link followed", "broken", "k6", libc::AT_SYMLINK_FOLLOW);
    link("with a slash", "f", "k7/", 0);
    link("nothing", "", "k8", 0);
    link("unknown flags", "f", "k9", 0x8000);
    link("across file systems", "/proc/self/fd/0", "k10", 0);
    for name in ["k1", "k2", "k3"] {
        let found = fs::symlink_metadata(name).unwrap();
        println!("{name}: {:o}, {} links", found.mode(), found.nlink());
    }
    for (target, path) in
        [("", "s1"), ("x", "s2"), ("x", "s2"), ("x", "s3/"), ("x", "no/s"), ("x", ".")]
    {
        let (a, b) = (text(target), text(path));
        tell(
            &format!("symlink {target} {path}"),
            call(libc::SYS_symlink, [at(&a), at(&b), 0, 0, 0, 0]),
        );
    }
    let long = text(&"t".repeat(4095));
    let longer = text(&"t".repeat(4096));
    for (label, target) in [("long", &long), ("too long", &longer)] {
        let name = text(label);
        tell(
            &format!("symlink {label}"),
            call(libc::SYS_symlink, [at(target), at(&name), 0, 0, 0, 0]),
        );
    }
}

fn modes() {
    for mask in [0o000, 0o022, 0o077, 0o777] {
        umask(Mode::from_bits_truncate(mask));
        let (directory, file) = (text("md"), text("mf"));
        call(libc::SYS_mkdir, [at(&directory), 0o7777, 0, 0, 0, 0]).unwrap();
        let fd = call(libc::SYS_creat, [at(&file), 0o7777, 0, 0, 0, 0]).unwrap();
        nix::unistd::close(fd as i32).unwrap();
        let mode = |path: &str| fs::symlink_metadata(path).unwrap().mode();
        println!("umask {mask:o}: {:o} {:o}", mode("md"), mode("mf"));
        fs::remove_dir("md").unwrap();
        fs::remove_file("mf").unwrap();
    }
    umask(Mode::from_bits_truncate(0o022));
    let own = std::thread::spawn(|| {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).unwrap();
        umask(Mode::from_bits_truncate(0o077));
        fs::write("by-thread", "").unwrap();
    });
    own.join().unwrap();
    println!("a thread's umask: {:o}", fs::metadata("by-thread").unwrap().mode());
    let owner = fs::metadata("by-thread").unwrap();
    let own = nix::unistd::geteuid().as_raw() == owner.uid()
        && nix::unistd::getegid().as_raw() == owner.gid();
    println!("owner and group are ours: {own}");
}

fn descriptors() {
    let name = text("desc");
    let open = |flags: i32| {
        let flags = (libc::O_CREAT | flags) as usize;
        call(libc::SYS_openat, [HERE, at(&name), flags, 0o644, 0, 0]).unwrap() as i32
    };
    for (label, flags) in [
        ("write", libc::O_WRONLY),
        ("append", libc::O_RDWR | libc::O_APPEND),
        ("cloexec", libc::O_RDWR | libc::O_CLOEXEC),
        ("nonblock", libc::O_RDONLY | libc::O_NONBLOCK),
        ("truncate", libc::O_RDWR | libc::O_TRUNC),
    ] {
        fs::write("desc", "text").unwrap();
        let fd = open(flags);
        let link = fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        let flags =
            call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize, 0, 0, 0, 0]).unwrap();
        let on_exec =
            call(libc::SYS_fcntl, [fd as usize, libc::F_GETFD as usize, 0, 0, 0, 0]).unwrap();
        let length = fs::metadata("desc").unwrap().len();
        println!("{label}: {flags:o} {on_exec} {length} {:?}", link.file_name().unwrap());
        nix::unistd::close(fd).unwrap();
    }
    // The lowest free number, as ever.
    let (first, second) = (open(libc::O_RDONLY), open(libc::O_RDONLY));
    println!("numbers: {}", second - first);
    nix::unistd::close(first).unwrap();
    println!("the lowest free one: {}", open(libc::O_RDONLY) == first);
    limits();
    executable_at_once();
}

fn limits() {
    use nix::sys::resource::{Resource, setrlimit};
    let child = forked(|| {
        setrlimit(Resource::RLIMIT_NOFILE, 0, 0).unwrap();
        let name = text("f");
        let opened = call(libc::SYS_openat, [HERE, at(&name), libc::O_CREAT as usize, 0, 0, 0]);
        i32::from(opened != Err(nix::errno::Errno::EMFILE))
    });
    println!("no descriptor left: {:?}", code(child));
}

fn code(child: nix::unistd::Pid) -> i32 {
    match nix::sys::wait::waitpid(child, None).unwrap() {
        nix::sys::wait::WaitStatus::Exited(_, code) => code,
        other => panic!("{other:?}"),
    }
}

/// A file that was written and closed has no writer left: it can be leased, executed and locked.
fn executable_at_once() {
    let (mut held, mut failed) = (0, 0);
    for round in 0..2000 {
        let mut file = fs::File::create("prog").unwrap();
        file.write_all(b"#!/bin/true\n").unwrap();
        nix::sys::stat::fchmod(&file, Mode::S_IRWXU).unwrap();
        drop(file);
        let read = fs::File::open("prog").unwrap();
        let lease = [read.as_raw_fd() as usize, F_SETLEASE, libc::F_RDLCK as usize, 0, 0, 0];
        held += usize::from(call(libc::SYS_fcntl, lease).is_err());
        drop(read);
        if round % 20 == 0 {
            let ran = std::process::Command::new("./prog").status();
            failed += usize::from(!ran.is_ok_and(|status| status.success()));
        }
    }
    println!("held after closing: {held}; executed at once: {failed} failed");
}

const F_SETLEASE: usize = 1024;

fn sockets() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let listener = UnixListener::bind("sock").unwrap();
    println!("address: {:?}", listener.local_addr().unwrap());
    println!("peer: {:?}", UnixStream::connect("sock").unwrap().peer_addr().unwrap());
    println!("mode: {:o}", fs::metadata("sock").unwrap().mode());
    let bind = |path: &str| UnixListener::bind(path).map(drop).map_err(|e| crate::acts::errno(&e));
    for path in ["sock", "f", "d", "missing/s", "f/s", ".", "", "broken"] {
        tell(&format!("bind {path}"), bind(path));
    }
    let tcp = std::net::TcpListener::bind("127.0.0.1:0");
    println!("bind tcp: {}", tcp.is_ok());
    let name = text("x");
    tell("bind no socket", call(libc::SYS_bind, [0, at(&name), 2, 0, 0, 0]));
    tell("bind a bad descriptor", call(libc::SYS_bind, [77, at(&name), 2, 0, 0, 0]));
    let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
    let fd = socket.as_raw_fd() as usize;
    tell("bind a bad address", call(libc::SYS_bind, [fd, 8, 20, 0, 0, 0]));
    tell("bind too long an address", call(libc::SYS_bind, [fd, at(&name), 200, 0, 0, 0]));
}

/// The number of directories that the storm makes.
const DIRECTORIES: usize = 3000;

fn stormy(how: &str) {
    let (bed, actor) = stage(NAMESPACES);
    let lines = confined(&bed, &actor, &["storm", how], &json!({"protect": "metadata"}));
    let [made, twice, signals] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(made, &format!("made: {DIRECTORIES}"));
    assert_eq!(twice, "twice: 0", "{signals}");
    let signals: usize = signals.strip_prefix("signals: ").unwrap().parse().unwrap();
    assert!(signals > 100, "{signals} signals are no storm");
    println!("{how}: {DIRECTORIES} directories under {signals} signals, none made twice");
}

/// Makes directories under a storm of signals. One that a call of ours did make and still reported
/// as interrupted, or as there already, was made twice.
pub(crate) fn act_storm(restart: bool) {
    storm(100, restart);
    let (mut made, mut twice) = (0, 0);
    for number in 0..DIRECTORIES {
        let path = text(&format!("s{number}"));
        loop {
            match call(libc::SYS_mkdir, [at(&path), 0o755, 0, 0, 0, 0]) {
                Ok(_) => break made += 1,
                Err(nix::errno::Errno::EINTR) if !Path::new(path.to_str().unwrap()).exists() => {}
                Err(_) => {
                    twice += 1;
                    break;
                }
            }
        }
    }
    println!("made: {made}\ntwice: {twice}\nsignals: {}", stormed());
}

fn waiting(who: &'static str) {
    let (bed, actor) = stage(who);
    let lines = confined(&bed, &actor, &["waiting"], &json!({"protect": "metadata"}));
    assert_eq!(lines, ["others went on: true", "killed: SIGKILL", "read: text"]);
}

/// Many openers of a FIFO wait; others go on; a waiting one can be killed; one can be served.
pub(crate) fn act_waiting() {
    nix::unistd::mkfifo("p", Mode::S_IRWXU).unwrap();
    nix::unistd::mkfifo("q", Mode::S_IRWXU).unwrap();
    let waits = |path: &'static str| {
        forked(move || {
            let name = text(path);
            let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
            i32::from(call(libc::SYS_openat, [HERE, at(&name), flags, 0o644, 0, 0]).is_err())
        })
    };
    let openers: Vec<_> = (0..20).map(|_| waits("p")).collect();
    let begun = std::time::Instant::now();
    let mut went_on = 0;
    while begun.elapsed() < DEADLINE && went_on < 200 {
        went_on += usize::from(fs::create_dir(format!("w{went_on}")).is_ok());
    }
    println!("others went on: {}", went_on == 200);
    for opener in &openers {
        nix::sys::signal::kill(*opener, nix::sys::signal::Signal::SIGKILL).unwrap();
    }
    for opener in openers {
        if let nix::sys::wait::WaitStatus::Exited(..) =
            nix::sys::wait::waitpid(opener, None).unwrap()
        {
            panic!("an opener was not killed");
        }
    }
    println!("killed: SIGKILL");
    let writer = forked(|| {
        fs::File::create("q").unwrap().write_all(b"text").unwrap();
        0
    });
    let mut read = String::new();
    fs::File::open("q").unwrap().read_to_string(&mut read).unwrap();
    nix::sys::wait::waitpid(writer, None).unwrap();
    println!("read: {read}");
}
