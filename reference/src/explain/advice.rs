//! The suggested action for a denial, in the terms of the document that the rules were written in.
//! Pure.

use std::path::Path;

use boxproof_cases::protocol::Blocked;

use super::policy_index::{DenyList, PolicyRemedy};
use super::rule::DenialRule;

/// The language of a run's rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RuleDialect {
    /// This project's own policy.
    #[default]
    Neutral,
    Inferoa,
    Caliban,
    Orbit,
}

/// Replaces the action of an unavailable sandbox by one with the keys of the reader's dialect.
pub(crate) fn in_words(blocked: Blocked, dialect: RuleDialect) -> Blocked {
    if blocked.rule != DenialRule::BackendUnavailable.rule_name() {
        return blocked;
    }
    let unless = match dialect {
        RuleDialect::Neutral | RuleDialect::Orbit => return blocked,
        RuleDialect::Inferoa => "sandbox.mode to off",
        RuleDialect::Caliban => "fail_if_unavailable to false",
    };
    let action = format!(
        "Install bubblewrap or enable user namespaces; set {unless} only if no sandbox is needed."
    );
    Blocked { suggested_action: Some(action), ..blocked }
}

impl RuleDialect {
    /// Says what `remedy` asks of its reader.
    pub(super) fn action(self, remedy: &PolicyRemedy) -> String {
        match remedy {
            PolicyRemedy::WritableRoot { directory, writes } => self.root(directory, *writes),
            PolicyRemedy::WriteElsewhere(directory) => format!(
                "Write {}: this user cannot write in {} outside the sandbox either.",
                self.own_places(),
                directory.display()
            ),
            PolicyRemedy::WritableMode => self.writable_mode().to_owned(),
            PolicyRemedy::TemporaryDirectories => self.temporary().to_owned(),
            PolicyRemedy::WithoutEntries(entries) => {
                let shown: Vec<String> =
                    entries.iter().map(|(list, entry)| self.entry(*list, entry)).collect();
                format!("Take {} if this command should have it.", shown.join(", and "))
            }
            PolicyRemedy::ListedSocket(path) if self == Self::Neutral => format!(
                "Add {} to policy.unix_sockets if this command should reach it.",
                path.display()
            ),
            PolicyRemedy::ListedSocket(_) => {
                "Run it outside the sandbox: no rule opens a socket of the host.".to_owned()
            }
            PolicyRemedy::ReadableEntry(_) if self == Self::Orbit => {
                "Work inside the workspace: a profile grants nothing outside it.".to_owned()
            }
            PolicyRemedy::ReadableEntry(path) => {
                let list = self.list("policy.readable", "filesystem.allow_read");
                format!("Add {} to {list} if this command should see it.", path.display())
            }
            PolicyRemedy::ProfileRules(says) => format!("To allow it: {says}."),
            PolicyRemedy::Copy => {
                "Copy it and remove the original: each writable root is a file system of its own in the sandbox.".to_owned()
            }
            PolicyRemedy::OutsideTheSandbox(why) => format!("Run it outside the sandbox: {why}."),
            PolicyRemedy::GitLine { line, why } => format!(
                "Run `{line}` as a line of its own, which is granted by itself; this one was not: {why}."
            ),
            PolicyRemedy::GitGrant(why) => self.git_grant(why.as_deref()),
            PolicyRemedy::GitConfigGrant => match self {
                Self::Neutral => DenialRule::GitSteering.action().to_owned(),
                _ => "Run it outside the sandbox: no line is granted what steers git.".to_owned(),
            },
            PolicyRemedy::ReachableHosts { hosts, listed } => self.hosts(hosts, *listed),
            PolicyRemedy::HostPort(port) => self.port(*port),
            PolicyRemedy::WholeNetwork => self.network().to_owned(),
            PolicyRemedy::ByRule(rule) => rule.action().to_owned(),
        }
    }

    /// The places where a command can always write.
    fn own_places(self) -> &'static str {
        match self {
            Self::Caliban => "where filesystem.allow_write grants it or in /tmp",
            _ => "inside the workspace or in /tmp",
        }
    }

    fn list(self, neutral: &'static str, caliban: &'static str) -> &'static str {
        if self == Self::Caliban { caliban } else { neutral }
    }

    fn root(self, directory: &Path, writes: bool) -> String {
        let (list, mode) = match self {
            Self::Neutral => ("policy.writable", Some("policy.mode to workspace_write")),
            Self::Inferoa => {
                ("sandbox.extra_writable_roots", Some("sandbox.mode to workspace_write"))
            }
            Self::Caliban => ("filesystem.allow_write", None),
            Self::Orbit => {
                return "Write inside the workspace: a profile grants nothing outside it."
                    .to_owned();
            }
        };
        let mode = mode.filter(|_| !writes).map(|mode| format!(", and set {mode}"));
        format!(
            "Write {}, or add {} to {list}{}.",
            self.own_places(),
            directory.display(),
            mode.unwrap_or_default()
        )
    }

    fn writable_mode(self) -> &'static str {
        match self {
            Self::Inferoa => {
                "Set sandbox.mode to workspace_write if this command should change the workspace."
            }
            Self::Caliban => {
                "Add the directory to filesystem.allow_write if this command should change it."
            }
            _ => "Set policy.mode to workspace_write if this command should change the workspace.",
        }
    }

    fn temporary(self) -> &'static str {
        match self {
            Self::Inferoa => {
                "Set sandbox.mode to workspace_write, which has temporary directories of its own."
            }
            _ => {
                "Set policy.tmp to private if this command should have temporary directories of its own."
            }
        }
    }

    fn entry(self, list: DenyList, entry: &str) -> String {
        let name = match list {
            DenyList::Read => self.list("policy.deny_read", "filesystem.deny_read"),
            DenyList::Write => self.list("policy.deny_write", "filesystem.deny_write"),
            DenyList::ReadGlobs => "policy.deny_read_globs",
            DenyList::WriteGlobs => "policy.deny_write_globs",
        };
        format!("{entry} out of {name}")
    }

    fn git_grant(self, why: Option<&str>) -> String {
        let why = why.map(|why| format!("; its line is granted nothing by itself: {why}"));
        let why = why.unwrap_or_default();
        match self {
            Self::Neutral => format!(
                "Add git_metadata_write to policy.grants if this command should change the repository{why}."
            ),
            _ => format!("Run it outside the sandbox{why}."),
        }
    }

    fn hosts(self, hosts: &[String], listed: bool) -> String {
        if self != Self::Neutral {
            return self.network().to_owned();
        }
        if listed {
            let hosts = hosts.join(" and ");
            return format!(
                "Add {hosts} to policy.network.domains.allow if this command should reach it."
            );
        }
        let hosts: Vec<String> = hosts.iter().map(|host| format!("\"{host}\"")).collect();
        format!(
            "Set policy.network to {{\"domains\": {{\"allow\": [{}]}}}} if this command should reach it.",
            hosts.join(", ")
        )
    }

    fn port(self, port: u16) -> String {
        let set = match self {
            Self::Neutral => format!("policy.network to {{\"proxy\": {{\"port\": {port}}}}}"),
            Self::Caliban => format!("network.http_proxy_port to {port}"),
            _ => return self.network().to_owned(),
        };
        format!(
            "Set {set}, which leads to this port of the host alone, if this command should reach its service."
        )
    }

    fn network(self) -> &'static str {
        match self {
            Self::Neutral => DenialRule::NetworkRestricted.action(),
            Self::Inferoa => {
                "Set sandbox.network to enabled if this command should reach the network."
            }
            Self::Caliban => {
                "Set network.allow_all_outbound to true if this command should reach the network."
            }
            Self::Orbit => {
                "Run it outside the sandbox: a profile has no rule that opens the network."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::protocol::Stage;
    use rstest::rstest;

    fn root() -> PolicyRemedy {
        PolicyRemedy::WritableRoot { directory: "/o/d".into(), writes: true }
    }

    #[rstest]
    #[case(RuleDialect::Neutral, root(), "add /o/d to policy.writable.")]
    #[case(RuleDialect::Inferoa, root(), "add /o/d to sandbox.extra_writable_roots.")]
    #[case(RuleDialect::Caliban, root(), "add /o/d to filesystem.allow_write.")]
    #[case(RuleDialect::Orbit, root(), "grants nothing outside")]
    #[case(RuleDialect::Neutral, PolicyRemedy::WholeNetwork, "policy.network to {\"host\": {}}")]
    #[case(RuleDialect::Neutral, PolicyRemedy::HostPort(8), "{\"proxy\": {\"port\": 8}}")]
    #[case(RuleDialect::Caliban, PolicyRemedy::HostPort(8), "network.http_proxy_port to 8")]
    #[case(RuleDialect::Inferoa, PolicyRemedy::HostPort(8), "sandbox.network to enabled")]
    #[case(RuleDialect::Inferoa, PolicyRemedy::WholeNetwork, "sandbox.network to enabled")]
    #[case(RuleDialect::Caliban, PolicyRemedy::WholeNetwork, "network.allow_all_outbound to true")]
    #[case(RuleDialect::Caliban, PolicyRemedy::ReadableEntry("/o".into()), "Add /o to filesystem.allow_read")]
    #[case(RuleDialect::Neutral, PolicyRemedy::ReadableEntry("/o".into()), "Add /o to policy.readable")]
    #[case(RuleDialect::Inferoa, PolicyRemedy::WritableMode, "sandbox.mode to workspace_write")]
    #[case(RuleDialect::Inferoa, PolicyRemedy::GitGrant(None), "outside the sandbox.")]
    #[case(
        RuleDialect::Neutral,
        PolicyRemedy::GitGrant(None),
        "git_metadata_write to policy.grants"
    )]
    #[case(RuleDialect::Inferoa, PolicyRemedy::GitConfigGrant, "outside the sandbox: no line")]
    fn actions_have_the_keys_of_their_dialect(
        #[case] dialect: RuleDialect,
        #[case] remedy: PolicyRemedy,
        #[case] says: &str,
    ) {
        let action = dialect.action(&remedy);
        assert!(action.contains(says), "{action}");
        assert!(dialect == RuleDialect::Neutral || !action.contains("policy."), "{action}");
    }

    #[rstest]
    #[case(RuleDialect::Neutral, "policy.on_unavailable")]
    #[case(RuleDialect::Inferoa, "sandbox.mode to off")]
    #[case(RuleDialect::Caliban, "fail_if_unavailable to false")]
    fn an_unavailable_sandbox_is_told_in_the_keys_of_the_dialect(
        #[case] dialect: RuleDialect,
        #[case] says: &str,
    ) {
        let rule = DenialRule::BackendUnavailable;
        let blocked = Blocked {
            stage: Stage::BackendSetup,
            rule: rule.rule_name().to_owned(),
            operation: None,
            path: None,
            reason: String::new(),
            suggested_action: Some(rule.action().to_owned()),
            also: Vec::new(),
        };
        let action = in_words(blocked, dialect).suggested_action.unwrap();
        assert!(action.contains(says), "{action}");
    }
}
