//! Ways in which a request can differ from the default one, each with an example: what a manifest
//! has to render, or to call inexpressible. Main item: [`VARIATIONS`].

use std::collections::{BTreeMap, BTreeSet};

use boxproof_cases::protocol::{
    Command, EnvBase, Mode, Network, Policy, Protect, Readable, Run, RunRequest, TmpPolicy,
    WirePath,
};
use boxproof_cases::suggestion;
use serde_json::Value;

/// The variable that is the whole policy.
const POLICY: &str = "policy";
/// The grant that the variables of protected names heed.
const GIT_GRANT: &str = "git_config_write";
/// Variables worked out from members of the policy.
const PROTECTED: &[&str] = &["protected", "protected_all", "write_rules"];
const WRITE_RULES: &[&str] = &["write_rules"];
const ENVIRONMENT: &[&str] = &["env", "removed"];

/// One way to differ from the default request.
#[derive(Clone, Copy)]
pub(super) struct PolicyVariation {
    /// The member, as a template names it.
    pub(super) member: &'static str,
    /// The value, where a member has several that a template tells apart; else empty.
    pub(super) value: &'static str,
    /// Other variables by which a template reads the member.
    derived: &'static [&'static str],
    /// Returns whether a request differs in this way.
    pub(super) is_set: fn(&RunRequest) -> bool,
    /// Makes a request differ in this way; every path in it is there on every host.
    pub(super) set: fn(&mut RunRequest),
}

impl PolicyVariation {
    /// Returns the name of the variation in messages.
    pub(super) fn name(&self) -> String {
        match self.value {
            "" => self.member.to_owned(),
            value => format!("{}: {value}", self.member),
        }
    }

    /// Returns whether a template that asks for `names` (as in `policy.env.set`) reads the member.
    pub(super) fn is_read(&self, names: &BTreeSet<String>) -> bool {
        let is_part = |whole: &str, part: &str| {
            part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        names.iter().any(|name| {
            is_part(self.member, name)
                || is_part(name, self.member)
                || self.derived.iter().any(|derived| is_part(derived, name))
        })
    }
}

/// Returns whether a template that asks for `names` takes the policy as a whole.
pub(super) fn is_whole(names: &BTreeSet<String>) -> bool {
    names.contains(POLICY)
}

const fn vary(
    member: &'static str,
    value: &'static str,
    is_set: fn(&RunRequest) -> bool,
    set: fn(&mut RunRequest),
) -> PolicyVariation {
    PolicyVariation { member, value, derived: &[], is_set, set }
}

const fn derived(by: &'static [&'static str], variation: PolicyVariation) -> PolicyVariation {
    PolicyVariation { derived: by, ..variation }
}

/// Every way that a manifest has to say. Not in here is what asks a backend for nothing: no
/// inferred grants, no scrubbing, and a run without a sandbox where none can be had. Values of one
/// member stand in the order of how usual they are.
pub(super) static VARIATIONS: &[PolicyVariation] = &[
    derived(
        WRITE_RULES,
        vary(
            "policy.mode",
            "read_only",
            |r| r.policy.mode == Mode::ReadOnly,
            |r| {
                r.policy.mode = Mode::ReadOnly;
            },
        ),
    ),
    vary(
        "policy.mode",
        "unconfined",
        |r| r.policy.mode == Mode::Unconfined,
        |r| {
            r.policy.mode = Mode::Unconfined;
        },
    ),
    vary(
        "policy.readable",
        "",
        |r| r.policy.readable != Readable::All,
        |r| {
            r.policy.readable = Readable::Only(vec!["/usr".into()]);
        },
    ),
    derived(
        WRITE_RULES,
        vary(
            "policy.writable",
            "",
            |r| !r.policy.writable.is_empty(),
            |r| r.policy.writable = path(),
        ),
    ),
    vary(
        "policy.deny_read",
        "",
        |r| !r.policy.deny_read.is_empty(),
        |r| {
            r.policy.deny_read = path();
        },
    ),
    derived(
        WRITE_RULES,
        vary(
            "policy.deny_write",
            "",
            |r| !r.policy.deny_write.is_empty(),
            |r| {
                r.policy.deny_write = path();
            },
        ),
    ),
    vary(
        "policy.deny_read_globs",
        "",
        |r| !r.policy.deny_read_globs.is_empty(),
        |r| {
            r.policy.deny_read_globs = vec!["/usr/*.env".to_owned()];
        },
    ),
    vary(
        "policy.deny_write_globs",
        "",
        |r| !r.policy.deny_write_globs.is_empty(),
        |r| {
            r.policy.deny_write_globs = vec!["/usr/*.env".to_owned()];
        },
    ),
    derived(PROTECTED, vary("policy.protect", "", |r| protects(&r.policy), protect)),
    vary(
        "policy.reopen",
        "",
        |r| protects(&r.policy) && !r.policy.reopen.is_empty(),
        |r| {
            protect(r);
            r.policy.reopen = vec!["/usr/.git/refs".into()];
        },
    ),
    vary(
        "policy.grants",
        "",
        |r| grants(&r.policy, |grant| grant != GIT_GRANT),
        |r| {
            protect(r);
            r.policy.grants = vec!["git_metadata_write".to_owned()];
        },
    ),
    derived(
        PROTECTED,
        vary(
            "policy.grants",
            "",
            |r| grants(&r.policy, |grant| grant == GIT_GRANT),
            |r| {
                protect(r);
                r.policy.grants = vec![GIT_GRANT.to_owned()];
            },
        ),
    ),
    vary(
        "policy.tmp",
        "host",
        |r| r.policy.tmp == TmpPolicy::Host,
        |r| {
            r.policy.tmp = TmpPolicy::Host;
        },
    ),
    vary(
        "policy.tmp",
        "none",
        |r| r.policy.tmp == TmpPolicy::None,
        |r| {
            r.policy.tmp = TmpPolicy::None;
        },
    ),
    vary(
        "policy.network",
        "host",
        |r| matches!(r.policy.network, Network::Host {}),
        |r| {
            r.policy.network = Network::Host {};
        },
    ),
    vary(
        "policy.network",
        "proxy",
        |r| matches!(r.policy.network, Network::Proxy { .. }),
        |r| {
            r.policy.network = Network::Proxy { port: 1080 };
        },
    ),
    vary(
        "policy.network",
        "domains",
        |r| matches!(r.policy.network, Network::Domains { .. }),
        |r| {
            let allow = vec!["a.test".to_owned()];
            r.policy.network = Network::Domains { allow, deny: Vec::new() };
        },
    ),
    vary(
        "policy.unix_sockets",
        "",
        |r| !r.policy.unix_sockets.is_empty(),
        |r| {
            r.policy.unix_sockets = path();
        },
    ),
    derived(
        ENVIRONMENT,
        vary(
            "policy.env.base",
            "",
            |r| r.policy.env.base == EnvBase::Clear,
            |r| {
                r.policy.env.base = EnvBase::Clear;
            },
        ),
    ),
    derived(
        ENVIRONMENT,
        vary(
            "policy.env.scrub_values",
            "",
            |r| r.policy.env.scrub_values,
            |r| {
                r.policy.env.scrub_values = true;
            },
        ),
    ),
    derived(
        ENVIRONMENT,
        vary(
            "policy.env.set",
            "",
            |r| !r.policy.env.set.is_empty(),
            |r| {
                r.policy.env.set = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
            },
        ),
    ),
    vary("timeout_ms", "", |r| r.run.timeout_ms.is_some(), |r| r.run.timeout_ms = Some(1000)),
];

fn path() -> Vec<WirePath> {
    vec!["/usr/bin".into()]
}

fn protects(policy: &Policy) -> bool {
    policy.protect == Protect::Metadata
}

fn protect(request: &mut RunRequest) {
    request.policy.protect = Protect::Metadata;
}

fn grants(policy: &Policy, is_meant: impl Fn(&str) -> bool) -> bool {
    protects(policy) && policy.grants.iter().any(|grant| is_meant(grant))
}

/// The request from which the variations differ.
pub(super) fn default_request() -> RunRequest {
    let command = Command::Argv(vec!["true".to_owned()]);
    RunRequest { protocol: 1, policy: Policy::new("/usr"), run: Run::new(command, "/usr") }
}

/// Checks that every one of `names` that is below `policy` is a member of a policy.
pub(super) fn check_members(names: &BTreeSet<String>) -> Result<(), String> {
    let members = members();
    let mut below = names.iter().filter(|name| name.starts_with("policy."));
    below.try_for_each(|name| {
        // What a template can ask the variables of a policy for are names of its writer's own.
        if name.starts_with("policy.env.set.") || members.contains(name) {
            return Ok(());
        }
        let known = members.iter().map(String::as_str);
        Err(format!("there is no `{name}`{}", suggestion(name, known)))
    })
}

/// Every member that a policy can have, as a template names it.
fn members() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for variation in VARIATIONS {
        let mut request = default_request();
        (variation.set)(&mut request);
        let policy = serde_json::to_value(&request.policy).unwrap_or_default();
        collect_members(POLICY, &policy, &mut all);
    }
    all
}

fn collect_members(above: &str, value: &Value, all: &mut BTreeSet<String>) {
    for (name, below) in value.as_object().into_iter().flatten() {
        let member = format!("{above}.{name}");
        collect_members(&member, below, all);
        all.insert(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variation_is_set_by_its_own_example_and_not_by_default() {
        for variation in VARIATIONS {
            let mut request = default_request();
            assert!(!(variation.is_set)(&request), "{}", variation.name());
            (variation.set)(&mut request);
            assert!((variation.is_set)(&request), "{}", variation.name());
        }
    }

    /// A member that a policy comes to have is a variation, too, or is listed here with its reason.
    #[test]
    fn every_member_of_a_policy_is_varied() {
        // The place itself, and what asks a backend for nothing.
        let apart = ["workspace", "infer_grants", "on_unavailable", "env.scrub", "env.pass"];
        let apart = apart.map(|name| format!("policy.{name}"));
        let varied: Vec<&str> = VARIATIONS.iter().map(|variation| variation.member).collect();
        for member in members().iter().filter(|member| !apart.contains(member)) {
            let is_varied = varied
                .iter()
                .any(|name| member.starts_with(name) || name.starts_with(&format!("{member}.")));
            assert!(is_varied, "{member}");
        }
    }
}
