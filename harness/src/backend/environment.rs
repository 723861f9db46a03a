//! The command's environment as the policy asks for it, for backends that are told every variable.

use std::collections::BTreeMap;

use boxproof_cases::protocol::{EnvBase, EnvPolicy};

/// A name with one of these in it looks like a credential.
const TELLING: &[&str] = &[
    "API_KEY",
    "APIKEY",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "PASSCODE",
    "PASSWD",
    "PASSWORD",
    "PRIVATE_KEY",
    "SECRET",
    "TOKEN",
    "WEBHOOK",
];

/// A name with one of these as a whole word looks like a credential, too.
const TELLING_WORDS: &[&str] = &["AUTH", "KEY", "PAT"];

/// Base, scrub, pass, then set.
pub(super) fn of(
    policy: &EnvPolicy,
    launcher: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let stays = |name: &String| match policy.base {
        _ if policy.pass.contains(name) => true,
        EnvBase::Clear => false,
        EnvBase::Inherit => !(policy.scrub && looks_like_a_credential(name)),
    };
    let mut env = launcher.clone();
    env.retain(|name, _| stays(name));
    env.extend(policy.set.clone());
    env
}

/// Whether a variable of this name is removed by `scrub`, whatever its case.
fn looks_like_a_credential(name: &str) -> bool {
    let name = name.to_uppercase();
    TELLING.iter().any(|part| name.contains(part))
        || name.split(['_', '-']).any(|word| TELLING_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("FOO_TOKEN", true)]
    #[case("github_token", true)]
    #[case("OPENAI_API_KEY", true)]
    #[case("MY_KEY", true)]
    #[case("NPM_CONFIG__AUTH", true)]
    #[case("SSH_AUTH_SOCK", true)]
    #[case("PATH", false)]
    #[case("KEYBOARD", false)]
    #[case("GIT_AUTHOR_NAME", false)]
    fn credentials_are_told_by_name(#[case] name: &str, #[case] telling: bool) {
        assert_eq!(looks_like_a_credential(name), telling);
    }

    #[rstest]
    #[case(EnvBase::Inherit, true, &[], "A=1 B=set")]
    #[case(EnvBase::Inherit, true, &["T_TOKEN"], "A=1 B=set T_TOKEN=t")]
    #[case(EnvBase::Inherit, false, &[], "A=1 B=set T_TOKEN=t")]
    #[case(EnvBase::Clear, true, &[], "B=set")]
    #[case(EnvBase::Clear, true, &["A", "NOT_THERE"], "A=1 B=set")]
    fn base_scrub_pass_set(
        #[case] base: EnvBase,
        #[case] scrub: bool,
        #[case] pass: &[&str],
        #[case] expected: &str,
    ) {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
        };
        let pass = pass.iter().map(|name| (*name).to_owned()).collect();
        let policy = EnvPolicy { base, scrub, pass, set: map(&[("B", "set")]) };
        let env = of(&policy, &map(&[("A", "1"), ("B", "2"), ("T_TOKEN", "t")]));
        let found: Vec<_> = env.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(found.join(" "), expected);
    }
}
