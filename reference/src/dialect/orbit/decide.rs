//! The decision about one path, and the rule behind it.

use super::profile::ProfileRule;

/// An operation on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Read it.
    Read,
    /// Change, make or remove it.
    Modify,
}

impl Op {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Modify => "modify",
        }
    }
}

/// A decision and its ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The operation is allowed.
    pub allowed: bool,
    /// The ground of the decision.
    pub winner: Winner<'a>,
}

impl Decision<'_> {
    /// The decision about a path outside the workspace.
    pub const NONE: Self = Self { allowed: false, winner: Winner::Nothing };
}

/// The ground of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Winner<'a> {
    /// The last rule that matches.
    Rule(&'a ProfileRule),
    /// No rule matches.
    NoMatch,
    /// The path is outside the workspace: no operation is allowed.
    Nothing,
}

impl Winner<'_> {
    /// Returns the pattern without `!` for answers, or the placeholder for none.
    pub fn matched_rule(&self) -> &str {
        match self {
            Self::Rule(rule) => &rule.rule.pattern,
            Self::NoMatch => "<no matching rule>",
            Self::Nothing => "[]",
        }
    }
}
