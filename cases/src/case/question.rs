//! Questions about policy documents: nothing is run, a backend says what it would decide.

use std::collections::BTreeMap;

use super::{Attempt, Deed};
use crate::protocol::{CompileTarget, Operation};

/// A question about the documents of the case's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether the profile lets this be done to this path, which is meant letter for letter.
    Path(Operation, String),
    /// Which rules of the profile are in force.
    Effective,
    /// Whether the documents are in order.
    Validate,
    /// Whether this can be done under the policy as it is compiled for this target.
    Compile(CompileTarget, Attempt),
}

impl Question {
    /// The word a case uses for it, after `decide`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Path(op, _) => op.word(),
            Self::Effective => "effective",
            Self::Validate => "validate",
            Self::Compile(target, _) => target.word(),
        }
    }

    /// The verb of the protocol that asks it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Path(..) => "check",
            Self::Effective => "effective",
            Self::Validate => "validate",
            Self::Compile(..) => "compile",
        }
    }

    /// The path that it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path(_, path) => Some(path),
            _ => None,
        }
    }

    /// The question that is written `{compile: target, deed: object}`.
    pub(super) fn compiled(
        target: &str,
        rest: BTreeMap<String, Vec<String>>,
    ) -> Result<Self, String> {
        let targets = CompileTarget::ALL;
        let found = targets.into_iter().find(|one| one.word() == target);
        let target = found.ok_or_else(|| {
            format!("compile: {target}: use {}", targets.map(CompileTarget::word).join(" or "))
        })?;
        let mut rest = rest.into_iter();
        let (Some((word, objects)), None) = (rest.next(), rest.next()) else {
            return Err("compile: say one deed and what it is done to".to_owned());
        };
        let deed = Deed::ALL.into_iter().find(|deed| deed.word() == word).ok_or_else(|| {
            format!("compile: {word} is no deed: use {}", Deed::ALL.map(Deed::word).join(", "))
        })?;
        match <[String; 1]>::try_from(objects) {
            Ok([object]) => Ok(Self::Compile(target, Attempt { deed, object })),
            Err(_) => Err(format!("compile: {word} is done to one thing")),
        }
    }

    /// The question that is written `{decide: what, …}`.
    pub(super) fn written(
        what: &str,
        mut rest: BTreeMap<String, Vec<String>>,
    ) -> Result<Self, String> {
        let op = match what {
            "read" => Some(Operation::Read),
            "modify" => Some(Operation::Modify),
            _ => None,
        };
        let question = match (op, what) {
            (Some(op), _) => match rest.remove("path").as_deref() {
                Some([path]) => Self::Path(op, path.clone()),
                _ => return Err(format!("decide: {what} names its path")),
            },
            (None, "effective") => Self::Effective,
            (None, "validate") => Self::Validate,
            _ => return Err(format!("decide: {what}: use read, modify, effective or validate")),
        };
        match rest.into_keys().next() {
            Some(key) => Err(format!("unknown field `{key}` beside decide: {what}")),
            None => Ok(question),
        }
    }
}
