//! An upload on its way to execd: parsed as it passes, never kept.
//!
//! The last piece is held back until the whole body has been understood, so that an upload that
//! cannot be reported is not carried out either.

use bytes::Bytes;
use http_body_util::{BodyDataStream, BodyExt};
use hyper::body::{Frame, Incoming};
use multer::{Field, Multipart};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};

use super::outcome::hex;
use super::request_inputs::{ActionItem, json_of, or_one};
use super::upstream::UpstreamBody;
use crate::channel_body::{BodyError, BodyPiece, ChannelBody};
use crate::strict::OrderedJson;

/// Pieces that may be underway between the agent, the reader and execd.
const PIECES: usize = 8;
/// The longest `metadata`.
const METADATA: usize = 1 << 20;

/// The result of an upload.
#[derive(Debug, PartialEq)]
pub(super) enum UploadOutcome {
    /// It was understood.
    Items(Vec<ActionItem>),
    /// It was not, and did not reach execd whole.
    Refused(String),
    /// The agent broke off.
    Left,
    /// execd answered, or broke off, before it had read all.
    Unread,
}

/// Returns the body to forward, and a receiver of the result.
pub(super) fn follow(
    body: Incoming,
    kind: UploadKind,
) -> (UpstreamBody, oneshot::Receiver<UploadOutcome>) {
    let (pieces, to_execd) = mpsc::channel(PIECES);
    let (told, upload) = oneshot::channel();
    tokio::spawn(async move {
        // The receiver is gone where the request was given up.
        let _unasked = told.send(pump(body, kind, pieces).await);
    });
    (ChannelBody(to_execd).boxed_unsync(), upload)
}

/// The encoding by which a body describes its content.
pub(super) enum UploadKind {
    /// Pairs of `metadata` and `file`, between these boundaries.
    Pairs(String),
    /// One file for this path.
    Plain(String),
}

type ExecdSender = mpsc::Sender<BodyPiece>;

async fn pump(mut body: Incoming, kind: UploadKind, to_execd: ExecdSender) -> UploadOutcome {
    let (to_reader, pieces) = mpsc::channel(PIECES);
    let reader = tokio::spawn(read(kind, ChannelBody(pieces)));
    let mut held: Vec<Frame<Bytes>> = Vec::new();
    loop {
        let frame = match body.frame().await {
            None => break,
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return give_up(&to_execd, error.into(), UploadOutcome::Left).await,
        };
        let piece = Frame::data(frame.data_ref().cloned().unwrap_or_default());
        let before = std::mem::replace(&mut held, vec![frame]);
        if to_reader.send(Ok(piece)).await.is_err() {
            // The reader has ended: all is read, or nothing will be.
            held.splice(0..0, before);
            break;
        }
        for frame in before {
            if to_execd.send(Ok(frame)).await.is_err() {
                return UploadOutcome::Unread;
            }
        }
    }
    drop(to_reader);
    let read = reader.await.unwrap_or_else(|error| Err(error.to_string()));
    match read {
        Err(why) => give_up(&to_execd, why.clone().into(), UploadOutcome::Refused(why)).await,
        Ok(items) => finish(body, held, &to_execd, items).await,
    }
}

/// Sends the held frames, and all data behind the last boundary.
async fn finish(
    mut body: Incoming,
    held: Vec<Frame<Bytes>>,
    to_execd: &ExecdSender,
    items: Vec<ActionItem>,
) -> UploadOutcome {
    for frame in held {
        if to_execd.send(Ok(frame)).await.is_err() {
            return UploadOutcome::Items(items);
        }
    }
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return UploadOutcome::Left };
        if to_execd.send(Ok(frame)).await.is_err() {
            break;
        }
    }
    UploadOutcome::Items(items)
}

async fn give_up(to_execd: &ExecdSender, fault: BodyError, upload: UploadOutcome) -> UploadOutcome {
    // An error ends the body before its end, so that execd does not take it for whole.
    let _gone = to_execd.send(Err(fault)).await;
    upload
}

async fn read(kind: UploadKind, pieces: ChannelBody) -> Result<Vec<ActionItem>, String> {
    match kind {
        UploadKind::Pairs(boundary) => {
            pairs(Multipart::new(BodyDataStream::new(pieces), boundary)).await
        }
        UploadKind::Plain(path) => plain(&path, pieces).await,
    }
}

async fn plain(path: &str, mut pieces: ChannelBody) -> Result<Vec<ActionItem>, String> {
    let mut file = PassingFile::default();
    while let Some(Ok(piece)) = pieces.0.recv().await {
        file.add(piece.data_ref().map_or(&[], |data| data));
    }
    Ok(vec![file.item(path)])
}

/// Pairs the n-th `metadata` with the n-th `file`, in any order.
async fn pairs(mut body: Multipart<'_>) -> Result<Vec<ActionItem>, String> {
    let (mut paths, mut files) = (Vec::new(), Vec::new());
    while let Some(mut field) = body.next_field().await.map_err(|error| error.to_string())? {
        // execd undoes this encoding, so that other bytes would be written than are seen here.
        if field.headers().contains_key("content-transfer-encoding") {
            return Err("a part has a content-transfer-encoding".to_owned());
        }
        match field.name() {
            Some("metadata") => paths.push(path(&mut field).await?),
            Some("file") => files.push(file(&mut field).await?),
            _ => {}
        }
    }
    let file = |at: usize| files.get(at).map_or_else(PassingFile::default, PassingFile::clone);
    let items = paths.iter().enumerate().map(|(at, path)| match files.len() == paths.len() {
        true => file(at).item(path),
        // execd refuses such a body; there is no knowing which belong together.
        false => ActionItem::path(path.as_str(), None),
    });
    Ok(or_one(items.collect()))
}

async fn path(field: &mut Field<'_>) -> Result<String, String> {
    let mut text = Vec::new();
    while let Some(piece) = field.chunk().await.map_err(|error| error.to_string())? {
        text.extend_from_slice(&piece);
        if text.len() > METADATA {
            return Err(format!("metadata is longer than {METADATA} bytes"));
        }
    }
    let json = json_of(&text, 0).map_err(|why| format!("metadata: {why}"))?;
    let path = json.member("path").and_then(OrderedJson::text);
    path.map(str::to_owned).ok_or_else(|| "metadata: there is no path".to_owned())
}

async fn file(field: &mut Field<'_>) -> Result<PassingFile, String> {
    let mut file = PassingFile::default();
    while let Some(piece) = field.chunk().await.map_err(|error| error.to_string())? {
        file.add(&piece);
    }
    Ok(file)
}

/// A file that passes by.
#[derive(Default, Clone)]
struct PassingFile {
    content: Sha256,
    bytes: u64,
}

impl PassingFile {
    fn add(&mut self, piece: &[u8]) {
        self.content.update(piece);
        self.bytes += piece.len() as u64;
    }

    fn item(self, path: &str) -> ActionItem {
        let hash = json!(hex(self.content));
        ActionItem {
            written: Some(self.bytes),
            ..ActionItem::path(path, Some(("content_hash", hash)))
        }
    }
}
