//! The sink of records: [`RecordOutput`] writes each line with a single write(2).

use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;

use crate::outcome::{ProbeError, ProbeResult, record};
use crate::record::{ProbeEvent, ProbeRecord};
use crate::wire::{encode, encode_event};

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

/// The channel of one run.
#[derive(Debug)]
pub(crate) struct RecordOutput<'a> {
    /// The probe's name.
    pub(crate) probe: &'a str,
    /// The run's nonce, or the word that stands for it in a sealed probe.
    pub(crate) nonce: &'a str,
    /// `None`: this run writes no record, because its streams are judged.
    pub(crate) stream: Option<OutputStream>,
    /// The time limit of the probe, in seconds.
    pub(crate) limit: u32,
}

impl RecordOutput<'_> {
    /// Writes what was seen; the record comes back for the exit code.
    pub(crate) fn report(&self, seen: ProbeResult) -> Result<ProbeRecord, ProbeError> {
        let record = record(self.probe, seen)?;
        self.record(&record)?;
        Ok(record)
    }

    /// Writes one record.
    pub(crate) fn record(&self, record: &ProbeRecord) -> Result<(), ProbeError> {
        self.line(&encode(self.nonce, record))
    }

    /// Writes one event.
    pub(crate) fn event(&self, event: &ProbeEvent) -> Result<(), ProbeError> {
        self.line(&encode_event(self.nonce, event))
    }

    /// One write: a second one could be torn apart by another writer.
    fn line(&self, line: &[u8]) -> Result<(), ProbeError> {
        let written = match self.stream {
            None => return Ok(()),
            Some(OutputStream::Stdout) => write_once(std::io::stdout(), line),
            Some(OutputStream::Stderr) => write_once(std::io::stderr(), line),
        };
        match written {
            Ok(count) if count == line.len() => Ok(()),
            Ok(count) => Err(ProbeError::Fault(format!(
                "only {count} of {} record bytes written",
                line.len()
            ))),
            Err(errno) => Err(ProbeError::Fault(format!("record not written: {errno}"))),
        }
    }
}

fn write_once(stream: impl AsFd, bytes: &[u8]) -> nix::Result<usize> {
    loop {
        match nix::unistd::write(&stream, bytes) {
            Err(Errno::EINTR) => {}
            other => return other,
        }
    }
}

/// Writes all of `bytes` to a descriptor, in as many calls as it takes.
pub(crate) fn write_all(fd: impl AsFd, mut bytes: &[u8]) -> nix::Result<()> {
    while !bytes.is_empty() {
        match write_once(&fd, bytes)? {
            // A descriptor that takes nothing would keep us here for ever.
            0 => return Err(Errno::EIO),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Reads until the end or until `most` bytes are there.
pub(crate) fn read_up_to(fd: impl AsFd, most: usize) -> nix::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut filled = 0;
    while filled < most {
        match nix::unistd::read(&fd, &mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The number of a descriptor, for calls that take it raw.
pub(crate) fn raw(fd: &impl AsFd) -> i32 {
    fd.as_fd().as_raw_fd()
}
