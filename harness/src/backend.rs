//! The sandbox under test: [`Backend`], its claims, and the start of one run.

mod agent;
mod claims;
mod context;
mod double;
mod environment;
mod exits;
mod faulty;
mod install;
mod launch;
mod manifest;
mod native;
mod noise;
mod parts;
mod pattern;
mod program;
mod query_user;
mod resolve;
mod shipped;
mod template;
mod unsaid;
mod values;
mod variations;
mod version;
mod write_rules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use boxproof_cases::Capability;
use boxproof_cases::protocol::ClaimLevel;

pub use agent::{
    AGENT_VERB, AgentDialogue, BROKEN, BROKEN_CODE, CommandReport, DECLINED, DECLINED_CODE,
    ENDPOINT, ModelProtocol, ReportFormat, ToolReport,
};
pub use claims::{BackendClaims, ClaimEvidence, ClaimedLevel};
pub use double::DoubleReply;
pub use exits::{
    BackendEnding, ExitRule, ExitTable, SignalExit, SignalWord, SpecialExit, StopMethod,
};
pub use faulty::own_channel;
pub use install::{MissingProgram, lacks};
pub use launch::{LaunchContext, LaunchError, LaunchPlan, SpawnPlan};
pub use manifest::{
    ConfigFile, InexpressibleRule, LivenessScope, MANIFEST_SCHEMA, Manifest, ManifestKind, RunAs,
    schema,
};
pub use noise::{BackendNoise, NoisePattern};
pub use parts::{ChannelCommands, ChannelParts};
pub use pattern::BytePattern;
pub use query_user::SettledUser;
pub(crate) use resolve::REFERENCE;
pub use resolve::{BackendError, resolve, run_as};
pub use shipped::{
    channels as shipped_channels, doubles as shipped_doubles, names as shipped_names,
    pinned_versions, plain_cases, text as shipped_text,
};
pub use unsaid::UnsaidMembers;
pub use version::VersionRange;

use crate::known::KnownFailures;

/// Returns whether PATH has an executable called `name`.
pub fn is_in_path(name: &str) -> bool {
    program::find(name).is_some()
}

/// One sandbox under test, as found on this host.
#[derive(Debug, Clone)]
pub struct Backend {
    /// The name in every report; unique in a run.
    pub name: String,
    /// The specification as `--backend` takes it to mean this backend again.
    pub spec: String,
    /// The version it reports, such as `0.8.0`; none when it says none.
    pub version: Option<String>,
    /// SHA-256 of the program, lower-case hex.
    pub sha256: Option<String>,
    /// The program, as found.
    pub program: Option<PathBuf>,
    /// The mechanism in use on this host, where there is more than one.
    pub mechanism: Option<String>,
    /// Capability → level; an absent capability is not claimed.
    pub claims: BTreeMap<Capability, ClaimLevel>,
    /// Capability → how its claim is known, where the manifest says so.
    pub evidence: BTreeMap<Capability, ClaimEvidence>,
    /// Not claimed, but asked all the same, because every user of the tool relies on it.
    pub asked: BTreeSet<Capability>,
    /// Known limits, one sentence each.
    pub limits: Vec<String>,
    /// The way in which it is started.
    pub kind: BackendKind,
    /// Its known failures.
    pub known: KnownFailures,
    /// Set when it cannot be run here.
    pub missing: Option<MissingBackend>,
}

/// The way in which a backend is started.
#[derive(Debug, Clone)]
pub enum BackendKind {
    /// By the argument vector its manifest renders; an agent by the driver, which starts that.
    Argv(Box<Manifest>),
    /// By the verbs of the protocol.
    Native {
        /// The program.
        program: PathBuf,
        /// Arguments before the verb.
        prefix: Vec<String>,
        /// `auto`, or the mechanism that every request asks for.
        mechanism: String,
    },
    /// As the parts of a receipts channel; commands are not run.
    Receipts(Box<Manifest>),
    /// Not at all: the command runs as it is.
    Bare,
    /// Not at all: every run is refused.
    Refuse,
    /// Not at all: the double gives its answer instead.
    Double(DoubleReply),
}

/// The reason why a backend cannot be run here, and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingBackend {
    /// The thing that is missing, such as `bwrap is not installed`.
    pub what: String,
    /// The remedy.
    pub hint: String,
}

impl Backend {
    /// Returns the level at which `capability` is claimed.
    pub fn claim(&self, capability: &Capability) -> ClaimLevel {
        self.claims.get(capability).copied().unwrap_or_default()
    }

    /// Returns the double, if this is a false backend that gives answers instead of running
    /// commands.
    pub fn double(&self) -> Option<DoubleReply> {
        match self.kind {
            BackendKind::Double(double) => Some(double),
            _ => None,
        }
    }

    /// Returns whether the command's processes are in the host's /proc.
    pub fn is_in_proc(&self) -> bool {
        !matches!(&self.kind, BackendKind::Argv(manifest) if manifest.liveness == LivenessScope::Heartbeat)
    }

    /// Returns whether the command's output can be read while it runs.
    pub fn is_heard(&self) -> bool {
        !matches!(&self.kind, BackendKind::Argv(manifest) if manifest.holds_output)
    }

    /// Returns whether it is an agent, which hands the command's output on as the text of a report.
    pub fn is_agent(&self) -> bool {
        matches!(&self.kind, BackendKind::Argv(manifest) if manifest.agent.is_some())
    }

    /// Returns whether files of its own are written outside of an arm's directories, where those of
    /// another arm would meet them.
    pub fn places_files_outside(&self) -> bool {
        matches!(&self.kind, BackendKind::Argv(manifest)
            if manifest.files.iter().any(|file| !file.is_of_an_arm()))
    }

    /// Returns whether cases that need `capability` are run: it is claimed, or asked all the same.
    pub fn answers_for(&self, capability: &Capability) -> bool {
        self.claim(capability) != ClaimLevel::None || self.asked.contains(capability)
    }
}
