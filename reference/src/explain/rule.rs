//! The rules that an explanation names, and the suggested action for each.

use boxproof_cases::protocol::{Blocked, Stage};

/// Explains a run that did not start for want of a mechanism.
pub(crate) fn unavailable(message: &str) -> Blocked {
    let rule = DenialRule::BackendUnavailable;
    Blocked {
        stage: Stage::BackendSetup,
        rule: rule.rule_name().to_owned(),
        operation: None,
        path: None,
        reason: rule.reason(message),
        suggested_action: Some(rule.action().to_owned()),
        also: Vec::new(),
    }
}

/// A rule that refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DenialRule {
    OutsideWrite,
    Metadata,
    GitMetadata,
    /// A change of git metadata that steers git: the grant for history leaves it closed.
    GitSteering,
    NetworkRestricted,
    PlatformDenied,
    BackendUnavailable,
    RuntimeDenied,
    ReadDenied,
}

impl DenialRule {
    /// Its word.
    pub(super) fn rule_name(self) -> &'static str {
        match self {
            Self::OutsideWrite => "outside_workspace_write",
            Self::Metadata => "protected_metadata_write",
            Self::GitMetadata | Self::GitSteering if fault!("explain.git-as-metadata") => {
                "protected_metadata_write"
            }
            Self::ReadDenied if fault!("explain.read-as-outside") => "outside_workspace_write",
            Self::GitMetadata | Self::GitSteering => "git_metadata_requires_capability",
            Self::NetworkRestricted => "network_restricted",
            Self::PlatformDenied => "platform_baseline_denied",
            Self::BackendUnavailable => "sandbox_backend_unavailable",
            Self::RuntimeDenied => "sandbox_runtime_denied",
            Self::ReadDenied => "read_denied",
        }
    }

    /// Returns the sentence with the reason for refusing `what`.
    pub(super) fn reason(self, what: &str) -> String {
        match self {
            Self::OutsideWrite => {
                format!("Writing {what} is denied: it lies outside every writable root.")
            }
            Self::Metadata => {
                format!("Changing {what} is denied: its name steers tools and is protected.")
            }
            Self::GitMetadata => format!(
                "Changing {what} is denied: it belongs to git's own files, which take a grant."
            ),
            Self::GitSteering => {
                format!("Changing {what} is denied: what it says steers git, and takes a grant.")
            }
            Self::NetworkRestricted => "The network is restricted inside the sandbox.".to_owned(),
            Self::PlatformDenied => format!("{what} is no part of what the sandbox provides."),
            Self::BackendUnavailable => format!("No sandbox can be had here: {what}"),
            Self::RuntimeDenied => format!("The sandbox denied it: {what}."),
            Self::ReadDenied => {
                format!("{what} can be neither read nor changed under this policy.")
            }
        }
    }

    /// Returns the suggested action, a sentence for people.
    pub(super) fn action(self) -> &'static str {
        match self {
            Self::OutsideWrite => "Write inside the workspace or a temporary directory.",
            Self::Metadata => {
                "Leave protected names as they are, or run the change outside the sandbox."
            }
            Self::GitMetadata => {
                "Add git_metadata_write to policy.grants if this command should change the repository."
            }
            Self::GitSteering => {
                "Add git_config_write to policy.grants if this command should make a repository or change what steers one."
            }
            Self::NetworkRestricted => {
                "Set policy.network to {\"host\": {}} if this command should reach the network."
            }
            Self::PlatformDenied => {
                "Do without this device; the sandbox has null, zero, full, random, urandom and tty."
            }
            Self::BackendUnavailable => {
                "Install bubblewrap or enable user namespaces; set policy.on_unavailable to run_unconfined only if no sandbox is needed."
            }
            Self::RuntimeDenied => {
                "Look into the policy of this run; do such work outside the sandbox."
            }
            Self::ReadDenied => {
                "Remove the path from the rules of reading if this command should see it."
            }
        }
    }
}
