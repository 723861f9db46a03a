//! Meanings of an argv backend's exit code and stderr besides the command's own answer: [`ExitTable`].

use std::collections::BTreeMap;

use boxproof_cases::Capability;
use boxproof_cases::case::StopTarget;
use boxproof_cases::protocol::ClaimLevel;
use nix::sys::signal::Signal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BytePattern;

/// The endings that are the backend's own and not the command's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitTable {
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
    /// The exit code for a command that a signal killed. A statement: every ending is judged as
    /// seen.
    #[serde(default, skip_serializing_if = "SignalExit::is_usual")]
    pub signal: SignalExit,
    /// The code it ends with when its own time limit was up; none when it has no limit. A
    /// statement, like `signal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<i32>,
}

/// The exit code for a command that a signal killed: a word, or the one code that the backend has
/// for all signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an exit by a signal is number, lost, or a code")]
pub enum SignalExit {
    /// The signal's number, or nothing.
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
    /// The signal it dies of, without SIG, instead of a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The start of stderr; empty: anything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_prefix: String,
    /// The pattern that a line of stderr matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<BytePattern>,
    /// The pattern that a line of stdout matches, for a backend that says there why it does
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<BytePattern>,
}

/// The end of a backend and its output, without noise.
#[derive(Debug, Clone, Copy)]
pub struct BackendEnding<'a> {
    /// The exit code, unless it died of a signal.
    pub code: Option<i32>,
    /// That signal.
    pub signal: Option<i32>,
    /// Its stdout.
    pub stdout: &'a [u8],
    /// Its stderr.
    pub stderr: &'a [u8],
}

impl ExitRule {
    fn matches(&self, ending: BackendEnding<'_>) -> bool {
        let is_in = |pattern: &Option<BytePattern>, text| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_in(text))
        };
        let ended = match &self.signal {
            Some(name) => ending.signal.is_some() && ending.signal == number(name),
            None => ending.code.is_some_and(|code| self.exit.is_none_or(|exit| exit == code)),
        };
        ended
            && ending.stderr.starts_with(self.stderr_prefix.as_bytes())
            && is_in(&self.stderr, ending.stderr)
            && is_in(&self.stdout, ending.stdout)
    }

    /// The line that tells why: of stdout where it is that which counts, else the first of stderr.
    fn line(&self, ending: BackendEnding<'_>) -> String {
        let first = |text: &[u8]| {
            String::from_utf8_lossy(text).lines().next().unwrap_or_default().to_owned()
        };
        match self.stdout.as_ref().and_then(|pattern| pattern.find(ending.stdout)) {
            Some(found) => {
                let start = ending.stdout[..found.start].iter().rposition(|byte| *byte == b'\n');
                first(&ending.stdout[start.map_or(0, |at| at + 1)..])
            }
            None => first(ending.stderr),
        }
    }

    fn says_nothing(&self) -> bool {
        let has_pattern = self.stderr.is_some() || self.stdout.is_some();
        let has_end = self.exit.is_some() || self.signal.is_some();
        !has_end && self.stderr_prefix.is_empty() && !has_pattern
    }

    /// Returns whether the rule matches no end: an unknown signal, or a signal beside a code.
    fn is_void(&self) -> bool {
        let unknown = self.signal.as_ref().is_some_and(|name| number(name).is_none());
        unknown || self.signal.is_some() && self.exit.is_some()
    }
}

/// The number of the signal called `name`, without SIG.
fn number(name: &str) -> Option<i32> {
    format!("SIG{name}").parse::<Signal>().ok().map(|signal| signal as i32)
}

/// An ending that is not the command's, with the backend's own first line about it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecialExit {
    /// The sandbox could not be built.
    SetupFailed(String),
    /// The policy was declined.
    Refused(String),
    /// It ended in failure, and no rule says what that means: by all that is known, the command's
    /// own end.
    Unmapped,
}

impl ExitTable {
    /// Returns the special meaning of `ending`, if it is not the command's own answer.
    pub fn classify(&self, ending: BackendEnding<'_>) -> Option<SpecialExit> {
        let line = |rules: &[ExitRule]| {
            rules.iter().find(|rule| rule.matches(ending)).map(|rule| rule.line(ending))
        };
        if line(&self.not_found).is_some() {
            return None;
        }
        let refused = line(&self.refused).map(SpecialExit::Refused);
        let special = refused.or_else(|| line(&self.setup_failed).map(SpecialExit::SetupFailed));
        special.or_else(|| (ending.code != Some(0)).then_some(SpecialExit::Unmapped))
    }

    /// The first exit code that no process ends with.
    pub(super) fn impossible_code(&self) -> Option<i32> {
        let rules = || self.setup_failed.iter().chain(&self.refused).chain(&self.not_found);
        let signal = match self.signal {
            SignalExit::Code(code) => Some(code),
            SignalExit::Word(_) => None,
        };
        let mut codes = rules().filter_map(|rule| rule.exit).chain(signal).chain(self.timed_out);
        codes.find(|code| !(0..=255).contains(code))
    }

    /// The first statement that does not make sense beside `claims`: its field, and why.
    pub(super) fn fault(
        &self,
        claims: &BTreeMap<Capability, ClaimLevel>,
    ) -> Option<(&'static str, &'static str)> {
        let claimed = |name: &str| {
            claims.iter().any(|(c, level)| c.name() == name && *level != ClaimLevel::None)
        };
        let rules = || self.setup_failed.iter().chain(&self.refused).chain(&self.not_found);
        if rules().any(ExitRule::says_nothing) {
            return Some((
                "exits",
                "a rule names an exit, a signal, a stderr_prefix, or a pattern of stderr or stdout",
            ));
        }
        if rules().any(ExitRule::is_void) {
            return Some((
                "exits",
                "a rule names an exit or a signal (ABRT or the like), not both",
            ));
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

/// The way in which a backend is ended when its time is up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopMethod {
    /// The first signal, without SIG.
    pub signal: String,
    /// The receiver of the signal.
    pub to: StopTarget,
    /// The time from that signal to SIGKILL, in milliseconds.
    pub grace_ms: u64,
}

impl StopMethod {
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

impl Default for StopMethod {
    fn default() -> Self {
        Self { signal: "TERM".to_owned(), to: StopTarget::Backend, grace_ms: 5_000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn exits() -> ExitTable {
        let exits = "setup_failed: [{exit: 1, stderr_prefix: 'box: '}]
refused: [{exit: 1, stderr_prefix: 'box: policy'}, {stderr: '^ERROR .*: policy$'}]
not_found: [{exit: 1, stderr_prefix: 'box: execvp '}]";
        serde_yaml::from_str(exits).unwrap()
    }

    #[rstest]
    #[case(1, "box: no namespace\nmore", Some(SpecialExit::SetupFailed("box: no namespace".into())))]
    #[case(1, "box: policy too fine", Some(SpecialExit::Refused("box: policy too fine".into())))]
    #[case(1, "box: execvp nope: No such file", None)]
    #[case(2, "box: no namespace", Some(SpecialExit::Unmapped))]
    #[case(1, "the command's own words: box: ", Some(SpecialExit::Unmapped))]
    #[case(9, "warning\nERROR 7: policy\n", Some(SpecialExit::Refused("warning".into())))]
    #[case(9, "warning\nERROR 7: policy not\n", Some(SpecialExit::Unmapped))]
    #[case(1, "", Some(SpecialExit::Unmapped))]
    fn endings_are_told_apart(
        #[case] exit: i32,
        #[case] stderr: &str,
        #[case] special: Option<SpecialExit>,
    ) {
        let stderr = stderr.as_bytes();
        let ending = BackendEnding { code: Some(exit), signal: None, stdout: b"", stderr };
        assert_eq!(exits().classify(ending), special);
    }

    #[rstest]
    #[case(1, "checking\nbox is not installed\n", Some(SpecialExit::SetupFailed("box is not installed".into())))]
    #[case(0, "box is not installed\n", None)]
    #[case(1, "the command says: box is not installed\n", Some(SpecialExit::Unmapped))]
    fn what_stdout_says_counts_where_a_rule_looks_there(
        #[case] exit: i32,
        #[case] stdout: &str,
        #[case] special: Option<SpecialExit>,
    ) {
        let text = "setup_failed: [{exit: 1, stdout: '^box is not installed$'}]";
        let exits: ExitTable = serde_yaml::from_str(text).unwrap();
        let stdout = stdout.as_bytes();
        let ending = BackendEnding { code: Some(exit), signal: None, stdout, stderr: b"hint\n" };
        assert_eq!(exits.classify(ending), special);
    }

    #[rstest]
    #[case(None, Some(6), true)]
    #[case(None, Some(11), false)]
    #[case(Some(134), None, false)]
    fn a_crash_is_told_by_its_signal(
        #[case] code: Option<i32>,
        #[case] signal: Option<i32>,
        #[case] wanted: bool,
    ) {
        let text = "setup_failed: [{signal: ABRT, stderr: 'Assertion .* failed'}]";
        let exits: ExitTable = serde_yaml::from_str(text).unwrap();
        let stderr = b"box: Assertion `uid == 0' failed.\n";
        let is_setup_failed = |exits: &ExitTable| {
            let special = exits.classify(BackendEnding { code, signal, stdout: b"", stderr });
            matches!(special, Some(SpecialExit::SetupFailed(_)))
        };
        assert_eq!(is_setup_failed(&exits), wanted);
        let any = "setup_failed: [{stderr: 'Assertion .* failed'}]";
        let exits: ExitTable = serde_yaml::from_str(any).unwrap();
        assert_eq!(is_setup_failed(&exits), code.is_some(), "a command may die of a signal");
    }

    #[rstest]
    #[case("refused: [{}]", "fs.write", "a rule names")]
    #[case("refused: [{signal: NONE}]", "fs.write", "ABRT or the like")]
    #[case("refused: [{signal: ABRT, exit: 1}]", "fs.write", "not both")]
    #[case("signal: lost", "exec.signal_code", "signal's number")]
    #[case("signal: 1", "exec.signal_code", "signal's number")]
    #[case("timed_out: 124", "fs.write", "supervise.timeout")]
    fn a_statement_fits_the_claims(#[case] exits: &str, #[case] claim: &str, #[case] why: &str) {
        let exits: ExitTable = serde_yaml::from_str(exits).unwrap();
        let claims = BTreeMap::from([(Capability::new(claim).unwrap(), ClaimLevel::Partial)]);
        let (_, message) = exits.fault(&claims).unwrap();
        assert!(message.contains(why), "{message}");
    }

    #[rstest]
    #[case("signal: lost", "fs.write")]
    #[case("timed_out: 124", "supervise.timeout")]
    #[case("{}", "exec.signal_code")]
    fn a_statement_that_fits_is_taken(#[case] exits: &str, #[case] claim: &str) {
        let exits: ExitTable = serde_yaml::from_str(exits).unwrap();
        let claims = BTreeMap::from([(Capability::new(claim).unwrap(), ClaimLevel::Enforced)]);
        assert_eq!(exits.fault(&claims), None);
    }
}
