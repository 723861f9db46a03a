//! Every verdict and every reason of the judge, each from the smallest case that has it.

use std::collections::BTreeSet;

use boxproof_cases::case::Moment;
use boxproof_cases::protocol::{Blocked, ErrorKind, Stage};
use boxproof_reports::{TwinState, Verdict};
use sha2::{Digest, Sha256};

use super::*;
use crate::backend::SpecialExit;
use crate::judge::Reason;

/// A case, the spoiling of the execution that passes it, and the judge's verdict then.
pub(super) struct Row(
    pub(super) &'static str,
    pub(super) String,
    pub(super) fn(&mut ArmSet),
    Verdict,
    Option<Reason>,
);

fn row(
    name: &'static str,
    case: &str,
    spoil: fn(&mut ArmSet),
    verdict: Verdict,
    reason: Reason,
) -> Row {
    Row(name, case.to_owned(), spoil, verdict, Some(reason))
}

fn pass(name: &'static str, case: &str, spoil: fn(&mut ArmSet)) -> Row {
    Row(name, case.to_owned(), spoil, Verdict::Pass, None)
}

fn with(case: &str, line: &str) -> String {
    format!("{case}{line}\n")
}

fn expecting(case: &str, more: &str) -> String {
    case.replace(", oracle: [", &format!(", {more}, oracle: ["))
}

#[rustfmt::skip] // One line a row.
fn passes() -> Vec<Row> {
    vec![
        pass("a denial by its errno", DENIED, |_| {}),
        pass("a denial whose end reads like a sandbox that fails to start", DENIED, |e| first(e).special = Some(SpecialExit::SetupFailed("Traceback".into()))),
        pass("a tool's denial whose end reads like a sandbox that fails to start", TOLD, |e| { first(e).special = Some(SpecialExit::SetupFailed("Traceback".into())); first(e).ready = true }),
        pass("a denial by its signal", DENIED, |e| { saw(e, killed("SIGSYS")); first(e).exit = ProcessExit::Code(159) }),
        pass("a denial in the tool's words", TOLD, |_| {}),
        pass("a denial by an exit the case names", &expecting(TOLD, "exit: 126"), |e| first(e).exit = ProcessExit::Code(126)),
        pass("nothing there, as the backend hides what is not granted", DENIED, |e| { saw(e, refusal("ENOENT")); first(e).besides = vec!["ENOENT".to_owned()] }),
        pass("another thing stands there", DENIED, |e| { saw(e, refusal("EISDIR")); first(e).besides = vec!["EEXIST".to_owned(), "EISDIR".to_owned()] }),
        pass("nothing there for a tool", TOLD, |e| { first(e).stderr = text("sh: 1: cannot create f: Directory nonexistent"); first(e).besides = vec!["ENOENT".to_owned()] }),
        pass("nothing there where containment is enough", CONTAINED, |e| { saw(e, refusal("ENOENT")); first(e).besides = vec!["ENOENT".to_owned()] }),
        pass("another thing stands there for a tool that looks", TOOL_CONTAINED, |e| { first(e).exit = ProcessExit::Code(1); first(e).stderr = text("cp: cannot overwrite non-directory 'f' with directory 'g'"); first(e).besides = vec!["EEXIST".to_owned(), "ENOTDIR".to_owned()] }),
        pass("an effect that stays inside", CONTAINED, |_| {}),
        pass("a refusal where containment is enough", CONTAINED, |e| { saw(e, refusal("EACCES")); first(e).exit = ProcessExit::Code(1) }),
        pass("a tool that ends like its control", TOOL_CONTAINED, |_| {}),
        pass("a tool that names a refusal", TOOL_CONTAINED, |e| { first(e).exit = ProcessExit::Code(2); first(e).stderr = text("Operation not permitted") }),
        pass("a policy declined by a native result", REFUSED, |_| {}),
        pass("a policy declined as the manifest says", REFUSED, |e| { first(e).result = None; first(e).special = Some(SpecialExit::Refused("no".into())) }),
        pass("a host that cannot give the sandbox", WITHHELD, |_| {}),
        pass("a sandbox that says it cannot be set up", WITHHELD, |e| { first(e).result = None; unset_up(first(e), "no namespace") }),
        pass("confined for a reason of the case's own", WITHHELD, |e| { first(e).observation = recorded(refusal("ECONNREFUSED")); first(e).result = None; first(e).exit = ProcessExit::Code(1) }),
        pass("confined on a host that can after all", WITHHELD, |e| { first(e).observation = recorded(refusal("EACCES")); first(e).result = None; first(e).exit = ProcessExit::Code(1) }),
        pass("an act that works", ALLOWED, |_| {}),
        pass("an act that works where its policy may be declined", EITHER, |_| {}),
        pass("a policy declined by both names", EITHER, |e| declined_with(e, "rules: the two contradict each other")),
        pass("a tool that works", TOOL, |_| {}),
        pass("a tool that fails in its own words", &expecting(TOOL_CONTAINED, "stdout: {contains: [ran]}"), |e| { first(e).exit = ProcessExit::Code(1); first(e).stdout.found.push("ran".into()) }),
        pass("a contained tool that only an oracle saw at work", &TOOL_CONTAINED.replace("{unchanged: f}", "{unchanged: f}, {exists: beat}"), |e| first(e).ready = false),
        pass("a contained tool whose text is not in its command line", &expecting(TOOL_CONTAINED, "stdout: {contains: [ran]}"), |e| { first(e).ready = false; first(e).stdout.found.push("ran".into()) }),
        pass("a contained tool whose whole text is its own", &expecting(TOOL_CONTAINED, "stdout: {equals: ran}"), |e| { for arm in both(e) { arm.runs[0].stdout.sha256 = sha256("ran") } first(e).exit = ProcessExit::Code(1) }),
        pass("a host that cannot give the sandbox, and no trace", &WITHHELD.replace("{unchanged: f}", "{unchanged: f}, {exists: beat}"), |e| confined(e).oracles[1].holds = false),
        pass("a command that cannot be started, as a native result says", &expecting(TOOL, "exit: 127"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Code(127); first(e).exit = ProcessExit::Code(127); first(e).result = Some(not_started(ErrorKind::Spawn)) }),
        pass("a policy declined, and nothing done that is forbidden", &EITHER.replace("{exists: f}", "{unchanged: f}"), |e| { declined_with(e, "rules: the two contradict each other"); for arm in both(e) { arm.oracles[0].holds = true } }),
        pass("a twin that a native result cannot express", DENIED, |e| { let run = &mut arm(&mut e.twin).runs[0]; (run.observation, run.exit, run.result) = (ProbeObservation::Missing, ProcessExit::Code(126), Some(not_started(ErrorKind::Unsupported))) }),
        pass("a tool that ends long after its signal", ENDED, |e| { ended(first(e), 1); first(e).watched_ms = 20_000.0 }),
        pass("nobody left", SURVIVORS, |_| {}),
        pass("nobody left, and a trace of somebody", TRACE, |_| {}),
        pass("what an act leaves by itself", DENIED, |e| for arm in [&mut e.control, &mut e.twin] { super::arm(arm).leaks.push("/tmp/$NONCE was left behind".into()) }),
        pass("what an act does to a directory of the arm by itself", TOOL, |e| for arm in both(e) { arm.spoilt.push("$WS has mode 0000 instead of 0755".into()) }),
        pass("no twin to be had", DENIED, |e| e.twin = Some(ArmRecord::Inexpressible("no such flag".into()))),
        pass("no control needed", &with(&expecting(TOOL, "exit: 127"), "control: {none: there is no such program}"), |e| { e.control = None; first(e).exit = ProcessExit::Code(127) }),
        pass("a signal as a shell shows it", &expecting(TOOL, "exit: {signal: KILL}"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(9); first(e).exit = ProcessExit::Code(137) }),
        pass("a code that is a signal's", &expecting(TOOL, "exit: 137"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(9); first(e).exit = ProcessExit::Code(137) }),
        pass("a signal a native result names", &expecting(TOOL, "exit: {signal: KILL}"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(9); first(e).exit = ProcessExit::Code(137); first(e).result = Some(result(None, Some(9))) }),
        pass("a rule where there is no explanation to be had", &expecting(DENIED, "rule: a"), |_| {}),
        pass("an exit that is not compared", &TOOL.replace("{exists: f}]", "{exists: f}], compare: [stdout]"), |e| first(e).exit = ProcessExit::Code(3)),
        pass("what an early end leaves unsaid", &expecting(DENIED, "exit: 124"), |e| { first(e).exit = ProcessExit::Code(124); first(e).result = Some(result(None, None)); first(e).result.as_mut().unwrap().timed_out = true }),
    ]
}

#[rustfmt::skip] // One line a row.
fn spoilt_evidence() -> Vec<Row> {
    use Verdict::{Contract, Leak, UnderBlock};
    vec![
        row("a directory of the arm is closed by the run", DENIED, |e| { unread(confined(e)); confined(e).spoilt.push("$WS has mode 0000 instead of 0755".into()) }, UnderBlock, Reason::Oracle),
        row("a directory of the arm is gone, and the oracles hold", CONTAINED, |e| confined(e).spoilt.push("$HOME is gone".into()), UnderBlock, Reason::Oracle),
        row("the run's directory is closed, as a control shows, too", DENIED, |e| for arm in both(e) { arm.spoilt.push("$RUN has mode 0000 instead of 0755".into()) }, UnderBlock, Reason::Oracle),
        row("the workspace of an allowed act is gone", ALLOWED, |e| confined(e).spoilt.push("$WS is gone".into()), Contract, Reason::Tree),
        row("an oracle could not be read", DENIED, |e| unread(confined(e)), Verdict::ProbeBroken, Reason::Unread),
        row("an oracle could not be read, and the act reports success", DENIED, |e| { unread(confined(e)); saw(e, ActOutcome::Succeeded) }, Verdict::ProbeBroken, Reason::Unread),
        row("the oracle of an allowed act could not be read", ALLOWED, |e| unread(confined(e)), Verdict::ProbeBroken, Reason::Unread),
        row("an oracle could not be read without a sandbox", DENIED, |e| unread(arm(&mut e.control)), Verdict::ProbeBroken, Reason::Unread),
        row("an oracle could not be read under the twin", DENIED, |e| unread(arm(&mut e.twin)), Verdict::ProbeBroken, Reason::Unread),
        row("a directory was not seen whole", ALLOWED, |e| confined(e).unseen.push("$WS: a: Input/output error".into()), Verdict::Error, Reason::Harness),
        row("a directory with more entries than one look takes", ALLOWED, |e| confined(e).unseen.push("$HOME: there are more than 50000 entries".into()), Leak, Reason::Residue),
        row("such a directory, and the act timed out", ALLOWED, |e| { confined(e).unseen.push("$HOME: there are more than 50000 entries".into()); confined(e).runs[0].exit = ProcessExit::TimedOut }, Leak, Reason::Residue),
        row("such a directory without a sandbox, too", ALLOWED, |e| for arm in both(e) { arm.unseen.push("$HOME: there are more than 50000 entries".into()) }, Verdict::Error, Reason::Harness),
        row("a directory of the control was not seen whole", ALLOWED, |e| arm(&mut e.control).unseen.push("$WS: there are more".into()), Verdict::Error, Reason::Harness),
        row("a file too many in a directory not seen whole", ALLOWED, |e| { confined(e).unseen.push("$WS: there are more".into()); confined(e).appeared.push("$WS/g".into()) }, Leak, Reason::Residue),
        row("the probe was replaced", ALLOWED, |e| confined(e).distrust = Some("the probe was replaced".into()), Verdict::Error, Reason::Harness),
        row("the probe was replaced, and says that it was refused", ALLOWED, |e| { confined(e).distrust = Some("the probe was replaced".into()); saw(e, refusal("EACCES")) }, Verdict::Error, Reason::Harness),
        row("the probe was replaced, and the effect happened", DENIED, |e| { confined(e).distrust = Some("the probe was replaced".into()); flip(confined(e)) }, UnderBlock, Reason::Oracle),
        row("the probe of the control was replaced", DENIED, |e| { arm(&mut e.control).distrust = Some("the probe was replaced".into()); arm(&mut e.control).runs[0].observation = ProbeObservation::Missing }, Verdict::Error, Reason::Harness),
        row("the probe of the twin was replaced", DENIED, |e| { arm(&mut e.twin).distrust = Some("the probe was replaced".into()); outcome_of(&mut arm(&mut e.twin).runs[0], refusal("EACCES")) }, Verdict::Error, Reason::Harness),
    ]
}

#[rustfmt::skip] // One line a row.
fn failures() -> Vec<Row> {
    use Verdict::{Contract, Leak, OverBlock, UnderBlock};
    vec![
        row("hidden, and done all the same", DENIED, |e| { saw(e, refusal("ENOENT")); first(e).besides = vec!["ENOENT".to_owned()]; flip(confined(e)) }, UnderBlock, Reason::Oracle),
        row("it came too late", &expecting(TOOL, "times: [{within: 10}]"), |e| first(e).moments = vec![stamp(Moment::Start, 0.0), stamp(Moment::Exit, 300.0)], Contract, Reason::Timing),
        row("the host lacks something and the act is done", WITHHELD, |e| flip(confined(e)), UnderBlock, Reason::Oracle),
        row("the effect happened", DENIED, |e| flip(confined(e)), UnderBlock, Reason::Oracle),
        row("the effect happened although the probe denies it", CONTAINED, |e| { flip(confined(e)); saw(e, refusal("EROFS")) }, UnderBlock, Reason::Oracle),
        row("the effect of a declined policy happened", REFUSED, |e| flip(confined(e)), UnderBlock, Reason::Oracle),
        row("somebody is left", SURVIVORS, |e| flip(confined(e)), UnderBlock, Reason::Oracle),
        row("it happened, seen without a control", DENIED, |e| { flip(confined(e)); arm(&mut e.control).runs.clear() }, UnderBlock, Reason::Oracle),
        row("it happened before a step failed", DENIED, |e| { flip(confined(e)); broke(confined(e), |_| {}) }, UnderBlock, Reason::Oracle),
        row("it happened before time was up", DENIED, |e| { flip(confined(e)); first(e).exit = ProcessExit::TimedOut }, UnderBlock, Reason::Oracle),
        row("something is left", DENIED, |e| confined(e).leaks.push("process 7".into()), Leak, Reason::LeftBehind),
        row("something is left of the twin", DENIED, |e| arm(&mut e.twin).leaks.push("process 7".into()), Leak, Reason::LeftBehind),
        row("a file the act does not make", DENIED, |e| confined(e).appeared.push("$WS/.stub".into()), Leak, Reason::Residue),
        row("the policy is declined, the act allowed", ALLOWED, |e| { first(e).result = Some(not_started(ErrorKind::Unsupported)); first(e).exit = ProcessExit::Code(126) }, OverBlock, Reason::PolicyRefused),
        row("an allowed act is refused", ALLOWED, |e| saw(e, refusal("EPERM")), OverBlock, Reason::Refused),
        row("an allowed act is killed", ALLOWED, |e| saw(e, killed("SIGSYS")), OverBlock, Reason::Refused),
        row("an allowed tool fails", TOOL, |e| first(e).exit = ProcessExit::Code(1), OverBlock, Reason::Exit),
        row("an allowed tool is not found", TOOL, |e| first(e).exit = ProcessExit::Code(127), OverBlock, Reason::Exit),
        row("an allowed tool fails although 0 is promised", &expecting(TOOL, "exit: 0"), |e| first(e).exit = ProcessExit::Code(1), OverBlock, Reason::Exit),
        row("an allowed tool fails without a control", &with(TOOL, "control: {none: it cannot be had}"), |e| { e.control = None; first(e).exit = ProcessExit::Code(1) }, OverBlock, Reason::Exit),
        row("what an allowed act makes is not there", ALLOWED, |e| flip(confined(e)), OverBlock, Reason::Oracle),
        row("the twin is refused", DENIED, |e| outcome_of(&mut arm(&mut e.twin).runs[0], refusal("EROFS")), OverBlock, Reason::Twin),
        row("the twin is declined", DENIED, |e| arm(&mut e.twin).runs[0].special = Some(SpecialExit::Refused("no".into())), OverBlock, Reason::Twin),
        row("the twin has no effect", DENIED, |e| flip(arm(&mut e.twin)), OverBlock, Reason::Twin),
        row("a step of an allowed act is declined", ALLOWED, |e| broke(confined(e), decline), OverBlock, Reason::PolicyRefused),
        row("a step of the twin is declined", DENIED, |e| broke(arm(&mut e.twin), decline), OverBlock, Reason::Twin),
        row("a step of a denied act is declined", DENIED, |e| broke(confined(e), decline), Contract, Reason::PolicyRefused),
        row("the policy is declined, the act denied", DENIED, |e| first(e).special = Some(SpecialExit::Refused("no".into())), Contract, Reason::PolicyRefused),
        row("a denied act reports success", DENIED, |e| { saw(e, ActOutcome::Succeeded); first(e).exit = ProcessExit::Code(0) }, Contract, Reason::NotRefused),
        row("a denied tool reports success", TOLD, |e| first(e).exit = ProcessExit::Code(0), Contract, Reason::NotRefused),
        row("the policy is not declined", REFUSED, |e| *first(e) = succeeded(&case(REFUSED)), Contract, Reason::NotRefused),
        row("declined, and done all the same", REFUSED, |e| first(e).observation = act_observation(&case(REFUSED), refusal("EROFS")), Contract, Reason::NotRefused),
        row("declined, and under way all the same", REFUSED, |e| first(e).ready = true, Contract, Reason::NotRefused),
        row("an allowed act is cut short", ALLOWED, |e| { first(e).ready = true; first(e).observation = ProbeObservation::Missing }, Contract, Reason::CutShort),
        row("the right errno, another exit", &expecting(DENIED, "exit: 1"), |e| first(e).exit = ProcessExit::Code(2), Contract, Reason::Exit),
        row("the right errno, exit 0", DENIED, |e| first(e).exit = ProcessExit::Code(0), Contract, Reason::Exit),
        row("a failure that is promised looks different", &expecting(TOOL, "exit: 7"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Code(7); first(e).exit = ProcessExit::Code(8) }, Contract, Reason::Exit),
        row("a failure looks different from the control's", &with(&TOOL.replace("echo y > f", "exit 7").replace("allowed: {}", "allowed: {}, exit: nonzero, compare: [exit]"), ""), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Code(7); first(e).exit = ProcessExit::Code(0) }, Contract, Reason::Exit),
        row("another signal than the one a result names", &expecting(TOOL, "exit: {signal: KILL}"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(9); first(e).exit = ProcessExit::Code(137); first(e).result = Some(result(None, Some(15))) }, Contract, Reason::Exit),
        row("a stream lacks a text", &expecting(DENIED, "stderr: {contains: [why]}"), |_| {}, Contract, Reason::Stream),
        row("a stream holds a text", &expecting(DENIED, "stdout: {lacks: [why]}"), |e| first(e).stdout.found.push("why".into()), Contract, Reason::Stream),
        row("no rule is named", &expecting(DENIED, "rule: a"), |e| first(e).result = Some(result(Some(1), None)), Contract, Reason::Rule),
        row("another rule is named", &expecting(DENIED, "rule: a"), |e| { first(e).result = Some(result(Some(1), None)); first(e).result.as_mut().unwrap().blocked = Some(blocked("b")) }, Contract, Reason::Rule),
        row("the result tells another exit", DENIED, |e| first(e).result = Some(result(Some(2), None)), Contract, Reason::Result),
        row("the result tells of a signal, the exit of none", DENIED, |e| first(e).result = Some(result(None, Some(9))), Contract, Reason::Result),
        row("the result claims success", DENIED, |e| { first(e).result = Some(result(Some(1), None)); first(e).result.as_mut().unwrap().success = true }, Contract, Reason::Result),
        row("the result tells no end", DENIED, |e| first(e).result = Some(result(None, None)), Contract, Reason::Result),
        row("a refusal looks like another exit", REFUSED, |e| first(e).exit = ProcessExit::Code(1), Contract, Reason::Result),
        row("a native backend leaves no result", DENIED, |e| first(e).result_fault = Some("no result".into()), Contract, Reason::Result),
        row("nothing is said to be started, and no reason given", TOOL, |e| first(e).result = Some(RunResult { error: None, ..not_started(ErrorKind::Unsupported) }), Contract, Reason::Result),
        row("stdout differs", TOOL, |e| first(e).stdout = text("other"), Contract, Reason::Stdout),
        row("a file differs", TOOL, |e| { confined(e).tree.insert("$WS/f".into(), "0600".into()); }, Contract, Reason::Tree),
        row("a file is missing", TOOL, |e| confined(e).tree.clear(), Contract, Reason::Tree),
        row("a file that the act removes is there", TOOL, |e| { confined(e).tree.insert("$WS/old".into(), "0644".into()); }, Contract, Reason::Tree),
        row("an allowed act touches what it must not", "fixture: {g: x}\nact: {probe: write, path: f, text: y}\nexpect: {allowed: {}, oracle: [{unchanged: g}]}\n", |e| { confined(e).oracles[0].holds = false; arm(&mut e.control).oracles[0].holds = true }, Contract, Reason::Oracle),
    ]
}

#[rustfmt::skip] // One line a row.
fn outlasting_processes() -> Vec<Row> {
    use Verdict::Leak;
    vec![
        row("a process outlived the run", DENIED, |e| confined(e).outlasting.push("process 7".into()), Leak, Reason::LeftBehind),
        row("a process outlived the run, as of an arm that was given up", TOOL, |e| { confined(e).outlasting.push("process 7".into()); first(e).exit = ProcessExit::TimedOut }, Leak, Reason::LeftBehind),
        row("a process of the twin outlived the run", DENIED, |e| arm(&mut e.twin).outlasting.push("process 7".into()), Leak, Reason::LeftBehind),
    ]
}

#[rustfmt::skip] // One line a row.
fn short_hosts() -> Vec<Row> {
    use Verdict::{Error, UnderBlock};
    fn short(report: &mut ArmReport) {
        report.shortages = vec!["space: 0 bytes".to_owned()];
    }
    vec![
        row("a refusal where the host is short of space", ALLOWED, |e| { short(confined(e)); first(e).exit = ProcessExit::Code(1); saw(e, refusal("ENOSPC")) }, Error, Reason::Host),
        row("a broken promise where the host is short", TOOL, |e| { short(confined(e)); first(e).exit = ProcessExit::Code(75) }, Error, Reason::Host),
        row("a control on a short host", ALLOWED, |e| { short(arm(&mut e.control)); arm(&mut e.control).runs.clear() }, Error, Reason::Host),
        row("a fault of the harness on a short host", ALLOWED, |e| e.confined = ArmRecord::Fault("state: No space left on device".into()), Error, Reason::Host),
        row("an effect is seen on a short host, too", DENIED, |e| { short(confined(e)); flip(confined(e)) }, UnderBlock, Reason::Oracle),
    ]
}

#[rustfmt::skip] // One line a row.
fn policies_that_may_be_declined() -> Vec<Row> {
    use Verdict::{Contract, OverBlock};
    vec![
        row("a policy declined without its names", EITHER, |e| declined_with(e, "two of them"), OverBlock, Reason::PolicyRefused),
        row("a policy taken, and its act refused", EITHER, |e| { saw(e, refusal("EROFS")); first(e).exit = ProcessExit::Code(1) }, OverBlock, Reason::Refused),
        row("a policy declined, and its act done", EITHER, |e| { first(e).special = Some(SpecialExit::Refused("two rules".into())); first(e).exit = ProcessExit::Code(126) }, Contract, Reason::NotRefused),
    ]
}

#[rustfmt::skip] // One line a row.
fn unlearnt() -> Vec<Row> {
    use Verdict::{Error, Inconclusive, Unsupported};
    vec![
        row("the control is refused", DENIED, |e| outcome_of(&mut arm(&mut e.control).runs[0], refusal("EACCES")), Inconclusive, Reason::ControlFailed),
        row("the control has no effect", DENIED, |e| flip(arm(&mut e.control)), Inconclusive, Reason::ControlFailed),
        row("the control was not prepared", DENIED, |e| broke(arm(&mut e.control), |_| {}), Inconclusive, Reason::ControlFailed),
        row("the control of an allowed act fails", TOOL, |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Code(1); first(e).exit = ProcessExit::Code(1) }, Inconclusive, Reason::ControlFailed),
        row("the control is silent", DENIED, |e| arm(&mut e.control).runs[0].observation = ProbeObservation::Missing, Inconclusive, Reason::ControlFailed),
        row("the control takes too long", DENIED, |e| arm(&mut e.control).runs[0].exit = ProcessExit::TimedOut, Inconclusive, Reason::ControlFailed),
        row("the control's oracle was not read", DENIED, |e| arm(&mut e.control).oracles.clear(), Inconclusive, Reason::ControlFailed),
        row("the control ran less often", &with(DENIED, "repeat: 2"), |e| drop(arm(&mut e.control).runs.pop()), Inconclusive, Reason::ControlFailed),
        row("a step fails", DENIED, |e| broke(confined(e), |_| {}), Inconclusive, Reason::StepFailed),
        row("time is up", DENIED, |e| first(e).exit = ProcessExit::TimedOut, Inconclusive, Reason::TimedOut),
        row("no trace of what should have been contained", TRACE, |e| confined(e).oracles[1].holds = false, Inconclusive, Reason::NoTrace),
        row("time is up, and what was ended by force lives on", SURVIVORS, |e| { flip(confined(e)); first(e).exit = ProcessExit::TimedOut }, Inconclusive, Reason::TimedOut),
        row("time is up, and a process is left by that", DENIED, |e| { confined(e).leaks.push("process 7".into()); confined(e).appeared.push("$WS/g".into()); first(e).exit = ProcessExit::TimedOut }, Inconclusive, Reason::TimedOut),
        row("another errno", DENIED, |e| saw(e, refusal("EACCES")), Inconclusive, Reason::WrongErrno),
        row("nothing there", CONTAINED, |e| saw(e, refusal("ENOENT")), Inconclusive, Reason::WrongErrno),
        row("nothing there for a tool, where nothing is hidden", TOLD, |e| first(e).stderr = text("sh: 1: cannot create f: Directory nonexistent"), Inconclusive, Reason::NoReason),
        row("hidden, and nobody showed that it is there", &with(DENIED, "control: {none: there is none}"), |e| { e.control = None; saw(e, refusal("ENOENT")); first(e).besides = vec!["ENOENT".to_owned()] }, Inconclusive, Reason::WrongErrno),
        row("another thing stands there, and nobody showed that it can be made", &with(DENIED, "control: {none: there is none}"), |e| { e.control = None; saw(e, refusal("EEXIST")); first(e).besides = vec!["EEXIST".to_owned()] }, Inconclusive, Reason::WrongErrno),
        row("hidden, and another errno", DENIED, |e| { saw(e, refusal("EACCES")); first(e).besides = vec!["ENOENT".to_owned()] }, Inconclusive, Reason::WrongErrno),
        row("another signal", DENIED, |e| saw(e, killed("SIGKILL")), Inconclusive, Reason::WrongSignal),
        row("no record", DENIED, |e| first(e).observation = ProbeObservation::Missing, Inconclusive, Reason::NoRecord),
        row("a denied act is cut short", DENIED, |e| { first(e).ready = true; first(e).observation = ProbeObservation::Missing }, Inconclusive, Reason::NoRecord),
        row("a probe as if it were none", DENIED, |e| first(e).observation = ProbeObservation::NotExpected, Inconclusive, Reason::NoRecord),
        row("two records", DENIED, |e| first(e).observation = ProbeObservation::Untrusted("two".into()), Inconclusive, Reason::UntrustedRecord),
        row("a record of another probe", DENIED, |e| { let ProbeObservation::Seen(record) = &mut first(e).observation else { panic!() }; record.probe = "stat".into() }, Inconclusive, Reason::UntrustedRecord),
        row("a tool that was not executed", TOLD, |e| first(e).exit = ProcessExit::Code(127), Inconclusive, Reason::NotExecuted),
        row("a contained tool that was not executed", TOOL_CONTAINED, |e| { for arm in both(e) { arm.runs[0].exit = ProcessExit::Code(127) } }, Inconclusive, Reason::NotExecuted),
        row("a tool that looked, where nothing else stands there", TOOL_CONTAINED, |e| { first(e).exit = ProcessExit::Code(1); first(e).stderr = text("cp: cannot overwrite non-directory 'f' with directory 'g'") }, Inconclusive, Reason::NoReason),
        row("a tool that gives no reason", TOLD, |e| first(e).stderr = text("sh: f: No such file or directory"), Inconclusive, Reason::NoReason),
        row("nothing ran", DENIED, |e| confined(e).runs.clear(), Inconclusive, Reason::NothingRan),
        row("one of two ran", &with(DENIED, "parallel: 2"), |e| drop(confined(e).runs.pop()), Inconclusive, Reason::NothingRan),
        row("a step of the twin fails", DENIED, |e| broke(arm(&mut e.twin), |_| {}), Inconclusive, Reason::TwinFailed),
        row("a step of the twin takes too long", DENIED, |e| broke(arm(&mut e.twin), |run| run.exit = ProcessExit::TimedOut), Inconclusive, Reason::TwinTimedOut),
        row("a step takes too long", DENIED, |e| { broke(confined(e), |run| run.exit = ProcessExit::TimedOut); confined(e).leaks.push("process 7".into()) }, Inconclusive, Reason::TimedOut),
        row("a step whose policy is declined, as the last one should be", REFUSED, |e| broke(confined(e), decline), Inconclusive, Reason::StepFailed),
        row("a step's sandbox fails to start", DENIED, |e| broke(confined(e), |run| unset_up(run, "no")), Error, Reason::SetupFailed),
        row("the twin is silent", DENIED, |e| arm(&mut e.twin).runs[0].observation = ProbeObservation::Missing, Inconclusive, Reason::TwinFailed),
        row("the twin's tool was not executed", TOLD, |e| { flip(arm(&mut e.twin)); arm(&mut e.twin).runs[0].exit = ProcessExit::Code(127) }, Inconclusive, Reason::TwinFailed),
        row("the twin's tool dies", TOLD, |e| { flip(arm(&mut e.twin)); arm(&mut e.twin).runs[0].exit = ProcessExit::Signal(11) }, Inconclusive, Reason::TwinFailed),
        row("the twin's tool dies, as a shell shows it", TOLD, |e| { flip(arm(&mut e.twin)); arm(&mut e.twin).runs[0].exit = ProcessExit::Code(139) }, Inconclusive, Reason::TwinFailed),
        row("nothing learnt, and the twin refused", DENIED, |e| { flip(arm(&mut e.twin)); first(e).observation = ProbeObservation::Missing }, Inconclusive, Reason::NoRecord),
        row("the twin takes too long", DENIED, |e| arm(&mut e.twin).runs[0].exit = ProcessExit::TimedOut, Inconclusive, Reason::TwinTimedOut),
        row("no way to say it", DENIED, |e| e.confined = ArmRecord::Inexpressible("no such flag".into()), Unsupported, Reason::Inexpressible),
        row("the sandbox fails to start", DENIED, |e| unset_up(first(e), "no namespace"), Error, Reason::SetupFailed),
        row("said not to be started, and under way", WITHHELD, |e| first(e).ready = true, Verdict::Contract, Reason::NotRefused),
        row("confined for a reason that nobody named", WITHHELD, |e| { first(e).observation = recorded(refusal("ENOENT")); first(e).result = None; first(e).exit = ProcessExit::Code(1) }, Inconclusive, Reason::WrongErrno),
        row("a host that lacks something, and silence", WITHHELD, |e| { first(e).result = None; first(e).exit = ProcessExit::Code(1) }, Inconclusive, Reason::NoRecord),
        row("a native sandbox fails to start", REFUSED, |e| first(e).result = Some(not_started(ErrorKind::Setup)), Error, Reason::SetupFailed),
        row("the twin's sandbox fails to start", DENIED, |e| unset_up(&mut arm(&mut e.twin).runs[0], "no namespace"), Error, Reason::SetupFailed),
        row("the harness fails", DENIED, |e| e.confined = ArmRecord::Fault("no disk".into()), Error, Reason::Harness),
        row("no control", DENIED, |e| e.control = None, Error, Reason::Harness),
        row("no twin", DENIED, |e| e.twin = None, Error, Reason::Harness),
        row("an oracle was not read", DENIED, |e| confined(e).oracles.clear(), Error, Reason::Harness),
    ]
}

#[rustfmt::skip] // One line a row.
fn contained_ends() -> Vec<Row> {
    use Verdict::{Contract, OverBlock};
    vec![
        row("a contained tool reports success where it does not end so by itself", TOOL_CONTAINED, |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(15); first(e).exit = ProcessExit::Code(0) }, Contract, Reason::Exit),
        row("what is contained and is to fail in one way says that it was refused", &expecting(TOOL_CONTAINED, "exit: 3"), |e| { first(e).exit = ProcessExit::Code(1); first(e).stderr = text("OSError: Operation not permitted") }, Contract, Reason::Exit),
        row("what is contained and is to succeed fails and says nothing", &expecting(TOOL_CONTAINED, "exit: 0"), |e| first(e).exit = ProcessExit::Code(1), Verdict::Inconclusive, Reason::NoReason),
        row("what is contained and is to succeed says that it was refused", &expecting(TOOL_CONTAINED, "exit: 0"), |e| { first(e).exit = ProcessExit::Code(1); first(e).stderr = text("OSError: Operation not permitted") }, OverBlock, Reason::Exit),
    ]
}

#[rustfmt::skip]
fn untraced() -> Vec<Row> {
    use Verdict::Contract;
    vec![
        row("a contained tool whose text is in its command line", &expecting(TOOL_CONTAINED, "stdout: {contains: [echo]}"), |e| { first(e).ready = false; first(e).stdout.found.push("echo".into()) }, Contract, Reason::NoTrace),
        row("a contained tool of which nothing shows that it ran", TOOL_CONTAINED, |e| first(e).ready = false, Contract, Reason::NoTrace),
        row("an allowed tool that does not announce itself as its control does", TOOL, |e| arm(&mut e.control).runs[0].ready = true, Contract, Reason::NoTrace),
    ]
}

#[rustfmt::skip] // One line a row.
fn twins_without_effect() -> Vec<Row> {
    use Verdict::OverBlock;
    vec![
        row("a tool's twin has no effect", TOLD, |e| flip(arm(&mut e.twin)), OverBlock, Reason::Twin),
        row("a tool's twin ends with a code just below a signal's", TOLD, |e| { flip(arm(&mut e.twin)); arm(&mut e.twin).runs[0].exit = ProcessExit::Code(128) }, OverBlock, Reason::Twin),
        row("a probe's twin has no effect, and ends as if it died", DENIED, |e| { flip(arm(&mut e.twin)); arm(&mut e.twin).runs[0].exit = ProcessExit::Code(139) }, OverBlock, Reason::Twin),
        row("a twin that a native result calls invalid", DENIED, |e| { let run = &mut arm(&mut e.twin).runs[0]; (run.observation, run.exit, run.result) = (ProbeObservation::Missing, ProcessExit::Code(126), Some(not_started(ErrorKind::InvalidRequest))) }, OverBlock, Reason::Twin),
    ]
}

#[rustfmt::skip] // One line a row.
fn ends_that_differ() -> Vec<Row> {
    use Verdict::{Contract, OverBlock};
    vec![
        row("another end than the signal", &expecting(TOOL, "exit: {signal: KILL}"), |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(9); first(e).exit = ProcessExit::Code(1) }, Contract, Reason::Exit),
        row("a policy declined with the code of a program that is not there", REFUSED, |e| first(e).exit = ProcessExit::Code(127), Contract, Reason::Result),
        row("a policy declined, and a forbidden thing done", &EITHER.replace("{exists: f}", "{unchanged: f}"), |e| { declined_with(e, "rules: the two contradict each other"); for arm in both(e) { arm.oracles[0].holds = true } flip(confined(e)) }, Contract, Reason::Oracle),
        row("a policy declined before anything was started", ALLOWED, |e| { first(e).special = Some(SpecialExit::Refused("no".into())); first(e).exit = ProcessExit::Refused }, OverBlock, Reason::PolicyRefused),
        row("an allowed tool dies", TOOL, |e| first(e).exit = ProcessExit::Signal(11), OverBlock, Reason::Exit),
        row("a moment was not seen", &expecting(TOOL, "times: [{to: ready, within: 10}]"), |e| first(e).moments = vec![stamp(Moment::Start, 0.0), stamp(Moment::Exit, 300.0)], Contract, Reason::Timing),
        row("a policy that may be declined is not, and nothing is done", EITHER, |e| flip(confined(e)), OverBlock, Reason::Oracle),
    ]
}

#[rustfmt::skip] // One line a row.
fn missing_evidence() -> Vec<Row> {
    use Verdict::Inconclusive;
    vec![
        row("a tool that looked, where only a name is taken", &TOLD.replace("EROFS", "EEXIST"), |e| { first(e).exit = ProcessExit::Code(1); first(e).stderr = text("cp: cannot overwrite non-directory 'f' with directory 'g'") }, Inconclusive, Reason::NoReason),
        row("an act that is not withheld, and no trace", &WITHHELD.replace("{unchanged: f}", "{unchanged: f}, {exists: beat}"), |e| { first(e).observation = recorded(refusal("ECONNREFUSED")); first(e).result = None; first(e).exit = ProcessExit::Code(1); confined(e).oracles[1].holds = false }, Inconclusive, Reason::NoTrace),
        row("an oracle that cannot be read beside one that sees no trace", TRACE, |e| { confined(e).oracles[1].holds = false; confined(e).oracles[0].unread = true }, Verdict::ProbeBroken, Reason::Unread),
        row("no record, and an end that the manifest does not name", DENIED, |e| { first(e).observation = ProbeObservation::Missing; first(e).special = Some(SpecialExit::Unmapped) }, Inconclusive, Reason::NoRecord),
    ]
}

fn sha256(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

fn decline(run: &mut RunReport) {
    run.special = Some(SpecialExit::Refused("no".to_owned()));
}

fn blocked(rule: &str) -> Blocked {
    Blocked {
        stage: Stage::Runtime,
        rule: rule.to_owned(),
        operation: None,
        path: None,
        reason: "It is.".to_owned(),
        suggested_action: None,
        also: Vec::new(),
    }
}

#[rustfmt::skip] // One line a row.
fn ended_by_a_signal() -> Vec<Row> {
    use Verdict::{Contract, Inconclusive};
    vec![
        pass("a tool that a signal ended, with a code of the backend's own", ENDED, |e| ended(first(e), 1)),
        row("a signal that ends the act without a sandbox does not end the run", ENDED, |e| lived(first(e), 10_101.0), Contract, Reason::LivedOn),
        row("a signal after which all is called well", ENDED, |e| { arm(&mut e.control).runs[0].exit = ProcessExit::Signal(15); ended(first(e), 0) }, Contract, Reason::Exit),
        row("a signal came too late to tell", ENDED, |e| lived(first(e), 10_100.0), Inconclusive, Reason::TimedOut),
        row("a signal never came", ENDED, |e| { lived(first(e), 20_000.0); first(e).moments.clear() }, Inconclusive, Reason::TimedOut),
        row("what the terminal stopped never went on", &with(TOOL, "launcher: {tty: true}"), |e| stood(first(e)), Contract, Reason::Stopped),
        row("a run without a terminal stood still", TOOL, |e| stood(first(e)), Inconclusive, Reason::TimedOut),
        row("what stood still did so without a sandbox, too", &with(TOOL, "launcher: {tty: true}"), |e| { stood(first(e)); arm(&mut e.control).runs[0].exit = ProcessExit::TimedOut }, Inconclusive, Reason::ControlFailed),
        row("a case that stops its command by a signal", &with(TOOL, "launcher: {tty: true}\nduring: [{when: start, signal: STOP}]"), |e| stood(first(e)), Inconclusive, Reason::TimedOut),
        row("a case that stops its command by a key", &with(TOOL, "launcher: {tty: {cooked: true}}\nduring: [{when: start, type: \"\\x1a\"}]"), |e| stood(first(e)), Inconclusive, Reason::TimedOut),
        row("a signal ended neither", ENDED, |e| { lived(first(e), 20_000.0); arm(&mut e.control).runs[0].exit = ProcessExit::TimedOut }, Inconclusive, Reason::ControlFailed),
        row("a tool that is ended before it was under way", ENDED, |e| { ended(first(e), 1); first(e).ready = false }, Inconclusive, Reason::NoReason),
        row("a tool that ends before anything is done to it", ENDED, |e| { ended(first(e), 1); first(e).moments.clear() }, Inconclusive, Reason::NoReason),
    ]
}

/// `run` was given up, and a process of it stood still.
fn stood(run: &mut RunReport) {
    (run.exit, run.stopped) = (ProcessExit::TimedOut, true);
}

/// The signal went out, and `run` was given up `watched_ms` after its start.
fn lived(run: &mut RunReport, watched_ms: f64) {
    ended(run, 0);
    (run.exit, run.watched_ms) = (ProcessExit::TimedOut, watched_ms);
}

/// The signal went out after 100 ms, and `run` ended with `code`.
fn ended(run: &mut RunReport, code: i32) {
    (run.exit, run.ready) = (ProcessExit::Code(code), true);
    run.moments = vec![MomentStamp { moment: Moment::During(1), at_ms: 100.0 }];
}

pub(super) fn rows() -> impl Iterator<Item = Row> {
    let tables = [
        passes(),
        spoilt_evidence(),
        failures(),
        outlasting_processes(),
        short_hosts(),
        policies_that_may_be_declined(),
        ended_by_a_signal(),
        untraced(),
        contained_ends(),
        twins_without_effect(),
        ends_that_differ(),
        missing_evidence(),
        unlearnt(),
    ];
    tables.into_iter().flatten()
}

#[test]
fn each_row_gets_its_verdict_and_reason() {
    for Row(name, text, spoil, verdict, reason) in rows() {
        let case = case(&text);
        let mut execution = good(&case);
        spoil(&mut execution);
        let judgement = judge_act(&case, &execution);
        let word = reason.map_or("", Reason::code);
        assert_eq!(
            (judgement.verdict, judgement.reason.as_str()),
            (verdict, word),
            "{name}: {judgement:?}"
        );
        assert_eq!(judgement.message.is_empty(), reason.is_none(), "{name}");
    }
}

#[test]
fn the_rows_reach_every_reason_and_every_verdict_of_the_judge() {
    // Questions, channels and second looks have tables of their own.
    let others = [Reason::Decision, Reason::Blind].into_iter().chain(channel::REACHED);
    let reached: BTreeSet<Reason> = rows().filter_map(|row| row.4).chain(others).collect();
    let all: BTreeSet<Reason> = Reason::ALL.iter().copied().collect();
    assert_eq!(reached, all);
    let verdicts: BTreeSet<Verdict> = rows().map(|row| row.3).collect();
    // The first two are decided when the run is planned, the others are of what is not claimed.
    let planned = [Verdict::NotApplicable, Verdict::Skipped, Verdict::Contradiction, Verdict::Gap];
    assert_eq!(verdicts, Verdict::ALL.into_iter().filter(|v| !planned.contains(v)).collect());
}

#[test]
fn words_are_distinct_and_fit_a_list_of_known_failures() {
    let words: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(words.len(), Reason::ALL.len());
    let kebab = |word: &&str| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    assert!(words.iter().all(kebab), "{words:?}");
}

#[test]
fn what_the_twin_showed_is_told() {
    let state = |text: &str, spoil: fn(&mut ArmSet)| {
        let case = case(text);
        let mut execution = good(&case);
        spoil(&mut execution);
        judge_act(&case, &execution).twin
    };
    assert_eq!(state(DENIED, |_| {}), TwinState::Shown);
    assert_eq!(state(DENIED, |e| flip(arm(&mut e.twin))), TwinState::None);
    assert_eq!(
        state(DENIED, |e| e.twin = Some(ArmRecord::Inexpressible("no".into()))),
        TwinState::Inexpressible
    );
    assert_eq!(state(SURVIVORS, |_| {}), TwinState::None);
    assert_eq!(state(ALLOWED, |_| {}), TwinState::NotNeeded);
}
