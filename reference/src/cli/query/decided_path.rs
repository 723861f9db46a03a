//! The decision about one path on the disk, as data that both formats render.

use std::path::Path;

use serde::Serialize;

use crate::policy::orbit::{
    DecidingRule, LookedUpPath, OUTSIDE, PathResolver, PolicyDecision, PolicyError,
    PolicyOperation, ProfileRule, ResolvedPath, ResolvedProfile, WorkspacePath,
};

/// One rule, and where it comes from.
#[derive(Debug, Serialize)]
pub(super) struct RuleSource {
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
pub(super) struct DecidedPath {
    pub(super) operation: &'static str,
    /// The requested path.
    pub(super) path: String,
    /// The target, from the workspace's root down; an outside path in full.
    pub(super) means: String,
    pub(super) allowed: bool,
    pub(super) matched_rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decided_by: Option<RuleSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<&'static str>,
}

/// The note on a path that is modifiable and not readable.
const BLIND: &str =
    "it may be modified, although it may not be read: denyRead says nothing of that";

impl RuleSource {
    pub(super) fn new(rule: &ProfileRule) -> Self {
        use crate::policy::orbit::MatchEffect;
        let place = rule.rule.place.as_ref();
        Self {
            rule: rule.rule.written.clone(),
            effect: match rule.effect {
                MatchEffect::Grant => "allows",
                MatchEffect::Refuse => "denies",
                MatchEffect::Except => "lifts a deny",
            },
            origin: rule.origin.origin_name(),
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
pub(super) struct QueriedPath {
    pub(super) path: String,
    looked: LookedUpPath,
}

impl QueriedPath {
    /// `path` is relative to the workspace, or absolute and inside of it.
    pub(super) fn new(
        resolver: &PathResolver,
        workspace: &Path,
        path: &str,
    ) -> Result<Self, String> {
        let inside = Path::new(path).strip_prefix(workspace).ok().and_then(Path::to_str);
        let text = match inside {
            Some("") => ".",
            Some(inside) => inside,
            None => path,
        };
        let asked = WorkspacePath::new(text).map_err(|error: PolicyError| error.to_string())?;
        Self::look_up_path(resolver, path, asked)
    }

    /// Resolves `asked` on the disk; messages call it `path`.
    pub(super) fn look_up_path(
        resolver: &PathResolver,
        path: &str,
        asked: WorkspacePath,
    ) -> Result<Self, String> {
        let looked =
            resolver.look_up_names(asked.names).map_err(|error| format!("{path}: {error}"))?;
        Ok(Self { path: path.to_owned(), looked })
    }

    /// Returns the target.
    pub(super) fn means(&self) -> &ResolvedPath {
        &self.looked.means
    }

    /// Returns the decision; `None` if the target is outside.
    pub(super) fn decide<'a>(
        &self,
        profile: &'a ResolvedProfile,
        op: PolicyOperation,
    ) -> Option<PolicyDecision<'a>> {
        self.looked.decide(profile, op)
    }

    /// Returns the note for the user about a decision.
    pub(super) fn warning(
        &self,
        profile: &ResolvedProfile,
        op: PolicyOperation,
        allowed: bool,
    ) -> Option<&'static str> {
        let ResolvedPath::Inside(real) = self.means() else { return None };
        let writes = op == PolicyOperation::Modify && allowed;
        (writes && !profile.decide(PolicyOperation::Read, real).allowed).then_some(BLIND)
    }

    /// Returns the decision as data.
    pub(super) fn answer(&self, profile: &ResolvedProfile, op: PolicyOperation) -> DecidedPath {
        let Some(decision) = self.decide(profile, op) else { return self.outside(op) };
        let decided_by = match decision.winner {
            DecidingRule::Rule(rule) => Some(RuleSource::new(rule)),
            DecidingRule::NoMatch | DecidingRule::Nothing => None,
        };
        DecidedPath {
            operation: op.operation_name(),
            path: self.path.clone(),
            means: self.meaning(),
            allowed: decision.allowed,
            matched_rule: decision.winner.matched_rule().to_owned(),
            decided_by,
            warning: self.warning(profile, op, decision.allowed),
        }
    }

    fn outside(&self, op: PolicyOperation) -> DecidedPath {
        DecidedPath {
            operation: op.operation_name(),
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
            ResolvedPath::Inside(names) => shown(names),
            ResolvedPath::Outside(place) => place.display().to_string(),
        }
    }
}

fn shown(names: &[Vec<u8>]) -> String {
    match names.is_empty() {
        true => ".".to_owned(),
        false => String::from_utf8_lossy(&names.join(&b'/')).into_owned(),
    }
}
