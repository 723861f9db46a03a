//! Something changes between a look and the deed: the text of a path, a link in it, a directory on
//! it. No attempt may make the denied name. `BOXPROOF_RACES` sets how many there are of each kind.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use libtest_mimic::Trial;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use serde_json::json;

use crate::acts::{confined, open, stage};
use crate::bed::NAMESPACES;
use crate::sys::{Shared, at, call};

const HERE: usize = libc::AT_FDCWD as usize;
const KINDS: [&str; 7] =
    ["text", "text-open", "link", "directory", "descriptor", "socket", "pattern"];
/// Attempts of one kind, unless the environment says more.
const ATTEMPTS: usize = 1500;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |kind| {
        Trial::test(format!("no_race_makes_the_name::{kind}"), move || {
            lost(kind);
            Ok(())
        })
    };
    KINDS.into_iter().map(trial).collect()
}

fn lost(kind: &'static str) {
    let asked = std::env::var("BOXPROOF_RACES").ok().and_then(|text| text.parse().ok());
    let attempts = asked.unwrap_or(ATTEMPTS).to_string();
    let (bed, actor) = stage(NAMESPACES);
    let without = open(&bed, &actor, &["race", kind, "20000"]);
    let policy = match kind {
        "pattern" => json!({"deny_write_globs": [bed.ws("conf*/*.key")]}),
        _ => json!({"protect": "metadata"}),
    };
    let with = confined(&bed, &actor, &["race", kind, &attempts], &policy);
    println!("{kind}: {} without, {} with a supervisor", without[0], with[0]);
    let numbers = |line: &str| -> Vec<usize> {
        line.split([' ', ':']).filter_map(|word| word.parse().ok()).collect()
    };
    // Without a supervisor the race can be won, and with one both sides of it take part.
    assert!(numbers(&without[0])[1] > 0, "{without:?}");
    let [all, denied, free] = numbers(&with[0])[..] else { panic!("{with:?}") };
    assert_eq!((all.to_string(), denied), (attempts, 0));
    // A path through the directory itself leads nowhere while that is away.
    assert!(free > 0 || kind == "directory", "{with:?}");
    assert!(fs::symlink_metadata(bed.ws(".git")).is_err());
}

/// Makes `attempts` of a kind while another thread changes what they mean.
pub(crate) fn act(kind: &str, attempts: usize) {
    fs::create_dir_all("sub").unwrap();
    fs::create_dir_all("x").unwrap();
    symlink("sub", "way").unwrap();
    symlink(".", "other").unwrap();
    let text = Shared::new(8);
    text.write(c"free");
    fs::create_dir_all("tree").unwrap();
    let held = fs::File::open(if kind == "pattern" { "tree" } else { "x" }).unwrap();
    let over = AtomicBool::new(false);
    let (mut denied, mut free) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                change(kind, &text, held.as_raw_fd());
            }
        });
        for _ in 0..attempts {
            attempt(kind, &text, held.as_raw_fd());
            denied += usize::from(taken_away(".git")) + usize::from(taken_away("conf/x.key"));
            free += usize::from(fs::rename("conf", "tree").is_ok());
            free += usize::from(taken_away("free")) + usize::from(taken_away("sub/.git"));
        }
        over.store(true, Ordering::Relaxed);
    });
    println!("{attempts} attempts: {denied} denied and {free} free names made");
}

fn change(kind: &str, text: &Shared, fd: RawFd) {
    match kind {
        "pattern" => {
            let flags = (libc::O_CREAT | libc::O_WRONLY) as usize;
            let name = c"x.key";
            if let Ok(file) = call(libc::SYS_openat, [fd as usize, at(name), flags, 0o644, 0, 0]) {
                nix::unistd::close(file as i32).unwrap();
            }
            let _lost = call(libc::SYS_unlinkat, [fd as usize, at(name), 0, 0, 0, 0]);
        }
        "text" | "text-open" => {
            text.write(c".git");
            text.write(c"free");
        }
        "link" | "socket" => {
            let exchange = RenameFlags::RENAME_EXCHANGE;
            let _lost = renameat2(AT_FDCWD, "way", AT_FDCWD, "other", exchange);
        }
        _ => {
            let _lost = fs::rename("x", "sub/x");
            let _lost = fs::rename("sub/x", "x");
        }
    }
}

fn attempt(kind: &str, text: &Shared, fd: RawFd) {
    let path = |path: &str| CString::new(path).unwrap();
    let mkdir = |path: &CString| call(libc::SYS_mkdir, [at(path), 0o755, 0, 0, 0, 0]);
    let _outcome = match kind {
        "text" => call(libc::SYS_mkdir, [text.address(), 0o755, 0, 0, 0, 0]),
        "text-open" => {
            let flags = (libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY) as usize;
            let opened = call(libc::SYS_openat, [HERE, text.address(), flags, 0o644, 0, 0]);
            opened.inspect(|fd| nix::unistd::close(*fd as i32).unwrap())
        }
        "link" => mkdir(&path("way/.git")),
        "socket" => std::os::unix::net::UnixListener::bind("way/.git")
            .map(|_| 0)
            .map_err(|error| crate::acts::errno(&error)),
        // A directory gets a name under which what it holds at one time must not be.
        "pattern" => {
            fs::rename("tree", "conf").map(|()| 0).map_err(|error| crate::acts::errno(&error))
        }
        "directory" => mkdir(&path("x/../.git")),
        _ => {
            // A descriptor of a directory that is here at one time and elsewhere at another.
            let up = path("../.git");
            call(libc::SYS_mkdirat, [fd as usize, at(&up), 0o755, 0, 0, 0])
        }
    };
}

/// Removes `path`; returns whether it existed.
fn taken_away(path: &str) -> bool {
    fs::remove_dir(path).is_ok() || fs::remove_file(path).is_ok()
}
