//! Answers as execd writes them.

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use hyper::{Request, Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::channel_body::{BodyError, BodyPiece, ChannelBody};
use crate::strict::{self, OrderedJson};

/// An answer.
pub(super) type ExecdReply = Response<UnsyncBoxBody<Bytes, BodyError>>;

/// An answer without a body.
pub(super) fn empty(status: u16) -> ExecdReply {
    bytes(status, "", Vec::new())
}

/// An answer with bytes.
pub(super) fn bytes(status: u16, kind: &'static str, bytes: Vec<u8>) -> ExecdReply {
    let body = Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync();
    let mut reply = Response::new(body);
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if !kind.is_empty() {
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    reply
}

/// An answer with one JSON value.
pub(super) fn json(status: u16, value: &Value) -> ExecdReply {
    bytes(status, "application/json; charset=utf-8", value.to_string().into_bytes())
}

/// An error.
pub(super) fn error(status: u16, code: &str, message: &str) -> ExecdReply {
    json(status, &serde_json::json!({"code": code, "message": message}))
}

/// Redirects a path without its slash to `to`.
pub(super) fn moved(to: &str) -> ExecdReply {
    let mut reply = empty(307);
    if let Ok(to) = HeaderValue::from_str(to) {
        reply.headers_mut().insert(LOCATION, to);
    }
    reply
}

/// Returns a streamed answer, and the sender of its pieces.
pub(super) fn stream() -> (ExecdReply, Sender<BodyPiece>) {
    let (send, pieces): (Sender<BodyPiece>, Receiver<BodyPiece>) = channel(64);
    let mut reply = Response::new(ChannelBody(pieces).boxed_unsync());
    let kind = HeaderValue::from_static("text/event-stream");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    (reply, send)
}

/// The JSON body of a request.
pub(super) async fn body(request: Request<Incoming>) -> Result<OrderedJson, ExecdReply> {
    let wrong = |why: String| error(400, "INVALID_REQUEST_BODY", &why);
    let body = request.into_body().collect().await.map_err(|error| wrong(error.to_string()))?;
    strict::read(&body.to_bytes()).map_err(|why| wrong(format!("error parsing request. {why}")))
}
