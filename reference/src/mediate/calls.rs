//! The calls that make or move names or reach sockets: their numbers, and their arguments.

use std::ffi::c_long;
use std::os::fd::RawFd;

use super::broker::HeldNames;
use crate::sys::notify::SeccompNotification;

/// A path in the caller's memory, and the descriptor that it starts at.
pub(super) type PathArgument = (RawFd, u64);

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MediatedCall {
    /// Opens, and creates a missing file.
    Open { at: PathArgument, flags: i32, mode: u32 },
    /// Makes a directory.
    Mkdir { at: PathArgument, mode: u32 },
    /// Makes a file, FIFO, socket or device.
    Mknod { at: PathArgument, mode: u32, device: u64 },
    /// Makes a symbolic link with the text at `target`.
    Symlink { target: u64, at: PathArgument },
    /// Makes another name.
    Link { from: PathArgument, to: PathArgument, flags: i32 },
    /// Moves a name, or exchanges two.
    Rename { from: PathArgument, to: PathArgument, flags: u32 },
    /// Removes a name, a directory's only with the flag for that.
    Remove { at: PathArgument, flags: i32 },
    /// Binds a socket, which makes a name where its address is a path.
    Bind { socket: RawFd, address: u64, length: u64 },
    /// Connects a socket.
    Connect { socket: RawFd, address: u64, length: u64 },
    /// Sends one message of `size` bytes.
    SendTo { socket: RawFd, data: u64, size: u64, flags: i32, address: u64, length: u64 },
    /// Sends messages with their headers at `headers`: one, or a counted number.
    Send { socket: RawFd, headers: u64, count: Option<u32>, flags: i32 },
    /// Makes a process that shares its descriptors with its parent.
    ShareDescriptors { flags: u32 },
}

/// The working directory.
pub(super) const HERE: RawFd = libc::AT_FDCWD;

/// Calls that always come to us; the opening ones come only if they may make something.
pub(super) const ALWAYS: &[c_long] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_renameat,
    libc::SYS_renameat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
];

/// The call that makes a name, and that makes a socket one of the sandbox's own.
pub(super) const BINDING: &[c_long] = &[libc::SYS_bind];

/// Calls that can have an address, which lies in memory.
pub(super) const REACHING: &[c_long] = &[libc::SYS_connect, libc::SYS_sendmsg, libc::SYS_sendmmsg];

/// Calls that are mediated where an existing object must not be removed.
pub(super) const REMOVING: &[c_long] = &[
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

/// Calls that remove a directory, besides those that say so by a flag.
pub(super) const REMOVING_DIRECTORIES: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
];

/// Calls that come to us if they may make something, and which argument says so.
pub(super) const OPENING: &[(c_long, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

/// Calls that are only looked at, and that ordinary work makes seldom.
pub(super) const OBSERVED: &[(c_long, &str)] = &[
    (libc::SYS_truncate, "truncate"),
    (libc::SYS_fchmodat, "fchmodat"),
    (FCHMODAT2, "fchmodat2"),
    (libc::SYS_fchownat, "fchownat"),
    (libc::SYS_setxattr, "setxattr"),
    (libc::SYS_lsetxattr, "lsetxattr"),
    (libc::SYS_removexattr, "removexattr"),
    (libc::SYS_lremovexattr, "lremovexattr"),
    (SETXATTRAT, "setxattrat"),
    (REMOVEXATTRAT, "removexattrat"),
    (FILE_SETATTR, "file_setattr"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, "chmod"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chown, "chown"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lchown, "lchown"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_utime, "utime"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_utimes, "utimes"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_futimesat, "futimesat"),
];
/// `fchmodat2` (Linux 6.6), of one number everywhere.
pub(super) const FCHMODAT2: c_long = 452;
/// `setxattrat` and `removexattrat` (Linux 6.13).
pub(super) const SETXATTRAT: c_long = 463;
pub(super) const REMOVEXATTRAT: c_long = 466;
/// `file_setattr` (Linux 6.17).
pub(super) const FILE_SETATTR: c_long = 469;

/// The call that is looked at where all are, and seems to be missing where names are held: its flags lie in
/// memory.
pub(super) const OPENING_BY_MEMORY: &[c_long] = &[libc::SYS_openat2];

/// The names of all the calls that are carried out here, and of those that are looked at besides.
const NAMES: &[(c_long, &str)] = &[
    (libc::SYS_openat, "openat"),
    (libc::SYS_openat2, "openat2"),
    (libc::SYS_mkdirat, "mkdirat"),
    (libc::SYS_mknodat, "mknodat"),
    (libc::SYS_symlinkat, "symlinkat"),
    (libc::SYS_linkat, "linkat"),
    #[cfg(not(target_arch = "riscv64"))]
    (libc::SYS_renameat, "renameat"),
    (libc::SYS_renameat2, "renameat2"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_bind, "bind"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_sendmmsg, "sendmmsg"),
    (libc::SYS_clone, "clone"),
    (libc::SYS_utimensat, "utimensat"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "rmdir"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, "open"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, "creat"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, "mknod"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, "symlink"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, "link"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink"),
];

/// Returns the name of the call `number`.
pub(super) fn name(number: c_long) -> &'static str {
    NAMES.iter().chain(OBSERVED).find(|(one, _)| *one == number).map_or("", |(_, name)| name)
}

impl MediatedCall {
    /// Returns whether it makes a name without opening it.
    pub(super) fn makes_name(self) -> bool {
        let is_made =
            matches!(self, Self::Mkdir { .. } | Self::Mknod { .. } | Self::Symlink { .. });
        is_made || matches!(self, Self::Link { .. } | Self::Rename { .. })
    }

    /// Returns whether it is carried out here, where `holds` says which calls on names are.
    pub(super) fn is_held(&self, holds: HeldNames) -> bool {
        match self {
            Self::Open { flags, .. } => holds != HeldNames::Nothing && flags & libc::O_CREAT != 0,
            Self::Mkdir { .. }
            | Self::Mknod { .. }
            | Self::Symlink { .. }
            | Self::Link { .. }
            | Self::Rename { .. } => holds != HeldNames::Nothing,
            Self::Remove { .. } => holds == HeldNames::MadeAndRemoved,
            Self::Bind { .. }
            | Self::Connect { .. }
            | Self::SendTo { .. }
            | Self::Send { .. }
            | Self::ShareDescriptors { .. } => true,
        }
    }

    /// Decodes the call of `notice`; `None` if it is not mediated.
    pub(super) fn decode_notice(notice: &SeccompNotification) -> Option<Self> {
        // The kernel reads descriptors, flags and modes as 32 bits.
        let [a, b, c, d, e, _] = notice.args;
        let at = |fd: u64, path| (fd as RawFd, path);
        Some(match notice.number {
            libc::SYS_openat => Self::Open { at: at(a, b), flags: c as i32, mode: d as u32 },
            libc::SYS_mkdirat => Self::Mkdir { at: at(a, b), mode: c as u32 },
            libc::SYS_mknodat => Self::Mknod { at: at(a, b), mode: c as u32, device: d },
            libc::SYS_symlinkat => Self::Symlink { target: a, at: at(b, c) },
            libc::SYS_linkat => Self::Link { from: at(a, b), to: at(c, d), flags: e as i32 },
            #[cfg(not(target_arch = "riscv64"))]
            libc::SYS_renameat => Self::Rename { from: at(a, b), to: at(c, d), flags: 0 },
            libc::SYS_renameat2 => Self::Rename { from: at(a, b), to: at(c, d), flags: e as u32 },
            libc::SYS_unlinkat => Self::Remove { at: at(a, b), flags: c as i32 },
            libc::SYS_bind => Self::Bind { socket: a as RawFd, address: b, length: c },
            libc::SYS_clone => Self::ShareDescriptors { flags: a as u32 },
            number => match Self::reaching(number, notice.args) {
                Some(call) => call,
                None => return Self::plain(number, notice.args),
            },
        })
    }

    /// The calls that can have an address.
    fn reaching(number: c_long, [a, b, c, d, e, f]: [u64; 6]) -> Option<Self> {
        let socket = a as RawFd;
        Some(match number {
            libc::SYS_connect => Self::Connect { socket, address: b, length: c },
            libc::SYS_sendto => {
                Self::SendTo { socket, data: b, size: c, flags: d as i32, address: e, length: f }
            }
            libc::SYS_sendmsg => Self::Send { socket, headers: b, count: None, flags: c as i32 },
            libc::SYS_sendmmsg => {
                Self::Send { socket, headers: b, count: Some(c as u32), flags: d as i32 }
            }
            _ => return None,
        })
    }

    /// The older forms, which start at the working directory.
    #[cfg(target_arch = "x86_64")]
    fn plain(number: c_long, [a, b, c, ..]: [u64; 6]) -> Option<Self> {
        /// The flags that creat implies.
        const CREATE: i32 = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
        let at = (HERE, a);
        Some(match number {
            libc::SYS_open => Self::Open { at, flags: b as i32, mode: c as u32 },
            libc::SYS_creat => Self::Open { at, flags: CREATE, mode: b as u32 },
            libc::SYS_mkdir => Self::Mkdir { at, mode: b as u32 },
            libc::SYS_mknod => Self::Mknod { at, mode: b as u32, device: c },
            libc::SYS_symlink => Self::Symlink { target: a, at: (HERE, b) },
            libc::SYS_link => Self::Link { from: at, to: (HERE, b), flags: 0 },
            libc::SYS_rename => Self::Rename { from: at, to: (HERE, b), flags: 0 },
            libc::SYS_unlink => Self::Remove { at, flags: 0 },
            _ => return None,
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn plain(_: c_long, _: [u64; 6]) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_that_comes_is_understood() {
        let others = [libc::SYS_sendto, libc::SYS_clone];
        let numbers = ALWAYS.iter().chain(REMOVING).chain(BINDING).chain(REACHING).chain(&others);
        let numbers = numbers.chain(OPENING.iter().map(|(number, _)| number));
        for number in numbers {
            let thread = nix::unistd::Pid::this();
            let notice = SeccompNotification { id: 1, thread, number: *number, args: [7; 6] };
            assert!(MediatedCall::decode_notice(&notice).is_some(), "{number}");
            assert!(!name(*number).is_empty(), "{number}");
        }
    }
}
