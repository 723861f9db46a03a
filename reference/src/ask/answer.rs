//! The decision about one path on the disk, as data that both formats render.

use std::path::Path;

use serde::Serialize;

use crate::dialect::orbit::{
    Asked, Decision, Looked, OUTSIDE, Op, PolicyError, Profile, ProfileRule, Resolved, Resolver,
    Winner,
};

/// One rule, and where it comes from.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    pub(super) rule: String,
    pub(super) effect: &'static str,
    pub(super) origin: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
}

/// One decision.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) operation: &'static str,
    /// The requested path.
    pub(super) path: String,
    /// The target, from the workspace's root down; an outside path in full.
    pub(super) means: String,
    pub(super) allowed: bool,
    pub(super) matched_rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_by: Option<Told>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<&'static str>,
}

/// The note on a path that is modifiable and not readable.
const BLIND: &str =
    "it may be modified, although it may not be read: denyRead says nothing of that";

impl Told {
    pub(super) fn new(rule: &ProfileRule) -> Self {
        use crate::dialect::orbit::Effect;
        let place = rule.rule.place.as_ref();
        Self {
            rule: rule.rule.written.clone(),
            effect: match rule.effect {
                Effect::Grant => "allows",
                Effect::Refuse => "denies",
                Effect::Except => "lifts a deny",
            },
            origin: rule.origin.word(),
            file: place.map(|place| place.file.to_string()),
            line: place.map(|place| place.line),
        }
    }

    /// Returns its place.
    pub(super) fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "built in".to_owned(),
        }
    }

    /// Returns the rule for people: its place and its effect.
    pub(super) fn text(&self) -> String {
        format!("{}  {}  `{}`  ({})", self.place(), self.effect, self.rule, self.origin)
    }
}

/// A requested path: its names in the workspace, and its target.
pub(super) struct Subject {
    pub(super) path: String,
    looked: Looked,
}

impl Subject {
    /// `path` is relative to the workspace, or absolute and inside of it.
    pub(super) fn new(resolver: &Resolver, workspace: &Path, path: &str) -> Result<Self, String> {
        let inside = Path::new(path).strip_prefix(workspace).ok().and_then(Path::to_str);
        let text = match inside {
            Some("") => ".",
            Some(inside) => inside,
            None => path,
        };
        let asked = Asked::new(text).map_err(|error: PolicyError| error.to_string())?;
        Self::of(resolver, path, asked)
    }

    /// Resolves `asked` on the disk; messages call it `path`.
    pub(super) fn of(resolver: &Resolver, path: &str, asked: Asked) -> Result<Self, String> {
        let looked = resolver.look(asked.names).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { path: path.to_owned(), looked })
    }

    /// Returns the target.
    pub(super) fn means(&self) -> &Resolved {
        &self.looked.means
    }

    /// Returns the decision; `None` if the target is outside.
    pub(super) fn decide<'a>(&self, profile: &'a Profile, op: Op) -> Option<Decision<'a>> {
        self.looked.decide(profile, op)
    }

    /// Returns the note for the user about a decision.
    pub(super) fn warning(&self, profile: &Profile, op: Op, allowed: bool) -> Option<&'static str> {
        let Resolved::Inside(real) = self.means() else { return None };
        let writes = op == Op::Modify && allowed;
        (writes && !profile.decide(Op::Read, real).allowed).then_some(BLIND)
    }

    /// Returns the decision as data.
    pub(super) fn answer(&self, profile: &Profile, op: Op) -> Answer {
        let Some(decision) = self.decide(profile, op) else { return self.outside(op) };
        let decided_by = match decision.winner {
            Winner::Rule(rule) => Some(Told::new(rule)),
            Winner::NoMatch | Winner::Nothing => None,
        };
        Answer {
            operation: op.word(),
            path: self.path.clone(),
            means: self.meaning(),
            allowed: decision.allowed,
            matched_rule: decision.winner.matched_rule().to_owned(),
            decided_by,
            warning: self.warning(profile, op, decision.allowed),
        }
    }

    fn outside(&self, op: Op) -> Answer {
        Answer {
            operation: op.word(),
            path: self.path.clone(),
            means: self.meaning(),
            allowed: false,
            matched_rule: OUTSIDE.to_owned(),
            decided_by: None,
            warning: None,
        }
    }

    /// Returns the target as text.
    pub(super) fn meaning(&self) -> String {
        match self.means() {
            Resolved::Inside(names) => shown(names),
            Resolved::Outside(place) => place.display().to_string(),
        }
    }
}

fn shown(names: &[Vec<u8>]) -> String {
    match names.is_empty() {
        true => ".".to_owned(),
        false => String::from_utf8_lossy(&names.join(&b'/')).into_owned(),
    }
}
