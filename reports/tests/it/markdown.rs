//! The Markdown summary keeps to its budget and says what it left out.

use boxproof_reports::{CaseRow, Run, Verdict, markdown, merge};
use rstest::rstest;

use crate::sample::{backend, bad, header, row, run};

/// A run with many failures and many passes.
fn large(failures: usize, passes: usize) -> Run {
    let failure = |i: usize| bad(&format!("fs/fail_{i:05}"), "box", Verdict::UnderBlock, "oracle");
    let pass = |i: usize| row(&format!("net/pass_{i:05}"), "box");
    let rows: Vec<CaseRow> = (0..failures).map(failure).chain((0..passes).map(pass)).collect();
    run(&header(&[backend("box")], &rows), &rows)
}

fn page(run: &Run, budget: usize) -> String {
    markdown::render(&merge(std::slice::from_ref(run)).unwrap(), budget)
}

fn count(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

#[test]
fn a_page_that_fits_says_nothing_of_cuts() {
    let page = page(&large(3, 3), markdown::GITHUB_BUDGET);
    assert!(!page.contains("Left out"), "{page}");
    assert_eq!((count(&page, "| `fs/fail_"), count(&page, "| `net/pass_")), (6, 3));
    assert_eq!(count(&page, "<details><summary><code>fs/fail_"), 3);
}

#[test]
fn details_go_first() {
    let page = page(&large(200, 100), markdown::GITHUB_BUDGET);
    assert!(page.len() <= markdown::GITHUB_BUDGET);
    let details = count(&page, "<details><summary><code>fs/fail_");
    assert!(details > 0 && details < 200);
    assert!(page.contains(&format!("Left out to fit the size limit: {} details", 200 - details)));
    assert_eq!((count(&page, "| `fs/fail_"), count(&page, "| `net/pass_")), (400, 100));
}

#[test]
fn then_cases_then_findings() {
    let page = page(&large(300, 2000), 20_000);
    assert!(page.len() <= 20_000);
    assert_eq!(count(&page, "<details><summary><code>fs/fail_"), 0);
    assert_eq!(count(&page, "| `net/pass_"), 0);
    let findings = count(&page, "| `fs/fail_");
    assert!(findings > 0 && findings < 300, "{findings}");
    let note = format!("300 details of findings, 2300 rows of cases, {} rows", 300 - findings);
    assert!(page.contains(&note), "{note}\n{page}");
}

#[rstest]
#[case(0)]
#[case(1024)]
#[case(1500)]
#[case(5000)]
#[case(65_535)]
fn no_budget_is_exceeded_and_the_totals_stay(#[case] budget: usize) {
    let page = page(&large(400, 4000), budget);
    assert!(page.len() <= budget.max(1024), "{} bytes", page.len());
    assert!(page.contains("4400 cases: 4000 pass, 400 under-block"));
    assert!(page.contains("Left out to fit the size limit"));
    assert_eq!(count(&page, "<details>"), count(&page, "</details>"));
}

#[test]
fn a_page_whose_fixed_parts_are_too_large_is_cut_and_says_so() {
    let rows: Vec<CaseRow> = (0..200).map(|i| row(&format!("area{i}/é"), "box")).collect();
    let run = run(&header(&[backend("box")], &rows), &rows);
    let page = page(&run, 1024);
    assert!(page.len() <= 1024, "{} bytes", page.len());
    assert!(page.contains("200 cases: 200 pass") && page.contains("the rest of this page"));
}

#[test]
fn the_note_has_its_room_whatever_the_budget() {
    let run = large(30, 30);
    for budget in (10_000..10_600).step_by(23) {
        let page = page(&run, budget);
        assert!(page.len() <= budget && page.contains("Left out"), "{budget}");
        assert!(!page.contains("the rest of this page"), "{budget}: the end was cut too");
    }
}

/// What the baseline fails is counted beside other backends, and listed where it is alone.
#[rstest]
#[case::beside(&["none", "box"], 1, true)]
#[case::alone(&["none"], 1, false)]
#[case::absent(&["box"], 1, false)]
fn the_baseline_is_not_listed_beside_others(
    #[case] names: &[&str],
    #[case] listed: usize,
    #[case] told: bool,
) {
    let infos: Vec<_> = names.iter().map(|name| backend(name)).collect();
    let rows: Vec<_> =
        names.iter().map(|name| bad("fs/a", name, Verdict::UnderBlock, "oracle")).collect();
    let page = page(&run(&header(&infos, &rows), &rows), 65_535);
    assert_eq!(count(&page, "| under-block | must |"), listed, "{page}");
    assert_eq!(page.contains("Besides, 1 of `none`"), told, "{page}");
}

#[rstest]
#[case(Verdict::Inconclusive)]
#[case(Verdict::ProbeBroken)]
#[case(Verdict::Error)]
fn what_taught_nothing_is_not_learnt_in_the_summary(#[case] verdict: Verdict) {
    let rows = [bad("fs/a", "box", verdict, "why")];
    let run = run(&header(&[backend("box")], &rows), &rows);
    let page = markdown::summary(&merge(std::slice::from_ref(&run)).unwrap());
    assert!(page.contains("| 0 | 0 | 0 | 0 | 0 | 1 |"), "{page}");
}
