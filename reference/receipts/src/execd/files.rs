//! Files and directories, on the real file system.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use hyper::Request;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::reply::{ExecdReply, body, bytes, empty, error, json as answer_json};
use super::upload::upload;
use crate::strict::OrderedJson;

/// Answers a request about files or directories.
pub(super) async fn answer(request: Request<Incoming>, parts: &[&str]) -> ExecdReply {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let paths: Vec<String> = form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "path")
        .map(|(_, value)| value.into_owned())
        .collect();
    let range = request.headers().get("range").and_then(|range| range.to_str().ok());
    let range = range.map(str::to_owned);
    match (request.method().as_str(), parts) {
        ("GET", ["files", "download"]) => download(paths.first(), range.as_deref(), &query),
        ("GET", ["files", "info"]) => info(&paths),
        ("DELETE", ["files"]) => each(&paths, "error removing file", remove_file),
        ("POST", ["files", "upload"]) => upload(request).await,
        ("POST", ["files", "mv"]) => on_body(request, rename).await,
        ("POST", ["files", "replace"]) => on_body(request, replace).await,
        ("POST", ["files", "permissions"]) => on_body(request, permit).await,
        ("GET", ["directories", "list"]) => list(paths.first()),
        ("POST", ["directories"]) => on_body(request, make).await,
        ("DELETE", ["directories"]) => {
            each(&paths, "error removing directory", |path| fs::remove_dir_all(path))
        }
        _ => error(404, "UNKNOWN", "404 page not found"),
    }
}

fn failed(error_: &std::io::Error) -> ExecdReply {
    match error_.kind() {
        ErrorKind::NotFound => error(404, "FILE_NOT_FOUND", &format!("file not found. {error_}")),
        _ => error(500, "RUNTIME_ERROR", &format!("error accessing file: {error_}")),
    }
}

fn download(path: Option<&String>, range: Option<&str>, query: &str) -> ExecdReply {
    let Some(path) = path else { return error(400, "MISSING_QUERY", "path is missing") };
    let content = match fs::read(path) {
        Ok(content) => content,
        Err(error) => return failed(&error),
    };
    let number = |name: &str| {
        let found = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.parse::<usize>().ok())
    };
    match (range, number("offset"), number("limit")) {
        (None, None, None) => bytes(200, "application/octet-stream", content),
        (None, offset, limit) => {
            let lines = content.split_inclusive(|byte| *byte == b'\n');
            let lines = lines.skip(offset.unwrap_or(1).saturating_sub(1));
            let lines: Vec<&[u8]> = lines.take(limit.unwrap_or(usize::MAX)).collect();
            bytes(200, "text/plain; charset=utf-8", lines.concat())
        }
        (Some(_), Some(_), _) | (Some(_), _, Some(_)) => {
            error(400, "INVALID_REQUEST_BODY", "a range and lines exclude each other")
        }
        (Some(range), None, None) => match part(range, &content) {
            Some(part) => bytes(206, "application/octet-stream", part.to_vec()),
            None => empty(416),
        },
    }
}

fn part<'a>(range: &str, content: &'a [u8]) -> Option<&'a [u8]> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let end = last.parse().map_or(content.len(), |last: usize| (last + 1).min(content.len()));
    content.get(first.parse().ok()?..end).filter(|part| !part.is_empty())
}

fn info(paths: &[String]) -> ExecdReply {
    let mut all = serde_json::Map::new();
    for path in paths {
        match entry(Path::new(path)) {
            Ok(found) => all.insert(path.clone(), found),
            Err(error) => return failed(&error),
        };
    }
    answer_json(200, &all.into())
}

fn entry(path: &Path) -> std::io::Result<Value> {
    let found = fs::symlink_metadata(path)?;
    let kind = if found.is_dir() { "directory" } else { "file" };
    let time = "2026-01-01T00:00:00Z";
    Ok(json!({"path": path, "type": kind, "size": found.len(), "modified_at": time,
        "created_at": time, "owner": "root", "group": "root", "mode": 644}))
}

fn each(paths: &[String], what: &str, act: impl Fn(&Path) -> std::io::Result<()>) -> ExecdReply {
    for path in paths {
        if let Err(why) = act(Path::new(path)) {
            return error(500, "RUNTIME_ERROR", &format!("{what} {path}. {why}"));
        }
    }
    empty(200)
}

/// A missing file is removed already, a directory is none.
fn remove_file(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

async fn on_body(
    request: Request<Incoming>,
    act: impl Fn(&OrderedJson) -> std::io::Result<()>,
) -> ExecdReply {
    match body(request).await {
        Err(reply) => reply,
        Ok(json) => act(&json).map_or_else(|error| failed(&error), |()| empty(200)),
    }
}

fn rename(json: &OrderedJson) -> std::io::Result<()> {
    for item in json.items().unwrap_or_default() {
        let text = |name| item.member(name).and_then(OrderedJson::text).unwrap_or_default();
        fs::rename(text("src"), text("dest"))?;
    }
    Ok(())
}

fn replace(json: &OrderedJson) -> std::io::Result<()> {
    for (path, item) in json.members().unwrap_or_default() {
        let text = |name| item.member(name).and_then(OrderedJson::text).unwrap_or_default();
        let content = fs::read_to_string(path)?;
        fs::write(path, content.replace(text("old"), text("new")))?;
    }
    Ok(())
}

fn permit(json: &OrderedJson) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for (path, item) in json.members().unwrap_or_default() {
        let digits = item.member("mode").map(|mode| mode.value().to_string()).unwrap_or_default();
        let mode = u32::from_str_radix(&digits, 8).map_err(std::io::Error::other)?;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

fn list(path: Option<&String>) -> ExecdReply {
    let Some(path) = path else { return error(400, "MISSING_QUERY", "path is missing") };
    let entries = fs::read_dir(path).and_then(|found| {
        let mut found = found.collect::<Result<Vec<_>, _>>()?;
        found.sort_by_key(fs::DirEntry::file_name);
        found.iter().map(|found| entry(&found.path())).collect::<Result<Vec<_>, _>>()
    });
    entries.map_or_else(|error| failed(&error), |entries| answer_json(200, &entries.into()))
}

fn make(json: &OrderedJson) -> std::io::Result<()> {
    for (path, _) in json.members().unwrap_or_default() {
        fs::create_dir_all(path)?;
    }
    Ok(())
}
