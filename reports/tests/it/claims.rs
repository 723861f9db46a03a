//! Claims against results.

use std::collections::BTreeMap;

use boxproof_reports::claims::{CapabilityClaim, ClaimStanding, all, table};
use boxproof_reports::terminal::{self, TerminalOptions};
use boxproof_reports::{
    CaseRow, Level, Matrix, Outcome, Run, TwinState, Verdict, html, markdown, merge,
};
use rstest::rstest;

use crate::sample::{backend, bad, header, run};

fn needing(verdict: Verdict) -> CaseRow {
    CaseRow { needs: vec!["cap".to_owned()], ..bad("fs/a", "box", verdict, "") }
}

fn claims(levels: &[(&str, &str)]) -> BTreeMap<String, String> {
    levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
}

#[rstest]
#[case("enforced", &[Verdict::Pass], ClaimStanding::Confirmed)]
#[case("enforced", &[Verdict::Pass, Verdict::UnderBlock], ClaimStanding::Over)]
#[case("enforced", &[Verdict::Pass, Verdict::Unsupported], ClaimStanding::Confirmed)]
#[case("partial", &[Verdict::Leak], ClaimStanding::Over)]
#[case("partial", &[Verdict::Pass, Verdict::Contract], ClaimStanding::Over)]
#[case("partial", &[Verdict::Pass], ClaimStanding::Under)]
#[case("partial", &[Verdict::Pass, Verdict::Unsupported], ClaimStanding::Confirmed)]
#[case("enforced", &[Verdict::Inconclusive], ClaimStanding::Unmeasured)]
#[case("enforced", &[Verdict::NotApplicable], ClaimStanding::Unmeasured)]
#[case("partial", &[], ClaimStanding::Unmeasured)]
#[case("none", &[Verdict::Unsupported], ClaimStanding::Absent)]
#[case("none", &[Verdict::Pass], ClaimStanding::Works)]
#[case("none", &[Verdict::UnderBlock], ClaimStanding::Absent)]
#[case("none", &[Verdict::Pass, Verdict::UnderBlock], ClaimStanding::Absent)]
fn one_capability(
    #[case] level: &str,
    #[case] verdicts: &[Verdict],
    #[case] standing: ClaimStanding,
) {
    let claims = claims(&[("cap", level)]);
    let rows: Vec<CaseRow> = verdicts.iter().map(|verdict| needing(*verdict)).collect();
    let found = all(&claims, rows.iter());
    assert_eq!(found.iter().map(CapabilityClaim::standing).collect::<Vec<_>>(), [standing]);
    let failed = verdicts.iter().filter(|verdict| verdict.is_failure()).count();
    assert_eq!(found[0].failed, vec!["fs/a"; failed]);
}

#[rstest]
#[case::of_the_twin(TwinState::Shown, "twin", ClaimStanding::Confirmed, 0)]
#[case::of_a_twin_not_expressed(TwinState::Inexpressible, "exit", ClaimStanding::Confirmed, 0)]
#[case::of_a_denial_without_one(TwinState::None, "exit", ClaimStanding::Confirmed, 0)]
#[case::of_what_is_allowed(TwinState::NotNeeded, "refused", ClaimStanding::Over, 1)]
fn a_refusal_counts_where_no_denial_was_asked_for(
    #[case] twin: TwinState,
    #[case] reason: &str,
    #[case] standing: ClaimStanding,
    #[case] failed: usize,
) {
    let refused = CaseRow { reason: reason.to_owned(), twin, ..needing(Verdict::OverBlock) };
    let rows = [refused, needing(Verdict::Pass)];
    let claims = claims(&[("cap", "enforced")]);
    let found = all(&claims, rows.iter());
    assert_eq!((found[0].standing(), found[0].failed.len()), (standing, failed));
}

#[rstest]
#[case::the_end_of_a_denial(TwinState::None, "exit", ClaimStanding::Confirmed)]
#[case::a_denial_that_lives_on(TwinState::None, "lived-on", ClaimStanding::Confirmed)]
#[case::a_denial_without_an_error(TwinState::Shown, "not-refused", ClaimStanding::Confirmed)]
#[case::a_policy_that_is_refused(TwinState::Shown, "policy-refused", ClaimStanding::Confirmed)]
#[case::the_rule_of_a_denial(TwinState::Shown, "rule", ClaimStanding::Over)]
#[case::the_end_of_what_is_allowed(TwinState::NotNeeded, "exit", ClaimStanding::Over)]
fn a_denial_that_holds_speaks_against_no_claim_by_its_end(
    #[case] twin: TwinState,
    #[case] reason: &str,
    #[case] standing: ClaimStanding,
) {
    let ended = CaseRow { reason: reason.to_owned(), twin, ..needing(Verdict::Contract) };
    let rows = [ended, needing(Verdict::Pass)];
    assert_eq!(all(&claims(&[("cap", "enforced")]), rows.iter())[0].standing(), standing);
}

#[test]
fn what_is_not_listed_is_not_claimed() {
    let (claims, row) = (claims(&[]), needing(Verdict::Pass));
    let found = all(&claims, [&row].into_iter());
    assert_eq!((found[0].level, found[0].standing()), ("none", ClaimStanding::Works));
}

#[test]
fn a_case_speaks_for_the_last_capability_it_needs() {
    let claims = claims(&[("pre", "enforced")]);
    let needs = vec!["pre".to_owned(), "cap".to_owned()];
    let row = CaseRow { needs, ..bad("fs/a", "box", Verdict::Pass, "") };
    let found: Vec<_> =
        all(&claims, [&row].into_iter()).iter().map(|c| (c.capability, c.standing())).collect();
    assert_eq!(found, [("cap", ClaimStanding::Works), ("pre", ClaimStanding::Unmeasured)]);
}

#[rstest]
#[case::named(Some(&["pre"][..]), &[("cap", ClaimStanding::Unmeasured), ("pre", ClaimStanding::Over)])]
#[case::both(Some(&["pre", "cap"][..]), &[("cap", ClaimStanding::Over), ("pre", ClaimStanding::Over)])]
#[case::none(Some(&[][..]), &[("cap", ClaimStanding::Unmeasured), ("pre", ClaimStanding::Unmeasured)])]
#[case::not_said(None, &[("cap", ClaimStanding::Over), ("pre", ClaimStanding::Unmeasured)])]
fn a_case_speaks_for_what_it_says_it_is_about(
    #[case] about: Option<&[&str]>,
    #[case] standings: &[(&str, ClaimStanding)],
) {
    let owned = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
    let claims = claims(&[("pre", "enforced"), ("cap", "enforced")]);
    let row = CaseRow {
        needs: owned(&["pre", "cap"]),
        about: about.map(owned),
        ..bad("exec/a", "box", Verdict::Contract, "timing")
    };
    let found = all(&claims, [&row].into_iter());
    let found: Vec<_> = found.iter().map(|claim| (claim.capability, claim.standing())).collect();
    assert_eq!(found, standings);
}

#[rstest]
#[case(Level::Must, ClaimStanding::Over)]
#[case(Level::Should, ClaimStanding::Confirmed)]
#[case(Level::May, ClaimStanding::Confirmed)]
fn what_no_backend_must_do_speaks_against_no_claim(
    #[case] level: Level,
    #[case] standing: ClaimStanding,
) {
    let rows = [CaseRow { level, ..needing(Verdict::UnderBlock) }, needing(Verdict::Pass)];
    assert_eq!(all(&claims(&[("cap", "enforced")]), rows.iter())[0].standing(), standing);
}

#[rstest]
#[case::in_part("partial", Outcome::Xfail, ClaimStanding::Confirmed)]
#[case::in_part_and_unknown("partial", Outcome::Unexpected, ClaimStanding::Over)]
#[case::whole("enforced", Outcome::Xfail, ClaimStanding::Over)]
fn a_known_limit_is_no_part_of_what_is_claimed_in_part(
    #[case] level: &str,
    #[case] outcome: Outcome,
    #[case] standing: ClaimStanding,
) {
    let failed = CaseRow { outcome, ..needing(Verdict::UnderBlock) };
    let rows = [failed, needing(Verdict::Pass)];
    assert_eq!(all(&claims(&[("cap", level)]), rows.iter())[0].standing(), standing);
}

/// Makes two backends: one keeps the claims that the other makes in vain.
fn two() -> Run {
    let mut infos = [backend("box"), backend("jail")];
    infos[0].claims = claims(&[("cap", "enforced"), ("idle", "enforced"), ("half", "partial")]);
    infos[1].claims = claims(&[("cap", "enforced")]);
    let row = |id: &str, need: &str, name: &str, verdict| CaseRow {
        needs: vec![need.to_owned()],
        ..bad(id, name, verdict, "")
    };
    let mut rows = vec![
        row("fs/a", "cap", "box", Verdict::Pass),
        row("fs/half", "half", "box", Verdict::Pass),
        row("fs/half", "half", "jail", Verdict::Pass),
    ];
    for id in ["fs/a", "fs/b", "fs/c", "fs/d"] {
        rows.push(row(id, "cap", "jail", Verdict::UnderBlock));
        if id != "fs/a" {
            rows.push(row(id, "cap", "box", Verdict::Unsupported));
        }
    }
    run(&header(&infos, &rows), &rows)
}

fn standings(matrix: &Matrix<'_>) -> Vec<(String, Vec<Option<ClaimStanding>>)> {
    let cells = |row: &boxproof_reports::claims::ClaimRow<'_>| {
        row.cells.iter().map(|cell| cell.as_ref().map(|(_, standing)| *standing)).collect()
    };
    table(matrix).iter().map(|row| (row.capability.to_owned(), cells(row))).collect()
}

#[test]
fn the_table_has_every_capability_and_column() {
    let runs = [two()];
    let wanted = [
        ("cap".to_owned(), vec![Some(ClaimStanding::Confirmed), Some(ClaimStanding::Over)]),
        ("half".to_owned(), vec![Some(ClaimStanding::Under), Some(ClaimStanding::Works)]),
        ("idle".to_owned(), vec![Some(ClaimStanding::Unmeasured), None]),
    ];
    assert_eq!(standings(&merge(&runs).unwrap()), wanted);
    let [mut filtered, mut own] = [runs.clone(), runs];
    filtered[0].header.selection.filters = vec!["fs".to_owned()];
    own[0].header.corpus.source = "my-cases".to_owned();
    for unasked in [filtered, own] {
        let idle = standings(&merge(&unasked).unwrap()).remove(2);
        assert_eq!(idle.1, [Some(ClaimStanding::Absent), None], "what is not asked is no gap");
    }
}

#[test]
fn every_format_tells_the_same() {
    let runs = [two()];
    let matrix = merge(&runs).unwrap();
    let over = "jail claims cap (enforced); 4 of 4 fail: fs/a, fs/b, fs/c and 1 more";
    let (text, page, mark) = (
        terminal::render(&matrix, TerminalOptions::default()),
        html::render(&matrix),
        markdown::render(&matrix, markdown::GITHUB_BUDGET),
    );
    for format in [&text, &page, &mark] {
        assert!(format.contains(over), "{format}");
    }
    for line in [
        "  cap                             1/1 +3 ok  0/4 OVER",
        "  half                            1/1 under  1/1 works",
        "  idle                            - ?        -",
        "  box: 1 under-claimed, 1 not measured, 1 confirmed",
    ] {
        assert!(text.lines().any(|found| found == line), "{line:?} in\n{text}");
    }
    for cell in [
        "<td class=\"full\">enforced 1/1 +3 </td><td class=\"part\">enforced 0/4 <b>✗ over-claimed</b>",
        "<td class=\"less\">partial 1/1 <b>+ under-claimed</b></td><td class=\"less\">none 1/1 <b>+ works, not claimed</b>",
        "<td class=\"nil\">enforced - <b>? not measured</b></td><td class=\"nil\">-</td>",
    ] {
        assert!(page.contains(cell), "{cell}");
    }
    for line in [
        "| `cap` | enforced 1/1 +3 | enforced 0/4 **over-claimed** |",
        "| `half` | partial 1/1 under-claimed | none 1/1 works, not claimed |",
        "| `idle` | enforced - not measured | - |",
    ] {
        assert!(mark.lines().any(|found| found == line), "{line:?} in\n{mark}");
    }
}

/// A case that is asked where nothing is claimed shows the capability, or the lack of it.
#[rstest]
#[case::shown(Verdict::Contradiction, ClaimStanding::Works)]
#[case::lacking(Verdict::Gap, ClaimStanding::Absent)]
fn what_is_asked_without_a_claim_is_told(
    #[case] verdict: Verdict,
    #[case] standing: ClaimStanding,
) {
    let rows = [needing(verdict), needing(Verdict::Unsupported)];
    assert_eq!(all(&claims(&[("cap", "none")]), rows.iter())[0].standing(), standing);
}
