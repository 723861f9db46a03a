//! The exit code table.

use boxproof_reports::{
    BackendInfo, CaseRow, ExitCode, ExitOptions, Level, Outcome, Verdict, exit_code,
};
use rstest::rstest;

use crate::sample::{backend, bad, row};

const PLAIN: ExitOptions = ExitOptions { strict: false, allow_missing: false };
const STRICT: ExitOptions = ExitOptions { strict: true, allow_missing: false };
const LENIENT: ExitOptions = ExitOptions { strict: false, allow_missing: true };

fn pass() -> CaseRow {
    row("fs/pass", "box")
}

fn with(verdict: Verdict, outcome: Outcome, level: Level) -> CaseRow {
    CaseRow { outcome, level, ..bad("fs/other", "box", verdict, "why") }
}

fn absent() -> BackendInfo {
    BackendInfo { missing: Some("get it".into()), ..backend("absent") }
}

use ExitCode::{Expected as E0, Unexpected as E1, Unlearnt as E3, Vacuous as E4};
use Level::{May, Must, Should};
use Outcome::{Expected, Unexpected, Xfail, Xpass};
use Verdict::{
    Contract, Error, Inconclusive, Leak, NotApplicable, OverBlock, Pass, Skipped, UnderBlock,
    Unsupported,
};

#[rstest]
#[case(PLAIN, Pass, Expected, Must, E0)]
#[case(PLAIN, UnderBlock, Unexpected, Must, E1)]
#[case(PLAIN, OverBlock, Unexpected, Must, E1)]
#[case(PLAIN, Contract, Unexpected, Must, E1)]
#[case(PLAIN, Leak, Unexpected, Must, E1)]
#[case(PLAIN, UnderBlock, Unexpected, Should, E0)]
#[case(PLAIN, UnderBlock, Unexpected, May, E0)]
#[case(STRICT, UnderBlock, Unexpected, Should, E1)]
#[case(STRICT, UnderBlock, Unexpected, May, E1)]
#[case(STRICT, UnderBlock, Xfail, Must, E0)]
#[case(PLAIN, Pass, Xpass, Must, E1)]
#[case(PLAIN, Pass, Xpass, May, E1)]
#[case(PLAIN, Unsupported, Expected, Must, E0)]
#[case(PLAIN, NotApplicable, Expected, Must, E0)]
#[case(PLAIN, Skipped, Expected, Must, E0)]
#[case(PLAIN, Unsupported, Unexpected, Must, E1)]
#[case(PLAIN, Inconclusive, Expected, Must, E3)]
#[case(PLAIN, Inconclusive, Unexpected, Must, E3)]
#[case(PLAIN, Inconclusive, Unexpected, May, E3)]
#[case(STRICT, Inconclusive, Unexpected, Must, E3)]
#[case(PLAIN, Inconclusive, Xfail, Must, E0)]
#[case(PLAIN, Error, Expected, Must, E3)]
#[case(LENIENT, Error, Expected, Must, E3)]
fn one_row_beside_a_pass(
    #[case] options: ExitOptions,
    #[case] verdict: Verdict,
    #[case] outcome: Outcome,
    #[case] level: Level,
    #[case] code: ExitCode,
) {
    let rows = [pass(), with(verdict, outcome, level)];
    assert_eq!(exit_code(&rows, options, &[backend("box")]), code);
}

#[rstest]
#[case::nothing_selected(PLAIN, vec![], vec![backend("box")], E4)]
#[case::nothing_named(PLAIN, vec![], vec![], E4)]
#[case::no_judged_row(PLAIN, vec![with(Unsupported, Expected, Must)], vec![backend("box")], E4)]
#[case::one_backend_of_two(PLAIN, vec![pass()], vec![backend("box"), backend("bix")], E4)]
#[case::known_failure_is_judged(PLAIN, vec![with(Leak, Xfail, Must)], vec![backend("box")], E0)]
#[case::only_inconclusive(PLAIN, vec![with(Inconclusive, Expected, Must)], vec![backend("box")], E4)]
#[case::missing(PLAIN, vec![pass()], vec![backend("box"), absent()], E3)]
#[case::missing_allowed(LENIENT, vec![pass()], vec![backend("box"), absent()], E0)]
#[case::all_missing(PLAIN, vec![], vec![absent()], E3)]
#[case::all_missing_allowed(LENIENT, vec![], vec![absent()], E4)]
#[case::one_beats_four(PLAIN, vec![with(Leak, Unexpected, Must)], vec![backend("box"), backend("bix")], E1)]
#[case::one_beats_three(PLAIN, vec![with(Leak, Unexpected, Must)], vec![backend("box"), absent()], E1)]
#[case::four_beats_three(PLAIN, vec![pass()], vec![backend("box"), backend("bix"), absent()], E4)]
fn backends_as_a_whole(
    #[case] options: ExitOptions,
    #[case] rows: Vec<CaseRow>,
    #[case] backends: Vec<BackendInfo>,
    #[case] code: ExitCode,
) {
    assert_eq!(exit_code(&rows, options, &backends), code);
}

#[test]
fn the_numbers_are_the_documented_ones() {
    assert_eq!(ExitCode::ALL.map(ExitCode::code), [0, 1, 2, 3, 4, 5]);
}
