//! Which rows must be seen, and as what.

use boxproof_reports::findings::Kind;
use boxproof_reports::{CaseRow, Outcome, Verdict};
use rstest::rstest;

use crate::sample::bad;

#[rstest]
#[case(Verdict::Pass, Outcome::Expected, None)]
#[case(Verdict::Pass, Outcome::Xpass, Some(Kind::Xpass))]
#[case(Verdict::UnderBlock, Outcome::Unexpected, Some(Kind::Failure))]
#[case(Verdict::UnderBlock, Outcome::Expected, Some(Kind::Failure))]
#[case(Verdict::UnderBlock, Outcome::Xfail, Some(Kind::Known))]
#[case(Verdict::Inconclusive, Outcome::Expected, Some(Kind::Unlearnt))]
#[case(Verdict::Error, Outcome::Unexpected, Some(Kind::Unlearnt))]
#[case(Verdict::Inconclusive, Outcome::Xfail, Some(Kind::Known))]
#[case(Verdict::Unsupported, Outcome::Expected, None)]
#[case(Verdict::Unsupported, Outcome::Unexpected, Some(Kind::Failure))]
fn why_a_row_must_be_seen(
    #[case] verdict: Verdict,
    #[case] outcome: Outcome,
    #[case] kind: Option<Kind>,
) {
    let row = CaseRow { outcome, ..bad("fs/a", "box", verdict, "") };
    assert_eq!(Kind::of(&row), kind);
}
