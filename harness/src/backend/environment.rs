//! The command's environment as the policy asks for it, for backends that are told every variable.

use std::collections::BTreeMap;

use boxproof_cases::protocol::{EnvBase, EnvPolicy, Mode, names_a_credential, names_injected_code};

/// Builds the environment: base, scrub, pass, then set.
pub(super) fn policy_environment(
    policy: &EnvPolicy,
    mode: Mode,
    launcher: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let confined = mode != Mode::Unconfined;
    let scrubbed = |name: &str| names_a_credential(name) || confined && names_injected_code(name);
    let stays = |name: &String| match policy.base {
        _ if policy.pass.contains(name) => true,
        EnvBase::Clear => false,
        EnvBase::Inherit => !(policy.scrub && scrubbed(name)),
    };
    let mut env = launcher.clone();
    env.retain(|name, _| stays(name));
    env.extend(policy.set.clone());
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Mode::ReadOnly, EnvBase::Inherit, true, &[], "A=1 B=set")]
    #[case(Mode::ReadOnly, EnvBase::Inherit, true, &["T_TOKEN"], "A=1 B=set T_TOKEN=t")]
    #[case(Mode::ReadOnly, EnvBase::Inherit, true, &["LD_X"], "A=1 B=set LD_X=l")]
    #[case(Mode::ReadOnly, EnvBase::Inherit, false, &[], "A=1 B=set LD_X=l T_TOKEN=t")]
    #[case(Mode::Unconfined, EnvBase::Inherit, true, &[], "A=1 B=set LD_X=l")]
    #[case(Mode::ReadOnly, EnvBase::Clear, true, &[], "B=set")]
    #[case(Mode::ReadOnly, EnvBase::Clear, true, &["A", "NOT_THERE"], "A=1 B=set")]
    fn base_scrub_pass_set(
        #[case] mode: Mode,
        #[case] base: EnvBase,
        #[case] scrub: bool,
        #[case] pass: &[&str],
        #[case] expected: &str,
    ) {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
        };
        let pass = pass.iter().map(|name| (*name).to_owned()).collect();
        let policy =
            EnvPolicy { base, scrub, scrub_values: false, pass, set: map(&[("B", "set")]) };
        let launcher = map(&[("A", "1"), ("B", "2"), ("T_TOKEN", "t"), ("LD_X", "l")]);
        let env = policy_environment(&policy, mode, &launcher);
        let found: Vec<_> = env.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(found.join(" "), expected);
    }
}
