//! One rule: read from its text, and matched against a path below the workspace.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::Refusal;
use crate::law::Line;

/// A rule that was read.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// Whether it grants; otherwise it takes away.
    pub(super) grants: bool,
    /// Without the sign, and without what means nothing.
    text: String,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    /// Everything.
    All,
    /// The workspace itself.
    Root,
    /// What matches, and everything below it.
    Subtree(GlobMatcher),
    /// What matches.
    Exact(GlobMatcher),
}

impl Rule {
    /// A profile's rule; a leading `!` takes away.
    pub(super) fn read(text: &str) -> Result<Self, Refusal> {
        let trimmed = text.trim();
        match trimmed.strip_prefix('!') {
            Some(taken) => Self::new(false, taken, text),
            None => Self::new(true, trimmed, text),
        }
    }

    /// A deny's rule.
    pub(super) fn deny(text: &str) -> Result<Self, Refusal> {
        match text.trim() {
            excepted if excepted.starts_with('!') => Err(Refusal::unsupported(format!(
                "rule `{text}` cannot be an exception of a deny; leave the deny out or narrow it"
            ))),
            plain => Self::new(false, plain, text),
        }
    }

    fn new(grants: bool, rule: &str, written: &str) -> Result<Self, Refusal> {
        let rule = rule.replace('\\', "/");
        let names: Vec<&str> = rule.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let wrong = |why: &str| Err(Refusal::invalid(format!("rule `{written}` {why}")));
        match () {
            () if rule.is_empty() => return wrong("is an empty path rule; name a path"),
            () if rule.starts_with('/') || names.contains(&"..") || names.first() == Some(&"~") => {
                return wrong("must stay inside the workspace root");
            }
            () if names.iter().any(|name| name.contains("**") && *name != "**") => {
                return wrong("has ** in a name; it stands alone between slashes");
            }
            () => {}
        }
        let text = names.join("/");
        let matcher = matcher(&names).map_err(|error| {
            Refusal::invalid(format!("rule `{written}` is no pattern: {}", error.kind()))
        })?;
        Ok(Self { grants, text, matcher })
    }

    /// Whether it is about `path`.
    pub(super) fn matches(&self, path: &Path) -> bool {
        match &self.matcher {
            Matcher::All => true,
            Matcher::Root => path.as_os_str().is_empty(),
            Matcher::Exact(glob) => glob.is_match(path),
            Matcher::Subtree(glob) => {
                let mut above = path.ancestors().filter(|path| !path.as_os_str().is_empty());
                above.any(|path| glob.is_match(path))
            }
        }
    }

    /// What can be told beforehand of what it matches.
    pub(super) fn line(&self) -> Line {
        Line::new(self.grants, &self.text)
    }
}

fn matcher(names: &[&str]) -> Result<Matcher, globset::Error> {
    Ok(match names {
        [] => Matcher::Root,
        names if names.iter().all(|name| *name == "**") => Matcher::All,
        [prefix @ .., "**"] => Matcher::Subtree(glob(prefix)?),
        names => Matcher::Exact(glob(names)?),
    })
}

/// Nothing but `*`, `?` and `**` is special.
fn glob(names: &[&str]) -> Result<GlobMatcher, globset::Error> {
    let literal = |c: char| match c {
        '[' | ']' | '{' | '}' => format!("[{c}]"),
        other => other.to_string(),
    };
    let escaped: String = names.join("/").chars().map(literal).collect();
    Ok(GlobBuilder::new(&escaped).literal_separator(true).build()?.compile_matcher())
}
