//! Texts that the kernel makes as they are read, such as those below `/proc`, whose size it does not
//! tell.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The room for most of them, so that one call reads the whole.
const ROOM: usize = 16 << 10;

/// Returns the text of the kernel's file at `path`.
///
/// # Errors
/// As of open(2) and read(2), and for what is no text.
pub(crate) fn kernel_text(path: impl AsRef<Path>) -> io::Result<String> {
    rest_of(&File::open(path)?)
}

/// As [`kernel_text`], from where `file` stands.
pub(crate) fn rest_of(file: &File) -> io::Result<String> {
    let mut text = String::with_capacity(ROOM);
    // The adapter hides the size, which is 0 here and makes the reader begin with small reads.
    file.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}
