//! A made-up execd, true to how the real one answers: events that are bare JSON, names of JSON
//! members in any case, two bodies where a terminal cannot be made. Nothing is ever executed: a
//! command's text says how it ends.
//!
//! | text | what comes of it |
//! |---|---|
//! | `exit N` | that exit code |
//! | `killed` | killed by a signal |
//! | `no-such-program` | it cannot be started |
//! | `hold NAME` | output, then nothing until NAME is released |
//! | `pings` | pings between its output |
//! | anything else | one line of output, exit code 0 |

mod commands;
mod files;
mod lenient;
mod pty;
mod reply;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use boxproof_cases::case::ScriptedAnswer;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;

use reply::{BodyPieces, ExecdReply};

/// A request as it reached execd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Method, path and query.
    pub line: String,
    /// The headers, one a line.
    pub headers: String,
    /// The body.
    pub body: Vec<u8>,
}

/// The state of execd.
#[derive(Debug, Default)]
struct ExecdState {
    scripted: Vec<ScriptedAnswer>,
    recorded: Vec<RecordedRequest>,
    files: BTreeMap<String, Vec<u8>>,
    directories: BTreeSet<String>,
    ended: BTreeMap<String, i32>,
    sessions: BTreeMap<String, pty::PtySession>,
    count: u32,
}

/// A running execd. It ends with its runtime.
#[derive(Debug)]
pub struct Execd {
    /// The address it listens on.
    pub address: SocketAddr,
    shared: Arc<SharedExecd>,
    serving: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct SharedExecd {
    state: Mutex<ExecdState>,
    released: watch::Sender<BTreeSet<String>>,
    token: Option<String>,
    /// Ended when execd is cut: every connection goes with it.
    cut: watch::Sender<bool>,
}

impl SharedExecd {
    fn state(&self) -> MutexGuard<'_, ExecdState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Execd {
    /// Starts an execd that answers `scripted` first and asks for `token`.
    ///
    /// # Errors
    /// The error when there is no port.
    pub async fn new(
        scripted: Vec<ScriptedAnswer>,
        token: Option<String>,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = ExecdState { scripted, ..files::fixture() };
        let shared = Arc::new(SharedExecd {
            state: Mutex::new(state),
            released: watch::channel(BTreeSet::new()).0,
            token,
            cut: watch::channel(false).0,
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, serving })
    }

    /// Lets go on what holds at `name`.
    pub fn release(&self, name: &str) {
        self.shared.released.send_modify(|released| {
            released.insert(name.to_owned());
        });
    }

    /// Returns every request that reached it.
    pub fn recorded(&self) -> Vec<RecordedRequest> {
        self.shared.state().recorded.clone()
    }

    /// Ends it at once, with every connection.
    pub fn cut(&self) {
        self.serving.abort();
        let _ = self.shared.cut.send(true);
    }
}

async fn serve(listener: TcpListener, shared: Arc<SharedExecd>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut cut = shared.cut.subscribe();
            let answer = service_fn(|request| answer(request, Arc::clone(&shared)));
            let connection = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .with_upgrades();
            tokio::select! {
                _ = connection => {}
                _ = cut.changed() => {}
            }
        });
    }
}

/// A request, its body read.
struct ExecdRequest {
    method: String,
    /// Decoded.
    path: String,
    query: Vec<(String, String)>,
    headers: hyper::HeaderMap,
    body: Bytes,
}

impl ExecdRequest {
    fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

async fn answer(
    mut request: Request<Incoming>,
    shared: Arc<SharedExecd>,
) -> Result<Response<BodyPieces>, Infallible> {
    let upgrade = request.headers().contains_key(hyper::header::UPGRADE);
    let upgraded = upgrade.then(|| hyper::upgrade::on(&mut request));
    let (head, body) = request.into_parts();
    // A body that is cut short is a request that never was.
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Ok(ExecdReply::error(400, "INVALID_REQUEST_BODY", "unexpected EOF").sent(&shared));
    };
    let line = format!("{} {}", head.method, head.uri);
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    let recorded = RecordedRequest { line, headers: headers.collect(), body: body.to_vec() };
    shared.state().recorded.push(recorded);
    let asked = ExecdRequest {
        method: head.method.to_string(),
        path: decoded(head.uri.path()),
        query: query_of(head.uri.query().unwrap_or_default()),
        headers: head.headers,
        body,
    };
    if let (Some(upgraded), Some(id)) = (upgraded, pty::session_of(&asked.path)) {
        return Ok(pty::attach(&asked, id, upgraded, &shared));
    }
    let reply = routed(&asked, &shared);
    Ok(reply.sent(&shared))
}

fn routed(asked: &ExecdRequest, shared: &SharedExecd) -> ExecdReply {
    let token = asked.headers.get("x-execd-access-token").map(hyper::header::HeaderValue::as_bytes);
    if let Some(due) = &shared.token
        && token != Some(due.as_bytes())
    {
        return ExecdReply::json(401, &serde_json::json!({ "error": "unauthorized" }));
    }
    let mut state = shared.state();
    let route = format!("{} {}", asked.method, asked.path);
    if let Some(at) = state.scripted.iter().position(|scripted| scripted.on == route) {
        return ExecdReply::scripted(state.scripted.remove(at));
    }
    if asked.path.len() > 1 && asked.path.ends_with('/') {
        return ExecdReply::redirect(asked.path.trim_end_matches('/'));
    }
    commands::answer(asked, &mut state)
        .or_else(|| files::answer(asked, &mut state))
        .or_else(|| pty::answer(asked, &mut state))
        .unwrap_or_else(|| ExecdReply::json(404, &serde_json::json!("404 page not found")))
}

/// Decodes every `%XX` of `text`.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn query_of(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let read = |text: &str| decoded(&text.replace('+', " "));
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (read(key), read(value))
        })
        .collect()
}
