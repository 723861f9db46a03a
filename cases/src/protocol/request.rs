//! The request of `run`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Policy, WirePath};

/// The input of `run --request FILE`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Protocol version: 1.
    pub protocol: u32,
    /// The policy to enforce.
    pub policy: Policy,
    /// The run.
    pub run: Run,
}

/// The command and how it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The command to execute.
    pub command: Command,
    /// The command as the user typed it, if `command` is a rewritten form of it.
    #[serde(default)]
    pub original_command: Option<String>,
    /// The command's working directory (absolute).
    pub cwd: WirePath,
    /// The source of the command's descriptor 0.
    #[serde(default)]
    pub stdin: Stdin,
    /// Time after which the command is ended, in milliseconds from its spawn.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// True if the streams are captured into the result instead of passed through.
    #[serde(default)]
    pub capture: bool,
    /// True if captured streams are also shown, redacted.
    #[serde(default)]
    pub debug: bool,
    /// `auto`, or the name of one mechanism.
    #[serde(default = "auto")]
    pub mechanism: String,
    /// True if the run ends with the process that called. By default it does where the request comes
    /// through a pipe or is in a dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub die_with_parent: Option<bool>,
    /// The number of the process that calls. If another process is the parent, nothing is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pid: Option<u32>,
    /// The refused operations that become events.
    #[serde(default, skip_serializing_if = "EventScope::is_default")]
    pub events: EventScope,
    /// The number of a descriptor of the caller's, 3 or more and open for writing, to which every
    /// refused operation is written at once, a line of JSON each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_fd: Option<i32>,
}

impl Run {
    /// A run of `command` in `cwd` with every other member at its default.
    ///
    /// ```
    /// use boxproof_cases::protocol::{Command, PROTOCOL, Policy, Run, RunRequest, from_json};
    ///
    /// let request = RunRequest {
    ///     protocol: PROTOCOL,
    ///     policy: Policy::new("/work"),
    ///     run: Run::new(Command::Shell("make".to_owned()), "/work"),
    /// };
    /// let text = serde_json::to_vec(&request).unwrap();
    /// assert_eq!(from_json::<RunRequest>(&text).unwrap(), request);
    /// ```
    pub fn new(command: Command, cwd: impl Into<WirePath>) -> Self {
        Self {
            command,
            original_command: None,
            cwd: cwd.into(),
            stdin: Stdin::default(),
            timeout_ms: None,
            capture: false,
            debug: false,
            mechanism: auto(),
            die_with_parent: None,
            parent_pid: None,
            events: EventScope::default(),
            events_fd: None,
        }
    }
}

/// The refused operations that become events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventScope {
    /// Those of calls that are handed over anyway, of the proxy, and those that the output tells of.
    Mediated,
    /// Also those of calls that are handed over for this alone, but of those that ordinary work makes
    /// often only where they are handed over anyway.
    #[default]
    Light,
    /// Also those of all calls that make, move and remove names.
    All,
}

impl EventScope {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn auto() -> String {
    "auto".to_owned()
}

/// A command to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Program (looked up in PATH unless it has a slash) and arguments.
    Argv(Vec<String>),
    /// A line for `/bin/sh -c`.
    Shell(String),
}

impl Command {
    /// The argument vector that is executed, whichever way it was written.
    pub fn to_argv(&self) -> Vec<String> {
        match self {
            Self::Argv(argv) => argv.clone(),
            Self::Shell(line) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()],
        }
    }
}

/// The source of the command's descriptor 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// The launcher's own.
    Inherit,
    /// `/dev/null`.
    #[default]
    Null,
    /// These bytes (base64), then end of file.
    BytesB64(String),
}
