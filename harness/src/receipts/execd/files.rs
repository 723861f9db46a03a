//! Files and directories: a made-up file system of names and bytes.

use memchr::memmem::find;
use serde_json::{Value, json};

use super::lenient::LenientMembers;
use super::reply::ExecdReply;
use super::{ExecdRequest, ExecdState};

/// Returns the initial state of every execd.
pub(super) fn fixture() -> ExecdState {
    let text = b"first\nsecond\nthird\n".to_vec();
    let names = ["a.txt", "b.txt", "c.txt", "/w/a.txt", "dir/one"];
    let directories = ["dir", "/w", "full"].map(str::to_owned);
    ExecdState {
        files: names.into_iter().map(|name| (name.to_owned(), text.clone())).collect(),
        directories: directories.into(),
        ..ExecdState::default()
    }
}

/// The answer to a request about files or directories.
pub(super) fn answer(asked: &ExecdRequest, state: &mut ExecdState) -> Option<ExecdReply> {
    Some(match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/files/info") => info(asked, state),
        ("GET", "/files/search") => ExecdReply::json(200, &json!([])),
        ("GET", "/files/download" | "/files") => download(asked, state),
        ("POST", "/files/upload") => upload(asked, state),
        ("POST" | "PUT", "/files") => put(asked, state),
        ("DELETE", "/files") => delete(asked, state),
        ("POST", "/files/replace" | "/files/permissions") => named(asked, state),
        ("POST", "/files/mv") => moved(asked, state),
        ("GET", "/directories/list" | "/directories") => list(asked, state),
        ("POST", "/directories") => make(asked, state),
        ("DELETE", "/directories") => {
            for (_, path) in asked.query.iter().filter(|(key, _)| key == "path") {
                state.directories.remove(path);
            }
            ExecdReply::empty()
        }
        _ => return None,
    })
}

fn missing(path: &str) -> ExecdReply {
    ExecdReply::error(404, "FILE_NOT_FOUND", &format!("{path}: no such file"))
}

fn info(asked: &ExecdRequest, state: &ExecdState) -> ExecdReply {
    let path = asked.query("path").unwrap_or_default();
    match state.files.get(path) {
        Some(bytes) => ExecdReply::json(200, &json!({ path: entry(path, "file", bytes.len()) })),
        None => missing(path),
    }
}

fn entry(path: &str, kind: &str, size: usize) -> Value {
    let time = "2026-06-15T12:00:00Z";
    json!({ "path": path, "type": kind, "size": size, "modified_at": time, "created_at": time,
            "owner": "root", "group": "root", "mode": 644 })
}

fn download(asked: &ExecdRequest, state: &ExecdState) -> ExecdReply {
    let Some(path) = asked.query("path") else {
        return ExecdReply::error(400, "MISSING_QUERY", "path");
    };
    let Some(bytes) = state.files.get(path) else { return missing(path) };
    let text = String::from_utf8_lossy(bytes).into_owned();
    let range = asked.headers.get("range").and_then(|range| range.to_str().ok());
    let lines = asked.query("offset").and_then(|first| first.parse::<usize>().ok());
    match (range, lines) {
        (Some(_), Some(_)) => ExecdReply::error(400, "INVALID_FILE", "range or lines"),
        (Some(range), None) => ranged(&text, range),
        (None, Some(first)) => {
            let count = asked.query("limit").and_then(|count| count.parse().ok()).unwrap_or(1);
            let some = text.split_inclusive('\n').skip(first.saturating_sub(1)).take(count);
            ExecdReply::whole(200, "text/plain", some.collect())
        }
        (None, None) => ExecdReply::whole(200, "application/octet-stream", text),
    }
}

fn ranged(text: &str, range: &str) -> ExecdReply {
    let ends = range.strip_prefix("bytes=").and_then(|range| range.split_once('-'));
    let from = ends.and_then(|(from, _)| from.parse::<usize>().ok());
    let to = ends.and_then(|(_, to)| to.parse::<usize>().ok());
    let part = from.zip(to).and_then(|(from, to)| text.get(from..to + 1));
    match part {
        Some(part) => ExecdReply::whole(206, "application/octet-stream", part.to_owned()),
        None => ExecdReply::error(416, "INVALID_FILE", "range"),
    }
}

/// Pairs of metadata and bytes, as the form has them.
fn upload(asked: &ExecdRequest, state: &mut ExecdState) -> ExecdReply {
    let kind = asked.headers.get("content-type").and_then(|kind| kind.to_str().ok());
    let boundary = kind.and_then(|kind| kind.split("boundary=").nth(1)).unwrap_or_default();
    let text = asked.body.as_ref();
    let mut paths = Vec::new();
    for part in parts(text, boundary.trim_matches('"')) {
        match (part.name.as_str(), paths.last().cloned()) {
            ("metadata", _) => match LenientMembers::from_body(&part.bytes) {
                Ok(members) => paths.push(members.text("path").to_owned()),
                Err(why) => return ExecdReply::error(400, "INVALID_FILE_METADATA", &why),
            },
            ("file", Some(path)) => drop(state.files.insert(path, part.bytes)),
            _ => return ExecdReply::error(400, "INVALID_FILE_CONTENT", "metadata comes first"),
        }
    }
    if paths.is_empty() {
        return ExecdReply::error(400, "INVALID_FILE", "no file");
    }
    ExecdReply::empty()
}

struct FormPart {
    name: String,
    bytes: Vec<u8>,
}

fn parts(body: &[u8], boundary: &str) -> Vec<FormPart> {
    let mark = format!("--{boundary}").into_bytes();
    let mut found = Vec::new();
    for piece in split(body, &mark).into_iter().skip(1) {
        let Some(at) = find(piece, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&piece[..at]).into_owned();
        let name = head.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
        let bytes = &piece[at + 4..];
        let bytes = bytes.strip_suffix(b"\r\n").unwrap_or(bytes);
        found.push(FormPart { name: name.unwrap_or_default().to_owned(), bytes: bytes.to_vec() });
    }
    found
}

fn split<'a>(mut text: &'a [u8], mark: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while let Some(at) = find(text, mark) {
        pieces.push(&text[..at]);
        text = &text[at + mark.len()..];
    }
    pieces.push(text);
    pieces
}

/// The letter of the description: the path in the query, the bytes in the body.
fn put(asked: &ExecdRequest, state: &mut ExecdState) -> ExecdReply {
    match asked.query("path") {
        Some(path) => {
            state.files.insert(path.to_owned(), asked.body.to_vec());
            ExecdReply::empty()
        }
        None => ExecdReply::error(400, "MISSING_QUERY", "path"),
    }
}

/// Deletes files up to the first error; files deleted before stay so.
fn delete(asked: &ExecdRequest, state: &mut ExecdState) -> ExecdReply {
    for (_, path) in asked.query.iter().filter(|(key, _)| key == "path") {
        if state.directories.contains(path) {
            return ExecdReply::error(500, "RUNTIME_ERROR", &format!("{path} is a directory"));
        }
        state.files.remove(path);
    }
    ExecdReply::empty()
}

/// A map of paths, every one of which must be there.
fn named(asked: &ExecdRequest, state: &ExecdState) -> ExecdReply {
    match LenientMembers::from_body(&asked.body) {
        Err(why) => ExecdReply::error(400, "INVALID_REQUEST_BODY", &why),
        Ok(members) => {
            let lacks = members.0.iter().find(|(path, _)| !state.files.contains_key(path));
            lacks.map_or_else(ExecdReply::empty, |(path, _)| missing(path))
        }
    }
}

fn moved(asked: &ExecdRequest, state: &mut ExecdState) -> ExecdReply {
    let Ok(moves) = serde_json::from_slice::<Vec<Value>>(&asked.body) else {
        return ExecdReply::error(400, "INVALID_REQUEST_BODY", "a list of src and dest");
    };
    for pair in &moves {
        let text = |name: &str| pair.get(name).and_then(Value::as_str).unwrap_or_default();
        match state.files.remove(text("src")) {
            Some(bytes) => drop(state.files.insert(text("dest").to_owned(), bytes)),
            None => return missing(text("src")),
        }
    }
    ExecdReply::empty()
}

/// Returns the reply to the listing of a directory.
fn list(asked: &ExecdRequest, state: &ExecdState) -> ExecdReply {
    let path = asked.query("path").unwrap_or_default();
    if !state.directories.contains(path) {
        return missing(path);
    }
    let prefix = format!("{path}/");
    let inside = state.files.iter().filter(|(name, _)| name.starts_with(&prefix));
    let entries: Vec<Value> =
        inside.map(|(name, bytes)| entry(name, "file", bytes.len())).collect();
    ExecdReply::json(200, &json!(entries))
}

fn make(asked: &ExecdRequest, state: &mut ExecdState) -> ExecdReply {
    match LenientMembers::from_body(&asked.body) {
        Ok(members) => {
            state.directories.extend(members.0.into_iter().map(|(path, _)| path));
            ExecdReply::empty()
        }
        Err(why) => ExecdReply::error(400, "INVALID_REQUEST_BODY", &why),
    }
}
