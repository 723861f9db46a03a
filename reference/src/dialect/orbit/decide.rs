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
    /// Of what is no path of the workspace.
    pub const NONE: Self = Self { allowed: false, winner: Winner::Nothing };
}

/// The ground of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Winner<'a> {
    /// The last rule that matches.
    Rule(&'a ProfileRule),
    /// That none does.
    NoMatch,
    /// That nothing is allowed to anybody.
    Nothing,
}

impl Winner<'_> {
    /// The words for it in answers: the pattern without `!`, or what stands for none.
    pub fn matched_rule(&self) -> &str {
        match self {
            Self::Rule(rule) => &rule.rule.pattern,
            Self::NoMatch => "<no matching rule>",
            Self::Nothing => "[]",
        }
    }
}
