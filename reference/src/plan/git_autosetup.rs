//! The configuration that keeps a new branch from tracking another, where history is writable and
//! git's configuration is not: git would fail to write the tracking entry and leave a branch half
//! made. Pure.

use std::ffi::OsString;

use boxproof_cases::protocol::{Mode, Policy, Protect};

use crate::policy::{GIT_CONFIG_GRANT, GIT_GRANT};

/// The variable with the number of settings that the environment gives to git.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// `env` with the setting, where `policy` makes it needful. A count that git would not take stays.
pub(super) fn without_tracking(
    policy: &Policy,
    mut env: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let held = policy.protect == Protect::Metadata && policy.mode == Mode::WorkspaceWrite;
    let granted = |name: &str| policy.grants.iter().any(|grant| grant == name);
    if !held || !granted(GIT_GRANT) || granted(GIT_CONFIG_GRANT) {
        return env;
    }
    let given = env.iter().find(|(name, _)| name == COUNT).map(|(_, value)| value.clone());
    let given = given.map_or(Some(0), |value| value.to_str()?.parse::<u16>().ok());
    let Some(count) = given.filter(|count| *count < u16::MAX) else { return env };
    env.retain(|(name, _)| name != COUNT);
    env.push((COUNT.into(), (count + 1).to_string().into()));
    env.push((format!("GIT_CONFIG_KEY_{count}").into(), "branch.autoSetupMerge".into()));
    env.push((format!("GIT_CONFIG_VALUE_{count}").into(), "false".into()));
    env.sort();
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const OURS: &str =
        "A=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=branch.autoSetupMerge GIT_CONFIG_VALUE_0=false";

    #[rstest]
    #[case::granted(&[GIT_GRANT], "A=1", OURS)]
    #[case::nothing(&[], "A=1", "A=1")]
    #[case::all(&[GIT_GRANT, GIT_CONFIG_GRANT], "A=1", "A=1")]
    #[case::behind(&[GIT_GRANT], "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=a.b",
        "GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_KEY_1=branch.autoSetupMerge \
         GIT_CONFIG_VALUE_1=false")]
    #[case::odd(&[GIT_GRANT], "GIT_CONFIG_COUNT=x", "GIT_CONFIG_COUNT=x")]
    fn the_setting_is_added(#[case] grants: &[&str], #[case] env: &str, #[case] expected: &str) {
        let grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
        let policy = Policy { protect: Protect::Metadata, grants, ..Policy::new("/w") };
        let pairs = env.split(' ').filter_map(|pair| pair.split_once('='));
        let env = pairs.map(|(name, value)| (name.into(), value.into())).collect();
        let shown = |(name, value): &(OsString, OsString)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        };
        let found: Vec<String> = without_tracking(&policy, env).iter().map(shown).collect();
        assert_eq!(found.join(" "), expected);
        let open = Policy { protect: Protect::None, ..policy };
        assert!(without_tracking(&open, Vec::new()).is_empty());
    }
}
