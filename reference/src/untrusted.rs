//! The readers of texts that a caller, a command or a user wrote, each as a function of any bytes: for
//! tests and for the fuzz targets of `fuzz`. A panic, a hang and a contradiction are faults.

use std::ffi::OsStr;
use std::path::Path;

use crate::egress::{EgressRules, HostRule, TargetHost};
use crate::explain;
use crate::policy::caliban::HostInspector;
use crate::policy::grant;
use crate::policy::orbit::{OrbitGlob, PatternIndex, PolicyDocument, PolicySet};
use crate::policy::path_glob::{GlobMatch, PathGlob};
use crate::request;

/// A host that has nothing that a request may name.
struct BareHost;

impl HostInspector for BareHost {
    fn is_program(&self, _: &Path) -> bool {
        false
    }

    fn version(&self, _: &Path) -> Option<Vec<u8>> {
        None
    }

    fn can_confine(&self, _: &Path) -> bool {
        false
    }

    fn own(&self) -> Option<String> {
        Some("it is bare".to_owned())
    }
}

/// Reads a request and checks it.
pub fn read_request(bytes: &[u8]) {
    if let Ok(job) = request::parse(&text(bytes), &BareHost) {
        drop(request::check(&job));
    }
}

/// Reads a shell line: for the grants that it implies, and for the paths that it names.
pub fn read_line(bytes: &[u8]) {
    let line = text(bytes);
    drop(grant::infer(&line, Path::new("/w"), Path::new("/w/d")));
    explain::count_commands(&line);
}

/// Reads patterns of paths: the first line is a path, each further one a pattern. An index decides as
/// the patterns one by one, and regard for case is no part of the syntax.
///
/// # Panics
/// Where that is not so.
pub fn read_patterns(bytes: &[u8]) {
    let text = text(bytes);
    let mut lines = text.lines();
    let path = lines.next().unwrap_or_default();
    let patterns: Vec<&str> = lines.take(32).collect();
    for pattern in &patterns {
        let [exact, folded] = [false, true].map(|folds| matches(pattern, path, folds));
        assert!(exact != Some(true) || folded == Some(true), "{pattern:?}");
    }
    let names: Vec<&str> = path.split('/').collect();
    let globs: Vec<OrbitGlob> = patterns.iter().map(|pattern| OrbitGlob::new(pattern)).collect();
    let one_by_one = globs.iter().rposition(|glob| glob.matches(&names));
    assert_eq!(PatternIndex::new(&globs).last_match(&names), one_by_one, "{text:?}");
}

/// Returns whether the pattern `text` matches `path`; nothing where it is no pattern.
fn matches(text: &str, path: &str, folds: bool) -> Option<bool> {
    let glob = PathGlob::parse(text).ok()?;
    let names = path.split('/').filter(|name| !name.is_empty()).map(OsStr::new);
    let (said, _) = glob.match_names(glob.start(), names, folds);
    Some(matches!(said, GlobMatch::Matches))
}

/// Reads rules about hosts: the first line is a host, each further one a rule. A host that is written
/// down is that host.
///
/// # Panics
/// Where that is not so.
pub fn read_hosts(bytes: &[u8]) {
    let text = text(bytes);
    let mut lines = text.lines();
    let Ok(host) = TargetHost::read(lines.next().unwrap_or_default()) else { return };
    assert_eq!(TargetHost::read(&host.to_string()).as_ref(), Ok(&host));
    let rules = lines.filter(|rule| HostRule::read(rule).is_ok()).take(16);
    let rules: Vec<String> = rules.map(str::to_owned).collect();
    let read = EgressRules::read(&rules, &[]);
    assert!(read.is_ok(), "{rules:?}");
    drop(read.map(|rules| rules.admit(&host, 443)));
}

/// Reads a policy document; an error has its place.
///
/// # Panics
/// Where it has none.
pub fn read_policy(bytes: &[u8]) {
    match PolicyDocument::parse("document", "document", &text(bytes)) {
        Ok(document) => drop(PolicySet::new(&document, None)),
        Err(error) => assert!(error.place.is_some(), "{error}"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
