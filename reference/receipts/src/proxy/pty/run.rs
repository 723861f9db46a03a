//! One run of a terminal's shell: its input and output, and its end.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::proxy::outcome::hex;

/// A shell that runs.
#[derive(Debug)]
pub(super) struct ShellRun {
    /// The correlator that the receipts of its beginning and end share.
    pub correlator: String,
    /// The number of attached connections.
    pub attached: usize,
    /// It was ended by a request that execd carried out.
    pub deleted: bool,
    /// The last signal that went through here.
    pub signal: Option<String>,
    streams: [Sha256; 3],
    /// Some bytes could not be read, so that no hash is known.
    unsure: bool,
}

/// A shell's streams.
#[derive(Debug, Clone, Copy)]
pub(super) enum ShellStream {
    Stdin,
    Stdout,
    Stderr,
}

impl ShellRun {
    pub(super) fn new() -> Self {
        Self {
            correlator: uuid::Uuid::new_v4().to_string(),
            attached: 0,
            deleted: false,
            signal: None,
            streams: Default::default(),
            unsure: false,
        }
    }

    /// Bytes passed.
    pub(super) fn saw(&mut self, stream: ShellStream, bytes: &[u8]) {
        self.streams[stream as usize].update(bytes);
    }

    /// Notes that bytes passed that could not be read.
    pub(super) fn missed(&mut self) {
        self.unsure = true;
    }

    /// Returns the input that the receipt of its end commits to.
    pub(super) fn input(&self, exit_code: Option<i64>) -> Option<Value> {
        // A shell that chose its exit code was not ended by the signal.
        let killed = exit_code.is_none_or(|code| code == -1);
        let signal = self.signal.as_ref().filter(|_| killed);
        let exit = exit_code.map(|code| ("exit_code".to_owned(), json!(code)));
        let signal = signal.map(|name| ("signal".to_owned(), json!(name)));
        let input: Map<String, Value> = exit.into_iter().chain(signal).collect();
        (!input.is_empty()).then(|| input.into())
    }

    /// Three streams in one hash, each over its bytes alone, so that no cut and no order matters.
    pub(super) fn output(&self) -> Option<Value> {
        let mut all = Sha256::new();
        for stream in &self.streams {
            all.update(stream.clone().finalize());
        }
        (!self.unsure).then(|| json!({"io_hash": hex(all)}))
    }
}
