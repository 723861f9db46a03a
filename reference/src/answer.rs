//! From the request file to the result file: what every system does alike, a refusal included.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use boxproof_cases::protocol::{Blocked, ErrorKind, PROTOCOL, RunResult, exit};
use serde::Serialize;

use crate::error::Refusal;
use crate::explain::rule;
use crate::request::{self, Order};

/// Reads `request_file`, has `answer` give result and exit code, writes the result; returns the
/// exit code.
pub(crate) fn answer(
    request_file: &Path,
    result_file: &Path,
    answer: impl FnOnce(&Order) -> (RunResult, i32),
) -> i32 {
    if let Err(error) = check_destination(result_file) {
        eprintln!("refbox: cannot write the result to {}: {error}", result_file.display());
        return exit::REFUSED;
    }
    let (result, code) = match request::read(request_file) {
        Err(refusal) => declined(&refusal, request_file),
        Ok(order) => answer(&order),
    };
    if let Err(error) = write(&result, result_file) {
        eprintln!("refbox: cannot write the result to {}: {error}", result_file.display());
        return exit::REFUSED;
    }
    code
}

/// Says `refusal` on stderr and in a result.
pub(crate) fn declined(refusal: &Refusal, request_file: &Path) -> (RunResult, i32) {
    eprintln!("refbox: {refusal}");
    let error = Some(refusal.to_wire(request_file));
    let blocked = why_blocked(refusal);
    let code = match refusal.kind {
        ErrorKind::Spawn => exit::NOT_FOUND,
        _ => exit::REFUSED,
    };
    (RunResult { error, blocked, ..blank("", Duration::ZERO) }, code)
}

/// A refusal because no sandbox is to be had is the sandbox's doing.
pub(crate) fn why_blocked(refusal: &Refusal) -> Option<Blocked> {
    (refusal.kind == ErrorKind::Unavailable).then(|| rule::unavailable(&refusal.message))
}

/// A result with nothing in it yet but that nothing was started.
pub(crate) fn blank(mechanism: &str, took: Duration) -> RunResult {
    RunResult {
        protocol: PROTOCOL,
        started: false,
        success: false,
        exit_code: None,
        signal: None,
        timed_out: false,
        interrupted_by: None,
        refused_routes: None,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        mechanism: mechanism.to_owned(),
        enforced: Default::default(),
        inferred: None,
        blocked: None,
        annotations: Vec::new(),
        error: None,
        stdout: None,
        stderr: None,
        stdout_b64: None,
        stderr_b64: None,
        truncated: None,
    }
}

/// Fails early where the result could not be written later.
pub(crate) fn check_destination(file: &Path) -> io::Result<()> {
    let flags = nix::unistd::AccessFlags::W_OK | nix::unistd::AccessFlags::X_OK;
    match fs::symlink_metadata(file) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // Writing puts a new file in its place, which must never be a device's.
        Ok(found) if !found.is_file() => {
            return Err(io::Error::other("it is no regular file; name one, or a new one"));
        }
        _ => {}
    }
    Ok(nix::unistd::access(&folder_of(file), flags)?)
}

/// Writes `result` so that a reader sees the whole of it or nothing.
pub(crate) fn write(result: &impl Serialize, file: &Path) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = folder_of(file).join(name);
    let written = put(result, &temporary).and_then(|()| fs::rename(&temporary, file));
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Never the whole text in memory: captured streams make it many times their size.
fn put(result: &impl Serialize, file: &Path) -> io::Result<()> {
    let mut file = io::BufWriter::new(fs::File::create(file)?);
    serde_json::to_writer(&mut file, result)?;
    file.write_all(b"\n")?;
    file.flush()
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
