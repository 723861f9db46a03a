//! The gate of tools that run in this process: each asks before it touches a file, and requests and
//! decisions are reported as events.
//!
//! A path outside the workspace is refused without an event. A denial is one event; an allowed
//! operation is a request before and a result behind, which is left out where the tool itself
//! fails. A request whose event cannot be written is not carried out.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::decide::{PolicyDecision, PolicyOperation};
use super::profile::ResolvedProfile;
use super::resolve::{LookedUpPath, PathResolver, ResolvedPath};
use super::workspace_path::WorkspacePath;

/// The operation of a tool on its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Lists a directory.
    List,
    /// Writes, makes or removes something.
    Write,
    /// Reads a file and changes it.
    Patch,
    /// Reads the first path and writes the second.
    Copy,
    /// Takes the first path away and makes the second.
    Move,
}

impl ToolKind {
    /// Returns the operations to check for the path at `position`.
    fn asks(self, position: usize) -> &'static [PolicyOperation] {
        match (self, position) {
            (Self::Read | Self::List, _) | (Self::Copy, 0) => &[PolicyOperation::Read],
            (Self::Patch, _) => &[PolicyOperation::Read, PolicyOperation::Modify],
            (Self::Write | Self::Copy | Self::Move, _) => &[PolicyOperation::Modify],
        }
    }
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateEventKind {
    /// It is allowed, and about to be done.
    Request,
    /// It is done.
    Result,
    /// It is denied, and not done.
    Denied,
    /// A whole run was handed to a program under this profile; its single operations are not
    /// reported.
    HarnessDelegated,
}

/// An event at the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateEvent {
    /// Its kind.
    pub kind: GateEventKind,
    /// The profile that decided.
    pub profile: String,
    /// The requested operation; `None` for a run that was handed on.
    pub op: Option<PolicyOperation>,
    /// The path, `./` and below the workspace; for a run that was handed on the program.
    pub path: String,
    /// It is allowed.
    pub allowed: bool,
    /// The pattern that decided, or the placeholder for none; empty for a run that was handed on.
    pub matched_rule: String,
}

/// The reason why a tool did not act.
#[derive(Debug)]
pub enum GateError {
    /// It is denied: `policy denied: …`.
    Denied(String),
    /// It is no question: `invalid input: …`.
    Invalid(String),
    /// The event of the request could not be written, so that nothing was done.
    Untold(String),
    /// The tool itself failed.
    Failed(io::Error),
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(why) => write!(f, "policy denied: {why}"),
            Self::Invalid(why) => f.write_str(why),
            Self::Untold(why) => write!(f, "the request could not be recorded: {why}"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GateError {}

/// A receiver of events.
pub trait GateEventSink {
    /// Takes one in.
    ///
    /// # Errors
    /// Why it could not be kept; a request is then not carried out.
    fn emit(&mut self, event: GateEvent) -> Result<(), String>;
}

/// The gate of one profile over one workspace.
pub struct ToolGate<'a, S> {
    resolver: PathResolver,
    root: PathBuf,
    profile: &'a ResolvedProfile,
    sink: S,
}

/// A path that was let through, or refused.
struct GateDecision {
    op: PolicyOperation,
    shown: String,
    rule: String,
}

impl<'a, S: GateEventSink> ToolGate<'a, S> {
    /// The gate for tools in `workspace`.
    ///
    /// # Errors
    /// Without a workspace nothing is let through.
    pub fn new(workspace: &Path, profile: &'a ResolvedProfile, sink: S) -> Result<Self, GateError> {
        let none = "workspace_root is not set; filesystem access denied".to_owned();
        let root = workspace.canonicalize().map_err(|_| GateError::Denied(none.clone()))?;
        let resolver = PathResolver::new(&root).map_err(|_| GateError::Denied(none))?;
        Ok(Self { resolver, root, profile, sink })
    }

    /// Checks `tool` on `paths`, and calls `act` with the real paths.
    ///
    /// # Errors
    /// See [`GateError`]; `act` was called for [`GateError::Failed`] alone.
    pub fn perform<T>(
        &mut self,
        tool: ToolKind,
        paths: &[&str],
        act: impl FnOnce(&[PathBuf]) -> io::Result<T>,
    ) -> Result<T, GateError> {
        let (mut real, mut passed) = (Vec::new(), Vec::new());
        for (position, path) in paths.iter().enumerate() {
            let (looked, names) = self.inside(path)?;
            for op in tool.asks(position) {
                passed.push(self.decide_access(*op, &looked, &names)?);
            }
            real.push(
                names.iter().fold(self.root.clone(), |at, name| at.join(OsStr::from_bytes(name))),
            );
        }
        for one in &passed {
            self.tell(GateEventKind::Request, one).map_err(GateError::Untold)?;
        }
        let done = act(&real).map_err(GateError::Failed)?;
        for one in &passed {
            // The operation is done; a failure to report it does not undo it.
            let _untold = self.tell(GateEventKind::Result, one);
        }
        Ok(done)
    }

    /// Reports that a whole run was handed to `program`.
    ///
    /// # Errors
    /// When the event could not be written; the run must not be started then.
    pub fn delegate(&mut self, program: &str) -> Result<(), GateError> {
        let event = GateEvent {
            kind: GateEventKind::HarnessDelegated,
            profile: self.profile.name.clone(),
            op: None,
            path: program.to_owned(),
            allowed: true,
            matched_rule: String::new(),
        };
        self.sink.emit(event).map_err(GateError::Untold)
    }

    /// A path, which must lie in the workspace, and its real names.
    fn inside(&self, path: &str) -> Result<(LookedUpPath, Vec<Vec<u8>>), GateError> {
        let below = Path::new(path).strip_prefix(&self.root).ok().and_then(Path::to_str);
        let text = below.map_or(path, |below| if below.is_empty() { "." } else { below });
        let asked =
            WorkspacePath::new(text).map_err(|error| GateError::Invalid(error.to_string()))?;
        let looked = self.resolver.look_up_names(asked.names).map_err(GateError::Failed)?;
        match looked.means.clone() {
            ResolvedPath::Inside(names) => Ok((looked, names)),
            ResolvedPath::Outside(place) => {
                let place = place.display();
                Err(GateError::Denied(format!("path is outside workspace: {place}")))
            }
        }
    }

    fn decide_access(
        &mut self,
        op: PolicyOperation,
        looked: &LookedUpPath,
        names: &[Vec<u8>],
    ) -> Result<GateDecision, GateError> {
        let decision = looked.decide(self.profile, op).unwrap_or(PolicyDecision::NONE);
        let rule = decision.winner.matched_rule().to_owned();
        let shown = match names.is_empty() {
            true => ".".to_owned(),
            false => format!("./{}", String::from_utf8_lossy(&names.join(&b'/'))),
        };
        let (word, profile) = (op.operation_name(), &self.profile.name);
        let denied = format!(
            "fs.{word} denied for `{shown}` under fsProfile `{profile}` (matched rule `{rule}`)"
        );
        let (allowed, one) = (decision.allowed, GateDecision { op, shown, rule });
        if allowed {
            return Ok(one);
        }
        // The denial holds, even if its event cannot be written.
        let _untold = self.tell(GateEventKind::Denied, &one);
        Err(GateError::Denied(denied))
    }

    fn tell(&mut self, kind: GateEventKind, one: &GateDecision) -> Result<(), String> {
        self.sink.emit(GateEvent {
            kind,
            profile: self.profile.name.clone(),
            op: Some(one.op),
            path: one.shown.clone(),
            allowed: kind != GateEventKind::Denied,
            matched_rule: one.rule.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PolicyDocument, PolicySet};
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::symlink;

    #[derive(Default)]
    struct Kept {
        events: Vec<String>,
        is_full: bool,
    }

    impl GateEventSink for &mut Kept {
        fn emit(&mut self, event: GateEvent) -> Result<(), String> {
            if self.is_full {
                return Err("no room".to_owned());
            }
            assert_eq!(event.allowed, event.kind != GateEventKind::Denied);
            let op = event.op.map_or("run", PolicyOperation::operation_name);
            self.events
                .push(format!("{:?} {op} {} {}", event.kind, event.path, event.matched_rule));
            Ok(())
        }
    }

    fn profile() -> ResolvedProfile {
        let text = "schemaVersion: 2\nkind: Policy\nmetadata: {name: default}\nspec:\n  \
            denyRead: [denied/**]\n  denyModify: [denied/**]\n  \
            fsProfiles: {p: {read: ['**'], modify: ['**']}}\n";
        let document = PolicyDocument::parse("p", "p", text).unwrap();
        PolicySet::new(&document, None).unwrap().profile("p").unwrap()
    }

    /// Returns the result of `tool` on `paths`, and the events.
    fn performed(tool: ToolKind, paths: &[&str], is_full: bool) -> (String, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path);
        std::fs::create_dir_all(at("w/denied")).unwrap();
        std::fs::create_dir(at("w-evil")).unwrap();
        symlink("denied/k", at("w/link")).unwrap();
        symlink("denied/new", at("w/dangling")).unwrap();
        symlink(at("w-evil/f"), at("w/out")).unwrap();
        let mut kept = Kept { is_full, ..Kept::default() };
        let profile = profile();
        let root = at("w");
        let mut gate = ToolGate::new(&root, &profile, &mut kept).unwrap();
        let done = gate.perform(tool, paths, |real| match real[0].ends_with("fails") {
            true => Err(io::Error::other("it fails")),
            false => Ok(real.iter().all(|path| path.starts_with(root.canonicalize().unwrap()))),
        });
        let done = match done {
            Ok(inside) => format!("done {inside}"),
            Err(error) => error.to_string(),
        };
        (done, kept.events)
    }

    #[rstest]
    #[case::read(ToolKind::Read, &["a"], "done true", &["Request read ./a **", "Result read ./a **"])]
    #[case::root(ToolKind::List, &["."], "done true", &["Request read . **", "Result read . **"])]
    #[case::denied(ToolKind::Read, &["denied/k"], "policy denied: fs.read denied for `./denied/k` under fsProfile `p` (matched rule `denied/**`)", &["Denied read ./denied/k denied/**"])]
    #[case::by_link(ToolKind::Read, &["link"], "policy denied: fs.read denied for `./denied/k` under fsProfile `p` (matched rule `denied/**`)", &["Denied read ./denied/k denied/**"])]
    #[case::by_dangling_link(ToolKind::Write, &["dangling"], "policy denied: fs.modify denied for `./denied/new` under fsProfile `p` (matched rule `denied/**`)", &["Denied modify ./denied/new denied/**"])]
    #[case::copy(ToolKind::Copy, &["a", "b"], "done true", &["Request read ./a **", "Request modify ./b **", "Result read ./a **", "Result modify ./b **"])]
    #[case::moved_into(ToolKind::Move, &["a", "denied/b"], "policy denied: fs.modify denied for `./denied/b` under fsProfile `p` (matched rule `denied/**`)", &["Denied modify ./denied/b denied/**"])]
    #[case::patch(ToolKind::Patch, &["a"], "done true", &["Request read ./a **", "Request modify ./a **", "Result read ./a **", "Result modify ./a **"])]
    #[case::failing(ToolKind::Write, &["fails"], "it fails", &["Request modify ./fails **"])]
    #[case::invalid(ToolKind::Read, &["../x"], "invalid input: filesystem path `../x` must stay inside the workspace root", &[])]
    fn tools_ask_first(
        #[case] tool: ToolKind,
        #[case] paths: &[&str],
        #[case] done: &str,
        #[case] events: &[&str],
    ) {
        let (seen, told) = performed(tool, paths, false);
        assert_eq!((seen.as_str(), told), (done, events.iter().map(|e| (*e).to_owned()).collect()));
    }

    #[test]
    fn what_lies_outside_is_refused_without_an_event() {
        let (seen, told) = performed(ToolKind::Read, &["out"], false);
        assert!(seen.starts_with("policy denied: path is outside workspace: "), "{seen}");
        assert!(seen.ends_with("w-evil/f") && told.is_empty(), "{seen} {told:?}");
    }

    #[test]
    fn a_request_that_cannot_be_told_is_not_carried_out() {
        let (seen, told) = performed(ToolKind::Write, &["a"], true);
        assert_eq!(seen, "the request could not be recorded: no room");
        assert!(told.is_empty());
    }

    #[test]
    fn a_run_that_is_handed_on_is_told() {
        let (directory, profile) = (tempfile::tempdir().unwrap(), profile());
        let mut kept = Kept::default();
        ToolGate::new(directory.path(), &profile, &mut kept).unwrap().delegate("agent").unwrap();
        assert_eq!(kept.events, ["HarnessDelegated run agent "]);
        let missing = ToolGate::new(&directory.path().join("none"), &profile, &mut kept);
        let why = missing.err().unwrap().to_string();
        assert_eq!(why, "policy denied: workspace_root is not set; filesystem access denied");
    }
}
