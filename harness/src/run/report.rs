//! Reports of a finished run: the probe's record and the native result.

use boxproof_cases::protocol::{self, RunResult, from_json};

use super::held_file::HeldFile;
use crate::execution::{ProbeObservation, ProcessExit, RunReport};

/// The most bytes of a native result, captured streams included.
const RESULT_LIMIT: u64 = 64 << 20;

/// Takes the native result from its place, if there is to be one.
pub(super) fn take_result(place: Option<&HeldFile>) -> Result<Option<RunResult>, String> {
    let Some(place) = place else { return Ok(None) };
    let text = place.read(RESULT_LIMIT);
    // A file that the backend had to write is no residue.
    place.remove();
    let text = text.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("no result was written: {error}"),
        _ => format!("the result is not read: {error}"),
    })?;
    let result = from_json::<RunResult>(&text)
        .map_err(|error| format!("the result is not of the protocol: {error}"))?;
    match result.protocol {
        protocol::PROTOCOL => Ok(Some(result)),
        other => Err(format!("the result speaks protocol {other}")),
    }
}

/// Returns the probe's report on these streams.
pub(super) fn observe(
    (nonce, probe_word): (&str, &str),
    records: bool,
    out: &[u8],
    err: &[u8],
) -> ProbeObservation {
    use boxproof_probes::FoundRecords;
    if !records {
        return ProbeObservation::NotExpected;
    }
    let under = |word: &str| [out, err].map(|stream| boxproof_probes::find(word, stream));
    let found = under(probe_word);
    let unproven = || under(nonce) != [FoundRecords::None, FoundRecords::None];
    match found.into() {
        (FoundRecords::None, FoundRecords::None) if unproven() => ProbeObservation::Untrusted(
            "a line under our nonce lacks the word that the probe's own file tells".to_owned(),
        ),
        (FoundRecords::None, FoundRecords::None) => ProbeObservation::Missing,
        (FoundRecords::One(record), FoundRecords::None)
        | (FoundRecords::None, FoundRecords::One(record)) => ProbeObservation::Seen(record),
        (FoundRecords::Malformed, _) | (_, FoundRecords::Malformed) => {
            ProbeObservation::Untrusted("a line under our nonce is no record".to_owned())
        }
        _ => ProbeObservation::Untrusted("several records under our nonce".to_owned()),
    }
}

impl RunReport {
    pub(super) fn bare(exit: ProcessExit) -> Self {
        Self {
            command: String::new(),
            exit,
            stdout: Default::default(),
            stderr: Default::default(),
            observation: ProbeObservation::Missing,
            besides: Vec::new(),
            ready: false,
            result: None,
            result_fault: None,
            special: None,
            shown: None,
            moments: Vec::new(),
            watched_ms: 0.0,
            stopped: false,
        }
    }
}
