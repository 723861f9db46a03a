//! Writes a run record line by line, as verdicts come in ([`RecordWriter`]).

use std::io::Write;

use sha2::{Digest, Sha256};

use super::ledger::RecordLedger;
use super::line::RecordLine;
use super::{CaseRow, FORMAT, Footer, Header, LedgerFault, WriteError};

/// A record being written. Dropped without [`finish`](Self::finish) it has no footer, and so
/// reads as what it is: cut short.
#[derive(Debug)]
pub struct RecordWriter<W: Write> {
    out: W,
    hash: Sha256,
    ledger: RecordLedger,
}

impl<W: Write> RecordWriter<W> {
    /// Starts a record with its header.
    ///
    /// # Errors
    /// When the output fails, or the header is inconsistent or of another format than this one's.
    pub fn new(out: W, header: &Header) -> Result<Self, WriteError> {
        if header.format != FORMAT {
            return Err(LedgerFault::Format(header.format).into());
        }
        let ledger = RecordLedger::open(header)?;
        let mut writer = Self { out, hash: Sha256::new(), ledger };
        writer.line(&RecordLine::Header(header))?;
        Ok(writer)
    }

    /// Adds one row.
    ///
    /// # Errors
    /// When the output fails or the row contradicts the record so far; then nothing is written.
    pub fn row(&mut self, row: &CaseRow) -> Result<(), WriteError> {
        self.ledger.enter(row)?;
        self.line(&RecordLine::Case(row))
    }

    /// Ends the record with its footer and flushes.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(self) -> Result<(Footer, W), WriteError> {
        self.end(None)
    }

    /// Ends the record of a run that `by` ended before its end, and flushes.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish_interrupted(self, by: &str) -> Result<(Footer, W), WriteError> {
        self.end(Some(by.to_owned()))
    }

    fn end(mut self, interrupted: Option<String>) -> Result<(Footer, W), WriteError> {
        let footer = self.ledger.close(format!("{:x}", self.hash.finalize()));
        let footer = Footer { interrupted, ..footer };
        self.out.write_all(&RecordLine::Footer(&footer).to_bytes()?)?;
        self.out.flush()?;
        Ok((footer, self.out))
    }

    fn line(&mut self, line: &RecordLine<'_>) -> Result<(), WriteError> {
        let bytes = line.to_bytes()?;
        self.hash.update(&bytes);
        self.out.write_all(&bytes)?;
        Ok(())
    }
}
