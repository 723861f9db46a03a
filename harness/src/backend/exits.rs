//! What an argv backend's exit code and stderr mean besides the command's own answer: [`Exits`].

use std::collections::BTreeMap;

use boxproof_cases::Capability;
use boxproof_cases::case::StopTarget;
use boxproof_cases::protocol::ClaimLevel;
use nix::sys::signal::Signal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Pattern;

/// Which endings are the backend's own and not the command's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exits {
    /// The sandbox could not be built: an error, never a denial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup_failed: Vec<ExitRule>,
    /// The backend declined the policy and started nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<ExitRule>,
    /// The program was not found or could not be executed: the backend's ordinary answer to that,
    /// so it takes precedence over the other rules and is judged like any other exit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_found: Vec<ExitRule>,
    /// What becomes of a command that a signal killed. A statement: every ending is judged as seen.
    #[serde(default, skip_serializing_if = "SignalExit::is_usual")]
    pub signal: SignalExit,
    /// The code it ends with when its own time limit was up; none when it has no limit. A
    /// statement, like `signal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<i32>,
}

/// What the exit code tells of a command that a signal killed: a word, or the one code it has for
/// all signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an exit by a signal is number, lost, or a code")]
pub enum SignalExit {
    /// Which signal, or nothing.
    Word(SignalWord),
    /// Always this code.
    Code(i32),
}

/// The words of [`SignalExit`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalWord {
    /// 128 + the signal's number, or the backend dies of the signal itself.
    #[default]
    Number,
    /// Nothing: the command is pid 1 and does not die of it, or ends with any code.
    Lost,
}

impl Default for SignalExit {
    fn default() -> Self {
        Self::Word(SignalWord::Number)
    }
}

impl SignalExit {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// One way to end. At least one of its members is given; all that are must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitRule {
    /// The exit code; none: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// What stderr starts with; empty: anything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_prefix: String,
    /// What a line of stderr matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Pattern>,
}

impl ExitRule {
    fn matches(&self, exit: i32, stderr: &[u8]) -> bool {
        self.exit.is_none_or(|code| code == exit)
            && stderr.starts_with(self.stderr_prefix.as_bytes())
            && self.stderr.as_ref().is_none_or(|pattern| pattern.is_in(stderr))
    }

    fn says_nothing(&self) -> bool {
        self.exit.is_none() && self.stderr_prefix.is_empty() && self.stderr.is_none()
    }
}

/// An ending that is not the command's, with the backend's own first line about it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// The sandbox could not be built.
    SetupFailed(String),
    /// The policy was declined.
    Refused(String),
}

impl Exits {
    /// What `exit` and `stderr` (noise already taken out) say besides the command's own answer.
    pub fn classify(&self, exit: i32, stderr: &[u8]) -> Option<Special> {
        let matched = |rules: &[ExitRule]| rules.iter().any(|rule| rule.matches(exit, stderr));
        let text = String::from_utf8_lossy(stderr);
        let line = || text.lines().next().unwrap_or_default().to_owned();
        if matched(&self.not_found) {
            None
        } else if matched(&self.refused) {
            Some(Special::Refused(line()))
        } else if matched(&self.setup_failed) {
            Some(Special::SetupFailed(line()))
        } else {
            None
        }
    }

    /// The first statement that does not make sense beside `claims`: its field, and why.
    pub(super) fn fault(
        &self,
        claims: &BTreeMap<Capability, ClaimLevel>,
    ) -> Option<(&'static str, &'static str)> {
        let claimed = |name: &str| {
            claims.iter().any(|(c, level)| c.name() == name && *level != ClaimLevel::None)
        };
        let mut rules = self.setup_failed.iter().chain(&self.refused).chain(&self.not_found);
        if rules.any(ExitRule::says_nothing) {
            return Some(("exits", "a rule names an exit, a stderr_prefix or a stderr pattern"));
        }
        if !self.signal.is_usual() && claimed("exec.signal_code") {
            return Some(("exits", "who claims exec.signal_code tells the signal's number"));
        }
        if self.timed_out.is_some() && !claimed("supervise.timeout") {
            return Some(("exits", "timed_out belongs to the claim supervise.timeout"));
        }
        None
    }
}

/// How a backend is ended when its time is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// The first signal, without SIG.
    pub signal: String,
    /// Who gets it.
    pub to: StopTarget,
    /// How long it then has until SIGKILL, in milliseconds.
    pub grace_ms: u64,
}

impl Stop {
    /// The longest grace there can be: a run waits for it with every command that hangs.
    pub const LONGEST_MS: u64 = 600_000;

    /// The first field that has no meaning, and why.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        if format!("SIG{}", self.signal).parse::<Signal>().is_err() {
            let why = format!("`{}` is no signal: write TERM, INT or the like", self.signal);
            return Some(("stop.signal", why));
        }
        None
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self { signal: "TERM".to_owned(), to: StopTarget::Backend, grace_ms: 5_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn exits() -> Exits {
        let exits = "setup_failed: [{exit: 1, stderr_prefix: 'box: '}]
refused: [{exit: 1, stderr_prefix: 'box: policy'}, {stderr: '^ERROR .*: policy$'}]
not_found: [{exit: 1, stderr_prefix: 'box: execvp '}]";
        serde_yaml::from_str(exits).unwrap()
    }

    #[rstest]
    #[case(1, "box: no namespace\nmore", Some(Special::SetupFailed("box: no namespace".into())))]
    #[case(1, "box: policy too fine", Some(Special::Refused("box: policy too fine".into())))]
    #[case(1, "box: execvp nope: No such file", None)]
    #[case(2, "box: no namespace", None)]
    #[case(1, "the command's own words: box: ", None)]
    #[case(9, "warning\nERROR 7: policy\n", Some(Special::Refused("warning".into())))]
    #[case(9, "warning\nERROR 7: policy not\n", None)]
    #[case(1, "", None)]
    fn endings_are_told_apart(
        #[case] exit: i32,
        #[case] stderr: &str,
        #[case] special: Option<Special>,
    ) {
        assert_eq!(exits().classify(exit, stderr.as_bytes()), special);
    }

    #[rstest]
    #[case("refused: [{}]", "fs.write", "a rule names")]
    #[case("signal: lost", "exec.signal_code", "signal's number")]
    #[case("signal: 1", "exec.signal_code", "signal's number")]
    #[case("timed_out: 124", "fs.write", "supervise.timeout")]
    fn a_statement_fits_the_claims(#[case] exits: &str, #[case] claim: &str, #[case] why: &str) {
        let exits: Exits = serde_yaml::from_str(exits).unwrap();
        let claims = BTreeMap::from([(Capability::new(claim).unwrap(), ClaimLevel::Partial)]);
        let (_, message) = exits.fault(&claims).unwrap();
        assert!(message.contains(why), "{message}");
    }

    #[rstest]
    #[case("signal: lost", "fs.write")]
    #[case("timed_out: 124", "supervise.timeout")]
    #[case("{}", "exec.signal_code")]
    fn a_statement_that_fits_is_taken(#[case] exits: &str, #[case] claim: &str) {
        let exits: Exits = serde_yaml::from_str(exits).unwrap();
        let claims = BTreeMap::from([(Capability::new(claim).unwrap(), ClaimLevel::Enforced)]);
        assert_eq!(exits.fault(&claims), None);
    }
}
