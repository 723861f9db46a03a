//! Questions about policy documents, lines and finished runs: a backend runs nothing and answers
//! with its decision.

use std::collections::BTreeMap;

use super::{FinishedRunSpec, ObjectOperation, OperationAttempt};
use crate::protocol::{AskQuestion, CompileTarget, Operation, Permission};

/// A question about the documents of the case's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyQuery {
    /// The permission of this operation on this path under the profile; the path is literal.
    Path(Operation, String),
    /// The rules of the profile that are in force.
    Effective,
    /// The validity of the documents.
    Validate,
    /// The effective values of the settings.
    Settings,
    /// The decision to run this command, to ask a person first, or to deny it.
    Ask(AskQuestion),
    /// The denial by the sandbox that made this run fail, if there is one.
    Explain(Box<FinishedRunSpec>),
    /// The status that follows from a sandbox block.
    Status,
    /// The start of an agent by an agent executor.
    Executor,
    /// The grants that are inferred from this shell line.
    Grants(String),
    /// The permission of this attempt under the policy as it is compiled for this target.
    Compile(CompileTarget, OperationAttempt),
}

impl PolicyQuery {
    /// The word a case uses for it, after `decide`.
    pub fn keyword(&self) -> &'static str {
        match self {
            Self::Path(op, _) => op.keyword(),
            Self::Effective => "effective",
            Self::Validate => "validate",
            Self::Settings => "settings",
            Self::Ask(_) => "ask",
            Self::Explain(_) => "explain",
            Self::Status => "status",
            Self::Executor => "executor",
            Self::Grants(_) => "grants",
            Self::Compile(target, _) => target.keyword(),
        }
    }

    /// The verb of the protocol that asks it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Path(..) => "check",
            Self::Effective => "effective",
            Self::Validate => "validate",
            Self::Explain(_) => "explain",
            Self::Settings => "settings",
            Self::Ask(_) => "decide-ask",
            Self::Status => "status",
            Self::Executor => "executor",
            Self::Grants(_) => "grants",
            Self::Compile(..) => "compile",
        }
    }

    /// Returns whether the question is about settings and not about policy documents.
    pub fn is_about_settings(&self) -> bool {
        matches!(self, Self::Settings | Self::Ask(_))
    }

    /// Returns the members beside `decide`, as (name, value).
    pub fn details(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Compile(_, attempt) => vec![(attempt.deed.keyword(), attempt.object.clone())],
            Self::Path(_, path) => vec![("path", path.clone())],
            Self::Grants(line) => vec![("line", line.clone())],
            Self::Ask(AskQuestion { command, rules, plan }) => vec![
                ("command", command.clone()),
                ("rules", rules.keyword().to_owned()),
                ("plan", plan.to_string()),
            ],
            Self::Effective
            | Self::Validate
            | Self::Settings
            | Self::Explain(_)
            | Self::Status
            | Self::Executor => Vec::new(),
        }
    }

    /// Returns whether the question is about policy documents.
    pub fn is_of_documents(&self) -> bool {
        !matches!(self, Self::Explain(_))
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
        let found = targets.into_iter().find(|one| one.keyword() == target);
        let target = found.ok_or_else(|| {
            format!("compile: {target}: use {}", targets.map(CompileTarget::keyword).join(" or "))
        })?;
        let mut rest = rest.into_iter();
        let (Some((word, objects)), None) = (rest.next(), rest.next()) else {
            return Err("compile: say one deed and what it is done to".to_owned());
        };
        let deed = ObjectOperation::ALL
            .into_iter()
            .find(|deed| deed.keyword() == word)
            .ok_or_else(|| {
                format!(
                    "compile: {word} is no deed: use {}",
                    ObjectOperation::ALL.map(ObjectOperation::keyword).join(", ")
                )
            })?;
        match <[String; 1]>::try_from(objects) {
            Ok([object]) => Ok(Self::Compile(target, OperationAttempt { deed, object })),
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
            (None, "settings") => Self::Settings,
            (None, "ask") => Self::Ask(asked(&mut rest)?),
            (None, "explain") => Self::Explain(Box::new(FinishedRunSpec::written(&mut rest)?)),
            (None, "status") => Self::Status,
            (None, "executor") => Self::Executor,
            (None, "grants") => match rest.remove("line").as_deref() {
                Some([line]) => Self::Grants(line.clone()),
                _ => return Err("decide: grants names its line".to_owned()),
            },
            _ => {
                let known = "read, modify, effective, validate, settings, ask, explain, status, executor or grants";
                return Err(format!("decide: {what}: use {known}"));
            }
        };
        match rest.into_keys().next() {
            Some(key) => Err(format!("unknown field `{key}` beside decide: {what}")),
            None => Ok(question),
        }
    }
}

fn asked(rest: &mut BTreeMap<String, Vec<String>>) -> Result<AskQuestion, String> {
    let mut take = |name: &str| match rest.remove(name).as_deref() {
        None => Ok(None),
        Some([value]) => Ok(Some(value.clone())),
        Some(_) => Err(format!("decide: ask: {name} is one text, not a list")),
    };
    let command = take("command")?.ok_or("decide: ask names its command")?;
    let rules = match take("rules")?.as_deref() {
        None | Some("ask") => Permission::Ask,
        Some("allow") => Permission::Allow,
        Some("deny") => Permission::Deny,
        Some(other) => return Err(format!("rules: {other}: use allow, ask or deny")),
    };
    let plan = match take("plan")?.as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(other) => return Err(format!("plan: {other}: use true or false")),
    };
    Ok(AskQuestion { command, rules, plan })
}
