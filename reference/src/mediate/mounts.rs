//! The place of a descriptor's object in its file system: [`MountTable`], read once, as the command
//! cannot mount.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::fstat;

use super::rules::DevicePath;
use crate::sys::{kernel_file, notify, socket_table::BoundObject};

/// One mount of our namespace.
#[derive(Debug, PartialEq, Eq)]
struct MountEntry {
    device: u64,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    /// The mount point.
    at: PathBuf,
}

/// The mounts of our namespace by their numbers.
#[derive(Debug, Default)]
pub(super) struct MountTable(HashMap<u64, MountEntry>);

impl MountTable {
    /// Reads the mounts of this process.
    pub(super) fn read() -> io::Result<Self> {
        Ok(Self::parse(&kernel_file::content("/proc/self/mountinfo")?))
    }

    fn parse(table: &[u8]) -> Self {
        Self(table.split(|byte| *byte == b'\n').filter_map(mount).collect())
    }

    /// Returns the place of `directory`; `None` if it is on no mount of this namespace, as an
    /// inherited one.
    pub(super) fn place(&self, directory: BorrowedFd<'_>) -> Option<DevicePath> {
        let mount = self.0.get(&notify::mount_of(directory).ok()?)?;
        mount.place(&path_of(directory).ok()?)
    }

    /// Returns the object that `file` leads to as the kernel's table of sockets names it; `None` if it
    /// is on no mount of this namespace.
    pub(super) fn object(&self, file: BorrowedFd<'_>) -> Option<BoundObject> {
        let device = self.0.get(&notify::mount_of(file).ok()?)?.device;
        let (major, minor) = ((device >> 32) as u32, device as u32);
        let shown = kernel_file::text(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
        let inode: u64 =
            shown.lines().find_map(|line| line.strip_prefix("ino:"))?.trim().parse().ok()?;
        Some(BoundObject { device: major << 20 | minor, inode: inode as u32 })
    }

    /// Returns the mounts below `path`: the relative path, and the mounted directory of which file
    /// system.
    pub(super) fn below(&self, path: &Path) -> impl Iterator<Item = (PathBuf, DevicePath)> {
        self.0.values().filter_map(move |mount| {
            let way = mount.at.strip_prefix(path).ok().filter(|way| *way != Path::new(""))?;
            Some((way.to_owned(), DevicePath { device: mount.device, path: mount.root.clone() }))
        })
    }
}

impl MountEntry {
    fn place(&self, path: &Path) -> Option<DevicePath> {
        let below = path.strip_prefix(&self.at).ok()?;
        let path =
            if below.as_os_str().is_empty() { self.root.clone() } else { self.root.join(below) };
        Some(DevicePath { device: self.device, path })
    }
}

/// Returns the kernel's path of `file`.
pub(super) fn path_of(file: BorrowedFd<'_>) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns the path that `file` has for those who are told of it: of a mask whose own file was removed
/// once it was mounted, that of the mount.
pub(super) fn shown_path_of(file: BorrowedFd<'_>) -> io::Result<PathBuf> {
    let path = path_of(file)?;
    let removed = fstat(file).is_ok_and(|found| found.st_nlink == 0);
    let text = bytes(&path).strip_suffix(b" (deleted)").filter(|_| removed);
    Ok(text.map_or_else(|| path.clone(), |text| PathBuf::from(OsStr::from_bytes(text))))
}

/// One line: number, parent, major:minor, root, place, and more.
fn mount(line: &[u8]) -> Option<(u64, MountEntry)> {
    let mut words = line.split(|byte| *byte == b' ');
    let number = number(words.next()?)?;
    let _parent = words.next()?;
    let mut device = words.next()?.split(|byte| *byte == b':');
    let device = self::number(device.next()?)? << 32 | self::number(device.next()?)?;
    let (root, at) = (unescaped(words.next()?), unescaped(words.next()?));
    Some((number, MountEntry { device, root, at }))
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// The kernel writes blanks and backslashes as a backslash and three octal digits.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let value =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match value {
            Some(value) => {
                bytes.push(value);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// A path as bytes.
pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        36 21 8:1 /home/me/a\\040b /w rw,relatime - ext4 /dev/sda1 rw\n\
        broken\n";

    #[test]
    fn two_mounts_of_one_directory_give_one_place() {
        let mounts = MountTable::parse(TABLE);
        assert_eq!(mounts.0.len(), 2);
        let place = |number, path: &str| mounts.0[&number].place(Path::new(path));
        let expected = DevicePath { device: 8 << 32 | 1, path: "/home/me/a b/.git".into() };
        assert_eq!(place(36, "/w/.git"), Some(expected.clone()));
        assert_eq!(place(21, "/home/me/a b/.git"), Some(expected));
        assert_eq!(place(36, "/elsewhere"), None);
        assert_eq!(place(36, "/w").unwrap().path, Path::new("/home/me/a b"));
    }
}
