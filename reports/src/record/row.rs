//! One case against one backend: the conclusion and the observations ([`CaseRow`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CaseQuestion, StressCount};
use crate::verdict::{Outcome, Verdict};

/// The most bytes of a stream a record keeps.
pub const STREAM_LIMIT: usize = 2048;

/// One case against one backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseRow {
    /// The case id, or `case-id/row-name`.
    pub id: String,
    /// The backend's name, as in the header.
    pub backend: String,
    /// The verdict of the judge.
    pub verdict: Verdict,
    /// The reason, as a short stable code (`wrong-errno`, `control-failed`); empty for a plain
    /// pass.
    pub reason: String,
    /// The reason, as one sentence for people; empty for a plain pass.
    pub message: String,
    /// The verdict set against the known failures.
    pub outcome: Outcome,
    /// The known failure that matched, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownFailure>,
    /// The level of the case.
    pub level: Level,
    /// The area of the corpus it belongs to.
    pub area: String,
    /// The case's file, relative to the corpus; absent before format 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The requirements it cites.
    pub requirements: Vec<String>,
    /// The profiles of the header's set that require it; empty before format 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// The host facts that it names; empty before format 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// The capabilities it needs.
    pub needs: Vec<String>,
    /// The claims that a failure speaks against; absent where it is the last of `needs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Vec<String>>,
    /// The result of the twin.
    pub twin: TwinState,
    /// Wall time of all arms together, milliseconds.
    pub duration_ms: f64,
    /// The purpose of the case, one sentence.
    pub purpose: String,
    /// The question of the case; absent in format 1, and of a case that was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<CaseQuestion>,
    /// Every execution of the act, in the order they ran; empty when nothing ran.
    pub arms: Vec<ArmRow>,
    /// The results of earlier tries, the first one first, if one try alone was not believed; of a
    /// case that was repeated, one that came to another verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierTry>,
    /// The verdicts of all repetitions, if the case was repeated; the row is that of the worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stress: Option<StressCount>,
    /// The result of a second look, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind: Option<BlindLook>,
    /// The command that runs this one case again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// The observations that the verdict rests on; absent where nothing was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<JudgeEvidence>,
}

/// The observations from which the judge derives a row again. Their form is the harness's own, and
/// changes with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeEvidence {
    /// Those of the last try.
    pub last: serde_json::Value,
    /// Those of earlier tries, in the order of the row's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<serde_json::Value>,
    /// Those of the second look with ordinary programs, where one was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinary: Option<serde_json::Value>,
}

impl CaseRow {
    /// Returns the claims that a failure speaks against: those named, else the last capability needed.
    #[must_use]
    pub fn subjects(&self) -> &[String] {
        let last = self.needs.len().saturating_sub(1);
        self.about.as_deref().unwrap_or(&self.needs[last..])
    }

    /// Returns whether another try came to another verdict.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        self.earlier.iter().any(|earlier| earlier.verdict != self.verdict)
    }
}

/// A try of a case that was made again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierTry {
    /// The verdict of the judge.
    pub verdict: Verdict,
    /// The reason, as a short stable code.
    pub reason: String,
    /// The reason, as one sentence for people.
    pub message: String,
    /// Every execution of the act.
    pub arms: Vec<ArmRow>,
}

/// The result of a second look, with ordinary names, and with programs that any system has in place
/// of the probe. It is judged from the host alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlindLook {
    /// The result.
    pub shown: BlindShown,
    /// The observation, or the reason why there is none; empty for the same result.
    pub saw: String,
}

/// The agreement of a second look with the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlindShown {
    /// Both showed equal results.
    Same,
    /// The results differ: the backend knows when it is tested, or its behaviour is left to chance.
    Differs,
    /// Nothing: the act cannot be done without a program of the harness.
    Unable,
}

/// A known failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownFailure {
    /// The reason why it is known to fail.
    pub reason: String,
    /// The link to the report of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// The level of a case.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A promise.
    Must,
    /// Good practice.
    Should,
    /// Welcome.
    May,
}

impl Level {
    /// Every level, most binding first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::May];

    /// The word for this level in records and reports.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

/// The result of the twin: the evidence that the backend can do the act when it is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TwinState {
    /// The act succeeded under the wider policy.
    Shown,
    /// The case has no twin, for a stated reason.
    None,
    /// The backend cannot express the wider policy.
    Inexpressible,
    /// The case expects no denial.
    NotNeeded,
}

/// One execution of the act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArmRow {
    /// The execution.
    pub arm: ArmName,
    /// The command line that started the backend, for a shell, with the names of the arm's places as
    /// variables; of twin and confined arm where the verdict is no pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// The end of the arm; absent when it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<ExitRow>,
    /// The arm's stdout.
    pub stdout: StreamText,
    /// The arm's stderr.
    pub stderr: StreamText,
    /// The observation of the probe; absent when there was no record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation: Option<serde_json::Value>,
    /// The observations of the harness from outside.
    pub oracles: Vec<OracleRow>,
    /// Wall time, milliseconds.
    pub duration_ms: f64,
}

/// The execution of the act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArmName {
    /// Without a sandbox.
    Control,
    /// The act in the sandbox, policy one grant wider.
    Twin,
    /// The act in the sandbox, policy under test.
    Confined,
}

impl ArmName {
    /// The word for this arm in records and reports.
    #[must_use]
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Twin => "twin",
            Self::Confined => "confined",
        }
    }
}

/// The end of an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExitRow {
    /// The arm exited with this code.
    Code(i32),
    /// The arm was killed by this signal.
    Signal(i32),
    /// The harness ended it because its time was up.
    Timeout,
    /// The backend declined the policy; nothing was started.
    Refused,
}

/// A bounded piece of a stream, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamText {
    /// The first bytes of the stream, undecodable ones replaced.
    pub text: String,
    /// True if the stream is longer than the text.
    pub truncated: bool,
}

impl StreamText {
    /// The head of `bytes`: at most [`STREAM_LIMIT`] bytes of text, cut between characters.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let head = &bytes[..bytes.len().min(STREAM_LIMIT)];
        let mut text = String::from_utf8_lossy(head).into_owned();
        let end = char_boundary_at_most(&text, STREAM_LIMIT);
        let truncated = end < text.len() || head.len() < bytes.len();
        text.truncate(end);
        Self { text, truncated }
    }
}

fn char_boundary_at_most(text: &str, limit: usize) -> usize {
    (0..=limit.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// One fact the harness saw from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OracleRow {
    /// The object of the oracle (`unchanged .git/config`).
    pub oracle: String,
    /// True if the object is as the case says; false if it could not be inspected.
    pub holds: bool,
    /// The observation, or the reason why there is none.
    pub saw: String,
    /// True if the object could not be inspected, so that the oracle tells nothing; absent is
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_cut_between_characters_and_say_so() {
        let short = StreamText::from_bytes(b"hello");
        assert_eq!(short, StreamText { text: "hello".into(), truncated: false });
        let exact = StreamText::from_bytes(&[b'x'; STREAM_LIMIT]);
        assert_eq!((exact.text.len(), exact.truncated), (STREAM_LIMIT, false));
        let long = StreamText::from_bytes("é".repeat(STREAM_LIMIT).as_bytes());
        assert_eq!((long.text.len(), long.truncated), (STREAM_LIMIT, true));
        let odd = StreamText::from_bytes(&[0xff; STREAM_LIMIT]);
        assert!(odd.truncated && odd.text.len() <= STREAM_LIMIT);
        assert_eq!(odd.text.trim_matches('\u{fffd}'), "");
    }

    #[test]
    fn exits_read_as_code_signal_timeout_refused() {
        let json = |exit| serde_json::to_string(&exit).unwrap();
        assert_eq!(json(ExitRow::Code(7)), r#"{"code":7}"#);
        assert_eq!(json(ExitRow::Signal(9)), r#"{"signal":9}"#);
        assert_eq!(json(ExitRow::Timeout), r#""timeout""#);
        assert_eq!(json(ExitRow::Refused), r#""refused""#);
    }
}
