//! A small emitter: sends frames, never blocks long, and counts losses.

use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use boxproof_cases::protocol::{JsonError, from_json};
use serde_json::Value;

use super::accept;
use super::frame::{self, EventFrame};
use super::ijson;

/// The time limit for sending a frame.
const WRITE: Duration = Duration::from_millis(100);

/// The reason why an event was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// The daemon was not reached: the event is lost and counted.
    #[error("transport_error: {0}")]
    Transport(String),
    /// The event is not one that can be sent: nothing was lost on the way.
    #[error("caller_error: {0}")]
    Caller(String),
}

impl EmitError {
    /// The category that the published cases name.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Transport(_) => "transport_error",
            Self::Caller(_) => "caller_error",
        }
    }
}

/// Sends events to a daemon; connects when there is something to send.
#[derive(Debug)]
pub struct FrameEmitter {
    socket: PathBuf,
    stream: Option<UnixStream>,
    drops: i64,
}

impl FrameEmitter {
    /// An emitter for the daemon at `socket`; nothing is opened yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), stream: None, drops: 0 }
    }

    /// Returns the number of events lost since the last one that arrived.
    pub fn drops(&self) -> i64 {
        self.drops
    }

    /// Sends an event as JSON text.
    pub fn emit_text(&mut self, text: &str) -> Result<(), EmitError> {
        let frame: Result<EventFrame, JsonError> = from_json(text.as_bytes());
        self.emit(frame.map_err(|error| EmitError::Caller(error.to_string()))?)
    }

    /// Sends one event, with the count of those lost before it.
    pub fn emit(&mut self, mut frame: EventFrame) -> Result<(), EmitError> {
        frame.drop_count = (self.drops > 0).then_some(self.drops);
        let bytes = frame::encode(&frame).map_err(EmitError::Caller)?;
        let body = bytes.get(4..).unwrap_or_default();
        accept::accept(body).map_err(EmitError::Caller)?;
        match self.send(&bytes) {
            Ok(()) => {
                self.drops = 0;
                Ok(())
            }
            Err(error) => {
                // A partly written frame cannot be taken back.
                self.stream = None;
                self.drops = (self.drops + 1).min(ijson::MOST as i64);
                Err(EmitError::Transport(error))
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            closed => {
                let stream = UnixStream::connect(&self.socket);
                let stream = stream.map_err(|e| format!("{}: {e}", self.socket.display()))?;
                stream.set_write_timeout(Some(WRITE)).map_err(|error| error.to_string())?;
                closed.insert(stream)
            }
        };
        stream.write_all(bytes).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => "the daemon does not read".to_owned(),
            _ => error.to_string(),
        })
    }
}

/// A plain event of `tool`, that happened now.
pub fn event(session: &str, tool: &str, input: Value, output: Value) -> EventFrame {
    EventFrame {
        v: "1".to_owned(),
        ts_emit: jiff::Timestamp::now().to_string(),
        session_id: session.to_owned(),
        channel: "opensandbox_execd".to_owned(),
        tool: frame::CalledTool { name: tool.to_owned(), server: Some("execd".to_owned()) },
        input: Some(input),
        output: Some(output),
        ..EventFrame::default()
    }
}
