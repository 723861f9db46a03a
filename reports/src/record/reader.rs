//! The reader of a run record, which refuses records that are incomplete or inconsistent
//! ([`read`]).

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::ledger::RecordLedger;
use super::line::{self, LineError};
use super::{CaseRow, FORMAT, Footer, Header, RecordError, Run};
use crate::verdict::Verdict;

/// Reads one run record, which may be compressed by gzip.
///
/// # Errors
/// When the input fails, or is not one whole, consistent record; see [`RecordError`].
pub fn read(mut input: impl BufRead) -> Result<Run, RecordError> {
    let start = input.fill_buf().map_err(|source| RecordError::Io { line: 1, source })?;
    if !start.starts_with(&GZIP) {
        return read_lines(input);
    }
    read_lines(BufReader::new(MultiGzDecoder::new(input).take(UNPACKED_LIMIT)))
}

/// Returns a record's bytes as they were written, before gzip, which a record may be compressed by.
///
/// # Errors
/// Compressed data that does not unpack.
pub fn unpacked(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&GZIP) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).take(UNPACKED_LIMIT).read_to_end(&mut plain)?;
    Ok(plain)
}

/// How compressed data begins; no line of a record does.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The most bytes that compressed ones become: what is cut there has no footer.
const UNPACKED_LIMIT: u64 = 1 << 30;

fn read_lines(input: impl BufRead) -> Result<Run, RecordError> {
    let mut lines = RecordLines { input, number: 0, bytes: Vec::new() };
    let mut hash = Sha256::new();
    let header = read_header(&mut lines)?;
    hash.update(&lines.bytes);
    let mut ledger = RecordLedger::open(&header).map_err(|fault| lines.inconsistent(fault))?;
    let mut rows = Vec::new();
    let footer = loop {
        if !lines.advance()? {
            return Err(RecordError::MissingFooter);
        }
        match lines.kind()?.as_str() {
            "case" => {
                let row: CaseRow = lines.parse()?;
                ledger.enter(&row).map_err(|fault| lines.inconsistent(fault))?;
                hash.update(&lines.bytes);
                rows.push(row);
            }
            "footer" => break lines.parse()?,
            "header" => return Err(RecordError::HeaderNotFirst { line: lines.number }),
            other => return Err(lines.unknown(other)),
        }
    };
    if lines.advance()? {
        return Err(RecordError::AfterFooter { line: lines.number });
    }
    // The footer is the line before the end.
    check_words(&footer, lines.number - 1)?;
    check_footer(&footer, &ledger.close(format!("{:x}", hash.finalize())))?;
    Ok(Run { header, rows, footer })
}

fn read_header(lines: &mut RecordLines<impl BufRead>) -> Result<Header, RecordError> {
    if !lines.advance()? {
        return Err(RecordError::Empty);
    }
    match lines.kind()?.as_str() {
        "header" => {}
        "case" | "footer" => return Err(find_late_header(lines)?),
        other => return Err(lines.unknown(other)),
    }
    let found = line::format_of(&lines.bytes).map_err(|error| lines.located(error))?;
    if found > FORMAT {
        return Err(RecordError::NewerFormat { found });
    }
    let header: Header = lines.parse()?;
    match header.selection.shard {
        Some(shard) if shard.index == 0 || shard.index > shard.of => {
            let message = format!("there is no part {} of {}", shard.index, shard.of);
            Err(RecordError::Field { line: lines.number, field: "selection.shard".into(), message })
        }
        _ => Ok(header),
    }
}

/// Tells a record whose header is misplaced from one that has none.
fn find_late_header(lines: &mut RecordLines<impl BufRead>) -> Result<RecordError, RecordError> {
    while lines.advance()? {
        if lines.kind()? == "header" {
            return Ok(RecordError::HeaderNotFirst { line: lines.number });
        }
    }
    Ok(RecordError::MissingHeader)
}

/// Verdicts that records of format 3 may be too old to count.
const LATER: [Verdict; 3] = [Verdict::Contradiction, Verdict::Gap, Verdict::ProbeBroken];

/// The counts must name every verdict and nothing else, so that 0 is a statement too.
fn check_words(footer: &Footer, line: usize) -> Result<(), RecordError> {
    let words = Footer::no_counts();
    let is_later = |word: &String| LATER.map(Verdict::keyword).contains(&word.as_str());
    let named = |word: &String| footer.counts.contains_key(word) || is_later(word);
    if words.keys().all(named) && footer.counts.keys().all(|word| words.contains_key(word)) {
        return Ok(());
    }
    let message = "must count each of the verdict words and nothing else".to_owned();
    Err(RecordError::Field { line, field: "counts".to_owned(), message })
}

fn check_footer(stated: &Footer, counted: &Footer) -> Result<(), RecordError> {
    let mismatch = |what: &str, stated, counted| {
        Err(RecordError::CountsMismatch { what: what.to_owned(), stated, counted })
    };
    for (word, seen) in &counted.counts {
        let said = stated.counts.get(word).copied().unwrap_or_default();
        if said != *seen {
            return mismatch(word, said, *seen);
        }
    }
    if stated.rows != counted.rows {
        return mismatch("rows", stated.rows, counted.rows);
    }
    if stated.checksum != counted.checksum {
        return Err(RecordError::ChecksumMismatch);
    }
    Ok(())
}

/// The most bytes of a line.
pub(super) const LINE_LIMIT: usize = 64 << 20;

/// The input, one line at a time.
struct RecordLines<R> {
    input: R,
    /// The current line's number, from 1.
    number: usize,
    /// The current line, newline included.
    bytes: Vec<u8>,
}

impl<R: BufRead> RecordLines<R> {
    fn advance(&mut self) -> Result<bool, RecordError> {
        self.number += 1;
        self.bytes.clear();
        let mut input = self.input.by_ref().take(LINE_LIMIT as u64 + 1);
        let read = input.read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|source| RecordError::Io { line: self.number, source })?;
        if read > LINE_LIMIT {
            return Err(RecordError::TooLong { line: self.number });
        }
        Ok(read > 0)
    }

    fn kind(&self) -> Result<String, RecordError> {
        line::type_of(&self.bytes).map_err(|error| self.located(error))
    }

    fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T, RecordError> {
        line::parse(&self.bytes).map_err(|error| self.located(error))
    }

    fn located(&self, error: LineError) -> RecordError {
        let line = self.number;
        match error {
            LineError::NotJson(message) => RecordError::NotJson { line, message },
            LineError::Field { field, message } => RecordError::Field { line, field, message },
        }
    }

    fn unknown(&self, found: &str) -> RecordError {
        RecordError::UnknownType { line: self.number, found: found.to_owned() }
    }

    fn inconsistent(&self, fault: super::LedgerFault) -> RecordError {
        RecordError::Inconsistent { line: self.number, fault }
    }
}
