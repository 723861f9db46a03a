//! A network of the harness's own: namespaces with addresses and names that lead to it, and how a
//! child gets into them.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use super::host::{in_child, write_at_once};

/// The file in which resolvers look first, and the one that makes them do so.
const HOSTS: &CStr = c"/etc/hosts";
const SWITCH: &CStr = c"/etc/nsswitch.conf";
/// The loopback interface, the only one there.
const LOOPBACK: &[u8] = b"lo";
/// The prefix length of a whole address in `struct in6_ifreq`.
const WHOLE: u32 = 128;
/// The number of tests whether an address can be used, a millisecond apart.
const LOOKS: u32 = 10_000;
/// Descriptors that are handed over at most: namespaces, and one a listener.
const HANDED: usize = 16;

/// Namespaces, held by descriptors.
#[derive(Debug)]
pub(crate) struct NetworkNamespaces {
    /// The namespaces of mounts and network.
    pub(crate) mnt: OwnedFd,
    pub(crate) net: OwnedFd,
    /// The user namespace, where that was needed to make the others.
    pub(crate) user: Option<OwnedFd>,
}

/// A network, ready to be built by a process that may not allocate.
pub(crate) struct PreparedNetwork {
    maps: [(&'static CStr, String); 3],
    files: Vec<(CString, &'static CStr)>,
    addresses: Vec<IpAddr>,
}

impl PreparedNetwork {
    /// Prepares a network with `addresses` on its loopback interface, and `hosts` and `switch` in
    /// the place of the host's files, where it has them.
    ///
    /// # Errors
    /// A path that is none.
    pub(crate) fn prepare_network(
        hosts: &Path,
        switch: &Path,
        addresses: Vec<IpAddr>,
    ) -> io::Result<Self> {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let mut files = vec![(CString::new(hosts.as_os_str().as_bytes())?, HOSTS)];
        if Path::new("/etc/nsswitch.conf").exists() {
            files.push((CString::new(switch.as_os_str().as_bytes())?, SWITCH));
        }
        Ok(Self {
            maps: [
                (c"/proc/self/setgroups", "deny".to_owned()),
                (c"/proc/self/uid_map", format!("{uid} {uid} 1")),
                (c"/proc/self/gid_map", format!("{gid} {gid} 1")),
            ],
            files,
            addresses,
        })
    }

    /// Checks that the network can be built here.
    pub(crate) fn attempt(&self) -> io::Result<()> {
        in_child(|| self.enter().map(drop))
    }

    /// Builds it around this process; returns whether that took a user namespace.
    pub(crate) fn enter(&self) -> Result<bool, Errno> {
        let others = libc::CLONE_NEWNS | libc::CLONE_NEWNET;
        // SAFETY: takes flags only.
        let user = Errno::result(unsafe { libc::unshare(others) }).is_err();
        if user {
            // SAFETY: as above.
            Errno::result(unsafe { libc::unshare(libc::CLONE_NEWUSER | others) })?;
            self.maps.iter().try_for_each(|(file, text)| write_at_once(file, text))?;
        }
        let (none, alone) = (std::ptr::null(), libc::MS_REC | libc::MS_SLAVE);
        // SAFETY: the path is a C string; the other pointers may be null for these flags.
        Errno::result(unsafe { libc::mount(none, c"/".as_ptr(), none, alone, none.cast()) })?;
        for (from, over) in &self.files {
            let (from, over) = (from.as_ptr(), over.as_ptr());
            // SAFETY: both paths are C strings; the others may be null for this flag.
            Errno::result(unsafe { libc::mount(from, over, none, libc::MS_BIND, none.cast()) })?;
        }
        raise()?;
        let more = self.addresses.iter().filter(|ip| !ip.is_loopback());
        (0..).zip(more).try_for_each(|(number, ip)| add(number, *ip))?;
        Ok(user)
    }
}

fn socket(family: libc::c_int) -> Result<RawFd, Errno> {
    // SAFETY: takes integers; the descriptor ends with this process or in `ask`.
    Errno::result(unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
}

/// Asks for something of an interface, by a socket of `family`.
fn interface_ioctl<T>(
    family: libc::c_int,
    what: libc::Ioctl,
    request: &mut T,
) -> Result<(), Errno> {
    let socket = socket(family)?;
    // SAFETY: the request is of the type that `what` takes, and outlives the call.
    let done = Errno::result(unsafe { libc::ioctl(socket, what, std::ptr::from_mut(request)) });
    // SAFETY: the descriptor is ours and not used again.
    unsafe { libc::close(socket) };
    done.map(drop)
}

fn named(name: &[u8]) -> libc::ifreq {
    // SAFETY: zeroes are a value of this structure of numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request
}

/// Switches loopback on, with its own addresses.
fn raise() -> Result<(), Errno> {
    let mut request = named(LOOPBACK);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    interface_ioctl(libc::AF_INET, libc::SIOCSIFFLAGS as libc::Ioctl, &mut request)
}

/// Gives loopback one more address, as its alias of this number where it is of IPv4.
fn add(number: u8, ip: IpAddr) -> Result<(), Errno> {
    match ip {
        IpAddr::V4(ip) => {
            let mut request = named(&[b'l', b'o', b':', b'A' + number]);
            for (what, octets) in
                [(libc::SIOCSIFADDR, ip.octets()), (libc::SIOCSIFNETMASK, [255; 4])]
            {
                request.ifr_ifru.ifru_addr = address(octets);
                interface_ioctl(libc::AF_INET, what as libc::Ioctl, &mut request)?;
            }
            Ok(())
        }
        IpAddr::V6(ip) => {
            // SAFETY: reads a C string.
            let index = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
            let mut request = libc::in6_ifreq {
                ifr6_addr: libc::in6_addr { s6_addr: ip.octets() },
                ifr6_prefixlen: WHOLE,
                ifr6_ifindex: index.cast_signed(),
            };
            interface_ioctl(libc::AF_INET6, libc::SIOCSIFADDR as libc::Ioctl, &mut request)?;
            settled(ip)
        }
    }
}

/// Returns once `ip` can be used: the kernel takes an address of IPv6 for tentative until one of
/// its own workers has looked at it.
fn settled(ip: Ipv6Addr) -> Result<(), Errno> {
    // SAFETY: zeroes are a value of this structure of numbers.
    let mut address: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
    address.sin6_family = libc::AF_INET6 as libc::sa_family_t;
    address.sin6_addr.s6_addr = ip.octets();
    let (size, pause) = (size_of_val(&address), libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 });
    let socket = socket(libc::AF_INET6)?;
    let mut bound = Err(Errno::EADDRNOTAVAIL);
    for _ in 0..LOOKS {
        // SAFETY: the address is as long as it says, and outlives the call.
        let done =
            unsafe { libc::bind(socket, (&raw const address).cast(), size as libc::socklen_t) };
        bound = Errno::result(done).map(drop);
        if bound != Err(Errno::EADDRNOTAVAIL) {
            break;
        }
        // SAFETY: the time outlives the call; the remaining time is not asked for.
        unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
    }
    // SAFETY: the descriptor is ours and not used again.
    unsafe { libc::close(socket) };
    bound
}

fn address(octets: [u8; 4]) -> libc::sockaddr {
    // SAFETY: zeroes are a value of this structure of numbers.
    let mut address: libc::sockaddr = unsafe { std::mem::zeroed() };
    address.sa_family = libc::AF_INET as libc::sa_family_t;
    // Behind the port, as `struct sockaddr_in` has it.
    for (to, from) in address.sa_data[2..6].iter_mut().zip(octets) {
        *to = from as libc::c_char;
    }
    address
}

/// Makes `command` start in `namespaces`, in `directory`; it fails to start where that is impossible.
pub(crate) fn join(
    command: &mut Command,
    namespaces: &NetworkNamespaces,
    directory: &Path,
) -> io::Result<()> {
    let directory = CString::new(directory.as_os_str().as_bytes())?;
    let all = namespaces.user.iter().chain([&namespaces.net, &namespaces.mnt]);
    let all: Vec<OwnedFd> = all.map(OwnedFd::try_clone).collect::<io::Result<_>>()?;
    // SAFETY: the closure only makes system calls on what was prepared before the fork.
    unsafe {
        command.pre_exec(move || {
            for namespace in &all {
                Errno::result(libc::setns(namespace.as_raw_fd(), 0))?;
            }
            // Another mount namespace begins at its root.
            Errno::result(libc::chdir(directory.as_ptr()))?;
            Ok(())
        });
    }
    Ok(())
}

/// The namespaces that this process is in, that of users only if it is `user`.
pub(crate) fn own(user: bool) -> io::Result<NetworkNamespaces> {
    let open = |kind: &str| File::open(format!("/proc/self/ns/{kind}")).map(OwnedFd::from);
    let user = user.then(|| open("user")).transpose()?;
    Ok(NetworkNamespaces { mnt: open("mnt")?, net: open("net")?, user })
}

/// Sends descriptors to the reader of `to`, with a text about them.
pub(crate) fn hand_over(to: RawFd, text: &str, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&numbers)];
    sendmsg::<()>(to, &[IoSlice::new(text.as_bytes())], &rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// Takes what [`hand_over`] sent.
pub(crate) fn take_over(from: &OwnedFd) -> io::Result<(String, Vec<OwnedFd>)> {
    let mut text = [0; 4096];
    let mut space = cmsg_space!([RawFd; HANDED]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let (read, descriptors) = {
        let mut buffers = [IoSliceMut::new(&mut text)];
        let message = recvmsg::<()>(from.as_raw_fd(), &mut buffers, Some(&mut space), flags)?;
        let sent = message.cmsgs()?.filter_map(|part| match part {
            ControlMessageOwned::ScmRights(numbers) => Some(numbers),
            _ => None,
        });
        // SAFETY: the kernel just made these descriptors for us.
        let own = sent.flatten().map(|number| unsafe { OwnedFd::from_raw_fd(number) });
        (message.bytes, own.collect())
    };
    Ok((String::from_utf8_lossy(&text[..read]).into_owned(), descriptors))
}
