//! Rules of a Seatbelt profile as text: one rule a line, strings escaped. Pure.

use std::fmt::Write as _;

/// A profile that is being written.
#[derive(Debug, Default)]
pub(super) struct SbplText(String);

/// The effect of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SbplAction {
    Allow,
    Deny,
}

impl SbplText {
    /// Starts a profile: nothing is allowed without a rule.
    pub(super) fn new() -> Self {
        Self("(version 1)\n(deny default)\n".to_owned())
    }

    /// A rule; without a filter it is about everything.
    pub(super) fn rule(&mut self, does: SbplAction, operations: &str, filters: &[String]) {
        let word = if does == SbplAction::Allow { "allow" } else { "deny" };
        // Writing to a string does not fail.
        let _ = write!(self.0, "({word} {operations}");
        for filter in filters {
            self.0.push(' ');
            self.0.push_str(filter);
        }
        self.0.push_str(")\n");
    }

    /// A rule about one filter.
    pub(super) fn about(&mut self, does: SbplAction, operations: &str, filter: String) {
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

/// `(remote unix-socket (path-literal "path"))`.
pub(super) fn unix_socket(path: &str) -> String {
    format!("(remote unix-socket (path-literal {}))", quoted(path))
}

/// A string in which nothing can end it, and which stays in its line.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' if fault!("compile.unescaped") => quoted.push(c),
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

/// Links at the root of macOS into `/private`; a rule is about names without links.
const LINKS: [&str; 3] = ["/tmp", "/var", "/etc"];

/// Returns `text`, compiled on another system, with the names that macOS has for paths below its
/// links at the root: in strings that are paths, and at the start of patterns.
pub(crate) fn with_real_names(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        // An escaped character begins no string.
        let skipped = if after.starts_with('\\') {
            after.chars().take(2).map(char::len_utf8).sum()
        } else {
            1
        };
        let (mark, mut tail) = after.split_at(skipped);
        out.push_str(mark);
        if let Some(pattern) = tail.strip_prefix('^').filter(|_| mark == "\"") {
            out.push('^');
            tail = pattern;
        }
        if mark == "\"" && LINKS.iter().any(|link| is_path_below(tail, link)) {
            out.push_str("/private");
        }
        rest = tail;
    }
    out + rest
}

/// Returns whether the string that begins with `text` is `link` or a path or pattern below it.
fn is_path_below(text: &str, link: &str) -> bool {
    text.strip_prefix(link).is_some_and(|rest| rest.starts_with(['/', '"', '(', '$']))
}

/// The most bytes that a compiled profile may have.
const MOST_BYTES: usize = 65_535;

/// Returns the note that macOS may refuse a profile of this size.
pub(crate) fn too_large(text: &str) -> Option<String> {
    let (bytes, rules) = (text.len(), text.lines().count());
    (bytes > MOST_BYTES).then(|| {
        format!(
            "The profile has {bytes} bytes in {rules} lines, and macOS takes at most {MOST_BYTES} \
             bytes of a compiled profile: it may refuse this one. Fold lists of paths into patterns."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("(subpath \"/tmp\")", "(subpath \"/private/tmp\")")]
    #[case("(literal \"/var/a\" \"/etc\")", "(literal \"/private/var/a\" \"/private/etc\")")]
    #[case("(regex \"^/var(/[^/]+)*/x$\")", "(regex \"^/private/var(/[^/]+)*/x$\")")]
    #[case("(subpath \"/variable\")", "(subpath \"/variable\")")]
    #[case("(subpath \"/private/tmp\")", "(subpath \"/private/tmp\")")]
    #[case("(literal \"/a\\\"/tmp/b\")", "(literal \"/a\\\"/tmp/b\")")]
    #[case("(param \"TMP\")", "(param \"TMP\")")]
    fn names_are_those_of_macos(#[case] text: &str, #[case] real: &str) {
        assert_eq!(with_real_names(text), real);
    }

    #[test]
    fn a_large_profile_tells_its_size() {
        assert_eq!(too_large("(version 1)\n"), None);
        let told = too_large(&"(deny default)\n".repeat(5_000)).unwrap();
        assert!(told.contains("75000 bytes in 5000 lines"), "{told}");
    }
}
