//! Questions about policy documents: nothing is run, a backend says what it would decide.

use std::collections::BTreeMap;

use crate::protocol::Operation;

/// A question about the documents of the case's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Whether the profile lets this be done to this path, which is meant letter for letter.
    Path(Operation, String),
    /// Which rules of the profile are in force.
    Effective,
    /// Whether the documents are in order.
    Validate,
    /// What a sandbox block comes to.
    Status,
}

impl Question {
    /// The word a case uses for it, after `decide`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Path(op, _) => op.word(),
            Self::Effective => "effective",
            Self::Validate => "validate",
            Self::Status => "status",
        }
    }

    /// The verb of the protocol that asks it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Path(..) => "check",
            Self::Effective => "effective",
            Self::Validate => "validate",
            Self::Status => "status",
        }
    }

    /// The path that it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path(_, path) => Some(path),
            _ => None,
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
            (None, "status") => Self::Status,
            _ => {
                return Err(format!(
                    "decide: {what}: use read, modify, effective, validate or status"
                ));
            }
        };
        match rest.into_keys().next() {
            Some(key) => Err(format!("unknown field `{key}` beside decide: {what}")),
            None => Ok(question),
        }
    }
}
