//! The error of a declined or failed run: [`Refusal`], the protocol's error before it is written
//! down.

use std::path::Path;

use boxproof_cases::protocol::{ErrorKind, RunError, WirePath};

/// A reason not to run, or not to go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    /// The kind of the error.
    pub(crate) kind: ErrorKind,
    /// One sentence that names the fault and the remedy.
    pub(crate) message: String,
    /// Line in the request (from 1), if the request is at fault.
    pub(crate) line: Option<u64>,
    /// This host only lacks a `/proc` of the sandbox's own.
    pub(crate) lacks_proc: bool,
}

impl Refusal {
    /// A refusal of `kind`.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: clipped(&message.into()), line: None, lacks_proc: false }
    }

    /// This host refuses a `/proc` of the sandbox's own.
    pub(crate) fn no_proc(message: impl Into<String>) -> Self {
        Self { lacks_proc: true, ..Self::new(ErrorKind::Unavailable, message) }
    }

    /// The request is not well-formed.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Refuses a policy that cannot be enforced here.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// The sandbox could not be set up.
    pub(crate) fn setup(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Setup, message)
    }

    /// Reports that a system call of ours failed during `what`.
    pub(crate) fn os(what: &str, error: impl std::fmt::Display) -> Self {
        Self::setup(format!("{what}: {error}"))
    }

    /// Returns the error for the result file; `request` is named where it is at fault.
    pub(crate) fn to_wire(&self, request: &Path) -> RunError {
        let at_fault = self.kind == ErrorKind::InvalidRequest || self.line.is_some();
        RunError {
            kind: self.kind,
            message: self.message.clone(),
            file: at_fault.then(|| WirePath::from(request)),
            line: self.line,
        }
    }
}

/// Returns `message` with its middle left out where it repeats a value of many lines.
pub(crate) fn clipped(message: &str) -> String {
    const START: usize = 1500;
    const END: usize = 500;
    let length = message.chars().count();
    if length <= START + END {
        return message.to_owned();
    }
    let start: String = message.chars().take(START).collect();
    let end: String = message.chars().skip(length - END).collect();
    format!("{start} … {end}")
}

/// Returns the text of a file; the error is the line and the column, from 1, that are no UTF-8.
pub(crate) fn utf8_text(bytes: Vec<u8>) -> Result<String, (u64, u64)> {
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let before = String::from_utf8_lossy(before);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() as u64 + 1, line.chars().count() as u64 + 1)
    })
}

/// Returns the message for a command that could not be executed.
pub(crate) fn unspawnable(program: &str, error: &dyn std::fmt::Display) -> String {
    format!("failed to spawn `{program}`: {error}")
}
