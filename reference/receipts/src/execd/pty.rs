//! Requests about terminals, and the WebSocket of one.

use std::sync::{Arc, Mutex};

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};

use super::ExecdState;
use super::reply::{ExecdReply, body, empty, error, json as answer_json};
use super::shell::{ClientMessage, ShellSession, attach, lock};
use crate::strict::{self, OrderedJson};
use crate::wire::{WebSocketPiece, WebSocketReader};

/// Answers a request below `/pty`.
pub(super) async fn answer(
    state: &Arc<ExecdState>,
    request: Request<Incoming>,
    parts: &[&str],
) -> ExecdReply {
    let gone = || error(404, "CONTEXT_NOT_FOUND", "there is no such terminal");
    let shells = &state.shells;
    match (request.method().as_str(), parts) {
        ("POST", []) => match body(request).await {
            Err(reply) => reply,
            Ok(asked) => {
                let id = shells.create(asked.member("command").and_then(OrderedJson::text));
                answer_json(201, &json!({"session_id": id}))
            }
        },
        ("GET", [id]) => {
            shells.get(id).map_or_else(gone, |shell| answer_json(200, &lock(&shell).state(id)))
        }
        ("DELETE", [id]) => match shells.delete(id) {
            true => empty(200),
            false => gone(),
        },
        ("GET", [id, "ws"]) => match shells.get(id) {
            Some(shell) => connect(request, &shell, id),
            None => gone(),
        },
        _ => error(404, "UNKNOWN", "404 page not found"),
    }
}

fn connect(
    mut request: Request<Incoming>,
    shell: &Arc<Mutex<ShellSession>>,
    id: &str,
) -> ExecdReply {
    let query = request.uri().query().unwrap_or_default();
    let number = |name: &str| {
        let found = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0)
    };
    if lock(shell).is_taken() && number("takeover") == 0 {
        return error(409, "ALREADY_CONNECTED", "another client is connected");
    }
    let Some(key) = request.headers().get("sec-websocket-key") else {
        return error(400, "INVALID_REQUEST_BODY", "this is for WebSocket clients");
    };
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let (shell, id, since) = (Arc::clone(shell), id.to_owned(), number("since"));
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            talk(upgraded, &shell, &id, since).await;
        }
    });
    let mut reply = empty(200);
    *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    reply.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = accept {
        reply.headers_mut().insert("sec-websocket-accept", accept);
    }
    reply
}

async fn talk(upgraded: Upgraded, shell: &Arc<Mutex<ShellSession>>, id: &str, since: usize) {
    let said = attach(shell, id, since);
    let (from, to) = split(TokioIo::new(upgraded));
    // Whichever ends first, the client is gone.
    tokio::select! { () = speak(to, said) => {}, () = listen(from, shell) => {} }
}

async fn speak(mut to: WriteHalf<TokioIo<Upgraded>>, mut said: UnboundedReceiver<ClientMessage>) {
    while let Some(say) = said.recv().await {
        let frame = match say {
            ClientMessage::Binary(bytes) => Frame::message(bytes, OpCode::Data(Data::Binary), true),
            ClientMessage::Text(text) => {
                Frame::message(text.into_bytes(), OpCode::Data(Data::Text), true)
            }
            ClientMessage::Close(code, why) => {
                Frame::close(Some(CloseFrame { code: code.into(), reason: why.into() }))
            }
        };
        let over = matches!(frame.header().opcode, OpCode::Control(_));
        let mut bytes = Vec::new();
        if frame.format(&mut bytes).is_err() || to.write_all(&bytes).await.is_err() || over {
            break;
        }
    }
    // The output is on its way; the client may have closed meanwhile.
    let _closed = to.shutdown().await;
}

async fn listen(mut from: ReadHalf<TokioIo<Upgraded>>, shell: &Arc<Mutex<ShellSession>>) {
    let (mut wire, mut piece, mut over) = (WebSocketReader::default(), vec![0; 8 << 10], false);
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        wire.feed(&piece[..count], &mut |passed| match passed {
            WebSocketPiece::Bytes { tag: 0, bytes, .. } => lock(shell).type_in(bytes),
            WebSocketPiece::Text(text) => handle_message(text, shell),
            WebSocketPiece::Bytes { .. } => {}
            WebSocketPiece::Close | WebSocketPiece::Lost => over = true,
        });
        if over {
            return;
        }
    }
}

fn handle_message(text: &[u8], shell: &Arc<Mutex<ShellSession>>) {
    let Ok(json) = strict::read(text) else { return };
    let text = |name| json.member(name).and_then(OrderedJson::text).unwrap_or_default();
    match text("type") {
        "stdin" => lock(shell).type_in(text("data").as_bytes()),
        "signal" => lock(shell).signal(text("signal")),
        _ => {}
    }
}
