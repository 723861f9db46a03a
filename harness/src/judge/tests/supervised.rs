//! Times, native results and captured streams: each promise kept, and each broken in one way.

use boxproof_cases::protocol::ClaimLevel;
use rstest::rstest;
use sha2::{Digest, Sha256};

use super::*;
use crate::execution::OwnOutput;

/// Judges a tool's act with `more` in its expectation, and `lines` in the case.
fn judged(more: &str, lines: &str, spoil: impl FnOnce(&mut RunReport)) -> String {
    let text = TOOL.replace("oracle: [{exists: f}]", more);
    let case = case(&format!("{text}{lines}\n"));
    let mut execution = good(&case);
    spoil(first(&mut execution));
    let judgement = judge_act(&case, &execution);
    format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim().to_owned()
}

fn mark(word: &str) -> Moment {
    Moment::Mark(word.to_owned())
}

const PASS: &str = "pass";
const TIMING: &str = "contract timing";
const RESULT: &str = "contract result";
const STREAM: &str = "contract stream";

#[rstest]
#[case::in_time("{within: 500}", PASS)]
#[case::within_the_tolerance("{within: 160}", PASS)]
#[case::late("{within: 149}", TIMING)]
#[case::not_early("{not_before: 400}", PASS)]
#[case::early_by_nothing("{not_before: 401}", TIMING)]
#[case::both("{not_before: 400, within: 400}", PASS)]
#[case::an_event_is_exact("{from: {during: 1}, not_before: 300}", PASS)]
#[case::and_not_forgiven("{from: {during: 1}, not_before: 301}", TIMING)]
#[case::a_mark_is_heard_late("{from: {mark: term}, not_before: 250}", PASS)]
#[case::but_not_that_late("{from: {mark: term}, not_before: 251}", TIMING)]
#[case::at_the_end_of_the_tolerance("{within: 150}", PASS)]
#[case::at_once("{from: {mark: term}, to: {mark: also}, within: 1}", PASS)]
#[case::between("{from: ready, to: {mark: term}, within: 1}", PASS)]
#[case::in_the_wrong_order("{from: {mark: term}, to: ready, within: 900}", TIMING)]
#[case::never_said("{to: {mark: other}, within: 900}", TIMING)]
#[case::from_what_never_was("{from: {mark: other}, within: 900}", TIMING)]
fn bounds_are_kept_or_not(#[case] bound: &str, #[case] wanted: &str) {
    let during = "during: [{when: ready, signal: TERM}]";
    let seen = judged(&format!("times: [{bound}]"), during, |run| {
        run.moments = vec![
            stamp(Moment::Start, 0.0),
            stamp(Moment::Ready, 90.0),
            stamp(Moment::During(1), 100.0),
            stamp(mark("term"), 200.0),
            stamp(mark("also"), 200.0),
            stamp(Moment::Exit, 400.0),
        ];
    });
    assert_eq!(seen, wanted);
}

#[rstest]
#[case::long_after_its_time("{within: 500}", TIMING)]
#[case::not_yet_late("{within: 19900}", "inconclusive timed-out")]
#[case::late_by_nothing("{within: 19750}", "inconclusive timed-out")]
#[case::from_later("{from: ready, within: 19745}", "inconclusive timed-out")]
#[case::only_never_early("{not_before: 500}", "inconclusive timed-out")]
#[case::from_what_never_was("{from: {mark: term}, within: 500}", "inconclusive timed-out")]
#[case::what_was_in_time("{to: ready, within: 500}", "inconclusive timed-out")]
fn who_is_given_up_is_late_where_it_was_due(#[case] bound: &str, #[case] wanted: &str) {
    let seen = judged(&format!("times: [{bound}]"), "", |run| {
        run.exit = ProcessExit::TimedOut;
        run.watched_ms = 20_000.0;
        run.moments = vec![stamp(Moment::Start, 0.0), stamp(Moment::Ready, 10.0)];
    });
    assert_eq!(seen, wanted);
}

#[test]
fn what_is_wrong_for_certain_comes_before_what_is_late() {
    let seen = judged("times: [{within: 1}], stdout: {contains: [said]}", "", |run| {
        run.moments = vec![stamp(Moment::Start, 0.0), stamp(Moment::Exit, 900.0)];
    });
    assert_eq!(seen, STREAM);
}

#[rstest]
#[case("started: true")]
#[case("success: false")]
#[case("exit_code: null")]
#[case("signal: null")]
#[case("timed_out: true")]
#[case("interrupted_by: null")]
#[case("annotations: [process timed out]")]
#[case("inferred: []")]
#[case("enforced: [supervise.timeout]")]
#[case("truncated: false")]
#[case("error: null")]
#[case("duration: {not_before: 300, within: 300}")]
#[case("duration: {within: 60}")]
#[case("duration: {within: 50}")]
fn a_result_that_says_so_passes(#[case] member: &str) {
    let seen = judged(&format!("exit: 124, result: {{{member}}}"), CONTROLLESS, timed_out);
    assert_eq!(seen, PASS);
}

#[rstest]
#[case("started: false", RESULT)]
#[case("success: true", RESULT)]
#[case("exit_code: 124", RESULT)]
#[case("signal: TERM", RESULT)]
#[case("timed_out: false", RESULT)]
#[case("interrupted_by: TERM", RESULT)]
#[case("annotations: []", RESULT)]
#[case("annotations: [process timed out, process timed out]", RESULT)]
#[case("inferred: [git_metadata_write]", RESULT)]
#[case("enforced: [supervise.timeout, fs.write]", RESULT)]
#[case("enforced: [net.none]", RESULT)]
#[case("truncated: true", RESULT)]
#[case("error: {kind: stdin}", RESULT)]
#[case("duration: {not_before: 301}", TIMING)]
#[case("duration: {within: 49}", TIMING)]
fn a_result_that_says_otherwise_breaks_the_contract(#[case] member: &str, #[case] wanted: &str) {
    let seen = judged(&format!("exit: 124, result: {{{member}}}"), CONTROLLESS, timed_out);
    assert_eq!(seen, wanted);
}

const CONTROLLESS: &str = "control: {none: without a sandbox there is no time limit}";

fn timed_out(run: &mut RunReport) {
    run.exit = ProcessExit::Code(124);
    run.result = Some(RunResult {
        timed_out: true,
        enforced: [
            ("supervise.timeout".to_owned(), ClaimLevel::Enforced),
            ("net.none".to_owned(), ClaimLevel::None),
        ]
        .into(),
        annotations: vec!["process timed out".to_owned()],
        truncated: Some(false),
        duration_ms: 300,
        ..result(None, None)
    });
}

#[rstest]
#[case::the_kind("{kind: stdin}", PASS)]
#[case::another_kind("{kind: spawn}", RESULT)]
#[case::the_words("{contains: ['process stdin: Broken']}", PASS)]
#[case::other_words("{contains: [failed to spawn]}", RESULT)]
#[case::none_at_all("null", RESULT)]
fn an_error_has_kind_and_words(#[case] error: &str, #[case] wanted: &str) {
    let seen = judged(&format!("result: {{error: {error}}}"), "", |run| {
        let message = "failed to write process stdin: Broken pipe".to_owned();
        let error = RunError { kind: ErrorKind::Stdin, message, file: None, line: None };
        run.result = Some(RunResult { error: Some(error), ..result(Some(0), None) });
    });
    assert_eq!(seen, wanted);
}

#[test]
fn without_results_nothing_is_promised_but_a_missing_one_is_a_fault() {
    let asked = "result: {timed_out: true}";
    assert_eq!(judged(asked, "", |_| {}), PASS);
    let killed = judged(&format!("{asked}, exit: {{signal: KILL}}"), CONTROLLESS, |run| {
        run.exit = ProcessExit::Signal(9);
        run.result_fault = Some("no result was written".to_owned());
    });
    assert_eq!(killed, RESULT);
}

#[rstest]
#[case::as_promised(143, "SIGTERM", None, false, PASS)]
#[case::by_another_signal(143, "SIGINT", None, false, RESULT)]
#[case::by_no_signal(143, "TERM", None, false, RESULT)]
#[case::with_a_code_of_its_own(9, "SIGTERM", Some(9), false, RESULT)]
#[case::with_success(143, "SIGTERM", Some(0), true, RESULT)]
fn an_interrupted_run_ends_by_its_signal(
    #[case] exit: i32,
    #[case] by: &str,
    #[case] code: Option<i32>,
    #[case] success: bool,
    #[case] wanted: &str,
) {
    let seen = judged(&format!("exit: {exit}"), CONTROLLESS, |run| {
        run.exit = ProcessExit::Code(exit);
        let interrupted_by = Some(by.to_owned());
        run.result = Some(RunResult { interrupted_by, success, ..result(code, None) });
    });
    assert_eq!(seen, wanted);
}

#[test]
fn a_timed_out_run_has_no_exit_code() {
    let seen = judged("exit: 124", CONTROLLESS, |run| {
        timed_out(run);
        run.result.as_mut().unwrap().exit_code = Some(124);
    });
    assert_eq!(seen, RESULT);
}

fn whole(text: &str) -> CapturedStream {
    CapturedStream { sha256: format!("{:x}", Sha256::digest(text)), ..super::text(text) }
}

#[rstest]
#[case::the_whole("stderr: {equals: \"boom\\nprocess timed out\"}", PASS)]
#[case::less_than_the_whole("stderr: {equals: process timed out}", STREAM)]
#[case::more_than_the_whole("stderr: {equals: \"boom\\nprocess timed out\\n\"}", STREAM)]
fn a_stream_can_be_told_whole(#[case] more: &str, #[case] wanted: &str) {
    let seen = judged(more, "", |run| run.stderr = whole("boom\nprocess timed out"));
    assert_eq!(seen, wanted);
}

/// A command that was never started has written nothing.
#[test]
fn nothing_is_a_whole_text_too() {
    assert_eq!(
        judged("stdout: {equals: \"\"}", "", |run| run.stdout = CapturedStream::default()),
        PASS
    );
}

#[rstest]
#[case::quiet("", "", "", PASS)]
#[case::passed_on("", "said", "", STREAM)]
#[case::shown(", shown: {equals: said}", "", "said", PASS)]
#[case::not_shown(", shown: {equals: said}", "", "", STREAM)]
fn what_is_captured_is_not_passed_on(
    #[case] more: &str,
    #[case] out: &str,
    #[case] err: &str,
    #[case] wanted: &str,
) {
    let seen = judged(&format!("exit: 0{more}"), "run: {capture: true, debug: true}", |run| {
        run.shown = Some(OwnOutput { stdout: whole(out), stderr: whole(err) });
    });
    assert_eq!(seen, wanted);
}

#[rstest]
#[case::with_a_trace("exit: 124", "{exists: g}, ", true, PASS)]
#[case::without_the_trace("exit: 124", "{exists: g}, ", false, "inconclusive no-trace")]
#[case::that_asks_for_none("exit: 124", "", true, "inconclusive no-reason")]
#[case::in_some_way("exit: nonzero", "{exists: g}, ", true, "inconclusive no-reason")]
fn who_is_cut_short_inside_ran_if_it_left_its_trace(
    #[case] exit: &str,
    #[case] trace: &str,
    #[case] there: bool,
    #[case] wanted: &str,
) {
    let text = TOOL_CONTAINED.replace("oracle: [", &format!("{exit}, oracle: [{trace}"));
    let case = case(&text);
    let mut execution = good(&case);
    first(&mut execution).exit = ProcessExit::Code(124);
    for reading in confined(&mut execution).oracles.iter_mut().filter(|reading| reading.positive) {
        reading.holds = there;
    }
    let judgement = judge_act(&case, &execution);
    assert_eq!(format!("{} {}", judgement.verdict.keyword(), judgement.reason).trim(), wanted);
}

#[rstest]
#[case::the_signal("signal: TERM", PASS)]
#[case::another("signal: KILL", RESULT)]
fn a_result_names_the_signal(#[case] member: &str, #[case] wanted: &str) {
    let more = format!("exit: {{signal: TERM}}, result: {{{member}}}");
    let control = "control: {none: it ends otherwise by itself}";
    let seen = judged(&more, control, |run| {
        run.exit = ProcessExit::Code(143);
        run.result = Some(result(None, Some(15)));
    });
    assert_eq!(seen, wanted);
}

#[rstest]
#[case::as_promised("[a]", PASS)]
#[case::another_grant("[b]", RESULT)]
#[case::one_more("[a, b]", RESULT)]
fn a_result_has_the_grants_that_were_inferred(#[case] grants: &str, #[case] wanted: &str) {
    let seen = judged(&format!("exit: 0, result: {{inferred: {grants}}}"), "", |run| {
        let inferred = boxproof_cases::protocol::InferredGrants {
            granted: vec!["a".to_owned()],
            subcommand: None,
            because: "so".to_owned(),
        };
        run.result = Some(RunResult { inferred: Some(inferred), ..result(Some(0), None) });
    });
    assert_eq!(seen, wanted);
}

#[rstest]
#[case::lost_as_it_may_be("result: {lost: true}", PASS)]
#[case::lost("result: {started: true}", RESULT)]
fn a_result_is_lost_where_it_may_be(#[case] more: &str, #[case] wanted: &str) {
    let seen = judged(more, "fixture: {res: {dir: {}}}\nrun: {result: res/r.json}", |run| {
        run.result_fault = Some("it was cut".to_owned());
    });
    assert_eq!(seen, wanted);
}

/// The launcher or the backend is signalled, and a signal ends the backend although its result
/// says success.
#[rstest]
#[case::the_launcher_is_killed("KILL, to: launcher", "pass")]
#[case::the_launcher_is_told("TERM, to: launcher", RESULT)]
#[case::the_backend_is_killed("KILL", RESULT)]
fn a_launcher_s_end_is_not_the_backend_s(#[case] signal: &str, #[case] wanted: &str) {
    let lines = format!(
        "launcher: {{apart: true}}\nduring: [{{when: start, signal: {signal}}}]\n\
         control: {{none: it is a test}}"
    );
    let seen = judged("exit: {signal: KILL}", &lines, |run| {
        run.exit = ProcessExit::Signal(9);
        run.result = Some(result(Some(0), None));
        run.result.as_mut().unwrap().success = true;
    });
    assert_eq!(seen, wanted);
}
