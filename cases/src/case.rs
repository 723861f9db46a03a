//! The case model: an act, its fixture, its policy, and the expected result.

mod act;
mod answer;
mod caliban;
mod channel;
mod channel_check;
mod event;
mod events;
mod executor;
mod expect;
mod file;
mod finished_run;
mod fixture;
mod grants;
mod host_need;
mod hosts;
mod inferoa;
mod launcher;
mod nested;
mod network;
mod operation;
mod oracle;
mod orbit;
mod parameters;
mod policy;
mod process_state;
mod query;
mod receipts;
mod result;
mod rows;
mod status;
mod stdin;
mod stimulus;
mod text;
mod wait;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use act::Act;
pub use answer::{
    Answer, BlockedExpect, ByDenial, ByRule, NoDenial, QuestionFault, RuleExpect, Rules,
};
pub use caliban::{AskExpect, CalibanSpec, SettingsExpect};
pub use channel::{
    BodyPiece, Certificate, Channel, ChannelPart, ChannelStep, FIRST, ForbiddenPlace, FrameStep,
    PartSignal, PostStep, RawStep, ReceiptProfile, RelayLink, RequestStep, ScriptedAnswer,
    SessionExchange, SocketStep, StopStep, Upload,
};
pub use channel_check::{
    ChainEdit, GivenHash, KeyFile, KeyRotation, LineEdit, ReceiptMember, SignatureEdit,
    SignatureForm, VerifyStep,
};
pub use event::{Moment, TimeBound};
pub use events::{EventExpect, EventsExpect};
pub use executor::{ExecutorSpec, StartExpect};
pub use expect::{Compare, Denial, ExitExpect, Expect, ExpectedDecision, StreamExpect};
pub use file::{CaseFile, CaseStep, Control, Twin};
pub use finished_run::FinishedRunSpec;
pub use fixture::{EntryKind, FixtureEntry};
pub use grants::GrantsExpect;
pub use host_need::{HostNeed, ToolVersion};
pub use hosts::{Hosts, NoHosts};
pub use inferoa::{InferoaSpec, PolicyDocuments};
pub use launcher::{
    InheritedDescriptor, Launcher, RunSpec, StdinFrom, TerminalSize, Tty, TtyStream,
};
pub use nested::{BindMount, Namespace, Nested};
pub use network::{NetworkSpec, PortSpec, UnknownNetwork};
pub use operation::{ObjectOperation, OperationAttempt};
pub use oracle::{Content, NoSettings, Oracle, Survivors};
pub use orbit::OrbitSpec;
pub use policy::PolicySpec;
pub use process_state::{CatchableSignal, FileModeMask, LimitedResource, SignalState};
pub use query::PolicyQuery;
pub use receipts::{AnswerExpect, FINDINGS, Peer, ReceiptExpect, ReceiptsExpect};
pub use result::{DurationExpect, ErrorExpect, ResultExpect};
pub use rows::Row;
pub(crate) use rows::{UnrolledCase, substitute};
pub use status::StatusExpect;
pub use stimulus::{BackendStimulus, DuringEvent, OutStream, SignalTarget, StopTarget};
pub use text::TextExpect;

use crate::capability::Capability;
use crate::requirement::RequirementId;

/// A case as it is planned and run: one line of a table is one of these.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The case's path in the corpus without `.yaml`, plus `/row` for a row.
    pub id: CaseId,
    /// The file it is written in.
    pub file: PathBuf,
    /// One sentence: the required behaviour.
    pub purpose: String,
    /// The promises it tests.
    pub requirements: Vec<RequirementId>,
    /// The level of the case, in the terms of RFC 2119.
    pub level: Level,
    /// Public reports it grew from.
    pub sources: Vec<String>,
    /// The platforms that the case applies to.
    pub platforms: Vec<HostPlatform>,
    /// Facts the host must have.
    pub host: Vec<HostFact>,
    /// The oldest versions of tools that will do.
    pub least_versions: BTreeMap<HostFact, ToolVersion>,
    /// Capabilities the backend must claim.
    pub needs: Vec<Capability>,
    /// The claims that a failure speaks against, where it is not the last capability it needs.
    pub about: Option<Vec<Capability>>,
    /// Host state it shares with others of the same word.
    pub exclusive: Vec<Exclusive>,
    /// True if the case takes more than 2 s of CPU, and so is not in the default run.
    pub slow: bool,
    /// Time after which an arm is given up, in milliseconds.
    pub timeout_ms: u64,
    /// About how long an arm waits, in milliseconds, if the case says so.
    pub waits_ms: Option<u64>,
    /// The files that are laid out, path → entry.
    pub fixture: BTreeMap<String, FixtureEntry>,
    /// A shell line that finishes the fixture, unconfined, in the workspace.
    pub prepare: Option<String>,
    /// The launcher's side: environment, descriptors, terminal.
    pub launcher: Launcher,
    /// The request by which a native backend runs the command.
    pub run: RunSpec,
    /// The content of the command's descriptor 0; by default nothing.
    pub stdin: Option<String>,
    /// The steps, in order; the last one is judged.
    pub steps: Vec<CaseStep>,
    /// The number of times the last step is done, one after the other.
    pub repeat: u32,
    /// The number of the last steps that are done at once.
    pub parallel: u32,
    /// The events at the backend meanwhile.
    pub during: Vec<DuringEvent>,
    /// The expected result.
    pub expect: Expect,
    /// The proof that the act is possible without the sandbox.
    pub control: Control,
    /// The proof that the act is possible in the sandbox under a wider policy.
    pub twin: Option<Twin>,
}

impl Case {
    /// The step that is judged.
    pub fn act(&self) -> &Act {
        // A case is only made with at least one step.
        &self.steps[self.steps.len() - 1].act
    }

    /// The question about policy documents, if the case is one.
    pub fn question(&self) -> Option<&PolicyQuery> {
        self.act().question()
    }

    /// Returns the receipts channel of the case, if it is about one.
    pub fn channel(&self) -> Option<&Channel> {
        self.act().channel()
    }

    /// The policy of the step that is judged.
    pub fn policy(&self) -> &PolicySpec {
        &self.steps[self.steps.len() - 1].policy
    }

    /// Returns the claims that a failure speaks against: those named, else the last capability needed.
    pub fn subjects(&self) -> &[Capability] {
        let last = self.needs.len().saturating_sub(1);
        self.about.as_deref().unwrap_or(&self.needs[last..])
    }

    /// Returns the first component of the id.
    pub fn area(&self) -> &str {
        self.id.area()
    }

    /// Returns whether the case is about processes that outlive the run.
    pub fn asks_for_survivors(&self) -> bool {
        self.expect.oracle.iter().any(|oracle| matches!(oracle, Oracle::NoSurvivors(_)))
    }

    /// Returns the file that hidden survivors add to, if the case has one.
    pub fn heartbeat(&self) -> Option<&str> {
        self.expect.oracle.iter().find_map(|oracle| match oracle {
            Oracle::NoSurvivors(survivors) => survivors.heartbeat.as_deref(),
            _ => None,
        })
    }

    /// Every string a variable may stand in, shell lines apart.
    pub fn strings(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for (path, entry) in &self.fixture {
            all.push(path);
            all.extend(entry.strings());
        }
        for step in &self.steps {
            all.extend(step.policy.strings());
            if !matches!(step.act, Act::Sh(_)) {
                all.extend(step.act.strings());
            }
        }
        if let Some(Twin::Overlay(over)) = &self.twin {
            all.extend(over.strings());
        }
        all.extend(self.launcher.strings());
        all.extend(self.run.places());
        all.extend(self.expect.oracle.iter().flat_map(Oracle::strings));
        let expect = &self.expect;
        for stream in [&expect.stdout, &expect.stderr, &expect.shown].into_iter().flatten() {
            all.extend(stream.strings());
        }
        all.extend(self.moments().filter_map(Moment::path));
        for event in &self.during {
            all.extend(event.typed());
        }
        all.extend(self.stdin.as_deref());
        all
    }

    /// Every moment in an event or a bound.
    pub fn moments(&self) -> impl Iterator<Item = &Moment> {
        let bounds = self.expect.times.iter().flat_map(|bound| [&bound.from, &bound.to]);
        self.during.iter().map(|event| &event.when).chain(bounds)
    }

    /// Every shell line.
    pub fn shell_lines(&self) -> Vec<&str> {
        let acts = self.steps.iter().filter_map(|step| match &step.act {
            Act::Sh(line) => Some(line.as_str()),
            _ => None,
        });
        acts.chain(self.prepare.as_deref()).collect()
    }

    /// Returns whether the variable called `name` is used anywhere.
    pub fn uses(&self, name: &str) -> bool {
        let texts = self.strings().into_iter().chain(self.shell_lines());
        texts.flat_map(crate::vars::used_in).any(|used| used == name)
    }
}

/// A case's id: its path in the corpus, such as `fs/write-outside` or `exec/exit-codes/seven`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CaseId(String);

impl CaseId {
    /// An id as written.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first component of the id.
    pub fn area(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The level of a case, in the terms of RFC 2119.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Binding.
    #[default]
    Must,
    /// Binding unless there is a reason.
    Should,
    /// Free.
    May,
}

impl Level {
    /// The word a case uses for it.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

/// An operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostPlatform {
    /// Linux.
    Linux,
    /// macOS.
    Macos,
}

impl HostPlatform {
    /// The one this program runs on.
    pub const HERE: Self = if cfg!(target_os = "macos") { Self::Macos } else { Self::Linux };
}

/// A fact about the host that some cases need.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HostFact {
    /// User namespaces can be made by this user.
    Userns,
    /// The loopback interface has an IPv6 address.
    Ipv6,
    /// A network with addresses and names of its own can be made by this user.
    Netns,
    /// The kernel lets a process type into its own terminal.
    Tiocsti,
    /// Key rings can be used.
    KeyRings,
    /// Vsock sockets can be made.
    Vsock,
    /// The harness runs as uid 0.
    Root,
    /// The harness runs as another uid than 0.
    OrdinaryUser,
    /// Files of the scratch directory take `user.` attributes.
    Xattr,
    /// `git` runs.
    Git,
    /// `cc` runs.
    Cc,
    /// `make` runs.
    Make,
    /// `python3` runs.
    Python3,
    /// `node` runs.
    Node,
    /// `bash` runs.
    Bash,
    /// `tar` runs.
    Tar,
    /// `curl` runs.
    Curl,
}

impl HostFact {
    /// Every fact.
    pub const ALL: [Self; 17] = [
        Self::Userns,
        Self::Ipv6,
        Self::Netns,
        Self::Tiocsti,
        Self::KeyRings,
        Self::Vsock,
        Self::Root,
        Self::OrdinaryUser,
        Self::Xattr,
        Self::Git,
        Self::Cc,
        Self::Make,
        Self::Python3,
        Self::Node,
        Self::Bash,
        Self::Tar,
        Self::Curl,
    ];

    /// Returns whether the fact is that a tool runs; the tool's name is then the fact's word.
    pub fn is_tool(self) -> bool {
        use HostFact::{Bash, Cc, Curl, Git, Make, Node, Python3, Tar};
        matches!(self, Git | Cc | Make | Python3 | Node | Bash | Tar | Curl)
    }

    /// The word a case uses for it.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Userns => "userns",
            Self::Ipv6 => "ipv6",
            Self::Netns => "netns",
            Self::Tiocsti => "tiocsti",
            Self::KeyRings => "key_rings",
            Self::Vsock => "vsock",
            Self::Root => "root",
            Self::OrdinaryUser => "ordinary_user",
            Self::Xattr => "xattr",
            Self::Git => "git",
            Self::Cc => "cc",
            Self::Make => "make",
            Self::Python3 => "python3",
            Self::Node => "node",
            Self::Bash => "bash",
            Self::Tar => "tar",
            Self::Curl => "curl",
        }
    }
}

/// Host state that two cases must not use at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exclusive {
    /// The host's directory for temporary files.
    Tmp,
    /// The mount table.
    Mounts,
    /// Kernel settings.
    Sysctl,
    /// A terminal.
    Tty,
}
