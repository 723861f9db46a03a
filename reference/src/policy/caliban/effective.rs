//! The effective settings in the terms of the protocol: [`effective`]. Pure.

use boxproof_cases::protocol::{EffectiveSettings, SettingsPlatform};

use super::detect::SandboxAvailability;
use super::expand::PathVariables;
use super::session_profile::SessionProfilePath;
use super::validate::ValidSettings;

/// Returns every value in force, and its consequences on `platform`.
pub fn effective(
    sound: &ValidSettings,
    availability: &SandboxAvailability,
    platform: SettingsPlatform,
    variables: &PathVariables,
    session: Option<&str>,
) -> EffectiveSettings {
    let active = *availability == SandboxAvailability::Active;
    let profile = active && platform == SettingsPlatform::Macos;
    EffectiveSettings {
        active,
        egress_denied: active && sound.egress_denied(),
        auto_allows: sound.auto_allows(availability),
        profile_path: profile.then(|| {
            SessionProfilePath::for_session(sound.reading, variables, session.unwrap_or("*")).path()
        }),
        warnings: sound.warnings(availability, platform),
        enabled: sound.enabled,
        fail_if_unavailable: sound.strict,
        auto_allow_bash_if_sandboxed: sound.auto_allow,
        allow_unsandboxed_commands: sound.unsandboxed.clone(),
        enable_weaker_nested_sandbox: sound.nested,
        bwrap_path: sound.bwrap.as_ref().map(|(path, _)| path.clone()),
        sandbox_exec_path: sound.sandbox_exec.as_ref().map(|(path, _)| path.clone()),
        filesystem: sound.paths.clone(),
        network: sound.network.clone(),
        env: sound.env.clone(),
    }
}

impl ValidSettings {
    /// Returns whether not even a proxy can be reached.
    pub(super) fn egress_denied(&self) -> bool {
        let network = &self.network;
        !network.allow_all_outbound && network.http_proxy_port == 0 && network.socks_proxy_port == 0
    }

    /// Returns the warnings for the user, the most important first.
    pub(crate) fn warnings(
        &self,
        availability: &SandboxAvailability,
        platform: SettingsPlatform,
    ) -> Vec<String> {
        let missing = match availability {
            SandboxAvailability::Missing(error) => {
                Some(format!("COMMANDS RUN WITHOUT A SANDBOX: {error}"))
            }
            SandboxAvailability::Active | SandboxAvailability::Disabled => None,
        };
        let idle = self.network.allow_unix_sockets && platform == SettingsPlatform::Linux;
        let idle = idle.then(|| "network.allow_unix_sockets has no effect on Linux".to_owned());
        missing.into_iter().chain(self.warnings.iter().cloned()).chain(idle).collect()
    }
}
