//! Commands, sessions and code.

use boxproof_cases::case::BodyPiece;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::lenient::LenientMembers;
use super::reply::{ExecdReply, event};
use super::{ExecdRequest, ExecdState};

/// The time that everything happens: answers are the same in every arm.
const NOW: u64 = 1_781_524_800_000;

/// The answer to a request about commands or code.
pub(super) fn answer(asked: &ExecdRequest, state: &mut ExecdState) -> Option<ExecdReply> {
    let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
    Some(match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["ping"]) => ExecdReply::empty(),
        ("GET", ["metrics"]) => {
            ExecdReply::json(200, &json!({ "cpu_count": 1, "cpu_used_pct": 0.5 }))
        }
        ("POST", ["command"]) => command(&asked.body, state),
        ("DELETE", ["command"]) => ExecdReply::empty(),
        ("GET", ["command", "status", id]) => status(id, state),
        ("GET", ["command", _, "logs"]) => ExecdReply::whole(200, "text/plain", String::new()),
        ("POST", ["session"]) => ExecdReply::json(200, &json!({ "session_id": "bash-1" })),
        ("POST", ["session", _, "run"]) => command(&asked.body, state),
        ("DELETE", ["session", _]) => ExecdReply::empty(),
        ("POST", ["code"]) => code(&asked.body, state),
        ("DELETE", ["code"]) => ExecdReply::empty(),
        ("GET", ["code", "contexts"]) => ExecdReply::json(200, &json!([])),
        ("POST", ["code", "context"]) => ExecdReply::json(200, &json!({ "id": "context-1" })),
        (_, ["proxy", _port, ..]) => {
            ExecdReply::whole(200, "text/plain", "behind the port\n".into())
        }
        _ => return None,
    })
}

fn refused(why: &str) -> ExecdReply {
    ExecdReply::error(400, "INVALID_REQUEST_BODY", why)
}

/// An id of 32 hexadecimal digits: the same text has the same id in every arm.
fn id_of(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))[..32].to_owned()
}

fn said(kind: &str, text: &str) -> BodyPiece {
    event(&json!({ "type": kind, "text": text, "timestamp": NOW }))
}

fn complete() -> BodyPiece {
    event(&json!({ "type": "execution_complete", "execution_time": 5, "timestamp": NOW }))
}

fn failed(name: &str, value: &str) -> BodyPiece {
    let error =
        json!({ "ename": name, "evalue": value, "traceback": [format!("{name}: {value}")] });
    event(&json!({ "type": "error", "error": error, "timestamp": NOW }))
}

fn ping() -> BodyPiece {
    said("ping", "pong")
}

fn command(body: &[u8], state: &mut ExecdState) -> ExecdReply {
    let members = match LenientMembers::from_body(body) {
        Ok(members) => members,
        Err(why) => return refused(&why),
    };
    let line = members.text("command").to_owned();
    if line.is_empty() {
        return refused("Key: 'RunCommandRequest.Command' Error: required");
    }
    if members.get("gid").is_some() && members.get("uid").is_none() {
        return refused("gid needs uid");
    }
    let id = id_of(&line);
    let exit = exit_of(&line);
    state.ended.insert(id.clone(), exit.unwrap_or(-1));
    let mut events = vec![said("init", &id)];
    if members.get("background") == Some(&Value::Bool(true)) {
        events.push(complete());
        return ExecdReply::events(events);
    }
    events.extend(output(&line));
    events.push(match (exit, line.as_str()) {
        (_, "no-such-program") => failed("CommandExecError", "fork/exec: no such file"),
        (Some(0), _) => complete(),
        (code, _) => failed("CommandExecError", &code.unwrap_or(-1).to_string()),
    });
    ExecdReply::events(events)
}

/// Returns the exit code of a command; none if it is killed.
fn exit_of(line: &str) -> Option<i32> {
    match line.strip_prefix("exit ") {
        Some(code) => code.trim().parse().ok(),
        None if line == "killed" => None,
        None => Some(0),
    }
}

fn output(line: &str) -> Vec<BodyPiece> {
    match line.split_once(' ') {
        Some(("hold", name)) => vec![said("stdout", "held"), BodyPiece::Hold(name.to_owned())],
        _ if line == "pings" => vec![ping(), said("stdout", "one"), ping(), said("stderr", "two")],
        _ if line == "no-such-program" => Vec::new(),
        _ => vec![said("stdout", &format!("ran {line}"))],
    }
}

fn status(id: &str, state: &ExecdState) -> ExecdReply {
    match state.ended.get(id) {
        Some(code) => {
            ExecdReply::json(200, &json!({ "id": id, "running": false, "exit_code": code }))
        }
        None => ExecdReply::error(404, "CONTEXT_NOT_FOUND", "no such command"),
    }
}

fn code(body: &[u8], state: &mut ExecdState) -> ExecdReply {
    let members = match LenientMembers::from_body(body) {
        Ok(members) => members,
        Err(why) => return refused(&why),
    };
    let code = members.text("code").to_owned();
    if code.is_empty() {
        return refused("Key: 'RunCodeRequest.Code' Error: required");
    }
    if members.inner("context", "language").is_empty() {
        return command(json!({ "command": code }).to_string().as_bytes(), state);
    }
    let mut events = vec![said("init", &id_of(&code)), ping()];
    match code.as_str() {
        "raise" => {
            events.extend([said("stdout", "before"), failed("ValueError", "no")]);
            return ExecdReply::events(events);
        }
        held if held.starts_with("hold ") => events.extend(output(held)),
        _ => events.push(said("stdout", "printed")),
    }
    let results = json!({ "type": "result", "results": { "text": "2" }, "timestamp": NOW });
    let count = json!({ "type": "execution_count", "execution_count": 1, "timestamp": NOW });
    events.extend([event(&count), event(&results), complete()]);
    ExecdReply::events(events)
}
