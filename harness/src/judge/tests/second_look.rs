//! The second look at each kind of case: as promised, and spoilt in one way.

use boxproof_reports::Verdict;
use rstest::rstest;

use super::*;
use crate::judge::{LookedAgain, look_again};

/// Nothing of the ordinary program is promised but that the host sees no effect.
const NO_TWIN: &str = "fixture: {f: x}
act: {sh: 'echo y > f'}
expect: {denied: {errno: [EROFS]}, oracle: [{unchanged: f}]}
twin: {none: it is a test}
control: {none: it is a test}
";

/// The outcome in a word: `as-promised`, `unable`, or the verdict.
fn outcome(text: &str, spoil: fn(&mut ArmSet)) -> String {
    let case = case(text);
    let mut execution = good(&case);
    spoil(&mut execution);
    match look_again(&case, &CaseExecution::Arms(execution)) {
        LookedAgain::AsPromised => "as-promised".to_owned(),
        LookedAgain::Unable(why) => format!("unable: {why}"),
        LookedAgain::Otherwise { verdict, .. } => verdict.keyword().to_owned(),
    }
}

const PROMISED: &str = "as-promised";
const NOT_HERE: &str = "unable: the ordinary program does not run here";
const NO_EFFECT: &str = "unable: the ordinary program has no such effect";
const NO_PAIR: &str = "unable: it has neither control nor twin";

#[rstest]
#[case::denied(TOLD, |_: &mut ArmSet| {}, PROMISED)]
#[case::contained(TOOL_CONTAINED, |_: &mut ArmSet| {}, PROMISED)]
#[case::allowed(TOOL, |_: &mut ArmSet| {}, PROMISED)]
#[case::not_executed(TOLD, |e: &mut ArmSet| arm(&mut e.control).runs[0].exit = ProcessExit::Code(127), NOT_HERE)]
#[case::another_exit(TOLD, |e: &mut ArmSet| arm(&mut e.control).runs[0].exit = ProcessExit::Code(1), PROMISED)]
#[case::given_up(TOLD, |e: &mut ArmSet| arm(&mut e.control).runs[0].exit = ProcessExit::TimedOut, NOT_HERE)]
#[case::not_prepared(TOLD, |e: &mut ArmSet| broke(arm(&mut e.control), |_| {}), NOT_HERE)]
#[case::without_effect(TOLD, |e: &mut ArmSet| flip(arm(&mut e.control)), NO_EFFECT)]
#[case::allowed_without_effect(TOOL, |e: &mut ArmSet| flip(arm(&mut e.control)), NO_EFFECT)]
#[case::no_pair(NO_TWIN, |e: &mut ArmSet| e.control = None, NO_PAIR)]
fn ordinary_programs_can_do_the_act_or_the_look_is_none(
    #[case] text: &str,
    #[case] spoil: fn(&mut ArmSet),
    #[case] seen: &str,
) {
    assert_eq!(outcome(text, spoil), seen);
}

#[test]
fn an_allowed_act_without_a_control_is_looked_at() {
    let text = format!("{TOOL}control: {{none: it is a test}}\n");
    assert_eq!(outcome(&text, |e| e.control = None), PROMISED);
}

#[test]
fn a_twin_stands_for_a_control_that_cannot_be_had() {
    let text = format!("{TOLD}control: {{none: it is a test}}\n");
    assert_eq!(outcome(&text, |e| e.control = None), PROMISED);
    assert_eq!(
        outcome(&text, |e| {
            e.control = None;
            flip(arm(&mut e.twin));
        }),
        "over-block"
    );
}

#[rstest]
#[case::the_effect(TOLD, |e: &mut ArmSet| flip(confined(e)), Verdict::UnderBlock)]
#[case::a_leak(TOLD, |e: &mut ArmSet| confined(e).leaks.push("process 7".into()), Verdict::Leak)]
#[case::a_leak_of_the_twin(TOLD, |e: &mut ArmSet| arm(&mut e.twin).leaks.push("process 7".into()), Verdict::Leak)]
#[case::a_step(TOLD, |e: &mut ArmSet| broke(confined(e), |_| {}), Verdict::Inconclusive)]
#[case::not_started(TOLD, |e: &mut ArmSet| unset_up(first(e), "no"), Verdict::Error)]
#[case::nothing_ran(TOLD, |e: &mut ArmSet| confined(e).runs.clear(), Verdict::Inconclusive)]
#[case::the_twin_is_held(TOLD, |e: &mut ArmSet| flip(arm(&mut e.twin)), Verdict::OverBlock)]
#[case::the_twin_is_late(TOLD, |e: &mut ArmSet| arm(&mut e.twin).runs[0].exit = ProcessExit::TimedOut, Verdict::Inconclusive)]
#[case::another_end(TOOL, |e: &mut ArmSet| first(e).exit = ProcessExit::Code(1), Verdict::OverBlock)]
#[case::no_effect(TOOL, |e: &mut ArmSet| flip(confined(e)), Verdict::OverBlock)]
fn what_differs_has_a_verdict(
    #[case] text: &str,
    #[case] spoil: fn(&mut ArmSet),
    #[case] verdict: Verdict,
) {
    assert_eq!(outcome(text, spoil), verdict.keyword());
}

/// A tool's act that must show no effect, and leaves a trace.
const TRACED: &str = "fixture: {f: x}
act: {sh: 'echo z > g; echo y > f'}
expect: {contained: {}, oracle: [{unchanged: f}, {exists: g}, {exists: h}]}
twin: {mode: workspace_write}
";

/// Which of the two traces the control and the confined arm leave.
fn traces(control: [bool; 2], confined_arm: [bool; 2]) -> String {
    let case = case(TRACED);
    let mut execution = good(&case);
    for (report, left) in both(&mut execution).into_iter().zip([control, confined_arm]) {
        (report.oracles[1].holds, report.oracles[2].holds) = (left[0], left[1]);
    }
    match look_again(&case, &CaseExecution::Arms(execution)) {
        LookedAgain::Otherwise { verdict, saw } => format!("{}: {saw}", verdict.keyword()),
        LookedAgain::AsPromised => PROMISED.to_owned(),
        LookedAgain::Unable(why) => why,
    }
}

#[test]
fn a_trace_counts_where_the_control_leaves_it() {
    assert_eq!(traces([true, true], [true, true]), PROMISED);
    assert!(traces([true, true], [true, false]).starts_with("contract"));
    assert_eq!(traces([true, false], [true, false]), PROMISED);
    assert!(traces([true, false], [false, true]).starts_with("contract"));
    assert_eq!(traces([false, true], [false, true]), PROMISED);
}

#[test]
fn answers_are_not_looked_at_again() {
    let reply = crate::execution::QueryReply::Silent("it crashed".to_owned());
    let looked = look_again(&case(TOLD), &CaseExecution::Answer(reply));
    assert_eq!(looked, LookedAgain::Unable("it executes no program".to_owned()));
}
