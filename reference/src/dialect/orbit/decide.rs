//! What is decided of one path, and which rule decided it.

use super::profile::ProfileRule;

/// What somebody wants to do.
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

/// Whether, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Whether it is allowed.
    pub allowed: bool,
    /// What decided.
    pub winner: Winner<'a>,
}

impl Decision<'_> {
    /// Of what is no path of the workspace.
    pub const NONE: Self = Self { allowed: false, winner: Winner::Nothing };
}

/// What decided.
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
