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

use super::decide::{Decision, Op};
use super::paths::Asked;
use super::profile::Profile;
use super::resolve::{Looked, Resolved, Resolver};

/// The operation of a tool on its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
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

impl Tool {
    /// Returns the operations to check for the path at `position`.
    fn asks(self, position: usize) -> &'static [Op] {
        match (self, position) {
            (Self::Read | Self::List, _) | (Self::Copy, 0) => &[Op::Read],
            (Self::Patch, _) => &[Op::Read, Op::Modify],
            (Self::Write | Self::Copy | Self::Move, _) => &[Op::Modify],
        }
    }
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
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
pub struct Event {
    /// Its kind.
    pub kind: EventKind,
    /// The profile that decided.
    pub profile: String,
    /// The requested operation; `None` for a run that was handed on.
    pub op: Option<Op>,
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
pub trait Sink {
    /// Takes one in.
    ///
    /// # Errors
    /// Why it could not be kept; a request is then not carried out.
    fn emit(&mut self, event: Event) -> Result<(), String>;
}

/// The gate of one profile over one workspace.
pub struct Gate<'a, S> {
    resolver: Resolver,
    root: PathBuf,
    profile: &'a Profile,
    sink: S,
}

/// A path that was let through, or refused.
struct Passed {
    op: Op,
    shown: String,
    rule: String,
}

impl<'a, S: Sink> Gate<'a, S> {
    /// The gate for tools in `workspace`.
    ///
    /// # Errors
    /// Without a workspace nothing is let through.
    pub fn new(workspace: &Path, profile: &'a Profile, sink: S) -> Result<Self, GateError> {
        let none = "workspace_root is not set; filesystem access denied".to_owned();
        let root = workspace.canonicalize().map_err(|_| GateError::Denied(none.clone()))?;
        let resolver = Resolver::new(&root).map_err(|_| GateError::Denied(none))?;
        Ok(Self { resolver, root, profile, sink })
    }

    /// Checks `tool` on `paths`, and calls `act` with the real paths.
    ///
    /// # Errors
    /// See [`GateError`]; `act` was called for [`GateError::Failed`] alone.
    pub fn perform<T>(
        &mut self,
        tool: Tool,
        paths: &[&str],
        act: impl FnOnce(&[PathBuf]) -> io::Result<T>,
    ) -> Result<T, GateError> {
        let (mut real, mut passed) = (Vec::new(), Vec::new());
        for (position, path) in paths.iter().enumerate() {
            let (looked, names) = self.inside(path)?;
            for op in tool.asks(position) {
                passed.push(self.ask(*op, &looked, &names)?);
            }
            real.push(
                names.iter().fold(self.root.clone(), |at, name| at.join(OsStr::from_bytes(name))),
            );
        }
        for one in &passed {
            self.tell(EventKind::Request, one).map_err(GateError::Untold)?;
        }
        let done = act(&real).map_err(GateError::Failed)?;
        for one in &passed {
            // The operation is done; a failure to report it does not undo it.
            let _untold = self.tell(EventKind::Result, one);
        }
        Ok(done)
    }

    /// Reports that a whole run was handed to `program`.
    ///
    /// # Errors
    /// When the event could not be written; the run must not be started then.
    pub fn delegate(&mut self, program: &str) -> Result<(), GateError> {
        let event = Event {
            kind: EventKind::HarnessDelegated,
            profile: self.profile.name.clone(),
            op: None,
            path: program.to_owned(),
            allowed: true,
            matched_rule: String::new(),
        };
        self.sink.emit(event).map_err(GateError::Untold)
    }

    /// A path, which must lie in the workspace, and its real names.
    fn inside(&self, path: &str) -> Result<(Looked, Vec<Vec<u8>>), GateError> {
        let below = Path::new(path).strip_prefix(&self.root).ok().and_then(Path::to_str);
        let text = below.map_or(path, |below| if below.is_empty() { "." } else { below });
        let asked = Asked::new(text).map_err(|error| GateError::Invalid(error.to_string()))?;
        let looked = self.resolver.look(asked.names).map_err(GateError::Failed)?;
        match looked.means.clone() {
            Resolved::Inside(names) => Ok((looked, names)),
            Resolved::Outside(place) => {
                let place = place.display();
                Err(GateError::Denied(format!("path is outside workspace: {place}")))
            }
        }
    }

    fn ask(&mut self, op: Op, looked: &Looked, names: &[Vec<u8>]) -> Result<Passed, GateError> {
        let decision = looked.decide(self.profile, op).unwrap_or(Decision::NONE);
        let rule = decision.winner.matched_rule().to_owned();
        let shown = match names.is_empty() {
            true => ".".to_owned(),
            false => format!("./{}", String::from_utf8_lossy(&names.join(&b'/'))),
        };
        let (word, profile) = (op.word(), &self.profile.name);
        let denied = format!(
            "fs.{word} denied for `{shown}` under fsProfile `{profile}` (matched rule `{rule}`)"
        );
        let (allowed, one) = (decision.allowed, Passed { op, shown, rule });
        if allowed {
            return Ok(one);
        }
        // The denial holds, even if its event cannot be written.
        let _untold = self.tell(EventKind::Denied, &one);
        Err(GateError::Denied(denied))
    }

    fn tell(&mut self, kind: EventKind, one: &Passed) -> Result<(), String> {
        self.sink.emit(Event {
            kind,
            profile: self.profile.name.clone(),
            op: Some(one.op),
            path: one.shown.clone(),
            allowed: kind != EventKind::Denied,
            matched_rule: one.rule.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Document, PolicySet};
    use super::*;
    use rstest::rstest;
    use std::os::unix::fs::symlink;

    #[derive(Default)]
    struct Kept {
        events: Vec<String>,
        is_full: bool,
    }

    impl Sink for &mut Kept {
        fn emit(&mut self, event: Event) -> Result<(), String> {
            if self.is_full {
                return Err("no room".to_owned());
            }
            let op = event.op.map_or("run", Op::word);
            self.events
                .push(format!("{:?} {op} {} {}", event.kind, event.path, event.matched_rule));
            Ok(())
        }
    }

    fn profile() -> Profile {
        let text = "schemaVersion: 2\nkind: Policy\nmetadata: {name: default}\nspec:\n  \
            denyRead: [denied/**]\n  denyModify: [denied/**]\n  \
            fsProfiles: {p: {read: ['**'], modify: ['**']}}\n";
        let document = Document::parse("p", "p", text).unwrap();
        PolicySet::new(&document, None).unwrap().profile("p").unwrap()
    }

    /// Returns the result of `tool` on `paths`, and the events.
    fn performed(tool: Tool, paths: &[&str], is_full: bool) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("w/denied")).unwrap();
        std::fs::create_dir(at("w-evil")).unwrap();
        symlink("denied/k", at("w/link")).unwrap();
        symlink("denied/new", at("w/dangling")).unwrap();
        symlink(at("w-evil/f"), at("w/out")).unwrap();
        let mut kept = Kept { is_full, ..Kept::default() };
        let profile = profile();
        let root = at("w");
        let mut gate = Gate::new(&root, &profile, &mut kept).unwrap();
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
    #[case::read(Tool::Read, &["a"], "done true", &["Request read ./a **", "Result read ./a **"])]
    #[case::root(Tool::List, &["."], "done true", &["Request read . **", "Result read . **"])]
    #[case::denied(Tool::Read, &["denied/k"], "policy denied: fs.read denied for `./denied/k` under fsProfile `p` (matched rule `denied/**`)", &["Denied read ./denied/k denied/**"])]
    #[case::by_link(Tool::Read, &["link"], "policy denied: fs.read denied for `./denied/k` under fsProfile `p` (matched rule `denied/**`)", &["Denied read ./denied/k denied/**"])]
    #[case::by_dangling_link(Tool::Write, &["dangling"], "policy denied: fs.modify denied for `./denied/new` under fsProfile `p` (matched rule `denied/**`)", &["Denied modify ./denied/new denied/**"])]
    #[case::copy(Tool::Copy, &["a", "b"], "done true", &["Request read ./a **", "Request modify ./b **", "Result read ./a **", "Result modify ./b **"])]
    #[case::moved_into(Tool::Move, &["a", "denied/b"], "policy denied: fs.modify denied for `./denied/b` under fsProfile `p` (matched rule `denied/**`)", &["Denied modify ./denied/b denied/**"])]
    #[case::patch(Tool::Patch, &["a"], "done true", &["Request read ./a **", "Request modify ./a **", "Result read ./a **", "Result modify ./a **"])]
    #[case::failing(Tool::Write, &["fails"], "it fails", &["Request modify ./fails **"])]
    #[case::invalid(Tool::Read, &["../x"], "invalid input: filesystem path `../x` must stay inside the workspace root", &[])]
    fn tools_ask_first(
        #[case] tool: Tool,
        #[case] paths: &[&str],
        #[case] done: &str,
        #[case] events: &[&str],
    ) {
        let (seen, told) = performed(tool, paths, false);
        assert_eq!((seen.as_str(), told), (done, events.iter().map(|e| (*e).to_owned()).collect()));
    }

    #[test]
    fn what_lies_outside_is_refused_without_an_event() {
        let (seen, told) = performed(Tool::Read, &["out"], false);
        assert!(seen.starts_with("policy denied: path is outside workspace: "), "{seen}");
        assert!(seen.ends_with("w-evil/f") && told.is_empty(), "{seen} {told:?}");
    }

    #[test]
    fn a_request_that_cannot_be_told_is_not_carried_out() {
        let (seen, told) = performed(Tool::Write, &["a"], true);
        assert_eq!(seen, "the request could not be recorded: no room");
        assert!(told.is_empty());
    }

    #[test]
    fn a_run_that_is_handed_on_is_told() {
        let (folder, profile) = (tempfile::tempdir().unwrap(), profile());
        let mut kept = Kept::default();
        Gate::new(folder.path(), &profile, &mut kept).unwrap().delegate("agent").unwrap();
        assert_eq!(kept.events, ["HarnessDelegated run agent "]);
        let missing = Gate::new(&folder.path().join("none"), &profile, &mut kept);
        let why = missing.err().unwrap().to_string();
        assert_eq!(why, "policy denied: workspace_root is not set; filesystem access denied");
    }
}
