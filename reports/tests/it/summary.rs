//! The summary line.

use boxproof_reports::{CaseRow, TwinState, Verdict, summary_line};
use rstest::rstest;

use crate::sample::{bad, row};

fn passes(twins: &[TwinState]) -> Vec<CaseRow> {
    twins.iter().map(|twin| CaseRow { twin: *twin, ..row("fs/a", "box") }).collect()
}

#[test]
fn counts_that_are_zero_are_left_out_except_pass() {
    assert_eq!(summary_line(&[]), "0 cases: 0 pass");
    let unsupported = bad("fs/a", "box", Verdict::Unsupported, "x");
    assert_eq!(summary_line([&unsupported]), "1 cases: 0 pass, 1 unsupported");
}

#[test]
fn counts_are_in_report_order_whatever_the_order_of_rows() {
    let mut rows: Vec<CaseRow> =
        Verdict::ALL.iter().rev().map(|v| bad("fs/a", "box", *v, "x")).collect();
    rows.push(bad("fs/b", "box", Verdict::UnderBlock, "x"));
    assert_eq!(
        summary_line(&rows),
        "14 cases: 1 pass, 2 under-block, 1 over-block, 1 contract, 1 leak, 1 contradiction, \
         1 gap, 1 inconclusive, 1 probe-broken, 1 unsupported, 1 not-applicable, 1 skipped, \
         1 error"
    );
}

#[rstest]
#[case(&[TwinState::Shown, TwinState::NotNeeded], "2 cases: 2 pass")]
#[case(&[TwinState::Shown, TwinState::None], "2 cases: 2 pass (1 passes without twin)")]
#[case(&[TwinState::Inexpressible], "1 cases: 1 pass (1 passes with inexpressible twin)")]
#[case(&[TwinState::None, TwinState::Inexpressible],
    "2 cases: 2 pass (1 passes without twin, 1 with inexpressible twin)")]
fn passes_without_a_twin_are_a_number_of_their_own(
    #[case] twins: &[TwinState],
    #[case] line: &str,
) {
    assert_eq!(summary_line(&passes(twins)), line);
}

#[test]
fn only_passes_count_as_passes_without_twin() {
    let failed = CaseRow { twin: TwinState::None, ..bad("fs/a", "box", Verdict::Leak, "left") };
    assert_eq!(summary_line([&failed]), "1 cases: 0 pass, 1 leak");
}
