//! Writing a timing record ([`write`]) and reading it back ([`read`]): records that are cut short
//! or changed are refused.

use std::io::BufRead;

use boxproof_cases::schema::address;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{TimingFooter, TimingHeader, TimingMeasurement, TimingRecord};

/// One line of a timing record.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum TimingLine {
    /// The first line.
    Header(TimingHeader),
    /// One measurement.
    Measurement(TimingMeasurement),
    /// The last line.
    Footer(TimingFooter),
}

/// The reason why a timing record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    /// The input failed.
    #[error("line {line}: {source}")]
    Io {
        /// The line's number, from 1.
        line: usize,
        /// The fault.
        source: std::io::Error,
    },
    /// A line that is none of a timing record.
    #[error("line {line}: {message}")]
    Line {
        /// The line's number, from 1.
        line: usize,
        /// The fault, with its field.
        message: String,
    },
    /// A newer boxproof wrote it.
    #[error("the timing record has format {found}, and this boxproof reads up to {FORMAT}: use a \
             newer one", FORMAT = TimingHeader::FORMAT)]
    Newer {
        /// The format.
        found: u32,
    },
    /// The first line is no header.
    #[error("line 1 is no header of a timing record: `boxproof bench --report FILE` writes one")]
    NoHeader,
    /// It was cut short.
    #[error("the timing record has no footer: it was cut short")]
    NoFooter,
    /// It was changed, or put together.
    #[error("the timing record contradicts itself: {0}")]
    Inconsistent(String),
}

/// The most bytes of a timing record.
const LIMIT: u64 = 256 << 20;

/// Returns `record` as bytes.
///
/// # Errors
/// A number that JSON has no word for.
pub fn write(record: &TimingRecord) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    let add = |bytes: &mut Vec<u8>, line: &TimingLine| {
        serde_json::to_writer(&mut *bytes, line).map(|()| bytes.push(b'\n'))
    };
    add(&mut bytes, &TimingLine::Header(record.header.clone()))?;
    for measurement in &record.measurements {
        add(&mut bytes, &TimingLine::Measurement(measurement.clone()))?;
    }
    let measurements = record.measurements.len() as u64;
    let checksum = format!("{:x}", Sha256::digest(&bytes));
    add(&mut bytes, &TimingLine::Footer(TimingFooter { measurements, checksum }))?;
    Ok(bytes)
}

/// Reads one timing record.
///
/// # Errors
/// When the input fails, or is not one whole, consistent record.
pub fn read(input: impl BufRead) -> Result<TimingRecord, TimingError> {
    let mut lines = TimingLines { input: input.take(LIMIT), number: 0, hash: Sha256::new() };
    let Some((TimingLine::Header(header), _)) = lines.next()? else {
        return Err(TimingError::NoHeader);
    };
    let mut measurements: Vec<TimingMeasurement> = Vec::new();
    loop {
        let before = format!("{:x}", lines.hash.clone().finalize());
        match lines.next()? {
            None => return Err(TimingError::NoFooter),
            Some((TimingLine::Header(_), line)) => {
                let message = "a second header".to_owned();
                return Err(TimingError::Line { line, message });
            }
            Some((TimingLine::Measurement(found), line)) => {
                if measurements.iter().any(|other| other.id == found.id) {
                    let message = format!("measurement {} is there twice", found.id);
                    return Err(TimingError::Line { line, message });
                }
                measurements.push(found);
            }
            Some((TimingLine::Footer(footer), line)) => {
                check_footer(&footer, measurements.len() as u64, &before)?;
                if lines.next()?.is_some() {
                    let message = "a line after the footer".to_owned();
                    return Err(TimingError::Line { line: line + 1, message });
                }
                return Ok(TimingRecord { header, measurements });
            }
        }
    }
}

fn check_footer(footer: &TimingFooter, count: u64, checksum: &str) -> Result<(), TimingError> {
    if footer.measurements != count {
        let stated = footer.measurements;
        let message = format!("its footer counts {stated} measurements, and there are {count}");
        return Err(TimingError::Inconsistent(message));
    }
    if footer.checksum != checksum {
        let message = "its bytes do not have the checksum of its footer".to_owned();
        return Err(TimingError::Inconsistent(message));
    }
    Ok(())
}

/// The input, one line at a time.
struct TimingLines<R> {
    input: R,
    number: usize,
    /// Of all bytes read.
    hash: Sha256,
}

impl<R: BufRead> TimingLines<R> {
    fn next(&mut self) -> Result<Option<(TimingLine, usize)>, TimingError> {
        self.number += 1;
        let line = self.number;
        let mut bytes = Vec::new();
        let read = self.input.read_until(b'\n', &mut bytes);
        read.map_err(|source| TimingError::Io { line, source })?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.hash.update(&bytes);
        if line == 1 {
            check_format(&bytes)?;
        }
        let fault = |message: String| TimingError::Line { line, message };
        let parsed: TimingLine =
            serde_json::from_slice(&bytes).map_err(|error| fault(error.to_string()))?;
        Ok(Some((parsed, line)))
    }
}

/// Refuses a first line of another kind, or of a newer format, whose members are unknown.
fn check_format(line: &[u8]) -> Result<(), TimingError> {
    let value: serde_json::Value =
        serde_json::from_slice(line).map_err(|_| TimingError::NoHeader)?;
    let (kind, has_plan) = (value["type"].as_str(), value.get("plan").is_some());
    let format = value["format"].as_u64().unwrap_or_default();
    match u32::try_from(format) {
        _ if kind != Some("header") || value.get("corpus").is_some() => Err(TimingError::NoHeader),
        Ok(found) if found > TimingHeader::FORMAT => Err(TimingError::Newer { found }),
        _ if !has_plan => Err(TimingError::NoHeader),
        _ => Ok(()),
    }
}

/// Returns the JSON Schema of one line of a timing record.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(TimingLine);
    schema.insert("$id".to_owned(), address("reports/schema/timing-record.schema.json").into());
    schema.insert("title".to_owned(), "boxproof timing record, one line".into());
    schema.to_value()
}
