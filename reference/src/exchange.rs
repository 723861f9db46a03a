//! The path from the request file to the result file on every system, refusals included.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use boxproof_cases::protocol::{
    Blocked, ErrorKind, Mode, PROTOCOL, RunResult, TmpPolicy, WirePath, exit,
};

use crate::destination::{FileDestination, directory_of};
use crate::error::Refusal;
use crate::explain::rule;
use crate::host::on_the_way;
use crate::request::{self, RunJob};

/// Reads `request_file`, has `answer` give result and exit code, writes the result; returns the
/// exit code.
pub(crate) fn answer(
    request_file: &Path,
    result_file: &Path,
    answer: impl FnOnce(&RunJob) -> (RunResult, i32),
) -> i32 {
    let unwritable = |error: &io::Error| {
        eprintln!("refbox: cannot write the result to {}: {error}", result_file.display());
    };
    let place = match FileDestination::open(result_file) {
        Ok(place) => place,
        Err(error) => {
            unwritable(&error);
            return exit::REFUSED;
        }
    };
    let ready = request::read(request_file).and_then(|order| {
        within_reach("the result", result_file, &order)?;
        place.clear().map_err(|error| Refusal::os("the result's place", error))?;
        Ok(order)
    });
    let (result, code) = match ready {
        Err(refusal) => declined(&refusal, request_file),
        Ok(order) => answer(&order),
    };
    if let Err(error) = place.write(&result) {
        unwritable(&error);
        // A run that began keeps its code: a refusal says that nothing was started.
        return if result.started { code } else { exit::REFUSED };
    }
    code
}

/// Refuses a file of ours, which is `what`, where the command of `order` can write: the command
/// could replace it.
pub(crate) fn within_reach(what: &str, file: &Path, order: &RunJob) -> Result<(), Refusal> {
    let policy = &order.policy;
    let writes = policy.mode == Mode::WorkspaceWrite;
    let writes = writes || order.law.is_some();
    let workspace = writes.then_some(&policy.workspace);
    let roots = workspace.into_iter().chain(policy.writable.iter().filter(|_| writes));
    let temp = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    let open = policy.tmp == TmpPolicy::Host && policy.mode != Mode::Unconfined;
    let roots = roots.map(WirePath::as_path).chain(temp.into_iter().filter(|_| open));
    let roots: Vec<PathBuf> = roots.filter_map(|root| root.canonicalize().ok()).collect();
    let directory = std::path::absolute(directory_of(file)).map_err(|e| Refusal::os(what, e))?;
    match on_the_way(&directory)
        .iter()
        .find(|place| roots.iter().any(|root| place.starts_with(root)))
    {
        None => Ok(()),
        Some(place) => Err(Refusal::invalid(format!(
            "{what}: {} leads through {}, where the command can write and could put another in its place; name a file outside the writable roots",
            file.display(),
            place.display()
        ))),
    }
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

/// Explains a refusal for want of a sandbox as the sandbox's doing.
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
        limits: Vec::new(),
        error: None,
        stdout: None,
        stderr: None,
        stdout_b64: None,
        stderr_b64: None,
        truncated: None,
    }
}
