//! One profile as it is in force: its rules and, behind them, every deny.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::decide::{DecidingRule, PolicyDecision, PolicyOperation};
use super::glob::OrbitGlob;
use super::index::PatternIndex;
use super::rule::PatternRule;
use crate::policy::case_fold::folded;

/// The origin of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternOrigin {
    /// The profile itself.
    Profile,
    /// A deny of the host's document.
    GlobalDeny,
    /// A deny of the workspace's document.
    WorkspaceDeny,
    /// The profile that is there even if no document has it.
    Fallback,
}

impl PatternOrigin {
    /// The word for it in answers.
    pub fn origin_name(self) -> &'static str {
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
pub enum MatchEffect {
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
    pub rule: Arc<PatternRule>,
    /// Its origin.
    pub origin: PatternOrigin,
    /// Its effect.
    pub effect: MatchEffect,
}

/// Answers that are found rule by rule before an index is made: it costs as much as a few of them.
const BEFORE_INDEX: usize = 4;

/// A profile in force.
#[derive(Debug)]
pub struct ResolvedProfile {
    /// Its name.
    pub name: String,
    read: OperationRules,
    modify: OperationRules,
}

impl ResolvedProfile {
    pub(super) fn new(name: &str, read: Vec<ProfileRule>, modify: Vec<ProfileRule>) -> Self {
        Self {
            name: name.to_owned(),
            read: OperationRules::new(read),
            modify: OperationRules::new(modify),
        }
    }

    /// Returns the rules of one operation, in the order of evaluation.
    pub fn rules(&self, op: PolicyOperation) -> &[ProfileRule] {
        &self.list(op).rules
    }

    /// Decides about the path with these names, from the workspace's root down, case-sensitively.
    pub fn decide<N: AsRef<[u8]>>(&self, op: PolicyOperation, names: &[N]) -> PolicyDecision<'_> {
        if fault!("dialects.letter-case") {
            return self.decide_folding(op, names);
        }
        self.list(op).decide(names, CaseSensitivity::Count)
    }

    /// Says which change would allow `op` at the path with these names, which is called `path`.
    pub fn remedy<N: AsRef<[u8]>>(&self, op: PolicyOperation, names: &[N], path: &str) -> String {
        let word = op.operation_name();
        let granted = format!("add `{path}` to `{word}` of the profile {}", self.name);
        let DecidingRule::Rule(winner) = self.decide(op, names).winner else { return granted };
        let rule = &winner.rule;
        let place = match &rule.place {
            Some(place) => format!("`{}` at {}:{}", rule.written, place.file, place.line),
            None => format!("`{}`, which is built in", rule.written),
        };
        if !winner.is_deny() {
            return format!("put `{path}` behind {place} in `{word}` of the profile {}", self.name);
        }
        let lifted = match (winner.origin, op) {
            (PatternOrigin::GlobalDeny, PolicyOperation::Modify) if rule.takes_exception(path) => {
                format!(
                    "put the exception `!{path}` behind {place} in the host's document, or narrow that rule"
                )
            }
            _ => format!("narrow or remove {place}"),
        };
        let own = self.matching(op, names).into_iter().rfind(|rule| !rule.is_deny());
        let grants = own.is_some_and(|rule| rule.effect == MatchEffect::Grant);
        let besides = if grants { String::new() } else { format!(", and {granted}") };
        format!("no profile can lift a deny; {lifted}{besides}")
    }

    /// Every rule that matches, in order.
    pub fn matching<N: AsRef<[u8]>>(&self, op: PolicyOperation, names: &[N]) -> Vec<&ProfileRule> {
        let list = self.list(op);
        (0..list.rules.len())
            .filter(|at| list.matches(*at, names, CaseSensitivity::Count))
            .map(|at| &list.rules[at])
            .collect()
    }

    /// Decides case-insensitively about the path with these names.
    pub fn decide_folding<N: AsRef<[u8]>>(
        &self,
        op: PolicyOperation,
        names: &[N],
    ) -> PolicyDecision<'_> {
        let names: Vec<Vec<u8>> = names.iter().map(|name| folded(name.as_ref())).collect();
        self.list(op).decide(&names, CaseSensitivity::Fold)
    }

    fn list(&self, op: PolicyOperation) -> &OperationRules {
        match op {
            PolicyOperation::Read => &self.read,
            PolicyOperation::Modify => &self.modify,
        }
    }
}

/// The rules of one operation.
#[derive(Debug)]
struct OperationRules {
    rules: Vec<ProfileRule>,
    exact: RuleFinder,
    folding: RuleFinder,
}

/// The lazily built index for finding the last rule that matches.
#[derive(Debug, Default)]
struct RuleFinder {
    asked: AtomicUsize,
    index: OnceLock<PatternIndex>,
}

/// The case-sensitivity of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseSensitivity {
    Count,
    /// Names are folded already; patterns are folded for the match.
    Fold,
}

impl OperationRules {
    fn new(rules: Vec<ProfileRule>) -> Self {
        Self { rules, exact: RuleFinder::default(), folding: RuleFinder::default() }
    }

    fn decide<N: AsRef<[u8]>>(&self, names: &[N], letters: CaseSensitivity) -> PolicyDecision<'_> {
        let Some(last) = self.last_match(names, letters) else { return self.unmatched() };
        let winner = &self.rules[last];
        match winner.effect {
            MatchEffect::Grant => {
                PolicyDecision { allowed: true, winner: DecidingRule::Rule(winner) }
            }
            MatchEffect::Refuse => {
                PolicyDecision { allowed: false, winner: DecidingRule::Rule(winner) }
            }
            MatchEffect::Except => self.excepted(last, names, letters),
        }
    }

    /// Decides by an exception, which restores what the profile itself allows, and nothing else.
    fn excepted<N: AsRef<[u8]>>(
        &self,
        at: usize,
        names: &[N],
        letters: CaseSensitivity,
    ) -> PolicyDecision<'_> {
        let before = (0..at).rev().filter(|at| self.matches(*at, names, letters));
        let others =
            before.map(|at| &self.rules[at]).filter(|rule| rule.effect != MatchEffect::Except);
        let (denies, own): (Vec<_>, Vec<_>) = others.partition(|rule| rule.is_deny());
        let granted = own.first().is_some_and(|rule| rule.effect == MatchEffect::Grant)
            || fault!("dialects.exceptions-grant");
        match (granted, denies.first()) {
            (true, _) => {
                PolicyDecision { allowed: true, winner: DecidingRule::Rule(&self.rules[at]) }
            }
            (false, Some(deny)) => {
                PolicyDecision { allowed: false, winner: DecidingRule::Rule(deny) }
            }
            (false, None) => self.unmatched(),
        }
    }

    fn unmatched(&self) -> PolicyDecision<'_> {
        let grants = self.rules.iter().any(|rule| rule.effect == MatchEffect::Grant);
        let winner = if grants { DecidingRule::NoMatch } else { DecidingRule::Nothing };
        PolicyDecision { allowed: false, winner }
    }

    fn last_match<N: AsRef<[u8]>>(&self, names: &[N], letters: CaseSensitivity) -> Option<usize> {
        let finder = match letters {
            CaseSensitivity::Count => &self.exact,
            CaseSensitivity::Fold => &self.folding,
        };
        if fault!("dialects.first-match") {
            return (0..self.rules.len()).find(|at| self.matches(*at, names, letters));
        }
        if let Some(index) = finder.index.get() {
            return index.last_match(names);
        }
        // The fault is in the index.
        let is_early = finder.asked.fetch_add(1, Ordering::Relaxed) < BEFORE_INDEX;
        if is_early && !fault!("dialects.star-hidden-names") {
            return (0..self.rules.len()).rev().find(|at| self.matches(*at, names, letters));
        }
        finder.index.get_or_init(|| self.indexed(letters)).last_match(names)
    }

    fn indexed(&self, letters: CaseSensitivity) -> PatternIndex {
        let glob = |at| OrbitGlob::new(&self.pattern(at, letters));
        let globs: Vec<OrbitGlob> = (0..self.rules.len()).map(glob).collect();
        PatternIndex::new(&globs)
    }

    fn matches<N: AsRef<[u8]>>(&self, at: usize, names: &[N], letters: CaseSensitivity) -> bool {
        let pattern = self.pattern(at, letters);
        may_match(&pattern, names) && OrbitGlob::new(&pattern).matches(names)
    }

    fn pattern(&self, at: usize, letters: CaseSensitivity) -> Cow<'_, str> {
        let pattern = &self.rules[at].rule.pattern;
        match letters {
            CaseSensitivity::Count => Cow::Borrowed(pattern),
            CaseSensitivity::Fold => {
                Cow::Owned(String::from_utf8_lossy(&folded(pattern.as_bytes())).into_owned())
            }
        }
    }
}

impl ProfileRule {
    /// Returns whether no profile can overrule it.
    pub fn is_deny(&self) -> bool {
        matches!(self.origin, PatternOrigin::GlobalDeny | PatternOrigin::WorkspaceDeny)
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
        assert!(may || !OrbitGlob::new(pattern).matches(&names));
    }

    #[test]
    fn an_index_is_made_when_it_is_worth_it() {
        let rules = OperationRules::new(Vec::new());
        for asked in 0..BEFORE_INDEX + 2 {
            rules.decide(&["a"], CaseSensitivity::Count);
            assert_eq!(rules.exact.index.get().is_some(), asked >= BEFORE_INDEX, "{asked}");
        }
        assert!(rules.folding.index.get().is_none());
    }
}
