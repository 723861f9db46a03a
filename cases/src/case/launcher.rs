//! The launcher's side: the setup of the process that starts the backend, and the request by which
//! a native backend runs the command.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::protocol::EventScope;

use super::{FileModeMask, Hosts, LimitedResource, Nested, SignalState};

/// The launcher's side of a run: the setup of the process that starts the backend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Variables of the backend's own environment, besides PATH, HOME, TMPDIR and the locale.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Open descriptors the backend inherits, number → file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inherit: BTreeMap<u32, InheritedDescriptor>,
    /// The backend's terminal, if it has one; `true` is one with every key at its default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "tty")]
    #[schemars(schema_with = "tty_schema")]
    pub tty: Option<Tty>,
    /// True if a separate process starts the backend, instead of the harness itself. That process
    /// ends as the backend does, and can be killed apart from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub apart: bool,
    /// A host inside this one that every arm runs on; without it, this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested: Option<Nested>,
    /// Names of a network that is the harness's own, and where they lead; without any, every arm is
    /// on the host's network.
    #[serde(default, skip_serializing_if = "Hosts::is_empty")]
    pub hosts: Hosts,
    /// True if the backend's stdin stays open after all of `stdin` has been written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hold_stdin: bool,
    /// The signals that the backend starts with ignored or blocked.
    #[serde(default, skip_serializing_if = "SignalState::is_empty")]
    pub signals: SignalState,
    /// The backend's limits, soft and hard alike.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<LimitedResource, u64>,
    /// The backend's nice value, 0 to 19.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "nice")]
    pub nice: Option<u8>,
    /// The backend's file mode mask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub umask: Option<FileModeMask>,
}

/// The highest nice value, which is the lowest priority.
const NICEST: i64 = 19;

fn nice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let nice = i64::deserialize(deserializer)?;
    let fits = u8::try_from(nice).ok().filter(|_| nice <= NICEST);
    fits.map(Some).ok_or_else(|| {
        let why = "more priority than the harness has takes privileges";
        serde::de::Error::custom(format!("nice {nice} is not 0 to {NICEST}: {why}"))
    })
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

impl Launcher {
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the backend starts with signals, limits, priority or mask of its own.
    pub fn has_process_state(&self) -> bool {
        let scheduled = self.nice.is_some() || self.umask.is_some();
        scheduled || !self.signals.is_empty() || !self.limits.is_empty()
    }

    /// The strings a variable may stand in.
    pub fn strings(&self) -> Vec<&str> {
        let paths = self.inherit.values().map(|inherit| inherit.path.as_str());
        let nested = self.nested.iter().flat_map(Nested::strings);
        self.env.values().map(String::as_str).chain(paths).chain(nested).collect()
    }

    /// Returns whether this stream of the backend is its terminal.
    pub fn on_terminal(&self, stream: TtyStream) -> bool {
        self.tty.as_ref().is_some_and(|tty| tty.streams.contains(&stream))
    }
}

/// An open descriptor the backend inherits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InheritedDescriptor {
    /// The file it is open on.
    pub path: String,
    /// True if the descriptor is open for writing too.
    #[serde(default)]
    pub write: bool,
}

/// A terminal of the backend's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tty {
    /// The backend's streams that are this terminal; by default stdin.
    #[serde(default = "stdin_alone")]
    pub streams: Vec<TtyStream>,
    /// True if the terminal is the controlling terminal of a session that the backend leads.
    #[serde(default = "yes")]
    pub controlling: bool,
    /// True if the terminal is in canonical mode, with echo and signals for Ctrl-C and the like; by
    /// default it is raw.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cooked: bool,
    /// The terminal's size.
    #[serde(default)]
    pub size: TerminalSize,
}

fn stdin_alone() -> Vec<TtyStream> {
    vec![TtyStream::Stdin]
}

fn yes() -> bool {
    true
}

impl Default for Tty {
    fn default() -> Self {
        Self {
            streams: stdin_alone(),
            controlling: true,
            cooked: false,
            size: TerminalSize::default(),
        }
    }
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TtyStream {
    /// Descriptor 0.
    Stdin,
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// A terminal's size in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters a line.
    pub columns: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 24, columns: 80 }
    }
}

fn tty_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let told = generator.subschema_for::<Tty>();
    schemars::json_schema!({
        "description": "The backend's terminal; `true` is one with every key at its default.",
        "anyOf": [{ "type": "boolean" }, told],
    })
}

fn tty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Tty>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    match value {
        serde_json::Value::Bool(there) => Ok(there.then(Tty::default)),
        told => crate::load::reread(&told).map(Some).map_err(serde::de::Error::custom),
    }
}

/// The request by which a native backend runs the command: members of the request's `run`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Time after which the backend is to end the command, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// True if the backend is to put the streams into its result instead of passing them on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub capture: bool,
    /// True if captured streams are also to be shown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub debug: bool,
    /// The command as the user typed it, if the command is a rewritten form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// The source of the command's stdin; by default the launcher, if the case has a stdin or the
    /// launcher a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<StdinFrom>,
    /// True if the run is to end with the process that calls, false if it is to outlive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub die_with_parent: Option<bool>,
    /// The refused operations that are to become events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventScope>,
    /// The descriptor, one that the launcher has, to which refused operations are to be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_fd: Option<i32>,
    /// The file that the request is written to; by default one outside every grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The file that the result is asked for in; by default one outside every grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

impl RunSpec {
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The places that the case names for what passes between caller and backend.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        [&self.request, &self.result].into_iter().flatten().map(String::as_str)
    }
}

/// The source of the command's stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StdinFrom {
    /// The launcher's stdin.
    Launcher,
    /// No source, even if the launcher has a stdin.
    Nowhere,
    /// The request: it carries the case's `stdin`, and the launcher has none.
    Request,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("{tty: true}", Some(Tty::default()))]
    #[case("{tty: false}", None)]
    #[case("{tty: {}}", Some(Tty::default()))]
    #[case(
        "{tty: {cooked: true, controlling: false, streams: [stdout]}}",
        Some(Tty {
            streams: vec![TtyStream::Stdout],
            controlling: false,
            cooked: true,
            size: TerminalSize { rows: 24, columns: 80 },
        })
    )]
    fn a_terminal_is_told_or_not(#[case] yaml: &str, #[case] tty: Option<Tty>) {
        let launcher: Launcher = crate::load::fragment(yaml).unwrap();
        assert_eq!(launcher.tty, tty);
        let json = serde_json::to_value(&launcher).unwrap();
        assert_eq!(serde_json::from_value::<Launcher>(json).unwrap(), launcher);
    }

    #[rstest]
    #[case("{tty: 1}", "invalid type")]
    #[case("{tty: {raw: true}}", "unknown field `raw`")]
    #[case("{tty: {streams: [stdlog]}}", "unknown variant `stdlog`")]
    #[case("{tty: {size: {rows: 5}}}", "missing field `columns`")]
    fn refuses(#[case] yaml: &str, #[case] message: &str) {
        let error = crate::load::fragment::<Launcher>(yaml).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn a_run_is_told_by_closed_words() {
        let spec: RunSpec =
            crate::load::fragment("{timeout_ms: 300, capture: true, stdin: request}").unwrap();
        assert_eq!((spec.timeout_ms, spec.stdin), (Some(300), Some(StdinFrom::Request)));
        assert!(crate::load::fragment::<RunSpec>("{timeout: 300}").is_err());
        assert!(crate::load::fragment::<RunSpec>("{stdin: here}").is_err());
    }
}
