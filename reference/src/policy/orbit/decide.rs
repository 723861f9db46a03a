//! The decision about one path, and the rule behind it.

use super::profile::ProfileRule;

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolicyOperation {
    /// Read it.
    Read,
    /// Change, make or remove it.
    Modify,
}

impl PolicyOperation {
    /// Its word.
    pub fn operation_name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Modify => "modify",
        }
    }
}

/// A decision and its ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyDecision<'a> {
    /// The operation is allowed.
    pub allowed: bool,
    /// The ground of the decision.
    pub winner: DecidingRule<'a>,
}

impl PolicyDecision<'_> {
    /// The decision about a path outside the workspace.
    pub const NONE: Self = Self { allowed: false, winner: DecidingRule::Nothing };
}

/// The ground of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidingRule<'a> {
    /// The last rule that matches.
    Rule(&'a ProfileRule),
    /// No rule matches.
    NoMatch,
    /// The path is outside the workspace: no operation is allowed.
    Nothing,
}

impl DecidingRule<'_> {
    /// Returns the pattern without `!` for answers, or the placeholder for none.
    pub fn matched_rule(&self) -> &str {
        match self {
            Self::Rule(rule) => &rule.rule.pattern,
            Self::NoMatch => "<no matching rule>",
            Self::Nothing => "[]",
        }
    }
}
