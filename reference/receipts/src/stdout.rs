//! Standard output of the verbs that answer questions: a reader that has closed it ends it quietly,
//! and other errors are reported by [`checked`].

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

/// The error of a failed write.
static FAULT: OnceLock<String> = OnceLock::new();
/// The exit code where an answer could not be written.
const UNWRITTEN: i32 = 1;

/// Prints one line.
pub(crate) fn line(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    remember(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Prints text as it is.
pub(crate) fn text(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    remember(write!(out, "{text}").and_then(|()| out.flush()));
}

/// Keeps why something could not be written, for [`checked`].
pub(crate) fn remember(written: io::Result<()>) {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = FAULT.set(error.to_string());
        }
        _ => {}
    }
}

/// Returns `code`, unless a write failed: that is reported, and is a failure.
pub(crate) fn checked(code: i32) -> i32 {
    match FAULT.get() {
        None => code,
        Some(fault) => {
            let _ = writeln!(io::stderr(), "refbox: standard output: {fault}");
            if code == 0 { UNWRITTEN } else { code }
        }
    }
}
