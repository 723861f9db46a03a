//! A temp folder for one run, gone with it: [`Temp`].

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folder; dropped when nobody runs in it any more.
pub(crate) struct Temp(PathBuf);

impl Temp {
    /// A new one below the temp folder of this process.
    pub(super) fn make() -> io::Result<Self> {
        let base = fs::canonicalize(std::env::temp_dir())?;
        let template = base.join("refbox-XXXXXX");
        nix::unistd::mkdtemp(OsStr::from_bytes(template.as_os_str().as_bytes()))
            .map(Self)
            .map_err(io::Error::from)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.0).is_ok() {
            return;
        }
        // The command may have closed folders of its own.
        reopen(&self.0);
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("refbox: {} could not be removed: {error}", self.0.display());
        }
    }
}

/// Makes every folder below `folder` one that can be emptied; links are not followed.
fn reopen(folder: &Path) {
    let _stays_closed = fs::set_permissions(folder, Permissions::from_mode(0o700));
    let children = fs::read_dir(folder).into_iter().flatten().flatten();
    for child in children.filter(|child| child.file_type().is_ok_and(|kind| kind.is_dir())) {
        reopen(&child.path());
    }
}
