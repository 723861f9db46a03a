//! The mock model: it asks for one call of one tool, takes the report, and says no more than "done".
//! Main type: [`MockModel`].

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::wire::{self, ModelTurn};
use crate::backend::{AgentDialogue, CommandReport, ToolReport};

/// A model that serves. It ends with its runtime.
pub(super) struct MockModel(Arc<SharedDialogue>);

/// The conversation, between connections.
struct SharedDialogue {
    state: Mutex<DialogueState>,
    /// Notified when the command has been asked for.
    asked: Notify,
}

/// The state of the one conversation.
struct DialogueState {
    dialogue: AgentDialogue,
    /// The number of turns that the agent asked for.
    turns: usize,
    /// The names of the tools that it offered.
    offered: BTreeSet<String>,
    /// Whether the command has been asked for.
    asked: bool,
    report: Option<ToolReport>,
}

impl MockModel {
    /// Has a model answer on `listener`.
    pub(super) fn serve(listener: TcpListener, dialogue: AgentDialogue) -> Self {
        let offered = BTreeSet::new();
        let state = DialogueState { dialogue, turns: 0, offered, asked: false, report: None };
        let shared = Arc::new(SharedDialogue { state: Mutex::new(state), asked: Notify::new() });
        let model = Self(Arc::clone(&shared));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                let answer = service_fn(move |request| answer(request, Arc::clone(&shared)));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        model
    }

    /// Waits until the command has been asked for.
    pub(super) async fn asked(&self) {
        self.0.asked.notified().await;
    }

    /// Returns what the agent reported of the command.
    ///
    /// # Errors
    /// The reason why there is no report.
    pub(super) fn conclude(&self) -> Result<CommandReport, String> {
        let state = self.0.state();
        let tool = &state.dialogue.tool;
        let offered = || state.offered.iter().cloned().collect::<Vec<_>>().join(", ");
        match &state.report {
            Some(report) => match state.dialogue.report.read(report) {
                CommandReport::Unreadable(why) => Err(why),
                report => Ok(report),
            },
            None if state.turns == 0 => Err("it never asked its model".to_owned()),
            None if !state.asked => Err(format!("it offered no tool `{tool}`, but {}", offered())),
            None => Err(format!("it reported nothing of the command that `{tool}` was to run")),
        }
    }
}

impl SharedDialogue {
    fn state(&self) -> MutexGuard<'_, DialogueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DialogueState {
    /// Returns the turn of the model after what `body` tells.
    fn turn(&mut self, body: &Value) -> ModelTurn {
        self.turns += 1;
        let AgentDialogue { protocol, tool, arguments, .. } = &self.dialogue;
        if let Some(report) = wire::report(*protocol, tool, body) {
            self.report.get_or_insert(report);
            return ModelTurn::Done;
        }
        let offered = wire::offered(*protocol, body);
        let calls = !self.asked && offered.contains(tool);
        self.offered.extend(offered);
        self.asked |= calls;
        match serde_json::from_str(arguments) {
            Ok(arguments) if calls => ModelTurn::Call { tool: tool.clone(), arguments },
            _ => ModelTurn::Done,
        }
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<SharedDialogue>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut state = shared.state();
    let protocol = state.dialogue.protocol;
    let is_turn = head.method == Method::POST && wire::is_turn(protocol, head.uri.path());
    let read = serde_json::from_slice::<Value>(&body);
    // All else that it asks for is not there: lists of models, counts of tokens.
    let (status, kind, text) = match read {
        Ok(body) if is_turn => {
            let turn = state.turn(&body);
            if matches!(turn, ModelTurn::Call { .. }) {
                shared.asked.notify_one();
            }
            let reply = wire::reply(protocol, head.uri.path(), &body, &turn);
            (200, reply.kind, reply.text)
        }
        _ => (404, wire::JSON, "{}".to_owned()),
    };
    let response = Response::builder().status(status).header("content-type", kind);
    let response = response.body(Full::from(text));
    Ok(response.unwrap_or_else(|_| Response::new(Full::default())))
}
