//! The decision itself: did the confined arm do what the case expects of it.

use boxproof_cases::Case;
use boxproof_cases::case::{Compare, Decision, Denial, StreamExpect};
use boxproof_probes::Outcome;
use boxproof_reports::Verdict;

use super::{Finding, reason, same};
use crate::backend::Special;
use crate::execution::{Exit, Observation, Report, RunReport, Stream};

/// Errnos that mean a refusal whatever was asked.
const REFUSALS: [&str; 3] = ["EACCES", "EPERM", "EROFS"];

/// Whether `confined` is what `case` expects, given the control it had.
pub(super) fn decide(
    case: &Case,
    control: Option<&Report>,
    confined: &Report,
) -> Result<(), Finding> {
    let decision = &case.expect.decision;
    if decision.is_negative() {
        nothing_happened(confined)?;
    }
    if confined.runs.is_empty() {
        return Err(Finding::inconclusive("nothing-ran", "nothing ran in the sandbox"));
    }
    for (at, run) in confined.runs.iter().enumerate() {
        started(run, decision)?;
        let control = control.and_then(|control| control.runs.get(at));
        match decision {
            Decision::Allowed => allowed(case, control, run)?,
            Decision::Denied(denial) => denied(denial, run)?,
            Decision::Contained(denial) => contained(case, denial, control, run)?,
            Decision::Refused => refused(run)?,
        }
        promises(case, run)?;
    }
    if *decision == Decision::Allowed {
        oracles_hold(confined)?;
        if let Some(control) = control {
            same(case, control, confined)?;
        }
    }
    Ok(())
}

/// No oracle saw the effect.
fn nothing_happened(confined: &Report) -> Result<(), Finding> {
    match confined.oracles.iter().find(|reading| !reading.positive && !reading.holds) {
        Some(reading) => Err(Finding::new(
            Verdict::UnderBlock,
            "oracle",
            format!("`{}` does not hold: {}", reading.oracle, reading.saw),
        )),
        None => Ok(()),
    }
}

fn oracles_hold(confined: &Report) -> Result<(), Finding> {
    match confined.oracles.iter().find(|reading| !reading.holds) {
        Some(reading) => {
            let verdict = if reading.positive { Verdict::OverBlock } else { Verdict::Contract };
            let message = format!("`{}` does not hold: {}", reading.oracle, reading.saw);
            Err(Finding::new(verdict, "oracle", message))
        }
        None => Ok(()),
    }
}

/// The backend was set up, did not decline (unless that is expected), and ended in time.
fn started(run: &RunReport, decision: &Decision) -> Result<(), Finding> {
    if let Some(Special::SetupFailed(why)) = &run.special {
        return Err(Finding::new(Verdict::Error, "setup-failed", why.clone()));
    }
    if run.exit == Exit::TimedOut {
        return Err(Finding::inconclusive("timed-out", "the backend did not end in time"));
    }
    match (reason::declined(run), decision) {
        (None, _) | (Some(_), Decision::Refused) => Ok(()),
        (Some(why), Decision::Allowed) => {
            Err(Finding::new(Verdict::OverBlock, "policy-refused", why))
        }
        (Some(why), _) => Err(Finding::new(Verdict::Contract, "policy-refused", why)),
    }
}

fn allowed(case: &Case, control: Option<&RunReport>, run: &RunReport) -> Result<(), Finding> {
    let over = |message: String| Err(Finding::new(Verdict::OverBlock, "refused", message));
    match &run.observation {
        Observation::NotExpected => {}
        Observation::Seen(record) => match &record.outcome {
            Outcome::Succeeded => {}
            Outcome::Refused { errno, call } => return over(format!("{call} failed with {errno}")),
            Outcome::Killed { signal } => return over(format!("it was killed by {signal}")),
        },
        // It was under way, so that its silence afterwards is an observation: it was cut short.
        Observation::Missing if run.ready => {
            let message = format!("the act was cut short: the run {}", reason::ended(run));
            return Err(Finding::new(Verdict::Contract, "cut-short", message));
        }
        silent => return Err(no_record(silent, run)),
    }
    if case.expect.exit.is_some() || !case.expect.compare.contains(&Compare::Exit) {
        // A stated exit is a promise, judged with the others.
        return Ok(());
    }
    let Some(control) = control.filter(|control| !reason::same_exit(control, run)) else {
        return Ok(());
    };
    let message = format!(
        "it {} instead of {}: {}",
        reason::ended(run),
        reason::ended(control),
        reason::excerpt(&run.stderr.text)
    );
    let failed = control.exit == Exit::Code(0);
    let verdict = if failed { Verdict::OverBlock } else { Verdict::Contract };
    Err(Finding::new(verdict, "exit", message))
}

fn denied(denial: &Denial, run: &RunReport) -> Result<(), Finding> {
    match &run.observation {
        Observation::NotExpected => reason::told(&denial.errno, run),
        Observation::Seen(record) => match &record.outcome {
            Outcome::Succeeded => Err(Finding::new(
                Verdict::Contract,
                "not-refused",
                "the act reports success although nothing happened: a refusal is promised",
            )),
            Outcome::Refused { errno, .. } if denial.errno.contains(errno) => Ok(()),
            outcome => killed_as_listed(denial, outcome),
        },
        silent => Err(no_record(silent, run)),
    }
}

fn contained(
    case: &Case,
    denial: &Denial,
    control: Option<&RunReport>,
    run: &RunReport,
) -> Result<(), Finding> {
    match &run.observation {
        Observation::NotExpected if control.is_some_and(|c| reason::same_exit(c, run)) => Ok(()),
        // Text of its own that the case looks for shows that it ran; the rest is the oracles' word.
        Observation::NotExpected if spoke(case, run) => Ok(()),
        Observation::NotExpected => {
            let listed = denial.errno.iter().map(String::as_str).chain(REFUSALS);
            reason::told(&listed.map(str::to_owned).collect::<Vec<_>>(), run)
        }
        Observation::Seen(record) => match &record.outcome {
            Outcome::Succeeded => Ok(()),
            Outcome::Refused { errno, .. }
                if denial.errno.contains(errno) || REFUSALS.contains(&errno.as_str()) =>
            {
                Ok(())
            }
            outcome => killed_as_listed(denial, outcome),
        },
        silent => Err(no_record(silent, run)),
    }
}

/// Whether the act wrote what the case looks for on its stdout.
fn spoke(case: &Case, run: &RunReport) -> bool {
    let wanted = case.expect.stdout.iter().flat_map(|stdout| &stdout.contains);
    let wanted: Vec<_> = wanted.filter(|text| !text.is_empty()).collect();
    !wanted.is_empty() && wanted.into_iter().all(|text| run.stdout.found.contains(text))
}

fn killed_as_listed(denial: &Denial, outcome: &Outcome) -> Result<(), Finding> {
    match outcome {
        Outcome::Killed { signal } => {
            let name = signal.strip_prefix("SIG").unwrap_or(signal);
            if denial.signal.iter().any(|listed| listed == name) {
                return Ok(());
            }
            Err(Finding::inconclusive(
                "wrong-signal",
                format!("the attempt was killed by {signal}"),
            ))
        }
        Outcome::Refused { errno, call } => Err(Finding::inconclusive(
            "wrong-errno",
            format!("{call} failed with {errno}, which is not among {}", denial.errno.join(" ")),
        )),
        Outcome::Succeeded => Ok(()),
    }
}

fn refused(run: &RunReport) -> Result<(), Finding> {
    match reason::declined(run) {
        Some(_) => Ok(()),
        None => Err(Finding::new(
            Verdict::Contract,
            "not-refused",
            format!("the policy was not declined; the run {}", reason::ended(run)),
        )),
    }
}

fn no_record(silent: &Observation, run: &RunReport) -> Finding {
    match silent {
        Observation::Untrusted(why) => Finding::inconclusive("untrusted-record", why.clone()),
        _ => Finding::inconclusive(
            "no-record",
            format!(
                "the probe left no record; the run {}: {}",
                reason::ended(run),
                reason::excerpt(&run.stderr.text)
            ),
        ),
    }
}

/// Exit, streams, rule and native result are as the case (and the backend itself) says.
fn promises(case: &Case, run: &RunReport) -> Result<(), Finding> {
    let broken = |reason, message| Err(Finding::new(Verdict::Contract, reason, message));
    if let Some(wanted) = &case.expect.exit
        && let Err(message) = reason::exit_fits(wanted, run)
    {
        return broken("exit", message);
    }
    for (name, stream, wanted) in
        [("stdout", &run.stdout, &case.expect.stdout), ("stderr", &run.stderr, &case.expect.stderr)]
    {
        if let Some(message) = wanted.as_ref().and_then(|wanted| unlike(name, stream, wanted)) {
            return broken("stream", message);
        }
    }
    if let (Some(rule), Some(result)) = (&case.expect.rule, &run.result) {
        let given = result.blocked.as_ref().map(|blocked| blocked.rule.as_str());
        if given != Some(rule) {
            return broken("rule", format!("the rule is {given:?} instead of {rule:?}"));
        }
    }
    match reason::contradiction(run) {
        Some(message) => broken("result", message),
        None => Ok(()),
    }
}

fn unlike(name: &str, stream: &Stream, wanted: &StreamExpect) -> Option<String> {
    let excerpt = reason::excerpt(&stream.text);
    if let Some(part) = wanted.contains.iter().find(|part| !stream.found.contains(part)) {
        return Some(format!("{name} lacks {part:?}: {excerpt:?}"));
    }
    let unwanted = wanted.lacks.iter().find(|part| stream.found.contains(part))?;
    Some(format!("{name} contains {unwanted:?}: {excerpt:?}"))
}
