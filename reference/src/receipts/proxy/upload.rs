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

use super::asked::{Item, json_of, or_one};
use super::outcome::hex;
use super::upstream::Body;
use crate::receipts::pieces::{Fault, Piece, Pieces};
use crate::receipts::strict::Json;

/// Pieces that may be underway between the agent, the reader and execd.
const PIECES: usize = 8;
/// The longest `metadata`.
const METADATA: usize = 1 << 20;

/// The result of an upload.
#[derive(Debug, PartialEq)]
pub(super) enum Upload {
    /// It was understood.
    Items(Vec<Item>),
    /// It was not, and did not reach execd whole.
    Refused(String),
    /// The agent broke off.
    Left,
    /// execd answered, or broke off, before it had read all.
    Unread,
}

/// Returns the body to forward, and a receiver of the result.
pub(super) fn follow(body: Incoming, kind: Kind) -> (Body, oneshot::Receiver<Upload>) {
    let (pieces, to_execd) = mpsc::channel(PIECES);
    let (told, upload) = oneshot::channel();
    tokio::spawn(async move {
        // The receiver is gone where the request was given up.
        let _unasked = told.send(pump(body, kind, pieces).await);
    });
    (Pieces(to_execd).boxed_unsync(), upload)
}

/// The encoding by which a body describes its content.
pub(super) enum Kind {
    /// Pairs of `metadata` and `file`, between these boundaries.
    Pairs(String),
    /// One file for this path.
    Plain(String),
}

type ToExecd = mpsc::Sender<Piece>;

async fn pump(mut body: Incoming, kind: Kind, to_execd: ToExecd) -> Upload {
    let (to_reader, pieces) = mpsc::channel(PIECES);
    let reader = tokio::spawn(read(kind, Pieces(pieces)));
    let mut held: Vec<Frame<Bytes>> = Vec::new();
    loop {
        let frame = match body.frame().await {
            None => break,
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return give_up(&to_execd, error.into(), Upload::Left).await,
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
                return Upload::Unread;
            }
        }
    }
    drop(to_reader);
    let read = reader.await.unwrap_or_else(|error| Err(error.to_string()));
    match read {
        Err(why) => give_up(&to_execd, why.clone().into(), Upload::Refused(why)).await,
        Ok(items) => finish(body, held, &to_execd, items).await,
    }
}

/// Sends the held frames, and all data behind the last boundary.
async fn finish(
    mut body: Incoming,
    held: Vec<Frame<Bytes>>,
    to_execd: &ToExecd,
    items: Vec<Item>,
) -> Upload {
    for frame in held {
        if to_execd.send(Ok(frame)).await.is_err() {
            return Upload::Items(items);
        }
    }
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Upload::Left };
        if to_execd.send(Ok(frame)).await.is_err() {
            break;
        }
    }
    Upload::Items(items)
}

async fn give_up(to_execd: &ToExecd, fault: Fault, upload: Upload) -> Upload {
    // An error ends the body before its end, so that execd does not take it for whole.
    let _gone = to_execd.send(Err(fault)).await;
    upload
}

async fn read(kind: Kind, pieces: Pieces) -> Result<Vec<Item>, String> {
    match kind {
        Kind::Pairs(boundary) => pairs(Multipart::new(BodyDataStream::new(pieces), boundary)).await,
        Kind::Plain(path) => plain(&path, pieces).await,
    }
}

async fn plain(path: &str, mut pieces: Pieces) -> Result<Vec<Item>, String> {
    let mut file = File::default();
    while let Some(Ok(piece)) = pieces.0.recv().await {
        file.add(piece.data_ref().map_or(&[], |data| data));
    }
    Ok(vec![file.item(path)])
}

/// Pairs the n-th `metadata` with the n-th `file`, in any order.
async fn pairs(mut body: Multipart<'_>) -> Result<Vec<Item>, String> {
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
    let file = |at: usize| files.get(at).map_or_else(File::default, File::clone);
    let items = paths.iter().enumerate().map(|(at, path)| match files.len() == paths.len() {
        true => file(at).item(path),
        // execd refuses such a body; there is no knowing which belong together.
        false => Item::path(path.as_str(), None),
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
    let path = json.member("path").and_then(Json::text);
    path.map(str::to_owned).ok_or_else(|| "metadata: there is no path".to_owned())
}

async fn file(field: &mut Field<'_>) -> Result<File, String> {
    let mut file = File::default();
    while let Some(piece) = field.chunk().await.map_err(|error| error.to_string())? {
        file.add(&piece);
    }
    Ok(file)
}

/// A file that passes by.
#[derive(Default, Clone)]
struct File {
    content: Sha256,
    bytes: u64,
}

impl File {
    fn add(&mut self, piece: &[u8]) {
        self.content.update(piece);
        self.bytes += piece.len() as u64;
    }

    fn item(self, path: &str) -> Item {
        let hash = json!(hex(self.content));
        Item { written: Some(self.bytes), ..Item::path(path, Some(("content_hash", hash))) }
    }
}
