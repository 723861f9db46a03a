//! The command's environment: base, scrub, pass, then set. Pure.

use std::collections::BTreeMap;
use std::ffi::OsString;

use boxproof_cases::protocol::{
    CREDENTIAL_NAMES, EnvBase, EnvPolicy, INJECTING_NAMES, Mode, matches_name,
};

use super::credential_values;

/// Builds the environment of `policy` from the launcher's, sorted by name.
///
/// With `private_tmp` an inherited TMPDIR is set to that directory, as the launcher's own is not
/// writable inside. `mode` is the requested one, whether or not it is available.
pub(crate) fn environment(
    policy: &EnvPolicy,
    mode: Mode,
    launcher: &[(OsString, OsString)],
    private_tmp: Option<&str>,
) -> Vec<(OsString, OsString)> {
    let passed = |name: &OsString| {
        let text = name.to_string_lossy();
        let is_passed = |pass: &String| {
            name == pass.as_str()
                || fault!("env.pass-beginning") && text.starts_with(pass)
                || fault!("env.pass-any-case") && text.eq_ignore_ascii_case(pass)
        };
        policy.pass.iter().any(is_passed) && !fault!("env.pass-ignored")
    };
    let scrubbed = |name: &str| {
        let upper = name.to_uppercase();
        if fault!("env.scrub-capitals") && upper != name {
            return false;
        }
        let credential = CREDENTIAL_NAMES
            .iter()
            .any(|pattern| matches_name(pattern, &upper) && !dropped!("credential-names", pattern));
        let injecting = INJECTING_NAMES
            .iter()
            .any(|pattern| matches_name(pattern, name) && !dropped!("injecting-names", pattern));
        credential || mode != Mode::Unconfined && injecting
    };
    let secrets = policy.scrub_values.then(credential_values::CredentialPatterns::new);
    let inherited = |(name, value): &(OsString, OsString)| match policy.base {
        EnvBase::Clear => fault!("env.clear-inherits"),
        EnvBase::Inherit => {
            let telling = secrets.as_ref().is_some_and(|secrets| secrets.are_in(value));
            !(telling || policy.scrub && scrubbed(&name.to_string_lossy()))
        }
    };
    let kept = launcher.iter().filter(|pair| passed(&pair.0) || inherited(pair)).cloned();
    let mut result: BTreeMap<OsString, OsString> = kept.collect();
    let private_tmp = private_tmp.filter(|_| !fault!("plan.tmpdir-kept"));
    if let (Some(directory), Some(value)) = (private_tmp, result.get_mut(&OsString::from("TMPDIR")))
    {
        *value = directory.into();
    }
    let set = policy.set.iter().filter(|_| !fault!("env.set-ignored"));
    result.extend(set.map(|(name, value)| (name.into(), value.into())));
    result.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn policy(base: EnvBase, scrub: bool, pass: &[&str], set: &[(&str, &str)]) -> EnvPolicy {
        EnvPolicy {
            base,
            scrub,
            scrub_values: false,
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
        assert_eq!(shown(&environment(&policy, Mode::ReadOnly, &launcher(), None)), expected);
    }

    #[rstest]
    #[case::inherited(policy(EnvBase::Inherit, true, &[], &[]), "A=1 TMPDIR=/tmp")]
    #[case::set(policy(EnvBase::Inherit, true, &[], &[("TMPDIR", "/x")]), "A=1 TMPDIR=/x")]
    #[case::clear(policy(EnvBase::Clear, true, &[], &[]), "")]
    fn private_tmp_moves_tmpdir(#[case] policy: EnvPolicy, #[case] expected: &str) {
        assert_eq!(
            shown(&environment(&policy, Mode::ReadOnly, &launcher(), Some("/tmp"))),
            expected
        );
    }

    #[rstest]
    #[case::confined(Mode::WorkspaceWrite, policy(EnvBase::Inherit, true, &[], &[]), "A=ghs_x")]
    #[case::passed(Mode::ReadOnly, policy(EnvBase::Inherit, true, &["LD_X"], &[]), "A=ghs_x LD_X=l")]
    #[case::unscrubbed(Mode::ReadOnly, policy(EnvBase::Inherit, false, &[], &[]), "A=ghs_x LD_X=l")]
    #[case::unconfined(Mode::Unconfined, policy(EnvBase::Inherit, true, &[], &[]), "A=ghs_x LD_X=l")]
    #[case::set(Mode::ReadOnly, policy(EnvBase::Inherit, true, &[], &[("LD_X", "s")]), "A=ghs_x LD_X=s")]
    fn injected_code_goes_where_the_command_is_confined(
        #[case] mode: Mode,
        #[case] policy: EnvPolicy,
        #[case] expected: &str,
    ) {
        let launcher = [("A", "ghs_x"), ("LD_X", "l")].map(|(n, v)| (n.into(), v.into()));
        assert_eq!(shown(&environment(&policy, mode, &launcher, None)), expected);
    }

    #[rstest]
    #[case::asked(true, true, &[], "")]
    #[case::not_asked(false, true, &[], "A=https://u:p@h")]
    #[case::alone(true, false, &[], "")]
    #[case::passed(true, true, &["A"], "A=https://u:p@h")]
    fn values_are_looked_at_when_asked(
        #[case] values: bool,
        #[case] scrub: bool,
        #[case] pass: &[&str],
        #[case] expected: &str,
    ) {
        let policy =
            EnvPolicy { scrub_values: values, ..policy(EnvBase::Inherit, scrub, pass, &[]) };
        let launcher = [("A".into(), "https://u:p@h".into())];
        assert_eq!(shown(&environment(&policy, Mode::ReadOnly, &launcher, None)), expected);
    }

    fn launcher() -> Vec<(OsString, OsString)> {
        [("A", "1"), ("B_TOKEN", "2"), ("TMPDIR", "/t")].map(|(n, v)| (n.into(), v.into())).into()
    }

    fn shown(env: &[(OsString, OsString)]) -> String {
        let pairs = env.iter().map(|(n, v)| format!("{}={}", n.display(), v.display()));
        pairs.collect::<Vec<_>>().join(" ")
    }
}
