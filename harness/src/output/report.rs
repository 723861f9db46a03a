//! The file for a run's record, which is written after this process may have become another user:
//! [`ReportOutput`].

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::path::{Path, PathBuf};

use nix::sys::wait::waitpid;
use nix::unistd::setsid;

use super::{OutputTarget, located};
use crate::sys;

/// The most bytes of a record.
const LIMIT: u64 = 1 << 30;
/// The writer's answer when all is well.
const WRITTEN: &[u8] = b"written";

/// The place of a record, which is known to be writable.
#[derive(Debug)]
pub(crate) enum ReportOutput {
    /// A record that this process writes.
    Own(OutputTarget),
    /// A record that another process writes, with the rights that this one had.
    Kept { path: PathBuf, record: PipeWriter, answer: PipeReader },
}

impl ReportOutput {
    /// Opens the place at `path`; a file that is there stays unchanged.
    ///
    /// # Errors
    /// A place at which no record could be written.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let target = OutputTarget::open(path)?;
        target.try_new()?;
        Ok(Self::Own(target))
    }

    /// Returns the same for after this process has given its rights up. Call while it has one
    /// thread.
    ///
    /// # Errors
    /// Returns an error when no process can be made.
    pub(crate) fn keep_rights(self) -> io::Result<Self> {
        let Self::Own(OutputTarget::File(directory, name)) = self else { return Ok(self) };
        let path = directory.join(&name);
        let mut target = OutputTarget::File(directory, name);
        let (mut bytes, record) = io::pipe()?;
        let (answer, mut told) = io::pipe()?;
        let mut own_ends = Some((record, answer));
        let inherited_ends = &mut own_ends;
        // No child of ours, all of which end before the record is written.
        let between = sys::fork(move || {
            // With an end of its own pipe open, the writer would outlive this process.
            drop(inherited_ends.take());
            let writer = sys::fork(move || {
                let _ = setsid();
                if sys::release_standard_streams().is_err() {
                    return 1;
                }
                let told_well = told.write_all(&write_received(&mut bytes, &mut target));
                i32::from(told_well.is_err())
            });
            i32::from(writer.is_err())
        })?;
        waitpid(between, None)?;
        let (record, answer) = own_ends.ok_or_else(|| io::Error::other("no pipe to the writer"))?;
        Ok(Self::Kept { path, record, answer })
    }

    /// Writes the record.
    ///
    /// # Errors
    /// Returns an error when it is not at its place, whole; with the path.
    pub(crate) fn write(self, bytes: &[u8]) -> io::Result<()> {
        let (path, mut record, mut answer) = match self {
            Self::Own(mut target) => return target.write(bytes),
            Self::Kept { path, record, answer } => (path, record, answer),
        };
        let mut send = || {
            record.write_all(&(bytes.len() as u64).to_le_bytes())?;
            record.write_all(bytes)
        };
        let sent = send();
        drop(record);
        let mut told = Vec::new();
        answer.read_to_end(&mut told).map_err(|error| located(&path, &error))?;
        match (sent, told.as_slice()) {
            (Ok(()), WRITTEN) => Ok(()),
            (Ok(()), b"") => Err(located(&path, &io::Error::other("its writer has died"))),
            (Err(error), WRITTEN | b"") => Err(located(&path, &error)),
            (_, told) => Err(io::Error::other(String::from_utf8_lossy(told).into_owned())),
        }
    }
}

/// The life of the writer: a whole record is written, half of one is not.
fn write_received(input: &mut PipeReader, target: &mut OutputTarget) -> Vec<u8> {
    let mut length = [0; 8];
    if input.read_exact(&mut length).is_err() {
        return Vec::new();
    }
    let length = u64::from_le_bytes(length);
    let mut bytes = Vec::new();
    let received = input.take(length.min(LIMIT)).read_to_end(&mut bytes);
    match received.map(|count| count as u64 == length) {
        Ok(true) => match target.write(&bytes) {
            Ok(()) => WRITTEN.to_vec(),
            Err(error) => error.to_string().into(),
        },
        _ => b"the record was cut short".to_vec(),
    }
}
