//! Properties of every kind of case: silence is never an answer, and the graver finding wins.

use boxproof_reports::Verdict;
use rstest::rstest;

use super::*;

/// Ways to learn nothing of the confined arm.
const SILENCES: [(&str, Spoil); 6] = [
    ("no runs", |e| confined(e).runs.clear()),
    ("no readings", |e| confined(e).oracles.clear()),
    ("too late", |e| each(e, |run| run.exit = ProcessExit::TimedOut)),
    ("not found", |e| each(e, not_found)),
    ("silence", |e| each(e, silent)),
    ("nothing there", |e| {
        each(e, |run| {
            if let ProbeObservation::Seen(record) = &mut run.observation {
                record.outcome = refusal("ENOENT");
            }
            run.exit = ProcessExit::Code(1);
            run.stderr = text("No such file or directory");
            run.result = None;
        });
    }),
];

fn each(execution: &mut ArmSet, spoil: fn(&mut RunReport)) {
    confined(execution).runs.iter_mut().for_each(spoil);
}

/// The command's program is not there.
fn not_found(run: &mut RunReport) {
    silent(run);
    run.exit = ProcessExit::Code(127);
    run.stderr = text("sh: 1: tool: not found");
}

/// Empties everything that could be observed.
fn silent(run: &mut RunReport) {
    if matches!(run.observation, ProbeObservation::Seen(_)) {
        run.observation = ProbeObservation::Missing;
    }
    run.exit = ProcessExit::Code(1);
    run.stderr = CapturedStream::default();
    run.result = None;
}

#[rstest]
fn nothing_learnt_is_never_a_pass(
    #[values(DENIED, TOLD, CONTAINED, TOOL_CONTAINED, REFUSED, ALLOWED, TOOL, SURVIVORS)]
    kind: &str,
) {
    let case = case(kind);
    assert_eq!(judge_act(&case, &good(&case)).verdict, Verdict::Pass, "{kind}");
    for (name, spoil) in SILENCES {
        let mut execution = good(&case);
        spoil(&mut execution);
        let judgement = judge_act(&case, &execution);
        assert_ne!(judgement.verdict, Verdict::Pass, "{name}: {kind}");
        // Nor is it a denial: a probe that said nothing was not refused anything.
        if case.act().is_probe() && kind != REFUSED && name != "nothing there" {
            assert!(judgement.verdict.is_unlearnt(), "{name}: {kind}: {judgement:?}");
        }
    }
}

#[rstest]
fn an_arm_that_is_missing_is_never_a_pass(
    #[values(DENIED, TOLD, CONTAINED, TOOL_CONTAINED, REFUSED, ALLOWED, TOOL)] kind: &str,
    #[values(ArmKind::Control, ArmKind::Twin)] which: ArmKind,
    #[values(None, Some(ArmRecord::Fault("no disk".into())))] instead: Option<ArmRecord>,
) {
    let case = case(kind);
    let mut execution = good(&case);
    let needed = which != ArmKind::Twin || execution.twin.is_some();
    match which {
        ArmKind::Control => execution.control = instead,
        _ => execution.twin = instead,
    }
    let verdict = if needed { Verdict::Error } else { Verdict::Pass };
    assert_eq!(judge_act(&case, &execution).verdict, verdict);
}

/// Findings from the gravest to the lightest; each spoils an execution of [`DENIED`] repeated.
const GRAVITY: [(Verdict, Spoil); 5] = [
    (Verdict::UnderBlock, |e| flip(confined(e))),
    (Verdict::Leak, |e| confined(e).leaks.push("process 7".to_owned())),
    (Verdict::Contract, |e| saw(e, ActOutcome::Succeeded)),
    (Verdict::Error, |e| unset_up(&mut confined(e).runs[1], "no namespace")),
    (Verdict::Inconclusive, |e| confined(e).runs[2].exit = ProcessExit::TimedOut),
];

#[test]
fn the_gravest_finding_is_told() {
    let case = case(&format!("{DENIED}repeat: 3\n"));
    for spoilt in 1_u32..1 << GRAVITY.len() {
        let chosen = |at: usize| spoilt & (1 << at) != 0;
        // A run that was ended by force excuses what is left of it.
        if chosen(1) && chosen(4) {
            continue;
        }
        let mut execution = good(&case);
        let spoils = GRAVITY.iter().enumerate().filter(|(at, _)| chosen(*at));
        spoils.for_each(|(_, (_, spoil))| spoil(&mut execution));
        let gravest = GRAVITY[spoilt.trailing_zeros() as usize].0;
        assert_eq!(judge_act(&case, &execution).verdict, gravest, "{spoilt:b}");
    }
}

#[rstest]
#[case::residue_outweighs_a_broken_promise(|e: &mut ArmSet| {
    confined(e).appeared.push("$WS/.stub".to_owned());
    first(e).exit = ProcessExit::Code(0);
}, Verdict::Leak)]
#[case::a_leak_outweighs_a_refused_twin(|e: &mut ArmSet| {
    flip(arm(&mut e.twin));
    arm(&mut e.twin).leaks.push("process 7".to_owned());
}, Verdict::Leak)]
#[case::an_effect_outweighs_a_leak_of_the_twin(|e: &mut ArmSet| {
    flip(confined(e));
    arm(&mut e.twin).leaks.push("process 7".to_owned());
}, Verdict::UnderBlock)]
#[case::a_leak_outweighs_a_failed_control(|e: &mut ArmSet| {
    flip(arm(&mut e.control));
    confined(e).leaks.push("process 7".to_owned());
}, Verdict::Leak)]
#[case::a_refused_twin_teaches_nothing_without_a_control(|e: &mut ArmSet| {
    flip(arm(&mut e.control));
    flip(arm(&mut e.twin));
}, Verdict::Inconclusive)]
fn what_was_seen_outweighs(#[case] spoil: fn(&mut ArmSet), #[case] verdict: Verdict) {
    let case = case(DENIED);
    let mut execution = good(&case);
    spoil(&mut execution);
    assert_eq!(judge_act(&case, &execution).verdict, verdict);
}

#[rstest]
fn a_denial_that_opens_once_is_a_failure(#[values(0, 1, 2, 3, 4)] at: usize) {
    let case = case(&format!("{DENIED}repeat: 5\n"));
    let mut execution = good(&case);
    // Every other run teaches nothing; the one that opens still counts.
    each(&mut execution, |run| run.observation = ProbeObservation::Missing);
    let run = &mut confined(&mut execution).runs[at];
    *run = succeeded(&case);
    let judgement = judge_act(&case, &execution);
    assert_eq!((judgement.verdict, judgement.reason.as_str()), (Verdict::Contract, "not-refused"));
}

#[rstest]
#[case::signal_and_its_code(ProcessExit::Signal(9), ProcessExit::Code(137), None, Verdict::Pass)]
#[case::the_same_signal(ProcessExit::Signal(9), ProcessExit::Signal(9), None, Verdict::Pass)]
#[case::the_same_code(ProcessExit::Code(137), ProcessExit::Code(137), None, Verdict::Pass)]
#[case::named_and_right(ProcessExit::Signal(9), ProcessExit::Code(137), Some(9), Verdict::Pass)]
#[case::another_signal(ProcessExit::Signal(9), ProcessExit::Code(143), None, Verdict::Contract)]
#[case::named_and_wrong(
    ProcessExit::Signal(9),
    ProcessExit::Code(137),
    Some(15),
    Verdict::Contract
)]
#[case::named_where_the_command_only_exits(
    ProcessExit::Code(137),
    ProcessExit::Code(137),
    Some(9),
    Verdict::Contract
)]
fn a_signal_is_its_shell_code_unless_it_is_named(
    #[case] control: ProcessExit,
    #[case] confined: ProcessExit,
    #[case] named: Option<i32>,
    #[case] verdict: Verdict,
) {
    let case = case("act: {probe: hold}\nexpect: {allowed: {}}\n");
    let mut execution = good(&case);
    arm(&mut execution.control).runs[0].exit = control;
    first(&mut execution).exit = confined;
    first(&mut execution).result = named.map(|signal| result(None, Some(signal)));
    assert_eq!(judge_act(&case, &execution).verdict, verdict);
}

/// The tricks of a backend that does nothing, and wants to look good.
#[rstest]
#[case::nothing_done_exit_0(DENIED, |run: &mut RunReport| {
    run.observation = ProbeObservation::Missing;
    run.exit = ProcessExit::Code(0);
})]
#[case::the_probe_is_killed(DENIED, |run: &mut RunReport| {
    run.observation = ProbeObservation::Missing;
    run.exit = ProcessExit::Signal(31);
})]
#[case::a_record_forged_beside_the_real_one(DENIED, |run: &mut RunReport| {
    run.observation = ProbeObservation::Untrusted("several records under our nonce".to_owned());
})]
#[case::a_record_of_some_other_act(DENIED, |run: &mut RunReport| {
    let ProbeObservation::Seen(record) = &mut run.observation else { panic!("no record") };
    record.probe = "read".to_owned();
})]
#[case::the_words_without_the_failure(TOLD, |run: &mut RunReport| run.exit = ProcessExit::Code(0))]
#[case::the_words_where_nothing_was_executed(TOLD, |run: &mut RunReport| run.exit = ProcessExit::Code(126))]
#[case::delay(CONTAINED, |run: &mut RunReport| run.exit = ProcessExit::TimedOut)]
#[case::set_up_that_always_fails(REFUSED, |run: &mut RunReport| {
    run.result = Some(not_started(ErrorKind::Setup));
})]
#[case::not_started_without_a_reason(REFUSED, |run: &mut RunReport| {
    run.result = Some(RunResult { error: None, ..not_started(ErrorKind::Unsupported) });
})]
#[case::a_result_withheld(DENIED, |run: &mut RunReport| run.result_fault = Some("none".to_owned()))]
fn tricks_do_not_pass(#[case] kind: &str, #[case] spoil: fn(&mut RunReport)) {
    let case = case(kind);
    let mut execution = good(&case);
    spoil(first(&mut execution));
    assert_ne!(judge_act(&case, &execution).verdict, Verdict::Pass);
}
