//! The store: an append-only file, one receipt a line, on disk before anything builds on it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::chain::ChainTips;
use super::parsed_receipt::{self, ParsedReceipt};

/// An open store; its lock keeps others from opening it for writing.
#[derive(Debug)]
pub(crate) struct ReceiptStore {
    file: Flock<File>,
    /// Up to here everything is on disk.
    length: u64,
    path: PathBuf,
}

/// The content of an existing store.
#[derive(Debug, Default)]
pub(crate) struct StoredChains {
    pub(crate) chains: ChainTips,
    /// The receipt that was written last.
    pub(crate) last: Option<ParsedReceipt>,
    /// The bytes of a line that a crash left half written, now cut.
    pub(crate) torn: u64,
}

impl ReceiptStore {
    /// Opens or makes the store, cuts a torn last line and reads the tips of the chains.
    pub(crate) fn open(path: &Path) -> Result<(Self, StoredChains), String> {
        let said = |error: String| format!("{}: {error}", path.display());
        let file = lock(path).map_err(said)?;
        let mut store = Self { file, length: 0, path: path.to_owned() };
        let held = store.load()?;
        Ok((store, held))
    }

    fn load(&mut self) -> Result<StoredChains, String> {
        let mut held = StoredChains::default();
        let path = self.path.display().to_string();
        let size = self.file.metadata().map_err(|error| format!("{path}: {error}"))?.len();
        let mut from = BufReader::with_capacity(1 << 16, &*self.file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = from.read_until(b'\n', &mut line).map_err(|e| format!("{path}: {e}"))?;
            let Some(text) = line.strip_suffix(b"\n") else { break };
            let receipt = parsed_receipt::read(text).and_then(|receipt| {
                held.chains.resume(&receipt)?;
                Ok(receipt)
            });
            let damaged = |e| format!("{path}:{number}: {e}; restore it or name another --store");
            held.last = Some(receipt.map_err(damaged)?);
            self.length += read as u64;
        }
        held.torn = size - self.length;
        if fault!("receipts.torn-line") {
            self.length = size;
        }
        self.cut().map_err(|error| format!("{path}: {error}"))?;
        Ok(held)
    }

    /// Removes the bytes behind the last complete write.
    fn cut(&mut self) -> std::io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.sync_all()
    }

    /// Appends whole lines and returns when they are on disk; a failure leaves none of them.
    pub(crate) fn append(&mut self, lines: &[u8]) -> Result<(), String> {
        let written = self.file.write_all(lines).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length += lines.len() as u64,
            Err(error) => {
                let cut = self.cut().map_or_else(|e| format!(", nor cut: {e}"), |()| String::new());
                return Err(format!("{}: not written: {error}{cut}", self.path.display()));
            }
        }
        Ok(())
    }
}

fn lock(path: &Path) -> Result<Flock<File>, String> {
    let mut open = OpenOptions::new();
    open.read(true).append(true).create(true).mode(0o600);
    open.custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK);
    let file = open.open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => "is a symbolic link; name the file itself".to_owned(),
        _ => error.to_string(),
    })?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if found.mode() & 0o022 != 0 && !fault!("receipts.writable-store") {
        let mode = found.mode() & 0o7777;
        return Err(format!("has mode {mode:04o}; only its owner may write to it: chmod 0600"));
    }
    sync_directory(path).map_err(|error| error.to_string())?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        Errno::EWOULDBLOCK => "another daemon writes to it".to_owned(),
        other => other.to_string(),
    })
}

/// A new name is on disk when its directory is.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests;
