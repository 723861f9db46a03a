//! Files that the kernel makes as they are read, such as those below `/proc`, whose size it does not
//! tell.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The room for most of them, so that one call reads the whole.
const ROOM: usize = 16 << 10;

/// Returns the content of the kernel's file at `path`.
///
/// # Errors
/// As of open(2) and read(2).
pub(crate) fn content(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(ROOM);
    // The adapter hides the size, which is 0 here and makes the reader begin with small reads.
    File::open(path)?.take(u64::MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Returns the text of the kernel's file at `path`.
///
/// # Errors
/// As of [`content`], and for what is no text.
pub(crate) fn text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(content(path)?).map_err(io::Error::other)
}
