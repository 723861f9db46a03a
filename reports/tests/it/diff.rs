//! Comparing two runs: every kind of transition, and what else may have changed.

use boxproof_reports::diff::{Diff, TransitionKind, markdown, terminal};
use boxproof_reports::{
    CaseQuestion, CaseRow, Header, Matrix, Run, Selection, TwinState, Verdict, diff, merge,
};
use rstest::rstest;
use serde_json::json;

use crate::sample::{ROOT, backend, bad, header, row, run};

fn one(row: CaseRow) -> Run {
    run(&header(&[backend("box")], std::slice::from_ref(&row)), &[row])
}

fn case(verdict: Verdict, reason: &str) -> CaseRow {
    match verdict {
        Verdict::Pass => row("fs/a", "box"),
        verdict => bad("fs/a", "box", verdict, reason),
    }
}

fn with_diff<T>(before: &[Run], after: &[Run], look: impl FnOnce(&Diff<'_>) -> T) -> T {
    let (before, after): (Matrix<'_>, Matrix<'_>) = (merge(before).unwrap(), merge(after).unwrap());
    look(&diff(&before, &after))
}

fn kinds(before: CaseRow, after: CaseRow) -> Vec<TransitionKind> {
    with_diff(&[one(before)], &[one(after)], |diff| {
        assert_eq!(diff.compared, 1);
        diff.transitions.iter().map(|transition| transition.kind).collect()
    })
}

#[rstest]
#[case(Verdict::Pass, Verdict::Pass, None)]
#[case(Verdict::Pass, Verdict::UnderBlock, Some(TransitionKind::NewlyOpen))]
#[case(Verdict::OverBlock, Verdict::UnderBlock, Some(TransitionKind::NewlyOpen))]
#[case(Verdict::Unsupported, Verdict::UnderBlock, Some(TransitionKind::NewlyOpen))]
#[case(Verdict::UnderBlock, Verdict::UnderBlock, None)]
#[case(Verdict::Pass, Verdict::Leak, Some(TransitionKind::NewlyLeaking))]
#[case(Verdict::Pass, Verdict::OverBlock, Some(TransitionKind::NewlyOverBlocked))]
#[case(Verdict::UnderBlock, Verdict::OverBlock, Some(TransitionKind::NewlyOverBlocked))]
#[case(Verdict::Pass, Verdict::Contract, Some(TransitionKind::NewlyBroken))]
#[case(Verdict::Pass, Verdict::Inconclusive, Some(TransitionKind::CoverageLost))]
#[case(Verdict::Pass, Verdict::Unsupported, Some(TransitionKind::CoverageLost))]
#[case(Verdict::UnderBlock, Verdict::Error, Some(TransitionKind::CoverageLost))]
#[case(Verdict::UnderBlock, Verdict::NotApplicable, Some(TransitionKind::CoverageLost))]
#[case(Verdict::UnderBlock, Verdict::Pass, Some(TransitionKind::Fixed))]
#[case(Verdict::Leak, Verdict::Pass, Some(TransitionKind::Fixed))]
#[case(Verdict::Unsupported, Verdict::Pass, Some(TransitionKind::CoverageGained))]
#[case(Verdict::Inconclusive, Verdict::Unsupported, Some(TransitionKind::OtherReason))]
fn each_step_has_its_kind(
    #[case] before: Verdict,
    #[case] after: Verdict,
    #[case] kind: Option<TransitionKind>,
) {
    let found = kinds(case(before, "why"), case(after, "why"));
    assert_eq!(found, kind.into_iter().collect::<Vec<_>>());
}

#[test]
fn another_reason_is_told() {
    let (a, b) = (case(Verdict::UnderBlock, "oracle"), case(Verdict::UnderBlock, "stream"));
    assert_eq!(kinds(a, b), [TransitionKind::OtherReason]);
}

#[rstest]
#[case(TwinState::Shown, TwinState::Inexpressible, &[TransitionKind::CoverageLost])]
#[case(TwinState::Shown, TwinState::None, &[TransitionKind::CoverageLost])]
#[case(TwinState::Shown, TwinState::NotNeeded, &[])]
#[case(TwinState::None, TwinState::Shown, &[TransitionKind::CoverageGained])]
fn a_pass_without_its_twin_is_worth_less(
    #[case] before: TwinState,
    #[case] after: TwinState,
    #[case] kind: &[TransitionKind],
) {
    let with = |twin| CaseRow { twin, ..row("fs/a", "box") };
    assert_eq!(kinds(with(before), with(after)), kind);
}

#[test]
fn worse_is_what_a_gate_must_see() {
    let worse: Vec<&str> = TransitionKind::ALL
        .into_iter()
        .filter(|kind| kind.is_worse())
        .map(TransitionKind::heading)
        .collect();
    let wanted = [
        "newly open",
        "newly leaking",
        "newly over-blocked",
        "promise newly broken",
        "newly flaky",
        "coverage lost",
        "removed",
    ];
    assert_eq!(worse, wanted);
    assert!(TransitionKind::ALL.is_sorted());
}

/// The same rows with a changed header.
fn rows_with(rows: &[CaseRow], edit: impl FnOnce(&mut Header)) -> Run {
    let mut header = header(&[backend("box")], rows);
    edit(&mut header);
    header.selection =
        Selection { ..Selection::whole_selection(rows.iter().map(|row| row.id.as_str())) };
    run(&header, rows)
}

#[test]
fn added_and_removed_cases_are_told() {
    let (a, b) = (row("fs/a", "box"), row("fs/b", "box"));
    let (before, after) = ([rows_with(&[a], |_| ())], [rows_with(&[b], |_| ())]);
    with_diff(&before, &after, |diff| {
        let found: Vec<_> = diff.transitions.iter().map(|t| (t.kind, t.id)).collect();
        assert_eq!(found, [(TransitionKind::Removed, "fs/a"), (TransitionKind::Added, "fs/b")]);
        assert!(diff.is_worse() && diff.compared == 0);
    });
}

#[test]
fn what_is_not_the_same_besides_is_told_once() {
    let rows = [row("fs/a", "box"), row("fs/a", "none")];
    let both = |edit: &dyn Fn(&mut Header)| {
        let mut header = header(&[backend("box"), backend("none")], &rows);
        edit(&mut header);
        run(&header, &rows)
    };
    let newer = both(&|header| {
        header.host.insert("kernel".into(), json!("6.18"));
        header.corpus.sha256 = "00".repeat(32);
        header.backends[0].version = "0.2.0".into();
        header.backends[0].claims.insert("net.none".into(), "enforced".into());
    });
    with_diff(&[both(&|_| ())], &[newer], |diff| {
        assert!(diff.transitions.is_empty() && !diff.is_worse());
        let wanted = [
            "box: claim net.none was none, is enforced",
            "corpus was 0.1.0 (9f86d081884c), is 0.1.0 (000000000000)",
            "host fact kernel was 6.8.0-31-generic, is 6.18",
            "box: version was 0.1.0, is 0.2.0",
        ];
        assert_eq!(diff.environment, wanted);
    });
}

#[test]
fn columns_meet_by_backend_and_user_before_the_host_may_differ() {
    let rows = [row("fs/a", "box")];
    let root = rows_with(&rows, |header| header.user = ROOT);
    let ordinary = rows_with(&rows, |_| ());
    let kernel = |header: &mut Header| drop(header.host.insert("kernel".into(), json!("6.1")));
    let elsewhere = rows_with(&[bad("fs/a", "box", Verdict::UnderBlock, "oracle")], kernel);
    let (before, after) = ([elsewhere.clone(), ordinary.clone()], [root, ordinary, elsewhere]);
    with_diff(&before, &after, |diff| {
        assert_eq!(diff.compared, 2);
        let found: Vec<_> = diff.transitions.iter().map(|t| (t.kind, t.column)).collect();
        assert_eq!(found, [(TransitionKind::Added, 0)]);
        assert_eq!(diff.environment, [format!("{}: the column is new", diff.columns[0])]);
    });
}

#[test]
fn a_case_that_asks_something_else_is_marked() {
    let asking = |act: &str, verdict| {
        let asked = CaseQuestion { act: act.to_owned(), ..CaseQuestion::default() };
        one(CaseRow { asked: Some(asked), ..case(verdict, "oracle") })
    };
    let (a, b) = (asking("one", Verdict::Pass), asking("two", Verdict::UnderBlock));
    with_diff(&[a], &[b], |diff| {
        assert!(diff.transitions[0].asks_otherwise());
        let page = terminal(diff, 80);
        let wanted = "newly open (1)\n  fs/a\n    box: pass → under-block (oracle)\n    The case \
                      ended as under-block.; the case itself asks something else now\n\n1 \
                      compared: 1 newly open\n";
        assert_eq!(page, wanted);
        let page = markdown(diff);
        assert!(page.contains("### Newly open (1)\n\n| case |"), "{page}");
        assert!(page.contains("| `fs/a` | box | pass → under-block (oracle) |"), "{page}");
    });
}

#[test]
fn runs_that_are_alike_say_so() {
    let runs = [one(row("fs/a", "box"))];
    with_diff(&runs, &runs, |diff| {
        assert_eq!(terminal(diff, 80), "1 compared: no case changed\n");
    });
}
