//! Replies of execd, each with its body piece by piece.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use base64::Engine as _;
use boxproof_cases::case::{BodyPiece, ScriptedAnswer};
use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::SharedExecd;

/// An answer.
pub(super) struct ExecdReply {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) pieces: Vec<BodyPiece>,
}

/// A body whose pieces come when they come.
pub(super) struct BodyPieces(mpsc::Receiver<io::Result<Bytes>>);

impl BodyPieces {
    /// A body without any.
    pub(super) fn none() -> Self {
        Self(mpsc::channel(1).1)
    }
}

impl Body for BodyPieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

impl ExecdReply {
    /// A body of JSON.
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::whole(status, "application/json; charset=utf-8", body.to_string())
    }

    /// A body that is a text.
    pub(super) fn whole(status: u16, kind: &str, body: String) -> Self {
        let headers = BTreeMap::from([("content-type".to_owned(), kind.to_owned())]);
        Self { status, headers, pieces: vec![BodyPiece::Text(body)] }
    }

    /// Success without a body.
    pub(super) fn empty() -> Self {
        Self { status: 200, headers: BTreeMap::new(), pieces: Vec::new() }
    }

    /// An error with its code.
    pub(super) fn error(status: u16, code: &str, message: &str) -> Self {
        Self::json(status, &json!({ "code": code, "message": message }))
    }

    /// The way to the same without a slash at its end.
    pub(super) fn redirect(path: &str) -> Self {
        let headers = BTreeMap::from([("location".to_owned(), path.to_owned())]);
        Self { status: 307, headers, pieces: Vec::new() }
    }

    /// A stream of events: bare JSON, each with an empty line after it.
    pub(super) fn events(events: Vec<BodyPiece>) -> Self {
        let headers = [("content-type", "text/event-stream"), ("cache-control", "no-cache")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { status: 200, headers: headers.into(), pieces: events }
    }

    /// Returns the reply that a case scripts.
    pub(super) fn scripted(scripted: ScriptedAnswer) -> Self {
        let stream = BTreeMap::from([("content-type".to_owned(), "text/event-stream".to_owned())]);
        let headers = if scripted.headers.is_empty() { stream } else { scripted.headers };
        Self { status: scripted.status, headers, pieces: scripted.body }
    }

    /// Returns the answer, whose body goes on by itself.
    pub(super) fn sent(self, shared: &SharedExecd) -> Response<BodyPieces> {
        let (sender, receiver) = mpsc::channel(16);
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let streams = self.headers.get("content-type").is_some_and(|kind| kind.contains("event"));
        if !streams && let Some(length) = length(&self.pieces) {
            response = response.header("content-length", length);
        }
        tokio::spawn(write(self.pieces, sender, shared.released.subscribe()));
        let fallback = || Response::new(BodyPieces::none());
        response.body(BodyPieces(receiver)).unwrap_or_else(|_| fallback())
    }
}

/// Returns the piece of one event.
pub(super) fn event(value: &Value) -> BodyPiece {
    BodyPiece::Text(format!("{value}\n\n"))
}

/// The length of a body that does not wait.
fn length(pieces: &[BodyPiece]) -> Option<usize> {
    pieces.iter().map(|piece| bytes_of(piece).map(|bytes| bytes.len())).sum()
}

fn bytes_of(piece: &BodyPiece) -> Option<Bytes> {
    match piece {
        BodyPiece::Text(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
        BodyPiece::B64(text) => {
            base64::engine::general_purpose::STANDARD.decode(text).ok().map(Into::into)
        }
        BodyPiece::Hold(_) | BodyPiece::Cut {} => None,
    }
}

async fn write(
    pieces: Vec<BodyPiece>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    mut released: watch::Receiver<std::collections::BTreeSet<String>>,
) {
    for piece in pieces {
        let sent = match &piece {
            BodyPiece::Hold(name) => {
                // A command goes on although no client listens any more.
                if released.wait_for(|released| released.contains(name)).await.is_err() {
                    return;
                }
                continue;
            }
            BodyPiece::Cut {} => sender.send(Err(io::ErrorKind::ConnectionReset.into())).await,
            other => sender.send(Ok(bytes_of(other).unwrap_or_default())).await,
        };
        if sent.is_err() {
            return;
        }
    }
}
