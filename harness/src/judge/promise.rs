//! What is promised besides the decision: exit, streams, rule and native result.

use boxproof_cases::Case;
use boxproof_cases::case::{Decision, StreamExpect};

use super::ending;
use super::reason::{Finding, Reason};
use crate::execution::{RunReport, Stream};

/// Exit, streams, rule and native result are as the case (and the backend itself) says.
pub(super) fn kept(case: &Case, run: &RunReport) -> Result<(), Finding> {
    let expect = &case.expect;
    if expect.result.is_some() || expect.shown.is_some() || !expect.times.is_empty() {
        return Err(Finding::error(Reason::Harness, "this is not judged yet"));
    }
    exit(case, run)?;
    streams(case, run)?;
    if let (Some(rule), Some(result)) = (&case.expect.rule, &run.result) {
        let given = result.blocked.as_ref().map(|blocked| blocked.rule.as_str());
        if given != Some(rule) {
            let message = format!("the rule is {given:?} instead of {rule:?}");
            return Err(Finding::contract(Reason::Rule, message));
        }
    }
    match ending::contradiction(run) {
        Some(message) => Err(Finding::contract(Reason::Result, message)),
        None => Ok(()),
    }
}

fn exit(case: &Case, run: &RunReport) -> Result<(), Finding> {
    let broken = match &case.expect.exit {
        Some(wanted) => ending::exit_fits(wanted, run).err(),
        // Whoever asks must be able to tell a denial from a success by the exit alone.
        None if matches!(case.expect.decision, Decision::Denied(_)) => {
            ending::exit_fits(&boxproof_cases::case::ExitExpect::Nonzero, run).err()
        }
        None => None,
    };
    broken.map_or(Ok(()), |message| Err(Finding::contract(Reason::Exit, message)))
}

fn streams(case: &Case, run: &RunReport) -> Result<(), Finding> {
    let looks = [
        ("stdout", &run.stdout, &case.expect.stdout),
        ("stderr", &run.stderr, &case.expect.stderr),
    ];
    let mut broken = looks.into_iter().filter_map(|(name, stream, wanted)| {
        wanted.as_ref().and_then(|wanted| unlike(name, stream, wanted))
    });
    broken.next().map_or(Ok(()), |message| Err(Finding::contract(Reason::Stream, message)))
}

/// Whether the act wrote what the case looks for on its stdout, if it looks for anything.
pub(super) fn spoken(case: &Case, run: &RunReport) -> bool {
    let wanted = case.expect.stdout.iter().flat_map(|stdout| &stdout.contains);
    let wanted: Vec<_> = wanted.filter(|text| !text.is_empty()).collect();
    !wanted.is_empty() && wanted.into_iter().all(|text| run.stdout.found.contains(text))
}

fn unlike(name: &str, stream: &Stream, wanted: &StreamExpect) -> Option<String> {
    let excerpt = ending::excerpt(&stream.text);
    if let Some(part) = wanted.contains.iter().find(|part| !stream.found.contains(part)) {
        return Some(format!("{name} lacks {part:?}: {excerpt:?}"));
    }
    let unwanted = wanted.lacks.iter().find(|part| stream.found.contains(part))?;
    Some(format!("{name} contains {unwanted:?}: {excerpt:?}"))
}
