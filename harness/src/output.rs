//! Files that verbs write: each one is a new file that takes the place of the old one, made
//! relative to a descriptor of its directory. Main types: [`OutputTarget`] and [`OutputDirectory`].
//!
//! Root may be asked to write where another user can put links, pipes and directories in the way.
//! Its paths are therefore resolved a component at a time: a link counts only where root alone can
//! have made it, and what lies in a directory of another user is read and written by a process that
//! has become that user. Ordinary users have their own rights.

mod directory;
mod owner;
mod report;
mod resolve;
mod target;

pub(crate) use directory::OutputDirectory;
pub(crate) use report::ReportOutput;
pub(crate) use target::OutputTarget;

use std::io;
use std::path::Path;

/// The error `error` about `path`.
fn located(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
