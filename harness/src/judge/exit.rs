//! Reading how a run ended: records, exits, signals, refusals, and the reason a tool gives in
//! words.

use boxproof_cases::Case;
use boxproof_cases::case::{
    Act, BackendStimulus, Control, ExitExpect, ExpectedDecision, SignalTarget,
};
use boxproof_cases::protocol::exit::{NOT_FOUND, REFUSED, SIGNAL_BASE, TIMEOUT};
use boxproof_cases::protocol::{ErrorKind, RunResult};
use boxproof_probes::ActOutcome;
use nix::errno::Errno;
use nix::sys::signal::Signal;

use super::reason::{Reason, VerdictFinding};
use crate::backend::SpecialExit;
use crate::execution::{BrokenStep, ProbeObservation, ProcessExit, RunReport};

/// Shell codes for a program that was never executed.
const NOT_EXECUTED: [i32; 2] = [REFUSED, NOT_FOUND];
/// The most characters of a stream that a message quotes.
const EXCERPT: usize = 120;

/// The evidence that one run gives.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RunEvidence<'a> {
    /// The act is no probe: only oracles, exit and words tell.
    NotExpected,
    /// A probe that said nothing.
    Silence,
    /// A process wrote in the probe's name.
    Untrusted(String),
    /// The outcome in the probe's record.
    Outcome(&'a ActOutcome),
}

/// Returns what `run` shows of the act of `case`. Only a probe's own record speaks for it.
pub(super) fn run_evidence<'a>(case: &Case, run: &'a RunReport) -> RunEvidence<'a> {
    let Act::Probe { probe, .. } = case.act() else { return RunEvidence::NotExpected };
    match &run.observation {
        ProbeObservation::NotExpected | ProbeObservation::Missing => RunEvidence::Silence,
        ProbeObservation::Untrusted(why) => RunEvidence::Untrusted(why.clone()),
        ProbeObservation::Seen(record) if record.probe != *probe => RunEvidence::Untrusted(
            format!("the record is one of `{}`, not of `{probe}`", record.probe),
        ),
        ProbeObservation::Seen(record) => RunEvidence::Outcome(&record.outcome),
    }
}

/// Describes the silence of the probe, as a clause.
pub(super) fn silence(run: &RunReport) -> String {
    by_exits(&with_stderr(&format!("the probe left no record; the run {}", ended(run)), run), run)
}

/// Returns `clause` with what `run` said on stderr, if it said anything.
pub(super) fn with_stderr(clause: &str, run: &RunReport) -> String {
    with_words(clause, &excerpt(&run.stderr.text))
}

/// Returns `clause` with `words` behind a colon, if there are any.
pub(super) fn with_words(clause: &str, words: &str) -> String {
    match words.is_empty() {
        true => clause.to_owned(),
        false => format!("{clause}: {words}"),
    }
}

/// Returns `why` with what the manifest's `exits` made of the end of `run`; `why` alone where there is
/// no manifest, or nothing to say.
pub(super) fn by_exits(why: &str, run: &RunReport) -> String {
    let meaning = meaning_by_exits(run);
    match (why.is_empty(), meaning.is_empty()) {
        (_, true) => why.to_owned(),
        (true, false) => meaning,
        (false, false) => format!("{why}; {meaning}"),
    }
}

fn meaning_by_exits(run: &RunReport) -> String {
    let ended = ended(run);
    let list = match &run.special {
        Some(SpecialExit::SetupFailed(_)) => "setup_failed",
        Some(SpecialExit::Refused(_)) if run.exit != ProcessExit::Refused => "refused",
        Some(SpecialExit::Unmapped) => {
            return format!(
                "it {ended}, which the manifest's `exits` map to nothing: if that is the backend's \
                 own word, it belongs into `exits.setup_failed` or `exits.refused`"
            );
        }
        _ => return String::new(),
    };
    format!("it {ended}, which the manifest's `exits.{list}` maps to this")
}

/// Returns the reason why the sandbox could not be built, if it could not: neither a refusal nor a
/// denial. Words of the act speak against a manifest's reading of the output: the act ran, and may
/// have ended with what looks like the backend's message.
pub(super) fn setup_failed(run: &RunReport) -> Option<String> {
    let is_read = matches!(run.special, Some(SpecialExit::SetupFailed(_)));
    said_setup_failed(run).filter(|_| !is_read || !spoke(run))
}

/// Returns the reason why the sandbox could not be built, as the backend or its manifest has it.
fn said_setup_failed(run: &RunReport) -> Option<String> {
    match &run.special {
        Some(SpecialExit::SetupFailed(why)) => Some(why.clone()),
        _ => not_started(run, |kind| kind == ErrorKind::Setup),
    }
}

/// Returns true if the act said under the nonce of the arm that it ran.
fn spoke(run: &RunReport) -> bool {
    run.ready || matches!(run.observation, ProbeObservation::Seen(_))
}

/// Returns the reason why the backend declined the policy, if it did.
pub(super) fn declined(run: &RunReport) -> Option<String> {
    match &run.special {
        Some(SpecialExit::Refused(why)) => Some(why.clone()),
        _ => not_started(run, |kind| {
            use ErrorKind::{InvalidRequest, Unavailable, Unsupported};
            matches!(kind, InvalidRequest | Unsupported | Unavailable)
        }),
    }
}

/// Returns the reason why the backend has no way to say the policy, if its result says so and no
/// word of the act speaks against it.
pub(super) fn inexpressible(run: &RunReport) -> Option<String> {
    not_started(run, |kind| kind == ErrorKind::Unsupported).filter(|_| !spoke(run))
}

/// Returns the reason why nothing was started, where the backend gives one: it declined, or could
/// not be set up.
pub(super) fn unstarted(run: &RunReport) -> Option<String> {
    declined(run).or_else(|| said_setup_failed(run))
}

/// Returns the error message of a native result whose command was not started for such a `reason`.
fn not_started(run: &RunReport, reason: impl Fn(ErrorKind) -> bool) -> Option<String> {
    let result = run.result.as_ref().filter(|result| !result.started)?;
    let error = result.error.as_ref().filter(|error| reason(error.kind))?;
    Some(error.message.clone())
}

/// Describes the end of the run, as a clause.
pub(super) fn ended(run: &RunReport) -> String {
    match &run.exit {
        ProcessExit::Code(code) => format!("exited with {code}"),
        ProcessExit::Signal(number) => format!("was killed by {}", signal_name(*number)),
        ProcessExit::TimedOut => "did not end in time".to_owned(),
        ProcessExit::Refused => "was refused".to_owned(),
    }
}

fn signal_name(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| format!("signal {number}"), |s| s.to_string())
}

/// Describes the failure of an earlier step, as a clause.
pub(super) fn broken(step: &BrokenStep) -> String {
    with_stderr(&format!("step {} {}", step.number, ended(&step.run)), &step.run)
}

/// Describes the end of the control, to stand after "instead of".
pub(super) fn would_have(control: &RunReport) -> String {
    match &control.exit {
        ProcessExit::Code(code) => format!("exit {code}"),
        ProcessExit::Signal(number) => signal_name(*number),
        ProcessExit::TimedOut | ProcessExit::Refused => ended(control),
    }
}

/// Returns whether `run` ended like its control: signal n is 128+n, unless a native result names
/// the signal and the control died of none.
pub(super) fn same_exit(case: &Case, control: &RunReport, run: &RunReport) -> bool {
    let named = run.result.as_ref().is_some_and(|result| result.signal.is_some());
    // Only a bare control shows the signal itself; a private namespace ends with 128+n.
    if named && case.control == Control::Host && !matches!(control.exit, ProcessExit::Signal(_)) {
        return false;
    }
    code_of(control).is_some() && code_of(control) == code_of(run)
}

/// The exit as a shell would put it.
fn code_of(run: &RunReport) -> Option<i32> {
    match run.exit {
        ProcessExit::Code(code) => Some(code),
        ProcessExit::Signal(number) => Some(SIGNAL_BASE + number),
        ProcessExit::TimedOut | ProcessExit::Refused => None,
    }
}

/// Returns whether the run died of a signal, as far as the exit status tells.
pub(super) fn died(run: &RunReport) -> bool {
    code_of(run).is_some_and(|code| code > SIGNAL_BASE)
}

/// Checks that `run` ended as `wanted`.
pub(super) fn exit_fits(wanted: &ExitExpect, run: &RunReport) -> Result<(), String> {
    let code = code_of(run);
    let fits = match wanted {
        ExitExpect::Code(wanted) => code == Some(*wanted),
        ExitExpect::Nonzero => code.is_some_and(|code| code != 0),
        ExitExpect::Signal(name) => {
            let number = format!("SIG{name}").parse::<Signal>().map(|signal| signal as i32).ok();
            let named = run.result.as_ref().and_then(|result| result.signal);
            match named {
                Some(_) => named == number,
                None => code.is_some() && code == number.map(|n| SIGNAL_BASE + n),
            }
        }
    };
    if fits {
        return Ok(());
    }
    Err(with_stderr(&format!("it {} instead of {wanted}", ended(run)), run))
}

/// Checks that the command was executed, as far as a shell's exit code tells; where the case names
/// that very code, it is an answer like any other.
pub(super) fn executed(case: &Case, run: &RunReport) -> Result<(), VerdictFinding> {
    match run.exit {
        ProcessExit::Code(code)
            if NOT_EXECUTED.contains(&code) && case.expect.exit != Some(ExitExpect::Code(code)) =>
        {
            let message = by_exits(&with_stderr(&format!("exit {code}"), run), run);
            Err(VerdictFinding::inconclusive(Reason::NotExecuted, message))
        }
        _ => Ok(()),
    }
}

/// Checks that an act without an observation says in text that it failed for one of `errnos`.
pub(super) fn check_errno_text(
    case: &Case,
    errnos: &[&str],
    run: &RunReport,
) -> Result<(), VerdictFinding> {
    if run.exit == ProcessExit::Code(0) {
        return Err(match &case.expect.decision {
            ExpectedDecision::Denied(_) => VerdictFinding::contract(
                Reason::NotRefused,
                "the act exits with 0 although nothing happened: a refusal is promised",
            ),
            _ => VerdictFinding::contract(
                Reason::Exit,
                "it exits with 0, which is neither how it ends without a sandbox nor a refusal",
            ),
        });
    }
    executed(case, run)?;
    if errno_texts(errnos).iter().any(|text| run.stderr.text.contains(text)) {
        return Ok(());
    }
    let message = format!("it {} without naming {}", ended(run), errnos.join(" or "));
    let message = by_exits(&with_stderr(&message, run), run);
    Err(VerdictFinding::inconclusive(Reason::NoReason, message))
}

/// Lists the texts by which tools report that something failed for one of `errnos`.
pub(crate) fn errno_texts(errnos: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = errnos.iter().filter_map(|name| message(name)).collect();
    let listed = |name| errnos.contains(&name);
    // dash has words of its own for this one.
    if listed("ENOENT") {
        words.extend(["No such file", "Directory nonexistent"].map(str::to_owned));
    }
    // So have coreutils and git, which look what stands there before they write.
    if listed("EEXIST") && listed("ENOTDIR") {
        let looked = ["cannot overwrite non-directory", "unable to handle file type"];
        words.extend(looked.map(str::to_owned));
    }
    words
}

/// Returns the C library's message for the errno called `name`, in the locale that every act has.
fn message(name: &str) -> Option<String> {
    // The kernel's numbers are dense; asking each for its name needs no table of our own.
    let number = (1..=133).find(|number| format!("{:?}", Errno::from_raw(*number)) == name)?;
    let text = std::io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().map(str::to_owned)
}

/// Describes a native result that is missing, or contradicts itself or the process's exit status.
pub(super) fn contradiction(case: &Case, run: &RunReport) -> Option<String> {
    let lost = case.expect.result.as_ref().is_some_and(|result| result.lost);
    if let (Some(why), ProcessExit::Code(_), false) = (&run.result_fault, &run.exit, lost) {
        return Some(why.clone());
    }
    let result = run.result.as_ref()?;
    if result.success && result.exit_code != Some(0) {
        return Some("the result says success without an exit code of 0".to_owned());
    }
    if !result.started && result.error.is_none() {
        return Some("the result says that nothing was started, but not why".to_owned());
    }
    let failed = |kind| result.error.as_ref().is_some_and(|error| error.kind == kind);
    if failed(ErrorKind::Wait) {
        // The command's end was not observed.
        return None;
    }
    if result.timed_out || result.interrupted_by.is_some() {
        return cut_short(result, run);
    }
    if is_launcher_killed(case) && matches!(run.exit, ProcessExit::Signal(_)) {
        // This exit is not the backend's.
        return None;
    }
    let promised = match (result.started, result.exit_code, result.signal) {
        (true, Some(code), None) => vec![code],
        (true, None, Some(number)) => vec![SIGNAL_BASE + number],
        (false, None, None) if failed(ErrorKind::Spawn) => NOT_EXECUTED.to_vec(),
        (false, None, None) => vec![REFUSED],
        _ => return Some("the result fits neither an exit, a signal nor a refusal".to_owned()),
    };
    if code_of(run).is_some_and(|code| promised.contains(&code)) {
        return None;
    }
    let promised: Vec<_> = promised.iter().map(ToString::to_string).collect();
    Some(format!("the result says {}, but the backend {}", promised.join(" or "), ended(run)))
}

/// Returns whether the process that starts the backend is killed while the act runs.
fn is_launcher_killed(case: &Case) -> bool {
    let mut events = case.during.iter().map(|event| &event.what);
    let launcher = SignalTarget::Launcher;
    events.any(|what| *what == BackendStimulus::Signal("KILL".to_owned(), launcher))
}

/// Describes the fault of a result that says that the command's end was not its own, if it has one.
fn cut_short(result: &RunResult, run: &RunReport) -> Option<String> {
    if result.success {
        return Some("the result says success and that the run was cut short".to_owned());
    }
    let promised = match &result.interrupted_by {
        None if result.exit_code.is_some() => {
            return Some("the result has an exit code although the time was up".to_owned());
        }
        None => TIMEOUT,
        Some(name) => match name.parse::<Signal>() {
            Ok(signal) => SIGNAL_BASE + signal as i32,
            Err(_) => return Some(format!("the result says {name}, which is no signal")),
        },
    };
    if code_of(run).is_none_or(|code| code == promised) {
        return None;
    }
    Some(format!("the result promises {promised}, but the backend {}", ended(run)))
}

/// The start of `text`, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let line = text.trim().replace('\n', " | ");
    match line.char_indices().nth(EXCERPT) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
