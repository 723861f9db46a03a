//! Commands, sessions and code.

use boxproof_cases::case::Piece;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::lenient::Members;
use super::reply::{Reply, event};
use super::{Asked, State};

/// The time that everything happens: answers are the same in every arm.
const NOW: u64 = 1_781_524_800_000;

/// The answer to a request about commands or code.
pub(super) fn answer(asked: &Asked, state: &mut State) -> Option<Reply> {
    let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
    Some(match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["ping"]) => Reply::empty(),
        ("GET", ["metrics"]) => Reply::json(200, &json!({ "cpu_count": 1, "cpu_used_pct": 0.5 })),
        ("POST", ["command"]) => command(&asked.body, state),
        ("DELETE", ["command"]) => Reply::empty(),
        ("GET", ["command", "status", id]) => status(id, state),
        ("GET", ["command", _, "logs"]) => Reply::whole(200, "text/plain", String::new()),
        ("POST", ["session"]) => Reply::json(200, &json!({ "session_id": "bash-1" })),
        ("POST", ["session", _, "run"]) => command(&asked.body, state),
        ("DELETE", ["session", _]) => Reply::empty(),
        ("POST", ["code"]) => code(&asked.body, state),
        ("DELETE", ["code"]) => Reply::empty(),
        ("GET", ["code", "contexts"]) => Reply::json(200, &json!([])),
        ("POST", ["code", "context"]) => Reply::json(200, &json!({ "id": "context-1" })),
        (_, ["proxy", _port, ..]) => Reply::whole(200, "text/plain", "behind the port\n".into()),
        _ => return None,
    })
}

fn refused(why: &str) -> Reply {
    Reply::error(400, "INVALID_REQUEST_BODY", why)
}

/// An id of 32 hexadecimal digits: the same text has the same id in every arm.
fn id_of(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))[..32].to_owned()
}

fn said(kind: &str, text: &str) -> Piece {
    event(&json!({ "type": kind, "text": text, "timestamp": NOW }))
}

fn complete() -> Piece {
    event(&json!({ "type": "execution_complete", "execution_time": 5, "timestamp": NOW }))
}

fn failed(name: &str, value: &str) -> Piece {
    let error =
        json!({ "ename": name, "evalue": value, "traceback": [format!("{name}: {value}")] });
    event(&json!({ "type": "error", "error": error, "timestamp": NOW }))
}

fn ping() -> Piece {
    said("ping", "pong")
}

fn command(body: &[u8], state: &mut State) -> Reply {
    let members = match Members::of(body) {
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
        return Reply::events(events);
    }
    events.extend(output(&line));
    events.push(match (exit, line.as_str()) {
        (_, "no-such-program") => failed("CommandExecError", "fork/exec: no such file"),
        (Some(0), _) => complete(),
        (code, _) => failed("CommandExecError", &code.unwrap_or(-1).to_string()),
    });
    Reply::events(events)
}

/// Returns the exit code of a command; none if it is killed.
fn exit_of(line: &str) -> Option<i32> {
    match line.strip_prefix("exit ") {
        Some(code) => code.trim().parse().ok(),
        None if line == "killed" => None,
        None => Some(0),
    }
}

fn output(line: &str) -> Vec<Piece> {
    match line.split_once(' ') {
        Some(("hold", name)) => vec![said("stdout", "held"), Piece::Hold(name.to_owned())],
        _ if line == "pings" => vec![ping(), said("stdout", "one"), ping(), said("stderr", "two")],
        _ if line == "no-such-program" => Vec::new(),
        _ => vec![said("stdout", &format!("ran {line}"))],
    }
}

fn status(id: &str, state: &State) -> Reply {
    match state.ended.get(id) {
        Some(code) => Reply::json(200, &json!({ "id": id, "running": false, "exit_code": code })),
        None => Reply::error(404, "CONTEXT_NOT_FOUND", "no such command"),
    }
}

fn code(body: &[u8], state: &mut State) -> Reply {
    let members = match Members::of(body) {
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
            return Reply::events(events);
        }
        held if held.starts_with("hold ") => events.extend(output(held)),
        _ => events.push(said("stdout", "printed")),
    }
    let results = json!({ "type": "result", "results": { "text": "2" }, "timestamp": NOW });
    let count = json!({ "type": "execution_count", "execution_count": 1, "timestamp": NOW });
    events.extend([event(&count), event(&results), complete()]);
    Reply::events(events)
}
