//! Rows that passed on another try: kept in the record, counted, and told by every format.

use boxproof_reports::terminal::{self, TerminalOptions};
use boxproof_reports::{
    CaseRow, EarlierTry, ExitCode, ExitOptions, Outcome, RecordWriter, Verdict, exit_code, html,
    junit, markdown, merge, summary_line, tap,
};
use rstest::rstest;

use crate::sample::{backend, bad, header, row, run};

/// A row that passed, and whose first try was this one.
fn after(verdict: Verdict, reason: &str) -> CaseRow {
    let message = "start to exit: 2000.0 ms, too late for 500 ms".to_owned();
    let arms = bad("exec/quick", "box", verdict, reason).arms;
    let earlier = vec![EarlierTry { verdict, reason: reason.to_owned(), message, arms }];
    CaseRow { earlier, outcome: Outcome::Flaky, ..row("exec/quick", "box") }
}

#[test]
fn every_format_tells_both_tries() {
    let rows = [after(Verdict::Contract, "timing"), row("exec/other", "box")];
    let backends = [backend("box")];
    let matrix = [run(&header(&backends, &rows), &rows)];
    assert_eq!(matrix[0].rows, rows, "the record keeps them");
    let matrix = merge(&matrix).unwrap();
    let told = "start to exit: 2000.0 ms, too late for 500 ms";
    for page in [
        terminal::render(&matrix, TerminalOptions::default()),
        markdown::render(&matrix, markdown::GITHUB_BUDGET),
        html::render(&matrix),
    ] {
        assert!(page.contains(told) && page.contains("contract timing"), "{page}");
        assert!(page.contains("2 cases: 2 pass (1 flaky)"), "{page}");
        assert!(page.contains("1 passed on another try"), "{page}");
    }
    for page in [junit::render(&matrix), tap::render(&matrix)] {
        assert!(page.contains("contract timing"), "{page}");
    }
    assert_eq!(exit_code(&rows, ExitOptions::default(), &backends), ExitCode::Expected);
}

#[rstest]
#[case::same_verdict(Verdict::Pass, Outcome::Flaky, false)]
#[case::as_it_is(Verdict::Contract, Outcome::Flaky, true)]
#[case::not_called_so(Verdict::Contract, Outcome::Expected, true)]
fn only_tries_that_differ_are_flaky(
    #[case] first: Verdict,
    #[case] outcome: Outcome,
    #[case] is_flaky: bool,
) {
    let row = CaseRow { outcome, ..after(first, "timing") };
    assert_eq!(row.is_flaky(), is_flaky);
    assert_eq!(summary_line([&row]).contains("1 flaky"), is_flaky);
    let header = header(&[backend("box")], std::slice::from_ref(&row));
    let mut writer = RecordWriter::new(Vec::new(), &header).unwrap();
    assert_eq!(writer.row(&row).is_err(), !is_flaky && outcome == Outcome::Flaky);
}
