//! The calls that are looked at, by what they change: [`UnmediatedCall`].

use nix::errno::Errno;
use nix::fcntl::{OFlag, ResolveFlag};
use nix::sys::stat::SFlag;
use rustix::fs::RenameFlags;

use super::caller::CallingThread;
use super::calls::{
    FCHMODAT2, FILE_SETATTR, HERE, MediatedCall, PathArgument, REMOVEXATTRAT, SETXATTRAT,
};
use super::emulate::move_flags;
use crate::sys::notify::SeccompNotification;

/// A call that goes on by itself, by what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnmediatedCall {
    /// Cuts a file that is there.
    Cut(PathArgument),
    /// Opens a file.
    Open(ObservedOpening),
    /// Opens a file as the structure at this address, of this size, says.
    OpenBy(PathArgument, u64, u64),
    /// Makes a name of an object of this type.
    Make(PathArgument, SFlag),
    /// Removes a name: a directory's, or another's.
    Remove(PathArgument, bool),
    /// Makes a name of an object that has one; the flags are those of the call.
    Link(PathArgument, PathArgument, i32),
    /// Moves a name to another.
    Move(PathArgument, PathArgument, RenameFlags),
    /// Changes what a file system says of an object; the flags say which object.
    Metadata(PathArgument, i32, MetadataChange),
}

/// An opening, with its flags and those that restrict how its path is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObservedOpening {
    pub(super) at: PathArgument,
    pub(super) flags: OFlag,
    pub(super) resolve: ResolveFlag,
}

/// What is changed of an object besides its content, as far as it decides who may change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetadataChange {
    /// The mode.
    Mode,
    /// User and group, which -1 leaves.
    Owner(u32, u32),
    /// The times at this address, or the current one.
    Times(u64),
    /// What every owner may change.
    Other,
    /// The attribute whose name is at this address, with flags that say whether it may be there before.
    SetAttribute(u64, i32),
    /// The attribute whose name is at this address, which is removed.
    RemoveAttribute(u64),
}

/// The change of the target of a link, if the path is of one.
const FOLLOWED: i32 = 0;
const NOT_FOLLOWED: i32 = libc::AT_SYMLINK_NOFOLLOW;

impl UnmediatedCall {
    /// Decodes the call of `notice`; `None` if it changes nothing by a path, or if its arguments are wrong
    /// everywhere.
    pub(super) fn decode_notice(notice: &SeccompNotification) -> Option<Self> {
        let [a, b, c, d, e, _] = notice.args;
        let (at, here) = ((a as i32, b), (HERE, a));
        let by_flags = |flags: u64, change| {
            let known = libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH;
            (flags as i32 & !known == 0).then_some(Self::Metadata(at, flags as i32, change))
        };
        let (set, removed) = (MetadataChange::SetAttribute, MetadataChange::RemoveAttribute);
        // The flags of setxattrat lie in memory: it is taken to set an attribute, present or not.
        let any = 0;
        Some(match notice.number {
            libc::SYS_truncate if (b as i64) < 0 => return None,
            libc::SYS_truncate => Self::Cut(here),
            libc::SYS_openat2 => Self::OpenBy(at, c, d),
            libc::SYS_unlinkat if c as i32 & !libc::AT_REMOVEDIR != 0 => return None,
            libc::SYS_fchmodat => Self::Metadata(at, FOLLOWED, MetadataChange::Mode),
            FCHMODAT2 => return by_flags(d, MetadataChange::Mode),
            libc::SYS_utimensat => return by_flags(d, MetadataChange::Times(c)),
            libc::SYS_fchownat => {
                return by_flags(e, MetadataChange::Owner(c as u32, d as u32));
            }
            SETXATTRAT => return by_flags(c, set(d, any)),
            REMOVEXATTRAT => return by_flags(c, removed(d)),
            FILE_SETATTR => return by_flags(e, MetadataChange::Other),
            libc::SYS_setxattr => Self::Metadata(here, FOLLOWED, set(b, e as i32)),
            libc::SYS_lsetxattr => Self::Metadata(here, NOT_FOLLOWED, set(b, e as i32)),
            libc::SYS_removexattr => Self::Metadata(here, FOLLOWED, removed(b)),
            libc::SYS_lremovexattr => Self::Metadata(here, NOT_FOLLOWED, removed(b)),
            number => match Self::plain(number, notice.args) {
                Some(call) => call,
                None => return MediatedCall::decode_notice(notice).and_then(Self::of_call),
            },
        })
    }

    /// The older forms, which start at the working directory.
    #[cfg(target_arch = "x86_64")]
    fn plain(number: std::ffi::c_long, [a, b, c, ..]: [u64; 6]) -> Option<Self> {
        let here = (HERE, a);
        let owner = MetadataChange::Owner(b as u32, c as u32);
        Some(match number {
            libc::SYS_rmdir => Self::Remove(here, true),
            libc::SYS_chmod => Self::Metadata(here, FOLLOWED, MetadataChange::Mode),
            libc::SYS_chown => Self::Metadata(here, FOLLOWED, owner),
            libc::SYS_lchown => Self::Metadata(here, NOT_FOLLOWED, owner),
            libc::SYS_utime | libc::SYS_utimes => {
                Self::Metadata(here, FOLLOWED, MetadataChange::Other)
            }
            libc::SYS_futimesat => Self::Metadata((a as i32, b), FOLLOWED, MetadataChange::Other),
            _ => return None,
        })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn plain(_: std::ffi::c_long, _: [u64; 6]) -> Option<Self> {
        None
    }

    /// The change that a call which could be carried out here makes.
    fn of_call(call: MediatedCall) -> Option<Self> {
        Some(match call {
            MediatedCall::Open { at, flags, .. } => {
                let (flags, resolve) = (OFlag::from_bits_retain(flags), ResolveFlag::empty());
                Self::Open(ObservedOpening { at, flags, resolve })
            }
            MediatedCall::Mkdir { at, .. } => Self::Make(at, SFlag::S_IFDIR),
            MediatedCall::Mknod { at, mode, device } => Self::Make(at, node(mode, device)?),
            MediatedCall::Symlink { at, .. } => Self::Make(at, SFlag::S_IFLNK),
            MediatedCall::Link { from, to, flags } => {
                let known = libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH;
                (flags & !known == 0).then_some(Self::Link(from, to, flags))?
            }
            MediatedCall::Rename { from, to, flags } => {
                Self::Move(from, to, move_flags(flags).ok()?)
            }
            MediatedCall::Remove { at, flags } => Self::Remove(at, flags == libc::AT_REMOVEDIR),
            _ => return None,
        })
    }

    /// Reads from the memory of `caller` how it opens, where that is not in the arguments.
    pub(super) fn with_opening(self, caller: CallingThread<'_>) -> nix::Result<Self> {
        /// Bytes of the flags, the mode and the flags for resolving.
        const HOW: usize = 24;
        let Self::OpenBy(at, how, size) = self else { return Ok(self) };
        if size < HOW as u64 {
            return Err(Errno::EINVAL);
        }
        let bytes = caller.memory(how, HOW)?;
        let word = |index: usize| {
            bytes[8 * index..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
        };
        // Whether a look has to wait changes no answer.
        let resolve = ResolveFlag::from_bits_retain(word(2)) - ResolveFlag::from_bits_retain(0x20);
        Ok(Self::Open(ObservedOpening {
            at,
            flags: OFlag::from_bits_retain(word(0) as i32),
            resolve,
        }))
    }
}

/// Returns the type of what mknod makes: a device that stands for a removed file is as a plain file, which
/// every user may make. `None` for what it never makes.
fn node(mode: u32, device: u64) -> Option<SFlag> {
    match SFlag::from_bits_retain(mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFCHR if device == 0 => Some(SFlag::S_IFREG),
        form if form.is_empty() => Some(SFlag::S_IFREG),
        form @ (SFlag::S_IFREG
        | SFlag::S_IFIFO
        | SFlag::S_IFSOCK
        | SFlag::S_IFCHR
        | SFlag::S_IFBLK) => Some(form),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_long;

    use super::super::calls::{
        ALWAYS, OBSERVED, OPENING, OPENING_BY_MEMORY, REMOVING, REMOVING_DIRECTORIES, name,
    };
    use super::*;

    fn decoded(number: c_long, args: [u64; 6]) -> Option<UnmediatedCall> {
        let thread = nix::unistd::Pid::this();
        UnmediatedCall::decode_notice(&SeccompNotification { id: 1, thread, number, args })
    }

    #[test]
    fn every_call_that_is_looked_at_is_understood() {
        let lists = [ALWAYS, REMOVING, REMOVING_DIRECTORIES, OPENING_BY_MEMORY].concat();
        let others = OPENING.iter().map(|(number, _)| *number);
        for number in lists.into_iter().chain(others).chain(OBSERVED.iter().map(|(one, _)| *one)) {
            assert!(decoded(number, [0; 6]).is_some(), "{number}");
            assert!(!name(number).is_empty(), "{number}");
        }
    }

    #[test]
    fn what_is_wrong_everywhere_is_not_looked_at() {
        let wrong = u64::from(u32::MAX);
        for (number, args) in [
            (libc::SYS_truncate, [0, u64::MAX, 0, 0, 0, 0]),
            (libc::SYS_unlinkat, [0, 0, 1, 0, 0, 0]),
            (libc::SYS_linkat, [0, 0, 0, 0, 1, 0]),
            (libc::SYS_renameat2, [0, 0, 0, 0, 3, 0]),
            (libc::SYS_fchownat, [0, 0, 0, 0, wrong, 0]),
            (libc::SYS_mknodat, [0, 0, libc::S_IFDIR.into(), 0, 0, 0]),
            (SETXATTRAT, [0, 0, wrong, 0, 0, 0]),
        ] {
            assert_eq!(decoded(number, args), None, "{number}");
        }
    }
}
