//! A directory that belongs to one user alone: [`PrivateDirectory`]. Its entries are reached by its
//! descriptor, so that no other directory can take its place meanwhile.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::geteuid;

/// The mode bits that admit other users than the owner.
const OTHERS: u32 = 0o077;
/// The mode bits that let other users than the owner add entries.
const OTHERS_WRITE: u32 = 0o022;
/// The sticky bit: only an entry's owner may remove it.
const STICKY: u32 = 0o1000;

/// A private directory, open.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
    handle: File,
}

impl PrivateDirectory {
    /// Opens the directory `names` below `base`, one in the other, and makes the missing ones. Only
    /// this user can write to `base`, or it is sticky; the directories below belong to this user
    /// alone.
    pub(crate) fn below(base: &Path, names: &[&str]) -> io::Result<Self> {
        // The base may be a symbolic link, as `/tmp` is on macOS.
        let path = base.canonicalize().map_err(|error| at(base, &error.to_string()))?;
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let handle = File::options().read(true).custom_flags(flags.bits()).open(&path)?;
        let found = handle.metadata()?;
        let shared = found.mode() & OTHERS_WRITE != 0 || !trusted(found.uid());
        if shared && found.mode() & STICKY == 0 {
            return Err(at(
                &path,
                "others can replace what is in it; name another by XDG_RUNTIME_DIR",
            ));
        }
        names.iter().try_fold(Self { path, handle }, |directory, name| directory.enter(name))
    }

    /// The private directory `name` in this one.
    fn enter(&self, name: &str) -> io::Result<Self> {
        let path = self.path.join(name);
        match mkdirat(&self.handle, name, Mode::S_IRWXU) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(at(&path, errno.desc())),
        }
        let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let handle = match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(Errno::ELOOP | Errno::ENOTDIR) => {
                return Err(at(&path, "it is no directory, or a link to one; remove it"));
            }
            Err(errno) => return Err(at(&path, errno.desc())),
        };
        let found = handle.metadata()?;
        if found.uid() != geteuid().as_raw() {
            return Err(at(&path, &format!("it belongs to uid {}; remove it", found.uid())));
        }
        if found.mode() & OTHERS != 0 {
            let mode = found.mode() & 0o7777;
            return Err(at(
                &path,
                &format!("its mode is {mode:04o}, which lets others in; run chmod 700"),
            ));
        }
        Ok(Self { path, handle })
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory itself.
    pub(super) fn handle(&self) -> impl AsFd + '_ {
        &self.handle
    }
}

/// Returns whether `uid` is root or this user, whose directories no other user can have prepared.
fn trusted(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

fn at(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn base() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn refused(base: &Path) -> String {
        PrivateDirectory::below(base, &["refbox"]).unwrap_err().to_string()
    }

    #[test]
    fn it_is_made_for_its_owner_alone_and_found_again() {
        let base = base();
        let path = PrivateDirectory::below(base.path(), &["a", "b"]).unwrap().path().to_owned();
        assert_eq!(path, base.path().canonicalize().unwrap().join("a/b"));
        for made in [path.parent().unwrap(), &path] {
            assert_eq!(fs::metadata(made).unwrap().mode() & 0o7777, 0o700);
        }
        PrivateDirectory::below(base.path(), &["a", "b"]).unwrap();
    }

    #[test]
    fn a_link_is_no_directory() {
        let base = base();
        let elsewhere = base.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::set_permissions(&elsewhere, Permissions::from_mode(0o700)).unwrap();
        symlink(&elsewhere, base.path().join("refbox")).unwrap();
        assert!(refused(base.path()).contains("a link to one"), "{}", refused(base.path()));
        fs::remove_file(base.path().join("refbox")).unwrap();
        fs::write(base.path().join("refbox"), "").unwrap();
        assert!(refused(base.path()).contains("it is no directory"));
    }

    #[rstest]
    #[case(0o750)]
    #[case(0o701)]
    #[case(0o777)]
    fn a_directory_that_lets_others_in_is_refused(#[case] mode: u32) {
        let base = base();
        let inner = base.path().join("refbox");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(mode)).unwrap();
        assert!(refused(base.path()).contains(&format!("its mode is {mode:04o}")));
    }

    #[test]
    fn a_base_that_others_write_must_keep_what_is_in_it() {
        let base = base();
        fs::set_permissions(base.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(refused(base.path()).contains("others can replace"));
        fs::set_permissions(base.path(), Permissions::from_mode(0o1777)).unwrap();
        PrivateDirectory::below(base.path(), &["refbox"]).unwrap();
    }

    /// Runs as root only, as only root can change an owner.
    #[test]
    fn a_directory_of_another_user_is_refused() {
        let base = base();
        let inner = base.path().join("refbox");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o700)).unwrap();
        match geteuid().is_root() {
            true => {
                chown(&inner, Some(1), None).unwrap();
                assert!(refused(base.path()).contains("it belongs to uid 1;"));
            }
            false => assert!(PrivateDirectory::below(Path::new("/"), &["root"]).is_err()),
        }
    }
}
