//! The order behind a request, in any language of rules: [`RunJob`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use boxproof_cases::protocol::{
    Blocked, Dialect, InferredGrants, Mode, Network, Policy, ProfileRequest, Readable, Run,
    RunRequest, UNRESTRICTED_PROFILE,
};

use crate::error::Refusal;
use crate::explain::advice::{self, RuleDialect as Words};
use crate::host;
use crate::policy::agent_state::AgentState;
use crate::policy::grant;
use crate::policy::path_rules::PathRules;
use crate::request::{inferoa as inferoa_request, orbit as orbit_request};
use crate::sys::ProcessHandle;

/// The place for a session's profile: a file in directories below an existing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProfileLocation {
    /// The directory that is there.
    pub(crate) base: PathBuf,
    /// Directories below it, which are made.
    pub(crate) directories: &'static [&'static str],
    /// The file's name.
    pub(crate) name: String,
}

/// One run to be carried out.
#[derive(Debug, Clone)]
pub(crate) struct RunJob {
    /// Protocol version.
    pub(crate) protocol: u32,
    /// The neutral policy; with a profile, all that a profile says nothing about.
    pub(crate) policy: Policy,
    /// The profile that the workspace is under.
    pub(crate) law: Option<Arc<PathRules>>,
    /// The profile's name.
    pub(crate) profile: Option<String>,
    /// The reason why no mechanism may confine this run, although its policy asks for one.
    pub(crate) unavailable: Option<String>,
    /// The command.
    pub(crate) run: Run,
    /// The grants that the command's line infers; the policy has them already.
    pub(crate) inferred: Option<InferredGrants>,
    /// The reason why its line infers no grant, where it might.
    /// The language that its rules are in.
    pub(crate) dialect: Words,
    /// Further notes for the user: written to stderr, and into the result.
    pub(crate) notes: Vec<String>,
    /// The note, on stderr and in the result, for a confined command that ends with a code of
    /// failure.
    pub(crate) on_failure: Option<String>,
    /// The command runs unconfined where this host cannot confine it; a policy that no host could
    /// enforce is refused all the same.
    pub(crate) lenient: bool,
    /// The place of its profile, if the session has one.
    pub(crate) profile_file: Option<ProfileLocation>,
    /// The process whose death ends the run.
    pub(crate) caller: Option<Arc<ProcessHandle>>,
}

impl RunJob {
    /// `blocked` with an action in the words of this order's document.
    pub(crate) fn in_its_words(&self, blocked: Blocked) -> Blocked {
        advice::in_words(blocked, self.dialect)
    }

    /// Adds the grants that its command's line infers.
    pub(crate) fn with_inferred(mut self) -> Self {
        let workspace = self.policy.workspace.as_path();
        let is_foreign = |directory: &Path| host::is_in_another_repository(directory, workspace);
        let inferred = grant::for_run(&self.policy, &self.run, is_foreign);
        let nothing = |inferred: &InferredGrants| inferred.granted.is_empty();
        self.inferred = inferred.filter(|one| !nothing(one));
        let granted = self.inferred.iter().flat_map(|inferred| inferred.granted.iter().cloned());
        self.policy.grants.extend(granted);
        self
    }
}

impl From<RunRequest> for RunJob {
    fn from(request: RunRequest) -> Self {
        let RunRequest { protocol, policy, run } = request;
        Self {
            protocol,
            policy,
            law: None,
            profile: None,
            unavailable: None,
            run,
            notes: Vec::new(),
            lenient: false,
            profile_file: None,
            caller: None,
            inferred: None,
            dialect: Words::Neutral,
            on_failure: None,
        }
    }
}

impl TryFrom<ProfileRequest> for RunJob {
    type Error = Refusal;

    fn try_from(request: ProfileRequest) -> Result<Self, Refusal> {
        if request.dialect == Dialect::Inferoa {
            return inferoa_request::order(request);
        }
        let ProfileRequest { protocol, documents, profile, workspace, run, .. } = request;
        let profile = profile.as_deref().unwrap_or(UNRESTRICTED_PROFILE);
        let law = Some(Arc::new(orbit_request::law(&documents, profile)?));
        // The law governs the workspace; outside it agents have their state, and no rule applies to
        // the network.
        let readable = Readable::Only(Vec::new());
        let network = Network::Host {};
        let state = AgentState::from_variables(|name| std::env::var(name).ok());
        let writable = orbit_request::state(&state, workspace.as_path());
        let policy =
            Policy { mode: Mode::ReadOnly, readable, network, writable, ..Policy::new(workspace) };
        Ok(Self {
            protocol,
            policy,
            law,
            profile: Some(profile.to_owned()),
            unavailable: None,
            run,
            notes: Vec::new(),
            lenient: false,
            profile_file: None,
            caller: None,
            inferred: None,
            dialect: Words::Orbit,
            on_failure: None,
        })
    }
}
