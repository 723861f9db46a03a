//! Sockets that are still there after a run: told by the process that holds them, or by a name
//! that carries the arm's word.

use std::collections::BTreeMap;
use std::path::Path;

use nix::unistd::Pid;

use crate::sys;

/// The entry of one socket in a socket table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SocketEntry {
    inode: u64,
    /// The name of the socket, such as `127.0.0.1:80` or `@name`.
    name: String,
}

/// The listening sockets that `pid` holds, in words.
pub(crate) fn held_by(pid: Pid) -> Vec<String> {
    let directory = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let links = directory.into_iter().flatten().flatten();
    let inodes = links.filter_map(|link| {
        let target = std::fs::read_link(link.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    });
    let inodes: Vec<u64> = inodes.collect();
    // The tables take the kernel milliseconds, and thousands of processes hold no socket.
    if inodes.is_empty() {
        return Vec::new();
    }
    let net = format!("/proc/{pid}/net");
    let named: BTreeMap<u64, String> =
        table(Path::new(&net)).into_iter().map(|entry| (entry.inode, entry.name)).collect();
    let mut held: Vec<String> =
        inodes.iter().filter_map(|inode| named.get(inode).cloned()).collect();
    held.sort();
    held.dedup();
    held
}

/// The names of all bound Unix sockets.
pub(crate) fn bound() -> Vec<String> {
    let text = sys::kernel_text("/proc/self/net/unix").unwrap_or_default();
    unix(&text).into_iter().map(|entry| entry.name).collect()
}

/// Lists Unix sockets with one of `words` in their name, `ours` apart, one sentence each.
pub(crate) fn named(words: &[&str], ours: &[String]) -> Vec<String> {
    let mut names = bound();
    let carries = |name: &String| words.iter().any(|word| name.contains(word));
    names.retain(|name| carries(name) && !ours.contains(name));
    names.sort();
    names.dedup();
    names.into_iter().map(|name| format!("the socket {name} outlived the run")).collect()
}

/// Lists every listening or bound socket of the network that `net` shows.
fn table(net: &Path) -> Vec<SocketEntry> {
    let read = |name: &str| sys::kernel_text(net.join(name)).unwrap_or_default();
    let mut all = unix(&read("unix"));
    for name in ["tcp", "tcp6", "udp", "udp6"] {
        all.extend(inet(name, &read(name)));
    }
    all
}

/// The width of the columns between the first colon of a line of `/proc/net/unix` and its inode,
/// blanks included: ` RefCount Protocol Flags Type St `.
const FIXED_COLUMNS: usize = 36;

/// Parses `Num: RefCount Protocol Flags Type St Inode Path`; only bound sockets have a path. The table
/// of a busy host is read several times an arm, so that its columns are taken by their width.
fn unix(text: &str) -> Vec<SocketEntry> {
    let entry = |line: &str| {
        let (_, columns) = line.split_once(':')?;
        let inode = columns.get(FIXED_COLUMNS..)?.trim_start_matches(' ');
        let (inode, name) = inode.split_once(' ')?;
        Some(SocketEntry { inode: inode.parse().ok()?, name: name.to_owned() })
    };
    text.lines().skip(1).filter_map(entry).collect()
}

/// The state of a listening TCP socket, and of an unconnected UDP socket.
const WAITING: [&str; 2] = ["0A", "07"];

/// Parses `sl local_address rem_address st … inode`.
fn inet(kind: &str, text: &str) -> Vec<SocketEntry> {
    let entry = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let inode = words.get(9)?.parse().ok()?;
        WAITING.contains(words.get(3)?).then_some(())?;
        let port = words.get(1)?.rsplit_once(':')?.1;
        let port = u16::from_str_radix(port, 16).ok()?;
        Some(SocketEntry { inode, name: format!("{kind} port {port}") })
    };
    text.lines().skip(1).filter_map(entry).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use nix::unistd::getpid;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixListener;

    #[test]
    fn names_of_sockets_are_taken_whole() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01  1234 /run/a b.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 99\n\
            00000000: 00000002 00000000 00010000 0001 01 123456 @a:b /c\n";
        let entry = |inode, name: &str| SocketEntry { inode, name: name.to_owned() };
        assert_eq!(unix(table), [entry(1234, "/run/a b.sock"), entry(123_456, "@a:b /c")]);
    }

    #[test]
    fn a_listening_socket_is_found_with_its_holder() {
        use std::os::linux::net::SocketAddrExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bx-test.sock");
        let (tcp, udp) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let bound = UnixListener::bind(&path).unwrap();
        let word = format!("bx-sockets-{}", getpid());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&word).unwrap();
        let hidden = UnixListener::bind_addr(&address).unwrap();
        let wanted = [
            format!("tcp port {}", tcp.local_addr().unwrap().port()),
            format!("udp port {}", udp.local_addr().unwrap().port()),
            path.display().to_string(),
            format!("@{word}"),
        ];
        let held = held_by(getpid());
        assert!(wanted.iter().all(|name| held.contains(name)), "{wanted:?} {held:?}");
        let sentence = format!("the socket @{word} outlived the run");
        assert_eq!(named(&[&word], &[]), [sentence]);
        assert_eq!(named(&[&word], &[format!("@{word}")]), [""; 0]);
        let text = directory.path().to_str().unwrap();
        assert_eq!(named(&[text], &[]).len(), 1);
        drop((tcp, udp, bound, hidden));
        let held = held_by(getpid());
        assert!(wanted.iter().all(|name| !held.contains(name)), "{held:?}");
        assert_eq!(named(&[&word], &[]), [""; 0]);
    }
}
