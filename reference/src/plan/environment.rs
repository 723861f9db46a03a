//! The command's environment: base, scrub, pass, then set. Pure.

use std::collections::BTreeMap;
use std::ffi::OsString;

use boxproof_cases::protocol::{EnvBase, EnvPolicy};

/// How a name is recognised as a credential; names are compared in upper case.
enum Mark {
    Contains(&'static str),
    StartsWith(&'static str),
    Is(&'static str),
}

/// What looks like a credential, or leads to a service that holds some.
const CREDENTIALS: [Mark; 17] = [
    Mark::Contains("TOKEN"),
    Mark::Contains("SECRET"),
    Mark::Contains("PASSWORD"),
    Mark::Contains("PASSWD"),
    Mark::Contains("PASSPHRASE"),
    Mark::Contains("API_KEY"),
    Mark::Contains("APIKEY"),
    Mark::Contains("ACCESS_KEY"),
    Mark::Contains("PRIVATE_KEY"),
    Mark::Contains("CREDENTIAL"),
    Mark::StartsWith("AWS_"),
    Mark::Is("SSH_AUTH_SOCK"),
    Mark::Is("SSH_AGENT_PID"),
    Mark::Is("GPG_AGENT_INFO"),
    Mark::Is("KUBECONFIG"),
    Mark::Is("DOCKER_AUTH_CONFIG"),
    Mark::Is("NPM_CONFIG__AUTH"),
];

/// Whether `name` looks like a credential.
pub(crate) fn is_credential(name: &str) -> bool {
    let name = name.to_uppercase();
    CREDENTIALS.iter().any(|mark| match mark {
        Mark::Contains(part) => name.contains(part),
        Mark::StartsWith(part) => name.starts_with(part),
        Mark::Is(whole) => name == *whole,
    })
}

/// The environment that `policy` makes of the launcher's, sorted by name.
///
/// With `private_tmp` an inherited TMPDIR is turned to that folder, as the launcher's own is not
/// writable inside.
pub(crate) fn environment(
    policy: &EnvPolicy,
    launcher: &[(OsString, OsString)],
    private_tmp: Option<&str>,
) -> Vec<(OsString, OsString)> {
    let passed = |name: &OsString| policy.pass.iter().any(|pass| name == pass.as_str());
    let inherited = |name: &OsString| match policy.base {
        EnvBase::Clear => false,
        EnvBase::Inherit => !policy.scrub || !is_credential(&name.to_string_lossy()),
    };
    let kept = launcher.iter().filter(|(name, _)| passed(name) || inherited(name)).cloned();
    let mut result: BTreeMap<OsString, OsString> = kept.collect();
    if let (Some(folder), Some(value)) = (private_tmp, result.get_mut(&OsString::from("TMPDIR"))) {
        *value = folder.into();
    }
    result.extend(policy.set.iter().map(|(name, value)| (name.into(), value.into())));
    result.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("FOO_TOKEN", true)]
    #[case("my_secret", true)]
    #[case("DB_PASSWORD", true)]
    #[case("OPENAI_API_KEY", true)]
    #[case("AWS_REGION", true)]
    #[case("SSH_AUTH_SOCK", true)]
    #[case("GOOGLE_APPLICATION_CREDENTIALS", true)]
    #[case("PATH", false)]
    #[case("KEYBOARD", false)]
    #[case("MY_SSH_AUTH_SOCK_HINT", false)]
    #[case("LAWS_X", false)]
    fn credentials_are_recognised(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_credential(name), expected);
    }

    fn policy(base: EnvBase, scrub: bool, pass: &[&str], set: &[(&str, &str)]) -> EnvPolicy {
        EnvPolicy {
            base,
            scrub,
            pass: pass.iter().map(|name| (*name).to_owned()).collect(),
            set: set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        }
    }

    #[rstest]
    #[case::scrubbed(policy(EnvBase::Inherit, true, &[], &[]), "A=1 TMPDIR=/t")]
    #[case::unscrubbed(policy(EnvBase::Inherit, false, &[], &[]), "A=1 B_TOKEN=2 TMPDIR=/t")]
    #[case::passed(policy(EnvBase::Inherit, true, &["B_TOKEN"], &[]), "A=1 B_TOKEN=2 TMPDIR=/t")]
    #[case::clear(policy(EnvBase::Clear, true, &[], &[]), "")]
    #[case::clear_pass(policy(EnvBase::Clear, true, &["A", "B_TOKEN", "NONE"], &[]), "A=1 B_TOKEN=2")]
    #[case::set_wins(policy(EnvBase::Inherit, true, &[], &[("A", "9"), ("C_TOKEN", "3")]),
        "A=9 C_TOKEN=3 TMPDIR=/t")]
    fn rules_apply_in_order(#[case] policy: EnvPolicy, #[case] expected: &str) {
        assert_eq!(shown(&environment(&policy, &launcher(), None)), expected);
    }

    #[rstest]
    #[case::inherited(policy(EnvBase::Inherit, true, &[], &[]), "A=1 TMPDIR=/tmp")]
    #[case::set(policy(EnvBase::Inherit, true, &[], &[("TMPDIR", "/x")]), "A=1 TMPDIR=/x")]
    #[case::clear(policy(EnvBase::Clear, true, &[], &[]), "")]
    fn private_tmp_moves_tmpdir(#[case] policy: EnvPolicy, #[case] expected: &str) {
        assert_eq!(shown(&environment(&policy, &launcher(), Some("/tmp"))), expected);
    }

    fn launcher() -> Vec<(OsString, OsString)> {
        [("A", "1"), ("B_TOKEN", "2"), ("TMPDIR", "/t")].map(|(n, v)| (n.into(), v.into())).into()
    }

    fn shown(env: &[(OsString, OsString)]) -> String {
        let pairs = env.iter().map(|(n, v)| format!("{}={}", n.display(), v.display()));
        pairs.collect::<Vec<_>>().join(" ")
    }
}
