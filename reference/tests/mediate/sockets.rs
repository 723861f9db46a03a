//! A socket of the host is reached by no way of binding it and by no call, a listed one by all of them,
//! and the sandbox's own ones work.

use std::fs;
use std::fs::Permissions;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use libtest_mimic::Trial;
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr, accept, bind,
    connect, listen, send, sendmsg, sendto, socket,
};
use serde_json::json;

use crate::acts::{both, confined, stage, tell};
use crate::bed::{TestBed, wait_until};
use crate::sys::{Shared, call};

pub(crate) fn trials() -> Vec<Trial> {
    let listed = both("sockets_of_the_host_are_reached_only_where_they_are_listed", only_listed);
    let raced = both("no_race_exchanges_a_socket_for_one_of_the_host", no_race);
    listed.into_iter().chain(raced).collect()
}

const KINDS: [SockType; 3] = [SockType::Stream, SockType::SeqPacket, SockType::Datagram];
const WAYS: [&str; 6] = ["absolute", "descriptor", "renamed", "linked", "late", "inside"];

fn open(kind: SockType) -> OwnedFd {
    socket(AddressFamily::Unix, kind, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
        .unwrap()
}

fn bound(kind: SockType, path: &Path) -> OwnedFd {
    let server = open(kind);
    bind(server.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
    if kind != SockType::Datagram {
        listen(&server, Backlog::new(64).unwrap()).unwrap();
    }
    server
}

/// Binds a socket so that its table entry says another path than `path`, where it can be found.
fn bound_by(way: &str, kind: SockType, path: &Path) -> OwnedFd {
    let other = path.with_extension("first");
    match way {
        "descriptor" => {
            let directory = fs::File::open(path.parent().unwrap()).unwrap();
            let name = path.file_name().unwrap();
            let shown = format!("/proc/self/fd/{}", directory.as_raw_fd());
            bound(kind, &Path::new(&shown).join(name))
        }
        "renamed" => {
            let server = bound(kind, &other);
            fs::rename(other, path).unwrap();
            server
        }
        "linked" => {
            let server = bound(kind, &other);
            fs::hard_link(other, path).unwrap();
            server
        }
        _ => bound(kind, path),
    }
}

fn all(bed: &TestBed) -> Vec<(String, SockType, PathBuf)> {
    let each = |way: &str| {
        let directory = if way == "inside" { bed.ws("") } else { bed.out("") };
        KINDS.map(|kind| (way.to_owned(), kind, directory.join(format!("{way}-{kind:?}"))))
    };
    WAYS.iter().flat_map(|way| each(way)).collect()
}

fn is_reached(server: &OwnedFd, kind: SockType) -> bool {
    match kind {
        SockType::Datagram => {
            nix::sys::socket::recv(server.as_raw_fd(), &mut [0; 8], MsgFlags::empty()).is_ok()
        }
        _ => accept(server.as_raw_fd()).map(nix::unistd::close).is_ok(),
    }
}

fn only_listed(who: &'static str) {
    let (bed, actor) = stage(who);
    let (late, early): (Vec<_>, Vec<_>) = all(&bed).into_iter().partition(|one| one.0 == "late");
    let bind_all = |sockets: &[(String, SockType, PathBuf)]| -> Vec<(OwnedFd, SockType)> {
        let bind = |(way, kind, path): &(String, SockType, PathBuf)| {
            let server = bound_by(way, *kind, path);
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
            (server, *kind)
        };
        sockets.iter().map(bind).collect()
    };
    let mut servers = bind_all(&early);
    let paths = early.iter().chain(&late).map(|(.., path)| path.display().to_string());
    let paths: Vec<String> = paths.collect();
    let words: Vec<&str> =
        std::iter::once("reach").chain(paths.iter().map(String::as_str)).collect();
    let said = std::thread::scope(|scope| {
        let binder = scope.spawn(|| {
            wait_until("the command asks for sockets", || bed.ws("ready").exists());
            let late = bind_all(&late);
            fs::write(bed.ws("go"), "").unwrap();
            late
        });
        let said = confined(&bed, &actor, &words, &json!({}));
        servers.extend(binder.join().unwrap());
        said
    });
    let through: Vec<_> = said.iter().filter(|line| line.ends_with(": done")).collect();
    assert!(through.is_empty(), "{through:?}");
    assert_eq!(said.len(), 3 * paths.len(), "{said:?}");
    assert!(!servers.iter().any(|(server, kind)| is_reached(server, *kind)));
    // The same, listed: all of them are there at the start.
    let said = confined(&bed, &actor, &words, &json!({"unix_sockets": paths}));
    let kept: Vec<_> =
        said.iter().filter(|line| line.contains("connect") && !line.ends_with(": done")).collect();
    assert!(kept.is_empty(), "{kept:?}");
    assert!(servers.iter().all(|(server, kind)| is_reached(server, *kind)));
}

/// Tries to reach each path by each call.
pub(crate) fn act_reach(paths: &[String]) {
    fs::write("ready", "").unwrap();
    wait_until("sockets are bound", || Path::new("go").exists());
    for path in paths {
        let address = UnixAddr::new(path.as_str()).unwrap();
        let kind = KINDS.into_iter().find(|kind| path.ends_with(&format!("{kind:?}"))).unwrap();
        let client = open(kind);
        let connected = connect(client.as_raw_fd(), &address);
        let said = connected.and_then(|()| send(client.as_raw_fd(), b"x", MsgFlags::MSG_NOSIGNAL));
        tell(&format!("connect {path}"), said);
        let (client, plain) = (open(kind), MsgFlags::MSG_NOSIGNAL);
        tell(&format!("sendto {path}"), sendto(client.as_raw_fd(), b"x", &address, plain));
        let parts = [std::io::IoSlice::new(b"x")];
        let none: [ControlMessage<'_>; 0] = [];
        let sent = sendmsg(client.as_raw_fd(), &parts, &none, plain, Some(&address));
        tell(&format!("sendmsg {path}"), sent);
    }
}

/// Attempts in one race.
const ATTEMPTS: usize = 2_000;

fn no_race(who: &'static str) {
    let (bed, actor) = stage(who);
    let host = UnixDatagram::bind(bed.out("host")).unwrap();
    fs::set_permissions(bed.out("host"), Permissions::from_mode(0o777)).unwrap();
    fs::hard_link(bed.out("host"), bed.ws("h")).unwrap();
    host.set_nonblocking(true).unwrap();
    let said = confined(&bed, &actor, &["exchange"], &json!({}));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("own: ") && said[0] != "own: 0", "{said:?}");
    assert!(host.recv(&mut [0; 8]).is_err(), "{who}");
}

/// Sends by an address and by a number that another thread changes meanwhile: between a socket of its
/// own and the host's, and between a socket of the internet and one of the unix family.
pub(crate) fn act_exchange() {
    let own = UnixDatagram::bind("o").unwrap();
    own.set_nonblocking(true).unwrap();
    let unix = open(SockType::Datagram);
    let flags = SockFlag::SOCK_NONBLOCK;
    let inet = socket(AddressFamily::Inet, SockType::Datagram, flags, None).unwrap();
    let swapped = nix::unistd::dup(&unix).unwrap();
    let host = Shared::new(8);
    let either = Shared::new(8);
    let family = (libc::AF_UNIX as u16).to_ne_bytes();
    host.put(0, &[&family[..], b"h\0"].concat());
    either.put(0, &[&family[..], b"o\0"].concat());
    let done = AtomicBool::new(false);
    let mut heard = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                let (name, source) = if turn % 2 == 0 { (b"h", &inet) } else { (b"o", &unix) };
                either.put(2, name);
                let args = [source.as_raw_fd() as usize, swapped.as_raw_fd() as usize, 0, 0, 0, 0];
                call(libc::SYS_dup3, args).unwrap();
                if done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        for attempt in 0..ATTEMPTS {
            let (socket, address) = match attempt % 2 {
                0 => (&unix, &either),
                _ => (&swapped, &host),
            };
            let data = c"x".as_ptr() as usize;
            let args = [socket.as_raw_fd() as usize, data, 1, 0, address.address(), 4];
            let _either = call(libc::SYS_sendto, args);
            heard += usize::from(own.recv(&mut [0; 8]).is_ok());
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("own: {heard}");
}
