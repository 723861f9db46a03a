//! Sight of the harness on the system that it runs on ([`Observability`]). A case that needs more is not
//! applicable there: an oracle that sees nothing must not vouch for anything.

use boxproof_cases::Case;
use boxproof_cases::case::{Control, Oracle};

/// The means of observation, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observability {
    /// Every process that a run leaves is found.
    survivors: bool,
    /// Victims tell what signals they felt, and whether they were traced.
    victims: bool,
    /// Sockets of whole messages, and ones without a path, can be listened on.
    sockets: bool,
    /// Namespaces can be made around a control or a launcher.
    namespaces: bool,
}

impl Default for Observability {
    /// Returns every means of observation.
    fn default() -> Self {
        Self { survivors: true, victims: true, sockets: true, namespaces: true }
    }
}

impl Observability {
    /// Returns the sight on the system this program runs on.
    pub fn here() -> Self {
        if cfg!(target_os = "macos") { Self::on_macos() } else { Self::default() }
    }

    /// Returns the sight on macOS: it hides the environment of its own programs, has neither
    /// namespaces nor those sockets, and does not report that a process was traced.
    pub(crate) fn on_macos() -> Self {
        Self { survivors: false, victims: false, sockets: false, namespaces: false }
    }

    /// Names the means that `case` needs and that is missing, in a word.
    pub fn lacks(&self, case: &Case) -> Option<&'static str> {
        // A process that is out of sight still shows by a file that grows.
        let asks =
            |oracle: &Oracle| matches!(oracle, Oracle::NoSurvivors(how) if how.heartbeat.is_none());
        let survivors = case.expect.oracle.iter().any(asks);
        let sockets = || ["SEQPACKET", "ABSTRACT"].iter().any(|name| case.uses(name));
        let nested = case.launcher.nested.is_some() || case.control == Control::PrivateNs;
        match () {
            () if !self.survivors && survivors => Some("survivors"),
            () if !self.victims && case.uses("VICTIM") => Some("victims"),
            () if !self.sockets && sockets() => Some("sockets"),
            () if !self.namespaces && nested => Some("namespaces"),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_cases::Suite;
    use rstest::rstest;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    /// A case with `extra` beside an oracle of its own, or with none.
    fn case(extra: &str, act: &str, oracle: &str) -> Case {
        let text = format!(
            "purpose: P.\nrequirement: R-x\nact: {{sh: \"{act}\"}}\n\
             expect: {{allowed: {{}}, oracle: [{{exists: beat}}{oracle}]}}\n{extra}"
        );
        let requirements = "R-x: {text: It works., source: a test}\n".to_owned();
        let suite = Suite::from_files(
            "test",
            BTreeMap::from([(PathBuf::from("fs/case.yaml"), text)]),
            &BTreeMap::from([(PathBuf::from("r.yaml"), requirements)]),
        );
        suite.unwrap().cases.remove(0)
    }

    #[rstest]
    #[case::plain("", "true", "", None)]
    #[case::survivors("", "true", ", {no_survivors: {}}", Some("survivors"))]
    #[case::heartbeat("", "true", ", {no_survivors: {heartbeat: beat}}", None)]
    #[case::victim("", "kill $VICTIM", "", Some("victims"))]
    #[case::messages("", "echo $SEQPACKET", "", Some("sockets"))]
    #[case::no_path("", "echo $ABSTRACT", "", Some("sockets"))]
    #[case::path("", "echo $UNIX", "", None)]
    #[case::control("control: private_ns\n", "true", "", Some("namespaces"))]
    #[case::nested("launcher: {nested: {covered_proc: true}}\n", "true", "", Some("namespaces"))]
    fn what_cannot_be_shown_is_named(
        #[case] extra: &str,
        #[case] act: &str,
        #[case] oracle: &str,
        #[case] lacks: Option<&str>,
    ) {
        let case = case(extra, act, oracle);
        assert_eq!(Observability::on_macos().lacks(&case), lacks);
        assert_eq!(Observability::default().lacks(&case), None);
    }
}
