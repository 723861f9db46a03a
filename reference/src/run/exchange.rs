//! The path from the request file to the result file on every system, refusals included.

use std::io;
use std::path::{Path, PathBuf};

use boxproof_cases::protocol::{Mode, RunResult, TmpPolicy, WirePath, exit};

use super::LocalHost;
use crate::error::Refusal;
use crate::host::on_the_way;
use crate::request::{self, RunJob};
use crate::result::declined;
use crate::result::destination::{FileDestination, directory_of};

/// This host, for settings that name a program: our own mechanisms are tried by the run itself.
const OWN_HOST: LocalHost<'_> = LocalHost { prefix: None };

/// Reads `request_file`, has `answer` give result and exit code, writes the result; returns the
/// exit code.
pub(crate) fn answer(
    request_file: &Path,
    result_file: &Path,
    answer: impl FnOnce(RunJob) -> (RunResult, i32),
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
    let ready = request::read(request_file, &OWN_HOST).and_then(|order| {
        within_reach("the result", result_file, &order)?;
        place.clear().map_err(|error| Refusal::os("the result's place", error))?;
        Ok(order)
    });
    let (result, code) = match ready {
        Err(refusal) => declined(&refusal, request_file),
        Ok(order) => answer(order),
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
