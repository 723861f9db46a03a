//! Sockets of the host that the mechanism kept the command from, where that is why it failed: the
//! mechanism knows what was denied, and the output only whether the command gave up for it.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::super::errno_messages::RefusalClass;
use super::super::message;
use super::{DenialRule, FailureAnalysis, RunDenial, cause, ends, lines, strip};

/// Words of messages about a connection.
static CONNECTS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)connect|refused|socket|open display").ok());
/// Words of messages about a failure, of any kind.
static FAILS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^(?:error|fatal)\b|\berror: |\bfail(?:ed|ure)?\b").ok());

/// Parts of the paths of services that the C library asks first and does without.
const OPTIONAL: [&str; 6] =
    ["/nscd/", "/dev/log", "/systemd/userdb/", "/systemd/journal/", "/sss/pipes/", "/io.systemd."];

fn is(regex: &LazyLock<Option<Regex>>, line: &str) -> bool {
    regex.as_ref().is_some_and(|regex| regex.is_match(line))
}

/// Returns whether `line` reports a refusal and says of what neither by a path nor otherwise.
fn is_bare_refusal(line: &str) -> bool {
    let told = message::read(line).filter(|told| told.paths.is_empty());
    told.is_some_and(|told| matches!(told.class, RefusalClass::Access | RefusalClass::Missing))
}

impl FailureAnalysis<'_> {
    /// Returns the denial of the last socket that the command was kept from, if it can be the cause.
    pub(super) fn unreached_socket(&self, stderr: &str) -> Option<RunDenial> {
        let output = match stderr.trim().is_empty() {
            true => ends(self.run.stdout),
            false => stderr.to_owned(),
        };
        let lines = lines(&output);
        if fault!("explain.sockets-unread") {
            return None;
        }
        let path = self.run.sockets.iter().rev().find(|path| self.is_why(path, &lines))?;
        let rule = match self.ground.may_list(path) {
            true => DenialRule::RuntimeDenied,
            false => DenialRule::ReadDenied,
        };
        Some(RunDenial { rule, op: Some("connect"), path: Some(path.clone()), what: None })
    }

    /// Returns whether the command can have failed because it did not reach the socket at `path`.
    fn is_why(&self, path: &Path, lines: &[&str]) -> bool {
        // The user cannot reach it outside the sandbox either.
        if !(self.look.may_write)(path) {
            return false;
        }
        let text = path.to_string_lossy();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let names = |line: &str| line.contains(name.as_ref());
        let is_optional = OPTIONAL.iter().any(|part| text.contains(part));
        if lines.iter().all(|line| line.trim().is_empty()) {
            return !is_optional && self.decides(path, "");
        }
        let is_about = |line: &str| {
            let speaks = is(&CONNECTS, line) || is_bare_refusal(line);
            names(line) || !is_optional && speaks && !cause::compares(line)
        };
        let Some(last) = lines.iter().rposition(|line| is_about(line)) else { return false };
        let after = &lines[last + 1..];
        let others = |line: &&str| {
            let told = message::read(strip(line)).is_some_and(|told| !told.paths.is_empty());
            told || is(&FAILS, line) && message::read(strip(line)).is_none()
        };
        let own = cause::ordinary(lines).is_some_and(|at| at > last);
        !own && !after.iter().any(others) && self.decides(path, strip(lines[last]))
    }
}
