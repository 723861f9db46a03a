//! The errors of reading a record ([`RecordError`]) and of writing one ([`WriteError`]).

use std::io;

use thiserror::Error;

use super::reader::LINE_LIMIT;
use super::{FORMAT, ledger::LedgerFault};

/// The reason why a file is not a run record. Lines count from 1.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The input could not be read.
    #[error("line {line}: the record cannot be read: {source}")]
    Io {
        /// The number of the line.
        line: usize,
        /// The cause.
        source: io::Error,
    },
    /// A line is longer than any that is written.
    #[error("line {line}: more than {} MiB; the file is damaged or no run record", LINE_LIMIT >> 20)]
    TooLong {
        /// The number of the line.
        line: usize,
    },
    /// The file is empty.
    #[error("the record is empty; the run wrote nothing, run it again")]
    Empty,
    /// A line is not a JSON object.
    #[error("line {line}: not a JSON object ({message}); the file is damaged or no run record")]
    NotJson {
        /// The number of the line.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// A member is missing, unknown, repeated or of the wrong kind.
    #[error("line {line}: {}{message}", place(field))]
    Field {
        /// The number of the line.
        line: usize,
        /// Path of the member (`arms[0].exit`); `.` where the message names it.
        field: String,
        /// The problem with the member.
        message: String,
    },
    /// The member `type` names nothing known.
    #[error("line {line}: unknown type `{found}`; known are header, case and footer")]
    UnknownType {
        /// The number of the line.
        line: usize,
        /// The type that the line states.
        found: String,
    },
    /// The record was written by a newer boxproof.
    #[error("the record has format {found}, this boxproof reads up to {FORMAT}; update boxproof")]
    NewerFormat {
        /// The record's format version.
        found: u32,
    },
    /// The record has no header at all.
    #[error("the record has no header; its head was cut off")]
    MissingHeader,
    /// The record has a header, but not (only) on the first line.
    #[error("line {line}: a header that is not the first line; give each run a file of its own")]
    HeaderNotFirst {
        /// The number of the line.
        line: usize,
    },
    /// A line contradicts the lines before it.
    #[error("line {line}: {fault}")]
    Inconsistent {
        /// The number of the line.
        line: usize,
        /// The kind of contradiction.
        fault: LedgerFault,
    },
    /// The record goes on behind the footer.
    #[error("line {line}: the record goes on after its footer; give each run a file of its own")]
    AfterFooter {
        /// The number of the line.
        line: usize,
    },
    /// The record ends without a footer.
    #[error(
        "the record has no footer: the run was interrupted or the file cut short; run it again"
    )]
    MissingFooter,
    /// The footer's totals are not those of the rows.
    #[error("the footer says {stated} {what}, the record has {counted}; the file was altered")]
    CountsMismatch {
        /// The total: `rows`, or a verdict word.
        what: String,
        /// The number in the footer.
        stated: u64,
        /// The number of rows that are there.
        counted: u64,
    },
    /// The footer's checksum is not that of the lines before it.
    #[error("the footer's checksum does not match the lines before it; the file was altered")]
    ChecksumMismatch,
}

fn place(field: &str) -> String {
    if field == "." { String::new() } else { format!("field `{field}`: ") }
}

/// The reason why a record could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The output failed.
    #[error("the run record cannot be written: {0}; is the disk full?")]
    Io(#[from] io::Error),
    /// A line could not be put into JSON.
    #[error("the run record cannot be put into JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The header or a row contradicts what was written before it.
    #[error("the run record would be inconsistent: {0}")]
    Inconsistent(#[from] LedgerFault),
}
