//! One profile as it is in force: its rules and, behind them, every deny.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::decide::{Decision, Op, Winner};
use super::glob::Glob;
use super::index::Index;
use super::rule::Rule;
use crate::fold::folded;

/// The origin of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The profile itself.
    Profile,
    /// A deny of the host's document.
    GlobalDeny,
    /// A deny of the workspace's document.
    WorkspaceDeny,
    /// The profile that is there even if no document has it.
    Fallback,
}

impl Origin {
    /// The word for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::GlobalDeny => "global deny",
            Self::WorkspaceDeny => "workspace deny",
            Self::Fallback => "fallback",
        }
    }
}

/// The effect of a rule where it is the last that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It allows.
    Grant,
    /// It denies.
    Refuse,
    /// It lifts a deny: paths that the profile itself allows are allowed again.
    Except,
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileRule {
    /// The rule.
    pub rule: Arc<Rule>,
    /// Its origin.
    pub origin: Origin,
    /// Its effect.
    pub effect: Effect,
}

/// Answers that are found rule by rule before an index is made: it costs as much as a few of them.
const BEFORE_INDEX: usize = 4;

/// A profile in force.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    read: List,
    modify: List,
}

impl Profile {
    pub(super) fn new(name: &str, read: Vec<ProfileRule>, modify: Vec<ProfileRule>) -> Self {
        Self { name: name.to_owned(), read: List::new(read), modify: List::new(modify) }
    }

    /// Returns the rules of one operation, in the order of evaluation.
    pub fn rules(&self, op: Op) -> &[ProfileRule] {
        &self.list(op).rules
    }

    /// Decides about the path with these names, from the workspace's root down, case-sensitively.
    pub fn decide<N: AsRef<[u8]>>(&self, op: Op, names: &[N]) -> Decision<'_> {
        self.list(op).decide(names, Letters::Count)
    }

    /// Says which change would allow `op` at the path with these names, which is called `path`.
    pub fn remedy<N: AsRef<[u8]>>(&self, op: Op, names: &[N], path: &str) -> String {
        let word = op.word();
        let granted = format!("add `{path}` to `{word}` of the profile {}", self.name);
        let Winner::Rule(winner) = self.decide(op, names).winner else { return granted };
        let rule = &winner.rule;
        let place = match &rule.place {
            Some(place) => format!("`{}` at {}:{}", rule.written, place.file, place.line),
            None => format!("`{}`, which is built in", rule.written),
        };
        if !winner.is_deny() {
            return format!("put `{path}` behind {place} in `{word}` of the profile {}", self.name);
        }
        let lifted = match (winner.origin, op) {
            (Origin::GlobalDeny, Op::Modify) => format!(
                "put the exception `!{path}` behind {place} in the host's document, or narrow that rule"
            ),
            _ => format!("narrow or remove {place}"),
        };
        let own = self.matching(op, names).into_iter().rfind(|rule| !rule.is_deny());
        let grants = own.is_some_and(|rule| rule.effect == Effect::Grant);
        let besides = if grants { String::new() } else { format!(", and {granted}") };
        format!("no profile can lift a deny; {lifted}{besides}")
    }

    /// Every rule that matches, in order.
    pub fn matching<N: AsRef<[u8]>>(&self, op: Op, names: &[N]) -> Vec<&ProfileRule> {
        let list = self.list(op);
        (0..list.rules.len())
            .filter(|at| list.matches(*at, names, Letters::Count))
            .map(|at| &list.rules[at])
            .collect()
    }

    /// Decides case-insensitively about the path with these names.
    pub fn decide_folding<N: AsRef<[u8]>>(&self, op: Op, names: &[N]) -> Decision<'_> {
        let names: Vec<Vec<u8>> = names.iter().map(|name| folded(name.as_ref())).collect();
        self.list(op).decide(&names, Letters::Fold)
    }

    fn list(&self, op: Op) -> &List {
        match op {
            Op::Read => &self.read,
            Op::Modify => &self.modify,
        }
    }
}

/// The rules of one operation.
#[derive(Debug)]
struct List {
    rules: Vec<ProfileRule>,
    exact: Finder,
    folding: Finder,
}

/// The lazily built index for finding the last rule that matches.
#[derive(Debug, Default)]
struct Finder {
    asked: AtomicUsize,
    index: OnceLock<Index>,
}

/// The case-sensitivity of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    Count,
    /// Names are folded already; patterns are folded for the match.
    Fold,
}

impl List {
    fn new(rules: Vec<ProfileRule>) -> Self {
        Self { rules, exact: Finder::default(), folding: Finder::default() }
    }

    fn decide<N: AsRef<[u8]>>(&self, names: &[N], letters: Letters) -> Decision<'_> {
        let Some(last) = self.last_match(names, letters) else { return self.unmatched() };
        let winner = &self.rules[last];
        match winner.effect {
            Effect::Grant => Decision { allowed: true, winner: Winner::Rule(winner) },
            Effect::Refuse => Decision { allowed: false, winner: Winner::Rule(winner) },
            Effect::Except => self.excepted(last, names, letters),
        }
    }

    /// Decides by an exception, which restores what the profile itself allows, and nothing else.
    fn excepted<N: AsRef<[u8]>>(&self, at: usize, names: &[N], letters: Letters) -> Decision<'_> {
        let before = (0..at).rev().filter(|at| self.matches(*at, names, letters));
        let others = before.map(|at| &self.rules[at]).filter(|rule| rule.effect != Effect::Except);
        let (denies, own): (Vec<_>, Vec<_>) = others.partition(|rule| rule.is_deny());
        let granted = own.first().is_some_and(|rule| rule.effect == Effect::Grant);
        match (granted, denies.first()) {
            (true, _) => Decision { allowed: true, winner: Winner::Rule(&self.rules[at]) },
            (false, Some(deny)) => Decision { allowed: false, winner: Winner::Rule(deny) },
            (false, None) => self.unmatched(),
        }
    }

    fn unmatched(&self) -> Decision<'_> {
        let grants = self.rules.iter().any(|rule| rule.effect == Effect::Grant);
        let winner = if grants { Winner::NoMatch } else { Winner::Nothing };
        Decision { allowed: false, winner }
    }

    fn last_match<N: AsRef<[u8]>>(&self, names: &[N], letters: Letters) -> Option<usize> {
        let finder = match letters {
            Letters::Count => &self.exact,
            Letters::Fold => &self.folding,
        };
        if let Some(index) = finder.index.get() {
            return index.last_match(names);
        }
        if finder.asked.fetch_add(1, Ordering::Relaxed) < BEFORE_INDEX {
            return (0..self.rules.len()).rev().find(|at| self.matches(*at, names, letters));
        }
        finder.index.get_or_init(|| self.indexed(letters)).last_match(names)
    }

    fn indexed(&self, letters: Letters) -> Index {
        let glob = |at| Glob::new(&self.pattern(at, letters));
        let globs: Vec<Glob> = (0..self.rules.len()).map(glob).collect();
        Index::new(&globs)
    }

    fn matches<N: AsRef<[u8]>>(&self, at: usize, names: &[N], letters: Letters) -> bool {
        let pattern = self.pattern(at, letters);
        may_match(&pattern, names) && Glob::new(&pattern).matches(names)
    }

    fn pattern(&self, at: usize, letters: Letters) -> Cow<'_, str> {
        let pattern = &self.rules[at].rule.pattern;
        match letters {
            Letters::Count => Cow::Borrowed(pattern),
            Letters::Fold => {
                Cow::Owned(String::from_utf8_lossy(&folded(pattern.as_bytes())).into_owned())
            }
        }
    }
}

impl ProfileRule {
    /// Returns whether no profile can overrule it.
    pub fn is_deny(&self) -> bool {
        matches!(self.origin, Origin::GlobalDeny | Origin::WorkspaceDeny)
    }
}

/// Returns whether a match is possible, at the cost of two comparisons: the first name of the
/// pattern, if it has no wildcards, is the path's, and its literal end is the path's end.
pub(super) fn may_match<N: AsRef<[u8]>>(pattern: &str, names: &[N]) -> bool {
    let name = |name: Option<&N>| name.is_some_and(|name| name.as_ref() == first_of(pattern));
    let plain = |text: &[u8]| !text.contains(&b'*') && !text.contains(&b'?');
    if pattern == "." {
        return names.is_empty();
    }
    if plain(first_of(pattern)) && !name(names.first()) {
        return false;
    }
    let end = pattern.rsplit(['/', '*', '?']).next().unwrap_or_default();
    names.last().map_or(b"".as_slice(), AsRef::as_ref).ends_with(end.as_bytes())
}

/// Its first name.
fn first_of(pattern: &str) -> &[u8] {
    pattern.split('/').next().unwrap_or_default().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// The quick check also holds for the root, which has no name.
    #[rstest]
    #[case(".", "", true)]
    #[case(".", "a", false)]
    #[case("**", "", true)]
    #[case("*", "", true)]
    #[case("a/**", "", false)]
    #[case("**/a.rs", "x/a.rs", true)]
    #[case("**/a.rs", "x/b.rs", false)]
    #[case("a/*.log", "a/b.log", true)]
    #[case("a/*.log", "a/b.txt", false)]
    #[case("a/**", "a/b/c", true)]
    #[case("a/**", "b/c", false)]
    fn a_glance_tells(#[case] pattern: &str, #[case] path: &str, #[case] may: bool) {
        let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        assert_eq!(may_match(pattern, &names), may);
        assert!(may || !Glob::new(pattern).matches(&names));
    }
}
