//! Observations of the arms of one case: [`CaseExecution`]. Facts only, no judgement.

mod arm_set;

use std::collections::BTreeMap;

use boxproof_cases::case::{Moment, OperationAttempt, TextExpect};
use boxproof_cases::protocol::{DocumentAnswer, RunResult};
use boxproof_probes::ProbeRecord;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::backend::SpecialExit;
use crate::channel_observation::ChannelObservation;
pub use arm_set::{ArmKind, ArmRecord, ArmSet, ExecutedArm, ExecutedArms, GatheredArms, is_whole};

/// Everything observed of one case against one backend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseExecution {
    /// The arms of an act.
    Arms(ArmSet),
    /// The arms of a receipts channel.
    Channel(ArmSet<ChannelObservation>),
    /// The reply to a question, which executes nothing.
    Answer(QueryReply),
}

/// The reply to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryReply {
    /// An answer.
    Answered(Box<QueryAnswer>),
    /// No readable answer, for this reason.
    Silent(String),
    /// The backend cannot be asked this, for this reason.
    Inexpressible(String),
    /// The harness could not ask, for this reason.
    Fault(String),
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueryAnswer {
    /// The answer; of a path, the one that is about it. The workspace's directories are `$WS`,
    /// `$OUT`.
    pub told: DocumentAnswer,
    /// The attempt at a compiled policy, where that was the question.
    pub tried: Option<ModelAttempt>,
    /// The exit code of the call; none when it died of a signal.
    pub exit: Option<i32>,
    /// The exit code that fits all that was answered in that call.
    pub due: i32,
    /// The stderr of the call.
    pub stderr: String,
    /// Milliseconds that the call took, shared among its questions.
    pub duration_ms: f64,
}

/// The attempt at a compiled policy, with every variable expanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAttempt {
    /// The deed; paths are absolute and without links.
    pub attempt: OperationAttempt,
    /// The arm's own directory, which holds workspace and `$OUT`.
    pub root: String,
    /// The run's own temporary directory.
    pub tmp: String,
    /// The further texts that the policy must have or lack.
    pub text: TextExpect,
}

/// The words for a directory with more entries or levels than one look takes.
pub(crate) const BEYOND_BOUND: &str = "there are more than";

/// The observations of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    /// The secret word of this arm.
    pub nonce: String,
    /// Every run of the judged act: one, or as many as `repeat` and `parallel` ask.
    pub runs: Vec<RunReport>,
    /// The earlier step that failed and must not, if there is one; nothing ran after it.
    pub broken: Option<BrokenStep>,
    /// The oracles, as read from outside.
    pub oracles: Vec<OracleReading>,
    /// Names, types, modes and hashes below workspace and `$OUT`, variables substituted.
    pub tree: BTreeMap<String, String>,
    /// The tree as it was laid out, before the act.
    #[serde(default)]
    pub laid: BTreeMap<String, String>,
    /// The paths that appeared below them and below home and the temporary directory.
    pub appeared: Vec<String>,
    /// The objects that were left behind or crossed into the run, one sentence each.
    pub leaks: Vec<String>,
    /// The processes that outlived the whole run, one clause each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlasting: Vec<String>,
    /// The resources of which the host was short meanwhile, one clause each.
    #[serde(default)]
    pub shortages: Vec<String>,
    /// The changes to the arm's own directories that hinder observation, one sentence each.
    pub spoilt: Vec<String>,
    /// The parts of the directories that were not seen whole, one sentence each; it has the
    /// words of `BEYOND_BOUND` where there are more entries or levels than are looked at.
    pub unseen: Vec<String>,
    /// The reason why no word of the act counts, if there is one: the probe is not the installed
    /// one.
    pub distrust: Option<String>,
    /// Objects without a nonce that appeared meanwhile where every program of the host may make
    /// some: the arm's own only where executing it alone again proves it.
    pub strays: Vec<String>,
    /// Milliseconds from the first spawn to the last exit.
    pub duration_ms: f64,
}

/// An earlier step of a sequence that failed and must not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrokenStep {
    /// The number of the step, from 1.
    pub number: usize,
    /// The run of the step.
    pub run: RunReport,
}

/// One run of the judged act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// The command line that was started, for a shell, with the names of the arm's places as variables.
    #[serde(default)]
    pub command: String,
    /// The exit of the backend's process.
    pub exit: ProcessExit,
    /// Its stdout, without the probe's lines.
    pub stdout: CapturedStream,
    /// Its stderr, without the probe's lines.
    pub stderr: CapturedStream,
    /// The probe's report.
    pub observation: ProbeObservation,
    /// Errnos that are refusals besides, by how the backend closes things under this policy, where
    /// a control shows that the act can be done.
    pub besides: Vec<String>,
    /// True if the act announced, under our nonce, that it was under way.
    pub ready: bool,
    /// The native result, where the backend is native.
    pub result: Option<RunResult>,
    /// The reason why a native backend's result cannot be read, where it cannot.
    pub result_fault: Option<String>,
    /// The meaning that the manifest gives to such an end, where it gives one.
    pub special: Option<SpecialExit>,
    /// The backend's own output where streams were captured.
    pub shown: Option<OwnOutput>,
    /// The moments that were seen, in order.
    pub moments: Vec<MomentStamp>,
    /// The milliseconds from the start to the end of the watch.
    pub watched_ms: f64,
    /// True if a process of it stood still when its time was up.
    #[serde(default)]
    pub stopped: bool,
}

/// The output of a capturing backend to its own streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnOutput {
    /// Its stdout.
    pub stdout: CapturedStream,
    /// Its stderr.
    pub stderr: CapturedStream,
}

/// A moment and when it was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MomentStamp {
    /// The moment.
    pub moment: Moment,
    /// Milliseconds from the start.
    pub at_ms: f64,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// With this code.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
    /// Given up by the harness when its time was up.
    TimedOut,
    /// Never started: the backend refuses everything.
    Refused,
}

impl ProcessExit {
    /// The exit code, where there is one.
    pub fn code(&self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(*code),
            _ => None,
        }
    }

    /// The signal that it was killed by, where there is one.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Self::Signal(number) => Some(*number),
            _ => None,
        }
    }
}

/// A captured stream; by default an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedStream {
    /// The first part of it, lossy text.
    pub text: String,
    /// Its whole length in bytes.
    pub bytes: u64,
    /// SHA-256 of it all, variables substituted.
    pub sha256: String,
    /// Those of the texts that the case asks about that are in it.
    pub found: Vec<String>,
}

impl Default for CapturedStream {
    fn default() -> Self {
        let sha256 = format!("{:x}", Sha256::digest(b""));
        Self { text: String::new(), bytes: 0, sha256, found: Vec::new() }
    }
}

/// The probe's report, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeObservation {
    /// The act is no probe, or one that reports nothing.
    NotExpected,
    /// No record with the right nonce.
    Missing,
    /// Two records, or one that does not parse: another process wrote in the probe's name.
    Untrusted(String),
    /// One record.
    Seen(ProbeRecord),
}

/// One oracle, read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleReading {
    /// The oracle, as the case writes it.
    pub oracle: String,
    /// True if it requires that something happened.
    pub positive: bool,
    /// True if it holds; false where it could not be read.
    pub holds: bool,
    /// The observation, or the reason why there is none, in a few words.
    pub saw: String,
    /// True if it could not be read: it says nothing then.
    pub unread: bool,
}

/// Words of errors that are about a resource, in the locale of every arm.
const WORDS: [&str; 8] = [
    "No space left on device",
    "Disk quota exceeded",
    "Cannot allocate memory",
    "Too many open files",
    "Resource temporarily unavailable",
    "Cannot fork",
    "fork: retry",
    "EAGAIN",
];
/// Returns whether `text` is about a resource of the host.
pub fn is_about_resource(text: &str) -> bool {
    WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("cat: write error: No space left on device", true)]
    #[case("sh: 1: Cannot fork", true)]
    #[case("Permission denied", false)]
    fn words_about_resources_are_known(#[case] text: &str, #[case] named: bool) {
        assert_eq!(is_about_resource(text), named);
    }
}
