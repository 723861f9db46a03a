//! The checks of the kernel in shared sticky directories, such as `/tmp`, which it skips when an
//! object is opened by a descriptor.

use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::sys::stat::{FileStat, SFlag, fstat};
use nix::unistd::geteuid;

use super::walk::kind;
use crate::sys::kernel_file;

/// The kernel's settings, `fs.protected_…`.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct StickyProtection {
    symlinks: u32,
    regular: u32,
    fifos: u32,
}

impl StickyProtection {
    /// Reads the current settings; one that cannot be read counts as the strictest.
    pub(super) fn read() -> Self {
        let value = |name: &str| {
            let text = kernel_file::text(format!("/proc/sys/fs/protected_{name}"));
            text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(2)
        };
        Self { symlinks: value("symlinks"), regular: value("regular"), fifos: value("fifos") }
    }

    /// Checks that an open which may create can use `object`, an entry of `directory`; EACCES if not.
    pub(super) fn vet(self, directory: &OwnedFd, object: &OwnedFd) -> nix::Result<()> {
        self.judge(&fstat(directory)?, &fstat(object)?, geteuid().as_raw())
    }

    fn judge(self, directory: &FileStat, object: &FileStat, user: u32) -> nix::Result<()> {
        let level = match kind(object) {
            SFlag::S_IFLNK => self.symlinks,
            SFlag::S_IFREG => self.regular,
            SFlag::S_IFIFO => self.fifos,
            _ => 0,
        };
        let sticky = directory.st_mode & libc::S_ISVTX != 0;
        let everybody = directory.st_mode & libc::S_IWOTH != 0;
        let group = directory.st_mode & libc::S_IWGRP != 0;
        let shared = match (kind(object), level) {
            (_, 0) => false,
            (SFlag::S_IFLNK, _) | (_, 1) => everybody,
            _ => everybody || group,
        };
        let foreign = object.st_uid != user && object.st_uid != directory.st_uid;
        if sticky && shared && foreign && !fault!("mediate.sticky") {
            Err(Errno::EACCES)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Returns the stat of an existing file, with this mode and owner.
    fn stat(mode: u32, owner: u32) -> FileStat {
        let mut found = nix::sys::stat::stat("/").unwrap();
        (found.st_mode, found.st_uid) = (mode, owner);
        found
    }

    const ON: StickyProtection = StickyProtection { symlinks: 1, regular: 1, fifos: 1 };
    const STRICT: StickyProtection = StickyProtection { symlinks: 1, regular: 2, fifos: 2 };
    const OFF: StickyProtection = StickyProtection { symlinks: 0, regular: 0, fifos: 0 };

    #[rstest]
    #[case::link(ON, 0o1777, libc::S_IFLNK, 7, false)]
    #[case::file(ON, 0o1777, libc::S_IFREG, 7, false)]
    #[case::fifo(ON, 0o1777, libc::S_IFIFO, 7, false)]
    #[case::device(ON, 0o1777, libc::S_IFCHR, 7, true)]
    #[case::own(ON, 0o1777, libc::S_IFREG, 5, true)]
    #[case::of_the_directories_owner(ON, 0o1777, libc::S_IFLNK, 0, true)]
    #[case::not_sticky(ON, 0o777, libc::S_IFREG, 7, true)]
    #[case::not_shared(ON, 0o1755, libc::S_IFREG, 7, true)]
    #[case::group(ON, 0o1775, libc::S_IFREG, 7, true)]
    #[case::group_strictly(STRICT, 0o1775, libc::S_IFREG, 7, false)]
    #[case::group_link(STRICT, 0o1775, libc::S_IFLNK, 7, true)]
    #[case::off(OFF, 0o1777, libc::S_IFLNK, 7, true)]
    fn shared_sticky_directories_are_as_in_the_kernel(
        #[case] settings: StickyProtection,
        #[case] directory: u32,
        #[case] object: u32,
        #[case] owner: u32,
        #[case] passes: bool,
    ) {
        let judged = settings.judge(&stat(directory | libc::S_IFDIR, 0), &stat(object, owner), 5);
        assert_eq!(judged.is_ok(), passes);
    }
}
