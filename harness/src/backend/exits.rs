//! What an argv backend's exit code and stderr mean besides the command's own answer: [`Exits`].

use boxproof_cases::case::StopTarget;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}

/// One way to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitRule {
    /// The exit code.
    pub exit: i32,
    /// What stderr starts with; empty: anything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr_prefix: String,
}

impl ExitRule {
    fn matches(&self, exit: i32, stderr: &str) -> bool {
        self.exit == exit && stderr.starts_with(&self.stderr_prefix)
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
        let text = String::from_utf8_lossy(stderr);
        let matched = |rules: &[ExitRule]| rules.iter().any(|rule| rule.matches(exit, &text));
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
}

/// Lines a backend writes between those of the command, told by how they start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// On stdout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stdout: Vec<String>,
    /// On stderr.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

impl Noise {
    /// `stream` without the lines that start with one of `prefixes`; all other bytes stay.
    pub fn strip(prefixes: &[String], stream: &[u8]) -> Vec<u8> {
        let noise = |line: &[u8]| prefixes.iter().any(|prefix| line.starts_with(prefix.as_bytes()));
        stream
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !noise(line))
            .flatten()
            .copied()
            .collect()
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
        let rule = |exit, prefix: &str| vec![ExitRule { exit, stderr_prefix: prefix.into() }];
        Exits {
            setup_failed: rule(1, "box: "),
            refused: rule(1, "box: policy"),
            not_found: rule(1, "box: execvp "),
        }
    }

    #[rstest]
    #[case(1, "box: no namespace\nmore", Some(Special::SetupFailed("box: no namespace".into())))]
    #[case(1, "box: policy too fine", Some(Special::Refused("box: policy too fine".into())))]
    #[case(1, "box: execvp nope: No such file", None)]
    #[case(2, "box: no namespace", None)]
    #[case(1, "the command's own words: box: ", None)]
    #[case(1, "", None)]
    fn endings_are_told_apart(
        #[case] exit: i32,
        #[case] stderr: &str,
        #[case] special: Option<Special>,
    ) {
        assert_eq!(exits().classify(exit, stderr.as_bytes()), special);
    }

    #[rstest]
    #[case(b"a\nlog: x\nb", b"a\nb")]
    #[case(b"log: x", b"")]
    #[case(b"\xff log: \n\n", b"\xff log: \n\n")]
    fn noise_goes_line_by_line(#[case] stream: &[u8], #[case] rest: &[u8]) {
        assert_eq!(Noise::strip(&["log: ".to_owned()], stream), rest);
    }
}
