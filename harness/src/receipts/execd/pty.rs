//! Terminals: records made by a request, shells that live in a WebSocket. Input comes back as
//! output; a line `exit N` ends the shell, a chunk that begins with `err` comes back as stderr.

use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::Response;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::lenient::LenientMembers;
use super::reply::{BodyPieces, ExecdReply};
use super::{ExecdRequest, ExecdState, SharedExecd};

/// The codes of binary frames.
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const REPLAY: u8 = 3;

/// The code of a close when another client took the session over.
const TAKEN_OVER: u16 = 4001;

/// A session: its shell runs until it exits or is killed, with or without a client.
#[derive(Debug, Default)]
pub(super) struct PtySession {
    running: bool,
    output: Vec<u8>,
    attached: Option<UnboundedSender<ClientMessage>>,
    /// The number of attachments so far.
    turn: u32,
}

/// A message to the attached client.
#[derive(Debug)]
enum ClientMessage {
    TakenOver,
    Ended(i32),
}

/// The session whose WebSocket `path` is.
pub(super) fn session_of(path: &str) -> Option<String> {
    let id = path.strip_prefix("/pty/")?.strip_suffix("/ws")?;
    (!id.contains('/')).then(|| id.to_owned())
}

/// The answer to a request about terminals.
pub(super) fn answer(asked: &ExecdRequest, state: &mut ExecdState) -> Option<ExecdReply> {
    let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
    Some(match (asked.method.as_str(), parts.as_slice()) {
        ("POST", ["pty"]) => create(asked, state),
        ("GET", ["pty", id]) => match state.sessions.get(*id) {
            Some(session) => ExecdReply::json(
                200,
                &json!({ "session_id": id, "running": session.running,
                         "output_offset": session.output.len() }),
            ),
            None => gone(),
        },
        ("DELETE", ["pty", id]) => match state.sessions.remove(*id) {
            Some(session) => {
                if let Some(attached) = session.attached {
                    let _ = attached.send(ClientMessage::Ended(-1));
                }
                ExecdReply::empty()
            }
            None => gone(),
        },
        _ => return None,
    })
}

fn gone() -> ExecdReply {
    ExecdReply::error(404, "SESSION_GONE", "no such session")
}

fn create(asked: &ExecdRequest, state: &mut ExecdState) -> ExecdReply {
    let members = LenientMembers::from_body(&asked.body).unwrap_or_default();
    state.count += 1;
    let made = json!({ "session_id": format!("pty-{}", state.count) });
    if members.text("command") == "no-such-shell" {
        // As the real one: it reports the failure and goes on as if there were none.
        let error = json!({ "code": "RUNTIME_ERROR", "message": "no such shell" });
        let both = format!("{error}{made}");
        return ExecdReply::whole(500, "application/json; charset=utf-8", both);
    }
    state.sessions.insert(format!("pty-{}", state.count), PtySession::default());
    ExecdReply::json(201, &made)
}

/// Attaches the client that asks to session `id`, and starts its shell if it does not run.
pub(super) fn attach(
    asked: &ExecdRequest,
    id: String,
    upgraded: OnUpgrade,
    shared: &Arc<SharedExecd>,
) -> Response<BodyPieces> {
    let (sender, told) = mpsc::unbounded_channel();
    let since = asked.query("since").and_then(|since| since.parse::<usize>().ok());
    let mut state = shared.state();
    let Some(session) = state.sessions.get_mut(&id) else {
        drop(state);
        return gone().sent(shared);
    };
    match session.attached.take() {
        Some(other) if asked.query("takeover") == Some("1") => {
            let _ = other.send(ClientMessage::TakenOver);
        }
        Some(other) if !other.is_closed() => {
            session.attached = Some(other);
            drop(state);
            return ExecdReply::error(409, "ALREADY_CONNECTED", "one at a time").sent(shared);
        }
        _ => {}
    }
    session.turn += 1;
    session.running = true;
    session.attached = Some(sender);
    let replay = since.filter(|since| *since < session.output.len());
    let replay = replay.map(|since| (since, session.output[since..].to_vec()));
    let turn = session.turn;
    drop(state);
    let mode = if asked.query("pty") == Some("0") { "pipe" } else { "pty" };
    let talk = PtyAttachment { id, mode, turn, replay, shared: Arc::clone(shared) };
    tokio::spawn(async move {
        if let Ok(io) = upgraded.await {
            let io = TokioIo::new(io);
            talk.serve(WebSocketStream::from_raw_socket(io, Role::Server, None).await, told).await;
        }
    });
    let key = asked.headers.get("sec-websocket-key").map(|key| derive_accept_key(key.as_bytes()));
    Response::builder()
        .status(101)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-accept", key.unwrap_or_default())
        .body(BodyPieces::none())
        .unwrap_or_else(|_| Response::new(BodyPieces::none()))
}

/// One attachment to a session.
struct PtyAttachment {
    id: String,
    mode: &'static str,
    turn: u32,
    replay: Option<(usize, Vec<u8>)>,
    shared: Arc<SharedExecd>,
}

type ClientSocket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// The state of an attachment after one event.
enum AttachmentState {
    Go,
    Over,
}

impl PtyAttachment {
    async fn serve(self, mut socket: ClientSocket, mut told: UnboundedReceiver<ClientMessage>) {
        let mut cut = self.shared.cut.subscribe();
        if self.greet(&mut socket).await.is_err() {
            return self.leave();
        }
        loop {
            let next = tokio::select! {
                _ = cut.changed() => return,
                told = told.recv() => self.handle_message(told, &mut socket).await,
                message = socket.next() => match message {
                    Some(Ok(message)) => self.take(message, &mut socket).await,
                    _ => AttachmentState::Over,
                },
            };
            if let AttachmentState::Over = next {
                return self.leave();
            }
        }
    }

    async fn greet(&self, socket: &mut ClientSocket) -> Result<(), ()> {
        if let Some((since, output)) = &self.replay {
            let mut frame = vec![REPLAY];
            frame.extend((*since as u64).to_be_bytes());
            frame.extend(output);
            socket.send(Message::binary(frame)).await.map_err(drop)?;
        }
        let connected = json!({ "type": "connected", "session_id": self.id, "mode": self.mode });
        self.send_json(socket, &connected).await
    }

    async fn send_json(&self, socket: &mut ClientSocket, value: &Value) -> Result<(), ()> {
        socket.send(Message::text(value.to_string())).await.map_err(drop)
    }

    async fn handle_message(
        &self,
        told: Option<ClientMessage>,
        socket: &mut ClientSocket,
    ) -> AttachmentState {
        match told {
            Some(ClientMessage::TakenOver) => {
                let why = CloseFrame { code: TAKEN_OVER.into(), reason: "TAKEN_OVER".into() };
                let _ = socket.close(Some(why)).await;
                // The client that took over is attached by now.
                while let Some(Ok(_)) = socket.next().await {}
            }
            Some(ClientMessage::Ended(code)) => self.end(socket, code).await,
            None => {}
        }
        AttachmentState::Over
    }

    async fn end(&self, socket: &mut ClientSocket, code: i32) {
        {
            let mut state = self.shared.state();
            if let Some(session) = state.sessions.get_mut(&self.id) {
                session.running = false;
                session.attached = None;
            }
        }
        let _ = self.send_json(socket, &json!({ "type": "exit", "exit_code": code })).await;
        let _ = socket.close(None).await;
        while let Some(Ok(_)) = socket.next().await {}
    }

    async fn take(&self, message: Message, socket: &mut ClientSocket) -> AttachmentState {
        match message {
            Message::Binary(bytes) if bytes.first() == Some(&STDIN) => {
                self.type_in(&bytes[1..], socket).await
            }
            Message::Binary(_) => {
                let error =
                    json!({ "type": "error", "code": "INVALID_FRAME", "error": "no stdin" });
                self.send_json(socket, &error)
                    .await
                    .map_or(AttachmentState::Over, |()| AttachmentState::Go)
            }
            Message::Text(text) => self.obey(text.as_str(), socket).await,
            Message::Close(_) => AttachmentState::Over,
            _ => AttachmentState::Go,
        }
    }

    async fn obey(&self, text: &str, socket: &mut ClientSocket) -> AttachmentState {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        match value["type"].as_str() {
            Some("ping") => {
                let pong = self.send_json(socket, &json!({ "type": "pong" })).await;
                pong.map_or(AttachmentState::Over, |()| AttachmentState::Go)
            }
            Some("stdin") => {
                let data = value["data"].as_str().unwrap_or_default().to_owned();
                self.type_in(data.as_bytes(), socket).await
            }
            Some("signal") => {
                self.end(socket, -1).await;
                AttachmentState::Over
            }
            _ => AttachmentState::Go,
        }
    }

    async fn type_in(&self, bytes: &[u8], socket: &mut ClientSocket) -> AttachmentState {
        let text = String::from_utf8_lossy(bytes);
        if let Some(code) = text.strip_prefix("exit ").and_then(|code| code.trim().parse().ok()) {
            self.end(socket, code).await;
            return AttachmentState::Over;
        }
        let code = if text.starts_with("err") { STDERR } else { STDOUT };
        if let Some(session) = self.shared.state().sessions.get_mut(&self.id) {
            session.output.extend(bytes);
        }
        let mut frame = vec![code];
        frame.extend(bytes);
        socket
            .send(Message::binary(frame))
            .await
            .map_or(AttachmentState::Over, |()| AttachmentState::Go)
    }

    /// The shell lives on; the next one may attach.
    fn leave(&self) {
        let mut state = self.shared.state();
        if let Some(session) = state.sessions.get_mut(&self.id)
            && session.turn == self.turn
        {
            session.attached = None;
        }
    }
}
