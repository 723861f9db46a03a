//! What is concluded of a case that is run where the backend does not claim what the case is about:
//! [`unclaimed`].

use boxproof_cases::{Capability, Case};
use boxproof_reports::Verdict;

use super::Judgement;

/// Returns `judgement` as a statement on `capability`, which the backend does not claim. An effect that
/// gets through is a gap; a denial that holds, or an allowance that works, contradicts the manifest. A
/// denial that refuses its own twin, too, tells neither.
pub fn unclaimed(case: &Case, judgement: &Judgement, capability: &Capability) -> Judgement {
    use Verdict::{Contract, Contradiction, Gap, Leak, OverBlock, Pass, UnderBlock, Unsupported};
    let is_denial = case.expect.decision.is_negative();
    let verdict = match judgement.verdict {
        Pass => Contradiction,
        Contract if is_denial => Contradiction,
        OverBlock if is_denial => Unsupported,
        UnderBlock | OverBlock | Contract | Leak => Gap,
        _ => Unsupported,
    };
    let message = match (verdict, judgement.message.as_str()) {
        (Contradiction, "") => format!("it does what {capability} promises, and does not claim it"),
        (Contradiction, why) => {
            format!("it does what {capability} promises, and does not claim it; besides, {why}")
        }
        (_, why) => why.to_owned(),
    };
    Judgement { verdict, reason: capability.to_string(), message, twin: judgement.twin }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_reports::TwinState;
    use rstest::rstest;

    #[rstest]
    #[case("contained", Verdict::Pass, Verdict::Contradiction)]
    #[case("contained", Verdict::Contract, Verdict::Contradiction)]
    #[case("contained", Verdict::UnderBlock, Verdict::Gap)]
    #[case("contained", Verdict::Leak, Verdict::Gap)]
    #[case("contained", Verdict::OverBlock, Verdict::Unsupported)]
    #[case("allowed", Verdict::Pass, Verdict::Contradiction)]
    #[case("allowed", Verdict::OverBlock, Verdict::Gap)]
    #[case("allowed", Verdict::Contract, Verdict::Gap)]
    #[case("allowed", Verdict::Inconclusive, Verdict::Unsupported)]
    #[case("allowed", Verdict::ProbeBroken, Verdict::Unsupported)]
    #[case("allowed", Verdict::Error, Verdict::Unsupported)]
    #[case("allowed", Verdict::Unsupported, Verdict::Unsupported)]
    fn what_is_not_claimed_is_open_or_contradicts(
        #[case] decision: &str,
        #[case] judged: Verdict,
        #[case] verdict: Verdict,
    ) {
        let twin = if decision == "contained" { "twin: {none: a reason}\n" } else { "" };
        let expect = format!("expect: {{{decision}: {{}}, oracle: [{{absent: f}}]}}\n");
        let case = crate::testing::case(&format!("act: {{sh: 'true'}}\n{expect}{twin}"));
        let capability = Capability::new("net.none").unwrap();
        let (reason, message) = ("oracle".to_owned(), String::new());
        let judgement = Judgement { verdict: judged, reason, message, twin: TwinState::None };
        let found = unclaimed(&case, &judgement, &capability);
        assert_eq!((found.verdict, found.reason.as_str()), (verdict, "net.none"));
    }
}
