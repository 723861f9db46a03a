//! Family `fs`: files, folders and their metadata. Paths are used exactly as given.

mod content;
mod meta;
mod names;
mod open;

pub(crate) use content::{append, create, read, truncate, write};
pub(crate) use meta::{ACCESS_WORDS, access, chmod, chown, getxattr, setxattr, stat, utimes};
pub(crate) use names::{
    RENAME_WORDS, link, mkdir, mknod_fifo, readdir, readlink, rename, rmdir, symlink, unlink,
};
pub(crate) use open::{OPEN_WORDS, open};
#[cfg(target_os = "linux")]
pub(crate) use {content::read_file, names::entries};
