//! Rules of a Seatbelt profile as text: one rule a line, strings escaped. Pure.

use std::fmt::Write as _;

/// A profile that is being written.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Allow,
    Deny,
}

impl Text {
    /// The head of every profile: nothing is allowed but what comes.
    pub(super) fn new() -> Self {
        Self("(version 1)\n(deny default)\n".to_owned())
    }

    /// A rule; without a filter it is about everything.
    pub(super) fn rule(&mut self, does: Does, operations: &str, filters: &[String]) {
        let word = if does == Does::Allow { "allow" } else { "deny" };
        // Writing to a string does not fail.
        let _ = write!(self.0, "({word} {operations}");
        for filter in filters {
            self.0.push(' ');
            self.0.push_str(filter);
        }
        self.0.push_str(")\n");
    }

    /// A rule about one filter.
    pub(super) fn about(&mut self, does: Does, operations: &str, filter: String) {
        self.rule(does, operations, &[filter]);
    }

    /// The whole.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// `(literal "path")`.
pub(super) fn literal(path: &str) -> String {
    format!("(literal {})", quoted(path))
}

/// `(subpath "path")`: the path itself and all below.
pub(super) fn subpath(path: &str) -> String {
    format!("(subpath {})", quoted(path))
}

/// `(regex "pattern")`.
pub(super) fn regex(pattern: &str) -> String {
    format!("(regex {})", quoted(pattern))
}

/// `(global-name "name")`.
pub(super) fn service(name: &str) -> String {
    format!("(global-name {})", quoted(name))
}

/// A string in which nothing can end it, and which stays in its line.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
