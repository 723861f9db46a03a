//! Claims against results.

use boxproof_reports::claims::{Claims, Standing, all, compare};
use boxproof_reports::{CaseRow, Verdict};
use rstest::rstest;

use crate::sample::bad;

fn needing(verdict: Verdict) -> CaseRow {
    CaseRow { needs: vec!["cap".to_owned()], ..bad("fs/a", "box", verdict, "") }
}

/// `over`, `under`, `unshown` or nothing.
fn word(claims: &Claims<'_>) -> String {
    let of = |name: &str, count: usize| name.repeat(count);
    of("over", claims.over.len())
        + &of("under", claims.under.len())
        + &of("unshown", claims.unshown.len())
}

#[rstest]
#[case("enforced", &[Verdict::Pass], "")]
#[case("enforced", &[Verdict::Pass, Verdict::UnderBlock], "over")]
#[case("partial", &[Verdict::Leak], "over")]
#[case("enforced", &[Verdict::Inconclusive], "unshown")]
#[case("enforced", &[Verdict::NotApplicable], "unshown")]
#[case("enforced", &[], "unshown")]
#[case("none", &[Verdict::Unsupported], "")]
#[case("none", &[Verdict::Pass], "under")]
#[case("none", &[Verdict::UnderBlock], "")]
fn one_capability(#[case] level: &str, #[case] verdicts: &[Verdict], #[case] found: &str) {
    let claims = [("cap".to_owned(), level.to_owned())].into();
    let rows: Vec<CaseRow> = verdicts.iter().map(|verdict| needing(*verdict)).collect();
    assert_eq!(word(&compare(&claims, rows.iter())), found);
}

#[test]
fn what_is_not_listed_is_not_claimed() {
    let claims = [].into();
    let row = needing(Verdict::Pass);
    let found = compare(&claims, [&row].into_iter());
    assert_eq!((word(&found).as_str(), found.under[0].level), ("under", "none"));
}

#[test]
fn a_case_speaks_for_the_last_capability_it_needs() {
    let claims = [("pre".to_owned(), "enforced".to_owned())].into();
    let row = CaseRow {
        needs: vec!["pre".to_owned(), "cap".to_owned()],
        ..bad("fs/a", "box", Verdict::Pass, "")
    };
    let found = compare(&claims, [&row].into_iter());
    assert_eq!(word(&found), "underunshown");
    assert_eq!((found.under[0].capability, found.unshown[0].capability), ("cap", "pre"));
}

#[test]
fn one_pass_among_failures_is_no_unclaimed_virtue() {
    let claims = [].into();
    let rows = [needing(Verdict::Pass), needing(Verdict::UnderBlock)];
    assert_eq!(word(&compare(&claims, rows.iter())), "");
}

#[test]
fn every_capability_is_listed_with_its_standing() {
    let claim = |name: &str, level: &str| (name.to_owned(), level.to_owned());
    let claims = [claim("a.kept", "enforced"), claim("b.idle", "none")].into();
    let row = |need: &str, verdict| CaseRow { needs: vec![need.to_owned()], ..needing(verdict) };
    let rows = [row("a.kept", Verdict::Pass), row("c.unlisted", Verdict::Pass)];
    let listed: Vec<_> =
        all(&claims, rows.iter()).iter().map(|c| (c.capability, c.level, c.standing())).collect();
    let wanted = [
        ("a.kept", "enforced", Standing::Shown),
        ("b.idle", "none", Standing::Absent),
        ("c.unlisted", "none", Standing::Under),
    ];
    assert_eq!(listed, wanted);
}
