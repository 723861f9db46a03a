//! Attempts that a probe counts.

use boxproof_probes::DetailValue;

use super::*;

#[test]
fn a_denial_that_opens_once_is_a_failure_with_the_count_and_its_interval() {
    let case = case(DENIED);
    let mut arms = good(&case);
    let lost = confined(&mut arms);
    lost.oracles[0].holds = false;
    let ProbeObservation::Seen(record) = &mut lost.runs[0].observation else { unreachable!() };
    record.outcome = ActOutcome::Succeeded;
    for (name, count) in [("opened", 1), ("tries", 2000)] {
        record.detail.insert(name.to_owned(), DetailValue::Number(count));
    }
    let judgement = judge_act(&case, &arms);
    assert_eq!(judgement.verdict.keyword(), "under-block");
    assert_eq!(
        judgement.message,
        "`unchanged f` does not hold: what it saw; 1 of 2000 attempts opened it, 0.05 % [0.01, \
         0.28] (95 %)"
    );
}
