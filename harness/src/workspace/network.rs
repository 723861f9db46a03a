//! A network of an arm's own, where the names of `launcher.hosts` lead to our listeners. A program
//! of ours makes it around itself, opens the listeners there, hands all of that over and ends.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

use super::finish;
use super::listeners::{ArmListeners, ListenerReach, NAMES, socket};
use crate::sys;
use crate::sys::network::{NetworkNamespaces, PreparedNetwork, hand_over, own, take_over};

/// The hidden verb under which the program makes one.
pub const VERB: &str = "__network";
/// The descriptor by which it hands over.
const HANDS: i32 = 3;
/// The deadline of the program, which only makes system calls.
const PATIENCE: Duration = Duration::from_secs(20);
/// The nsswitch.conf of resolvers there: no other source than the file of names.
const SWITCH: &str = "hosts: files\npasswd: files\ngroup: files\n";

/// The values of the listeners' variables.
type ListenerValues = Vec<(&'static str, String)>;

/// Makes a network in which the names of `hosts` (a file's text) lead somewhere, with the listeners
/// called `names` in it; each one's name and what its variable stands for.
///
/// # Errors
/// The part that could not be made.
pub(super) fn make(
    (program, root, nonce): (&Path, &Path, &str),
    hosts: &str,
    names: &[&'static str],
    listeners: &mut ArmListeners,
) -> Result<(NetworkNamespaces, ListenerValues), String> {
    let why = |error: io::Error| format!("a network of its own: {error}");
    let file = root.join("hosts");
    std::fs::write(&file, hosts).map_err(why)?;
    std::fs::write(root.join("nsswitch.conf"), SWITCH).map_err(why)?;
    let (ours, theirs) =
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
            .map_err(|errno| why(errno.into()))?;
    let mut command = Command::new(program);
    command.arg(VERB).args([root.as_os_str(), nonce.as_ref()]).args(names).env_clear();
    sys::inherit_descriptors(&mut command, vec![(HANDS, theirs)]).map_err(why)?;
    finish("a network of its own", command, PATIENCE)?;
    let (text, descriptors) = take_over(&ours).map_err(why)?;
    let mut handed = descriptors.into_iter();
    let mut next = || handed.next().ok_or_else(|| "a network of its own lacks a part".to_owned());
    let (mut lines, user) = match text.strip_prefix("user\n") {
        Some(rest) => (rest.lines(), Some(next()?)),
        None => (text.lines(), None),
    };
    let namespaces = NetworkNamespaces { user, net: next()?, mnt: next()? };
    let mut values = Vec::new();
    for name in names {
        let value = lines.next().ok_or_else(|| format!("listener ${name} is missing"))?;
        listeners.adopt(name, next()?);
        values.push((*name, value.to_owned()));
    }
    Ok((namespaces, values))
}

/// Makes what `make` asked for: `ROOT NONCE NAME…`.
pub fn serve(args: impl Iterator<Item = OsString>) -> i32 {
    match hand_out(&args.collect::<Vec<_>>()) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

fn hand_out(args: &[OsString]) -> io::Result<()> {
    let [root, nonce, names @ ..] = args else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (root, nonce) = (Path::new(root), nonce.to_string_lossy());
    let hosts = root.join("hosts");
    let network =
        PreparedNetwork::prepare_network(&hosts, &root.join("nsswitch.conf"), addresses(&hosts)?)?;
    let needed_user = network.enter()?;
    let mut sockets = Vec::new();
    for name in names {
        let known = NAMES.iter().find(|known| name == *known);
        let name = known.ok_or_else(|| io::Error::other("no listener is called so"))?;
        let opened = socket(name, &root.join("out"), &nonce, ListenerReach::Everywhere);
        sockets.push(opened.map_err(|e| io::Error::other(format!("listener ${name}: {e}")))?);
    }
    let namespaces = own(needed_user)?;
    let mut text = if needed_user { "user\n".to_owned() } else { String::new() };
    let mut all: Vec<_> = namespaces.user.iter().map(AsFd::as_fd).collect();
    all.extend([namespaces.net.as_fd(), namespaces.mnt.as_fd()]);
    for (socket, value) in &sockets {
        text += &format!("{value}\n");
        all.push(socket.as_fd());
    }
    // Never an empty message, which would be none.
    hand_over(HANDS, &format!("{text}\n"), &all)
}

/// The addresses of a file of names, each once.
fn addresses(file: &Path) -> io::Result<Vec<IpAddr>> {
    let text = std::fs::read_to_string(file)?;
    let mut found = Vec::new();
    for line in text.lines() {
        let address = line.split(' ').next().unwrap_or_default();
        let address: IpAddr = address.parse().map_err(io::Error::other)?;
        if !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}
