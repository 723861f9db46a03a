//! Reading what a tree says of one path: type, mode and content, as the arm's look wrote them.

use std::collections::BTreeMap;

use boxproof_cases::Case;
use boxproof_cases::case::Act;
use sha2::{Digest, Sha256};

use crate::execution::ArmReport;

/// Returns the content of the entry `what`, without the mode in front.
pub(super) fn holds(what: &str) -> &str {
    what.split_once(' ').map_or(what, |(_, holds)| holds)
}

/// Returns whether the entry contains nothing that an act could have put there: a directory, or an
/// empty file. A link contains its target.
pub(super) fn is_empty(what: &str) -> bool {
    let what = holds(what);
    !what.starts_with("a link to ") && (what.starts_with("0 bytes ") || !what.contains(" bytes "))
}

/// Returns whether the entry is a directory.
pub(super) fn is_directory(what: &str) -> bool {
    holds(what).starts_with("a directory")
}

/// Its type.
pub(super) fn kind(what: &str) -> &str {
    let what = holds(what);
    let kinds = ["a directory", "a link", "a pipe", "a socket", "a device"];
    kinds.into_iter().find(|kind| what.starts_with(kind)).unwrap_or("a file")
}

/// The directory that a path of a tree lies in; none of one directly below `$WS` and its like.
pub(super) fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// Returns whether `path` is `root` or below it.
pub(super) fn is_in(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the entries at `path` and below it.
pub(super) fn subtree<'a>(report: &'a ArmReport, path: &str) -> Vec<(&'a str, &'a str)> {
    let entries = report.tree.iter().filter(|(at, _)| is_in(at, path));
    entries.map(|(at, what)| (at.as_str(), what.as_str())).collect()
}

/// Returns the name in a tree for `path` of a case.
pub(super) fn tree_path(path: &str) -> String {
    let path = path.trim_end_matches('/');
    match path.starts_with('$') || path.starts_with('/') {
        true => path.to_owned(),
        false => format!("$WS/{}", path.trim_start_matches("./")),
    }
}

/// The material of an act: the entries laid out for it, and those it leaves without a sandbox.
pub(super) struct ActEntries<'a> {
    case: &'a Case,
    trees: [&'a BTreeMap<String, String>; 2],
}

impl<'a> ActEntries<'a> {
    pub(super) fn from_control(case: &'a Case, control: &'a ArmReport) -> Self {
        Self { case, trees: [&control.laid, &control.tree] }
    }

    /// Returns whether `what` at `path` is one of these entries, by its content; an empty entry, by
    /// its name.
    pub(super) fn explain(&self, path: &str, what: &str) -> bool {
        let mut all = self.trees.iter().flat_map(|tree| tree.iter());
        if is_empty(what) {
            let name = |path: &str| path.rsplit_once('/').map(|(_, name)| name.to_owned());
            return all.any(|(at, other)| name(at) == name(path) && kind(other) == kind(what));
        }
        all.any(|(_, other)| holds(other) == holds(what)) || self.is_in_act(holds(what))
    }

    /// Returns whether `content` is a word of a shell line, as `echo` writes it.
    fn is_in_act(&self, content: &str) -> bool {
        let lines = self.case.steps.iter().filter_map(|step| match &step.act {
            Act::Sh(line) => Some(line),
            _ => None,
        });
        let mut words = lines.flat_map(|line| line.split([' ', '\t', '\n', '"', '\'', ';']));
        words.any(|word| {
            [word.to_owned(), format!("{word}\n")].iter().any(|text| {
                let hash = format!("{:x}", Sha256::digest(text));
                content == format!("{} bytes (sha256 {hash:.12})", text.len())
            })
        })
    }
}
