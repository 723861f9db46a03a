//! The place of a file of ours ([`FileDestination`]): a name in a directory that is opened before
//! anything runs, so that a command which replaces the directory changes nothing for us.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{AccessFlags, UnlinkatFlags, faccessat, unlinkat};
use serde::Serialize;

/// Mode of a new file, less the umask.
const FILE_MODE: Mode = Mode::from_bits_truncate(0o666);

/// The destination of one file, which is written whole or not at all.
#[derive(Debug)]
pub(crate) struct FileDestination {
    directory: OwnedFd,
    name: OsString,
}

impl FileDestination {
    /// Opens the directory of `file`; an error where the file could not be written later.
    pub(crate) fn open(file: &Path) -> io::Result<Self> {
        let name = file.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let directory = open(&directory_of(file), flags, Mode::empty())?;
        match fstatat(&directory, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let kind = SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits());
                match kind {
                    SFlag::S_IFREG => {}
                    SFlag::S_IFDIR => return Err(io::ErrorKind::IsADirectory.into()),
                    // Writing puts a new file in its place, which must never be a device's.
                    _ => {
                        return Err(io::Error::other(
                            "it is no regular file; name one, or a new one",
                        ));
                    }
                }
            }
            Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        faccessat(&directory, ".", AccessFlags::W_OK | AccessFlags::X_OK, AtFlags::empty())?;
        Ok(Self { directory, name })
    }

    /// Removes the file that an earlier run left under this name, so that it is not taken for ours.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match unlinkat(&self.directory, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
            Err(Errno::ENOENT) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Writes `value` so that a reader sees the whole of it or nothing; on failure removes the file
    /// under the name, too.
    pub(crate) fn write(&self, value: &impl Serialize) -> io::Result<()> {
        let mut name = OsString::from(".");
        name.push(&self.name);
        name.push(format!(".{}.tmp", std::process::id()));
        let written = self.put(value, &name).and_then(|()| {
            Ok(renameat(&self.directory, name.as_os_str(), &self.directory, self.name.as_os_str())?)
        });
        written.inspect_err(|_| {
            let _gone = unlinkat(&self.directory, name.as_os_str(), UnlinkatFlags::NoRemoveDir);
            let _gone = self.clear();
        })
    }

    /// Creates an empty file for lines, and removes an earlier one.
    pub(crate) fn create(&self) -> io::Result<File> {
        self.clear()?;
        self.new_file(&self.name)
    }

    /// Never the whole text in memory: captured streams make it many times their size.
    fn put(&self, value: &impl Serialize, name: &OsStr) -> io::Result<()> {
        let _left_by_a_crash = unlinkat(&self.directory, name, UnlinkatFlags::NoRemoveDir);
        let mut file = io::BufWriter::new(self.new_file(name)?);
        serde_json::to_writer(&mut file, value)?;
        file.write_all(b"\n")?;
        file.flush()
    }

    fn new_file(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        Ok(openat(&self.directory, name, flags, FILE_MODE)?.into())
    }
}

/// The directory that `file` lies in.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn free_destination() -> (tempfile::TempDir, FileDestination) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("res")).unwrap();
        fs::create_dir(directory.path().join("out")).unwrap();
        fs::write(directory.path().join("out/r.json"), "mine").unwrap();
        let place = FileDestination::open(&directory.path().join("res/r.json")).unwrap();
        (directory, place)
    }

    #[test]
    fn a_directory_that_is_swapped_for_a_link_leads_nowhere() {
        let (directory, place) = free_destination();
        let at = |name: &str| directory.path().join(name);
        fs::rename(at("res"), at("res2")).unwrap();
        symlink("out", at("res")).unwrap();
        place.write(&7).unwrap();
        assert_eq!(fs::read_to_string(at("out/r.json")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(at("res2/r.json")).unwrap(), "7\n");
        assert_eq!(fs::read_dir(at("res2")).unwrap().count(), 1);
    }

    #[test]
    fn what_stands_there_is_replaced_and_never_followed() {
        let (directory, place) = free_destination();
        let at = |name: &str| directory.path().join(name);
        symlink("../out/r.json", at("res/r.json")).unwrap();
        place.write(&1).unwrap();
        fs::remove_file(at("res/r.json")).unwrap();
        fs::hard_link(at("out/r.json"), at("res/r.json")).unwrap();
        place.write(&2).unwrap();
        fs::write(at("res/r.json"), "forged").unwrap();
        fs::set_permissions(at("res/r.json"), fs::Permissions::from_mode(0o444)).unwrap();
        place.write(&3).unwrap();
        assert_eq!(fs::read_to_string(at("res/r.json")).unwrap(), "3\n");
        assert_eq!(fs::read_to_string(at("out/r.json")).unwrap(), "mine");
    }

    #[test]
    fn where_nothing_can_be_written_nothing_stays_to_be_read() {
        let (directory, place) = free_destination();
        let file = directory.path().join("res/r.json");
        fs::write(&file, "forged").unwrap();
        // A map with keys that are no text is no JSON.
        let unwritable = std::collections::HashMap::from([([1u8; 2], 1)]);
        assert!(place.write(&unwritable).is_err());
        assert!(!file.exists());
        fs::remove_dir_all(directory.path().join("res")).unwrap();
        assert!(place.write(&1).is_err());
    }

    #[test]
    fn only_files_in_directories_that_can_be_written_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&directory.path().join("fifo"), Mode::S_IRWXU).unwrap();
        for name in ["fifo", "none/r.json", ".", ".."] {
            assert!(FileDestination::open(&directory.path().join(name)).is_err(), "{name}");
        }
    }
}
