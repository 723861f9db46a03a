//! Which rows must be seen, and as what.

use boxproof_reports::findings::FindingKind;
use boxproof_reports::{CaseRow, Outcome, Verdict};
use rstest::rstest;

use crate::sample::bad;

#[rstest]
#[case(Verdict::Pass, Outcome::Expected, None)]
#[case(Verdict::Pass, Outcome::Xpass, Some(FindingKind::Xpass))]
#[case(Verdict::UnderBlock, Outcome::Unexpected, Some(FindingKind::Failure))]
#[case(Verdict::UnderBlock, Outcome::Expected, Some(FindingKind::Failure))]
#[case(Verdict::UnderBlock, Outcome::Xfail, Some(FindingKind::Known))]
#[case(Verdict::Inconclusive, Outcome::Expected, Some(FindingKind::Unlearnt))]
#[case(Verdict::Error, Outcome::Unexpected, Some(FindingKind::Unlearnt))]
#[case(Verdict::Inconclusive, Outcome::Xfail, Some(FindingKind::Known))]
#[case(Verdict::Unsupported, Outcome::Expected, None)]
#[case(Verdict::Unsupported, Outcome::Unexpected, Some(FindingKind::Failure))]
fn why_a_row_must_be_seen(
    #[case] verdict: Verdict,
    #[case] outcome: Outcome,
    #[case] kind: Option<FindingKind>,
) {
    let row = CaseRow { outcome, ..bad("fs/a", "box", verdict, "") };
    assert_eq!(FindingKind::from_row(&row), kind);
}
