//! The backend protocol, version 1: the messages between harness and backend.
//!
//! Requests and results are JSON. Unknown members are errors on both sides, so that a misspelt rule
//! can never be a rule that silently does nothing.

mod capabilities;
mod compile;
mod document_answer;
mod event;
mod executor;
mod explain;
mod grants;
mod json;
mod objects;
mod path;
mod policy;
mod profile;
mod protected;
mod query;
mod request;
mod result;
mod settings;
mod status;
mod variables;

pub use capabilities::{Capabilities, ClaimLevel};
pub use compile::{
    CompileProfile, CompileRequest, CompileRules, CompileSettings, CompileTarget, Compiled,
    CompiledText, TMP_PARAM,
};
pub use document_answer::{
    DocumentAnswer, EffectiveProfile, PathAnswer, PathDecision, PolicyAnswer, PolicyFault,
    RuleEffect, RuleInForce, RuleOrigin,
};
pub use event::{DenialEvent, EventSource};
pub use executor::{ExecutorRequest, ExecutorStart};
pub use explain::{ExplainRequest, Explanation, FinishedRun};
pub use grants::{GrantsRequest, InferredGrants};
pub use json::{JsonError, from_json};
pub use objects::ObjectsOnly;
pub use path::WirePath;
pub use policy::{
    EnvBase, EnvPolicy, Mode, Network, OnUnavailable, Policy, Protect, Readable, TmpPolicy,
};
pub use profile::{Dialect, Document, ProfileRequest, UNRESTRICTED_PROFILE};
pub use protected::PROTECTED_NAMES;
pub use query::{CheckRequest, EffectiveRequest, Operation, PathQuestion, ValidateRequest};
pub use request::{Command, EventScope, Run, RunRequest, Stdin};
pub use result::{AlsoBlocked, Blocked, ErrorKind, RunError, RunResult, Stage};
pub use settings::{
    AskBy, AskDecision, AskQuestion, DecideAskRequest, EffectiveEnv, EffectiveNetwork,
    EffectivePaths, EffectiveSettings, Permission, Session, SettingsDialect, SettingsPlatform,
    SettingsRequest, SettingsRunRequest, SourcePrecedence,
};
pub use status::{
    BlockBackend, BlockMode, BlockNetwork, CommandFate, RootKind, Status, StatusRequest,
    WritableRoot,
};
pub use variables::{
    CREDENTIAL_NAMES, INJECTING_NAMES, NamePattern, matches_name, names_a_credential,
    names_injected_code,
};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// Process exit codes of a native `run` that are not the command's own.
pub mod exit {
    /// The command was ended because its time was up (result: `exit_code` null).
    pub const TIMEOUT: i32 = 124;
    /// The backend declined the policy; nothing was started.
    pub const REFUSED: i32 = 126;
    /// The program could not be spawned.
    pub const NOT_FOUND: i32 = 127;
    /// Added to a signal number when the command died of that signal.
    pub const SIGNAL_BASE: i32 = 128;
}
