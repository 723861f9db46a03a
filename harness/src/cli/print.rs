//! Standard output and standard error of every verb. Output that cannot be written is an error; a
//! reader that has gone away is none, and the exit code stays the verb's own.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use boxproof_reports::{ExitCode, printable};

use super::CliFailure;

/// Prints `page` unchanged: the output of a renderer, a record or a script.
pub(super) fn print(page: &str) -> Result<(), CliFailure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(page.as_bytes()).and_then(|()| out.flush());
    is_written(written)
}

/// Prints `text`, of which a backend or a case may have written parts.
pub(super) fn print_text(text: &str) -> Result<(), CliFailure> {
    print(&printable(text))
}

/// Checks that standard output has all of it, or that its reader is gone.
pub(super) fn is_written(written: io::Result<()>) -> Result<(), CliFailure> {
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliFailure {
            code: ExitCode::Unlearnt,
            message: format!("standard output: {error}"),
        }),
        _ => Ok(()),
    }
}

/// Tells `text` on standard error, of which a backend or a case may have written parts.
pub(super) fn note(text: impl Display) {
    // There is no other place to say that this place cannot be written to.
    let _ = writeln!(io::stderr(), "boxproof: {}", printable(&text.to_string()));
}
