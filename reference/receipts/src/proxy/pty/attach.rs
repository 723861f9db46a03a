//! Requests about terminals, and the bytes of an attached one, which pass unchanged.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};

use super::{PtyClosing, ShellStream};
use crate::proxy::exchange::{AgentResponse, ProxyContext, RejectedRequest, unreachable};
use crate::proxy::outgoing_body::OutgoingBody;
use crate::proxy::request_inputs::json_of;
use crate::proxy::upstream;
use crate::strict::OrderedJson;
use crate::wire::{WebSocketPiece, WebSocketReader};

/// The longest answer about one terminal, and the longest request for one.
const SHORT: usize = 1 << 20;

impl ProxyContext {
    /// `POST /pty`: a record, nothing that runs.
    pub(in crate::proxy) async fn pty_new(
        &self,
        request: Request<Incoming>,
    ) -> Result<AgentResponse, RejectedRequest> {
        let (request, body) = self.whole(request, SHORT).await?;
        let asked = match body.is_empty() {
            true => OrderedJson::Null,
            false => json_of(&body, 0).map_err(RejectedRequest::unclear)?,
        };
        let answer = match self.upstream.send(request).await {
            Ok(answer) => answer,
            Err(no) => return Ok(self.no_answer(&no)),
        };
        let (parts, body) = answer.into_parts();
        let Ok(body) = body.collect().await else {
            return Ok(unreachable("execd broke off its answer"));
        };
        let body = body.to_bytes();
        if parts.status.is_success()
            && let Ok(made) = serde_json::from_slice::<Value>(&body)
            && let Some(id) = made.get("session_id").and_then(Value::as_str)
        {
            self.ptys.recorded(id, asked.member("command").and_then(OrderedJson::text));
        }
        Ok(AgentResponse::from_parts(parts, OutgoingBody::Whole(body.into())))
    }

    /// `DELETE /pty/{id}`: execd kills the shell.
    pub(in crate::proxy) async fn pty_end(
        &self,
        request: Request<Incoming>,
        id: &str,
    ) -> AgentResponse {
        let before = self.ptys.signalled(id, Some("SIGKILL"));
        let answer = self.pass(request).await;
        if answer.status().is_success() {
            self.ptys.deleted(id);
        } else {
            self.ptys.signalled(id, before.as_deref());
        }
        answer
    }

    /// Handles `GET /pty/{id}/ws`: the shell starts, or is resumed.
    pub(in crate::proxy) async fn pty_attach(
        self: &Arc<Self>,
        mut request: Request<Incoming>,
        id: &str,
    ) -> Result<AgentResponse, RejectedRequest> {
        let asks = request.headers().get(UPGRADE).and_then(|kind| kind.to_str().ok());
        if !asks.is_some_and(|kind| kind.eq_ignore_ascii_case("websocket")) {
            return Ok(self.pass(request).await);
        }
        self.look_after(id, &request).await;
        let agent = hyper::upgrade::on(&mut request);
        // Compressed frames could not be read on their way.
        request.headers_mut().remove("sec-websocket-extensions");
        let mut request = self.forward(request);
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        request.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
        let mut answer = match self.upstream.send(request).await {
            Ok(answer) => answer,
            Err(no) => return Ok(self.no_answer(&no)),
        };
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let execd = hyper::upgrade::on(&mut answer);
            self.ptys.attached(id);
            let attached = AttachedTerminal { proxy: Arc::clone(self), id: id.to_owned() };
            tokio::spawn(async move {
                if let (Ok(agent), Ok(execd)) = tokio::join!(agent, execd) {
                    attached.splice(agent, execd).await;
                }
            });
        }
        Ok(answer.map(OutgoingBody::Passed))
    }

    /// Checks an unattached shell: it may be over, and the next connection starts another.
    async fn look_after(&self, id: &str, request: &Request<Incoming>) {
        if !self.ptys.is_unwatched(id) {
            return;
        }
        let mut look = Request::new(Full::new(Bytes::new()).map_err(|n| match n {}).boxed_unsync());
        *look.method_mut() = Method::GET;
        *look.headers_mut() = request.headers().clone();
        for name in ["sec-websocket-key", "sec-websocket-version", "connection", "upgrade"] {
            look.headers_mut().remove(name);
        }
        let path = request.uri().path().trim_end_matches('/');
        let path = path.strip_suffix("/ws").unwrap_or(path);
        if let Ok(uri) = path.parse() {
            *look.uri_mut() = uri;
            if !self.runs(look).await {
                self.ptys.closed(id, PtyClosing::Unseen("the end was not seen"));
            }
        }
    }

    /// Returns whether execd reports that the shell runs; assumes so where it does not answer.
    async fn runs(&self, look: Request<upstream::UpstreamBody>) -> bool {
        let Ok(answer) = self.upstream.send(self.headed(look)).await else { return true };
        let Ok(body) = answer.into_body().collect().await else { return true };
        let state = serde_json::from_slice::<Value>(&body.to_bytes()).unwrap_or_default();
        state.get("running").and_then(Value::as_bool).unwrap_or(true)
    }
}

/// One connection to a terminal; it is detached on drop.
struct AttachedTerminal {
    proxy: Arc<ProxyContext>,
    id: String,
}

impl Drop for AttachedTerminal {
    fn drop(&mut self) {
        self.proxy.ptys.detached(&self.id);
    }
}

impl AttachedTerminal {
    async fn splice(self, agent: Upgraded, execd: Upgraded) {
        let (from_agent, to_agent) = split(TokioIo::new(agent));
        let (from_execd, to_execd) = split(TokioIo::new(execd));
        let (mut typed, mut shown) = (WebSocketReader::default(), WebSocketReader::default());
        let mut closing = false;
        let up = pass(from_agent, to_execd, |bytes| {
            typed.feed(bytes, &mut |passed| self.typed(&passed));
        });
        let down = pass(from_execd, to_agent, |bytes| {
            shown.feed(bytes, &mut |passed| {
                closing |= passed == WebSocketPiece::Close;
                self.shown(&passed);
            });
        });
        // The agent's end is handed on; execd's end is the end.
        let down_first = tokio::select! {
            biased;
            () = down => true,
            () = up => false,
        };
        if down_first && !closing && !self.proxy.upstream.is_there().await {
            self.proxy.ptys.all_closed("execd is gone");
        }
    }

    fn typed(&self, passed: &WebSocketPiece<'_>) {
        let (ptys, id) = (&self.proxy.ptys, &self.id);
        match passed {
            WebSocketPiece::Bytes { tag: 0, bytes, .. } => ptys.typed(id, bytes),
            WebSocketPiece::Bytes { .. } | WebSocketPiece::Close => {}
            WebSocketPiece::Lost => ptys.missed(id),
            WebSocketPiece::Text(text) => match json_of(text, 0) {
                Err(_) => ptys.missed(id),
                Ok(json) => self.record_message(&json),
            },
        }
    }

    fn record_message(&self, json: &OrderedJson) {
        let text = |name| json.member(name).and_then(OrderedJson::text);
        match text("type") {
            Some("stdin") => {
                self.proxy.ptys.typed(&self.id, text("data").unwrap_or_default().as_bytes());
            }
            Some("signal") => {
                self.proxy.ptys.signalled(&self.id, text("signal"));
            }
            _ => {}
        }
    }

    fn shown(&self, passed: &WebSocketPiece<'_>) {
        let (ptys, id) = (&self.proxy.ptys, &self.id);
        match passed {
            WebSocketPiece::Bytes { tag: 1, bytes, .. } => {
                ptys.printed(id, ShellStream::Stdout, bytes);
            }
            WebSocketPiece::Bytes { tag: 2, bytes, .. } => {
                ptys.printed(id, ShellStream::Stderr, bytes);
            }
            WebSocketPiece::Bytes { offset: Some(offset), bytes, .. } => {
                ptys.replayed(id, *offset, bytes);
            }
            WebSocketPiece::Bytes { .. } | WebSocketPiece::Close => {}
            WebSocketPiece::Lost => ptys.missed(id),
            WebSocketPiece::Text(text) => self.event(text),
        }
    }

    fn event(&self, text: &[u8]) {
        let event = serde_json::from_slice::<Value>(text).unwrap_or_default();
        let word = |name| event.get(name).and_then(Value::as_str);
        let exit = event.get("exit_code").and_then(Value::as_i64);
        let how = match (word("type"), word("code"), exit) {
            (Some("exit"), _, Some(code)) => PtyClosing::Exit(code),
            (Some("exit"), _, None) => PtyClosing::Unseen("the shell ended without an exit code"),
            (Some("error"), Some("START_FAILED"), _) => {
                PtyClosing::Unseen("the shell was not started")
            }
            (Some("error"), Some("SESSION_GONE"), _) => PtyClosing::Unseen("the terminal is gone"),
            _ => return,
        };
        self.proxy.ptys.closed(&self.id, how);
    }
}

/// Hands bytes on until one side is through, and shows each piece first.
async fn pass<T: AsyncRead + AsyncWrite, U: AsyncRead + AsyncWrite>(
    mut from: ReadHalf<T>,
    mut to: WriteHalf<U>,
    mut see: impl FnMut(&[u8]),
) {
    let mut piece = vec![0; 32 << 10];
    while let Ok(count @ 1..) = from.read(&mut piece).await {
        see(&piece[..count]);
        if to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
    // The other direction may still have something to say, or not; this one is over.
    let _closed = to.shutdown().await;
}
