//! The streams of one finished child, split into what the probe reported and what the command
//! wrote, and made comparable.

use std::ffi::OsString;

use boxproof_cases::Case;
use boxproof_cases::case::StreamExpect;
use boxproof_reports::StreamText;
use memchr::memmem::find;
use sha2::{Digest, Sha256};

use super::captured_streams;
use super::held_file::HeldFile;
use super::report::{observe, take_result};
use super::watched_child::WatchedChild;
use crate::backend::{BackendEnding, BackendNoise, SpawnPlan, SpecialExit};
use crate::execution::{
    CapturedStream, MomentStamp, OwnOutput, ProbeObservation, ProcessExit, RunReport,
};
use crate::shell_quoting::shell_word;
use crate::workspace::ArmWorkspace;

/// The part of a stream that is kept in the report, in bytes.
const SHOWN: usize = 4096;

/// A run's report beside its raw streams, which oracles search.
#[derive(Debug)]
pub(super) struct RawStreams {
    pub(super) report: RunReport,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

/// A run at its end.
#[derive(Debug)]
pub(super) struct EndedRun {
    pub(super) exit: ProcessExit,
    pub(super) moments: Vec<MomentStamp>,
    pub(super) watched_ms: f64,
    pub(super) stopped: bool,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

impl From<WatchedChild> for EndedRun {
    fn from(child: WatchedChild) -> Self {
        Self {
            exit: child.exit.clone().unwrap_or(ProcessExit::TimedOut),
            moments: child.stamps(),
            watched_ms: child.watched_ms(),
            stopped: child.stopped,
            out: child.out,
            err: child.err,
        }
    }
}

impl RawStreams {
    /// A run that the backend refused without starting anything.
    pub(super) fn refused(message: &str) -> Self {
        let mut report = RunReport::bare(ProcessExit::Refused);
        report.special = Some(SpecialExit::Refused(message.to_owned()));
        Self { report, out: Vec::new(), err: Vec::new() }
    }

    /// A run whose command could not be executed.
    pub(super) fn unstarted(exit: ProcessExit, records: bool) -> Self {
        let mut report = RunReport::bare(exit);
        if !records {
            report.observation = ProbeObservation::NotExpected;
        }
        Self { report, out: Vec::new(), err: Vec::new() }
    }
}

/// Reads everything that a run left.
pub(super) fn read_streams(
    ended: EndedRun,
    (spawn, place): (&SpawnPlan, Option<&HeldFile>),
    records: bool,
    (case, workspace): (&Case, &ArmWorkspace),
) -> RawStreams {
    let EndedRun { exit, moments, watched_ms, stopped, out: own_out, err: own_err } = ended;
    let (mut result, mut result_fault) = match take_result(place) {
        Ok(result) => (result, None),
        Err(fault) => (None, Some(fault)),
    };
    // Captured output is the command's; the streams are then the backend's own.
    let captured = case.run.capture.then(|| result.as_mut().map(captured_streams::take)).flatten();
    let told = |bytes: &[u8]| stream(bytes, workspace, &case.expect.shown);
    let shown =
        captured.is_some().then(|| OwnOutput { stdout: told(&own_out), stderr: told(&own_err) });
    let (out, err) = match captured {
        Some(Ok(streams)) => streams,
        Some(Err(fault)) => {
            result_fault = Some(fault);
            (Vec::new(), Vec::new())
        }
        None => (own_out, own_err),
    };
    if let Some(Err(fault)) = result.as_mut().map(captured_streams::lighten) {
        (result, result_fault) = (None, Some(fault));
    }
    let observation = observe((&workspace.nonce, &workspace.probe_word), records, &out, &err);
    // An act that ran to its record was not refused or broken before it, whichever text it prints.
    let ran = matches!(observation, ProbeObservation::Seen(_));
    let (own_out, own_err) = (without_records(&out), without_records(&err));
    let quiet_out = BackendNoise::strip(&spawn.noise.stdout, &own_out);
    let quiet_err = BackendNoise::strip(&spawn.noise.stderr, &own_err);
    let (code, signal) = (exit.code(), exit.signal());
    let ending = BackendEnding { code, signal, stdout: &quiet_out, stderr: &quiet_err };
    let special = if ran { None } else { special_exit(spawn, ending) };
    // Where the streams are the question, the backend's additions to them are the answer.
    let (plain_out, plain_err) = match is_about_streams(case) {
        true => (own_out, own_err),
        false if spawn.undivided && quiet_err.is_empty() => (quiet_out.clone(), quiet_out),
        false => (quiet_out, quiet_err),
    };
    let report = RunReport {
        command: command_line(&spawn.argv, workspace),
        exit,
        stdout: stream(&plain_out, workspace, &case.expect.stdout),
        stderr: stream(&plain_err, workspace, &case.expect.stderr),
        observation,
        besides: spawn.besides.iter().map(|name| (*name).to_owned()).collect(),
        ready: [&out, &err].iter().any(|bytes| has_events(bytes, workspace)),
        result,
        result_fault,
        special,
        shown,
        moments,
        watched_ms,
        stopped,
    };
    RawStreams { report, out, err }
}

/// Returns whether the act told, under the arm's nonce, how far it was.
fn has_events(bytes: &[u8], workspace: &ArmWorkspace) -> bool {
    !boxproof_probes::events(&workspace.probe_word, bytes).is_empty()
}

/// Returns `argv` for a shell, with the names that differ from arm to arm as their variables.
fn command_line(argv: &[OsString], workspace: &ArmWorkspace) -> String {
    let root = workspace.root().to_string_lossy();
    let words = argv.iter().map(|word| {
        let word = workspace.neutral_text(&word.to_string_lossy());
        shell_word(&word.replace(&*root, "$ARM"))
    });
    StreamText::from_bytes(words.collect::<Vec<_>>().join(" ").as_bytes()).text
}

/// Returns the meaning of `ending` by the manifest, where there is one.
fn special_exit(spawn: &SpawnPlan, ending: BackendEnding<'_>) -> Option<SpecialExit> {
    spawn.exits.as_ref()?.classify(ending)
}

fn is_about_streams(case: &Case) -> bool {
    case.needs.iter().any(|needed| needed.name() == "exec.streams")
}

fn stream(bytes: &[u8], workspace: &ArmWorkspace, asked: &Option<StreamExpect>) -> CapturedStream {
    let neutral = workspace.neutral(bytes);
    let texts = asked.iter().flat_map(StreamExpect::parts);
    // An empty text is in every stream; `find` wants something to look for.
    let found = texts.filter(|text| text.is_empty() || find(&neutral, text.as_bytes()).is_some());
    CapturedStream {
        text: String::from_utf8_lossy(&neutral[..neutral.len().min(SHOWN)]).into_owned(),
        bytes: neutral.len() as u64,
        sha256: format!("{:x}", Sha256::digest(&neutral)),
        found: found.cloned().collect(),
    }
}

/// Removes the lines that probes write for us.
fn without_records(bytes: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = b"\x1eboxproof ";
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = find(rest, MARK) {
        out.extend_from_slice(&rest[..at]);
        let end = rest[at..].iter().position(|byte| *byte == b'\n');
        rest = end.map_or(&[], |end| &rest[at + end + 1..]);
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(b"a\n", b"a\n")]
    #[case(b"a\x1eboxproof n {}\nb", b"ab")]
    #[case(b"\x1eboxproof n {}", b"")]
    #[case(b"\x1eother\n", b"\x1eother\n")]
    fn records_are_taken_out(#[case] bytes: &[u8], #[case] left: &[u8]) {
        assert_eq!(without_records(bytes), left);
    }
}
