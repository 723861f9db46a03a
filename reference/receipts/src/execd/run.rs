//! Commands and code: a process, and its output as events.

use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use hyper::Request;
use hyper::body::{Frame, Incoming};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::Sender;

use super::reply::{ExecdReply, body, error, stream};
use crate::channel_body::BodyPiece;
use crate::strict::OrderedJson;

/// The receiver of events; a caller that went away misses them, without further effect.
struct EventWriter(Sender<BodyPiece>);

impl EventWriter {
    async fn send(&self, kind: &str, more: &Value) {
        let mut event = json!({"type": kind, "timestamp": 0});
        if let (Some(event), Some(more)) = (event.as_object_mut(), more.as_object()) {
            event.extend(more.clone());
        }
        // No `data:` before it, as execd has none.
        let piece = Frame::data(Bytes::from(format!("{event}\n\n")));
        let _unheard = self.0.send(Ok(piece)).await;
    }

    async fn failed(&self, ename: &str, evalue: &str) {
        let error = json!({"ename": ename, "evalue": evalue, "traceback": []});
        self.send("error", &json!({"error": error})).await;
    }
}

/// `POST /command`.
pub(super) async fn command(request: Request<Incoming>) -> ExecdReply {
    let asked = match body(request).await {
        Ok(asked) => asked,
        Err(reply) => return reply,
    };
    let Some(line) = asked.member("command").and_then(OrderedJson::text) else {
        return error(400, "INVALID_REQUEST_BODY", "command is required");
    };
    if asked.member("gid").is_some() && asked.member("uid").is_none() {
        return error(400, "INVALID_REQUEST_BODY", "gid needs uid");
    }
    let timeout = asked.member("timeout").map(OrderedJson::value).and_then(|value| value.as_u64());
    let background = asked.member("background") == Some(&OrderedJson::Bool(true));
    answer(shell(line, &asked), timeout, background)
}

fn shell(line: &str, asked: &OrderedJson) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).stdin(Stdio::null()).kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = asked.member("cwd").and_then(OrderedJson::text) {
        command.current_dir(cwd);
    }
    for (name, value) in asked.member("envs").and_then(OrderedJson::members).unwrap_or_default() {
        command.env(name, value.text().unwrap_or_default());
    }
    command
}

fn answer(mut command: Command, timeout: Option<u64>, background: bool) -> ExecdReply {
    let (reply, events) = stream();
    let events = EventWriter(events);
    tokio::spawn(async move {
        let id = uuid::Uuid::new_v4().simple().to_string();
        events.send("init", &json!({"text": id})).await;
        events.send("ping", &json!({"text": "pong"})).await;
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return events.failed("CommandExecError", &error.to_string()).await,
        };
        if background {
            events.send("execution_complete", &json!({"execution_time": 1})).await;
            drop(events);
            follow(child, None, timeout).await;
            return;
        }
        match follow(child, Some(&events), timeout).await {
            0 => events.send("execution_complete", &json!({"execution_time": 1})).await,
            code => events.failed("CommandExecError", &code.to_string()).await,
        }
    });
    reply
}

/// Sends the output of a process, and returns its exit code; -1 if a signal ended it.
async fn follow(mut child: Child, events: Option<&EventWriter>, timeout: Option<u64>) -> i32 {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let ended = async {
        tokio::join!(lines("stdout", stdout, events), lines("stderr", stderr, events));
        child.wait().await
    };
    let limit = Duration::from_millis(timeout.filter(|ms| *ms > 0).unwrap_or(3_600_000));
    let ended = tokio::time::timeout(limit, ended).await;
    ended.ok().and_then(Result::ok).and_then(|status| status.code()).unwrap_or(-1)
}

async fn lines(kind: &str, from: Option<impl AsyncRead + Unpin>, events: Option<&EventWriter>) {
    let Some(from) = from else { return };
    let (mut from, mut line) = (BufReader::new(from), Vec::new());
    while from.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line).into_owned();
        // A line has no end, unless it is nothing else.
        let text = text.strip_suffix('\n').filter(|text| !text.is_empty()).unwrap_or(&text);
        if let Some(events) = events {
            events.send(kind, &json!({"text": text})).await;
        }
        line.clear();
    }
}

/// `POST /code`.
pub(super) async fn code(request: Request<Incoming>) -> ExecdReply {
    let asked = match body(request).await {
        Ok(asked) => asked,
        Err(reply) => return reply,
    };
    let Some(code) = asked.member("code").and_then(OrderedJson::text) else {
        return error(400, "INVALID_REQUEST_BODY", "code is required");
    };
    let language = asked.member("context").and_then(|context| context.member("language")?.text());
    match language {
        None | Some("") => answer(shell(code, &asked), None, false),
        Some("python") => toy(code.to_owned()),
        Some(_) => error(500, "RUNTIME_ERROR", "there is no kernel for this language"),
    }
}

/// A kernel that knows `print(…)` of a literal, `raise`, and values.
fn toy(code: String) -> ExecdReply {
    let (reply, events) = stream();
    let events = EventWriter(events);
    tokio::spawn(async move {
        let context = uuid::Uuid::new_v4().simple().to_string();
        events.send("init", &json!({"text": context})).await;
        events.send("ping", &json!({"text": "pong"})).await;
        for line in code.lines() {
            let printed = line.strip_prefix("print(").and_then(|rest| rest.strip_suffix(')'));
            if let Some(printed) = printed {
                let text = format!("{}\n", printed.trim_matches(['"', '\'']));
                events.send("stdout", &json!({"text": text})).await;
            } else if let Some(what) = line.strip_prefix("raise ") {
                return events.failed(what, "").await;
            } else {
                events.send("execution_count", &json!({"execution_count": 1})).await;
                events.send("result", &json!({"results": {"text": line}})).await;
            }
        }
        events.send("execution_complete", &json!({"execution_time": 1})).await;
    });
    reply
}
