//! Family `fs`: files, directories and their metadata. Paths are used exactly as given.

mod content;
#[cfg(target_os = "linux")]
mod linux;
mod meta;
mod names;
mod open;
mod other_calls;
mod swapped;

pub(crate) use content::{append, create, read, truncate, write};
pub(crate) use meta::{ACCESS_WORDS, access, chmod, chown, getxattr, setxattr, stat, utimes};
pub(crate) use names::{
    RENAME_WORDS, link, mkdir, mknod_fifo, readdir, readlink, rename, rmdir, symlink, unlink,
};
pub(crate) use open::{OPEN_WORDS, open};
pub(crate) use other_calls::{mmap_read, mmap_write, read_at};
pub(crate) use swapped::open_swapped;
#[cfg(target_os = "linux")]
pub(crate) use {
    content::read_file,
    linux::{
        copy_file_range, open_by_handle, open_resolve, sendfile_read, splice_read, tmpfile_link,
    },
    names::{entries, mknod_device},
};
