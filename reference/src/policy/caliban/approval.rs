//! The decision whether a person is asked before a command runs: [`decide`]. Pure.

use boxproof_cases::protocol::{AskBy, AskDecision, AskQuestion, Permission, SourcePrecedence};

use super::bypass::{BypassPatterns, bypassed_by};
use super::detect::SandboxAvailability;
use super::validate::ValidSettings;

impl ValidSettings {
    pub(super) fn bypass(&self) -> BypassPatterns<'_> {
        BypassPatterns { patterns: &self.unsandboxed, reading: self.reading }
    }

    /// Returns whether the sandbox makes asking needless: it is active, and the settings under this
    /// reading allow it.
    pub(super) fn auto_allows(&self, availability: &SandboxAvailability) -> bool {
        self.reading == SourcePrecedence::Adr
            && self.auto_allow
            && *availability == SandboxAvailability::Active
    }
}

/// Decides about a command. A denial is never lifted, and a command outside the sandbox is always
/// asked about.
pub fn decide(
    sound: &ValidSettings,
    availability: &SandboxAvailability,
    asked: &AskQuestion,
) -> AskDecision {
    let bypassed_by = bypassed_by(sound.bypass(), &asked.command);
    let sandboxed = *availability == SandboxAvailability::Active && bypassed_by.is_none();
    let (decision, by) = match (asked.plan, asked.rules) {
        (true, _) => (Permission::Deny, AskBy::Plan),
        (false, Permission::Ask) if sandboxed && sound.auto_allows(availability) => {
            (Permission::Allow, AskBy::AutoAllow)
        }
        (false, rules) => (rules, AskBy::Rules),
    };
    AskDecision { decision, by, sandboxed, bypassed_by: bypassed_by.map(str::to_owned) }
}
