//! The conclusions of a run, in sentences that every format for people shares.

use std::collections::BTreeMap;

use crate::claims::{CapabilityClaim, ClaimRow, ClaimStanding};
use crate::findings::gaps;
use crate::matrix::{Matrix, MatrixColumn};
use crate::profile::{self, ProfileStanding};
use crate::record::{BlindShown, CaseRow, Level};
use crate::verdict::Outcome;

/// The most cases that an over-claim names.
const NAMED: usize = 3;

/// Claims that a case contradicts, a line a column and capability.
pub(crate) fn over_claim_lines(matrix: &Matrix<'_>, table: &[ClaimRow<'_>]) -> Vec<String> {
    let columns = matrix.columns.iter().enumerate();
    let of_column = |(index, column): (usize, &MatrixColumn<'_>)| {
        let cells = table.iter().filter_map(|row| row.cells[index].as_ref());
        let over = cells.filter(|(_, standing)| *standing == ClaimStanding::Over);
        over.map(|(claim, _)| over_claim(&column.label, claim)).collect::<Vec<_>>()
    };
    columns.flat_map(of_column).collect()
}

fn over_claim(label: &str, claim: &CapabilityClaim<'_>) -> String {
    let CapabilityClaim { capability, level, share, failed, .. } = claim;
    let more = match failed.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = failed[..failed.len().min(NAMED)].join(", ");
    format!(
        "{label} claims {capability} ({level}); {} of {} fail: {named}{more}",
        failed.len(),
        share.judged
    )
}

/// Counts the claims of a column by standing; returns an empty text if the column claims nothing.
pub(crate) fn claim_counts(table: &[ClaimRow<'_>], column: usize) -> String {
    let count = |standing: ClaimStanding| {
        table
            .iter()
            .filter(|row| matches!(&row.cells[column], Some((_, s)) if *s == standing))
            .count()
    };
    let told =
        ClaimStanding::ALL.into_iter().filter(|standing| !standing.standing_label().is_empty());
    let parts =
        told.map(|standing| (count(standing), standing.standing_label())).filter(|(n, _)| *n > 0);
    parts.map(|(count, words)| format!("{count} {words}")).collect::<Vec<_>>().join(", ")
}

/// Renders the results of the second look, and the cases where it was impossible: lines a column.
pub(crate) fn blind_lines(matrix: &Matrix<'_>, verbose: bool) -> Vec<String> {
    let of_column = |(index, column): (usize, &MatrixColumn<'_>)| {
        let looks = || matrix.rows_of(index).filter_map(|row| Some((row, row.blind.as_ref()?)));
        let count = |shown| looks().filter(|(_, look)| look.shown == shown).count();
        let (same, differ) = (count(BlindShown::Same), count(BlindShown::Differs));
        let mut unable: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (row, look) in looks().filter(|(_, look)| look.shown == BlindShown::Unable) {
            unable.entry(&look.saw).or_default().push(&row.id);
        }
        let none: usize = unable.values().map(Vec::len).sum();
        if same + differ + none == 0 {
            return Vec::new();
        }
        let total = format!(
            "{}: {} asked again blind: {same} the same, {differ} differ; {none} cannot be",
            column.label,
            same + differ
        );
        let reasons = unable.into_iter().map(|(why, ids)| {
            let few = verbose || ids.len() <= NAMED;
            let named = &ids[..if few { ids.len() } else { NAMED }];
            let more = if few { "" } else { ", …" };
            format!("not asked again, {} as {why}: {}{more}", ids.len(), named.join(", "))
        });
        [total].into_iter().chain(reasons).collect()
    };
    matrix.columns.iter().enumerate().flat_map(of_column).collect()
}

/// Renders the cases that were selected and not run, a line a column.
pub(crate) fn gap_lines(matrix: &Matrix<'_>) -> Vec<String> {
    let line = |(index, label): (usize, &String)| {
        let gaps: Vec<String> = gaps(matrix.rows_of(index))
            .into_iter()
            .map(|((verdict, reason), count)| format!("{count} {verdict} ({reason})"))
            .collect();
        (!gaps.is_empty()).then(|| format!("{label}: {}", gaps.join(", ")))
    };
    matrix.columns.iter().map(|column| &column.label).enumerate().filter_map(line).collect()
}

/// Renders the standing of each column on each profile, a line each.
pub(crate) fn profile_lines(matrix: &Matrix<'_>) -> Vec<String> {
    let line = |standing: &ProfileStanding<'_>| {
        format!("{}: {}: {standing}", standing.profile, matrix.columns[standing.column].label)
    };
    profile::table(matrix).iter().map(line).collect()
}

/// Renders the counts of the outcomes; returns `None` when all is as expected.
pub(crate) fn outcome_line(matrix: &Matrix<'_>) -> Option<String> {
    let count = |is: &dyn Fn(&CaseRow) -> bool| matrix.rows().filter(|row| is(row)).count();
    let unexpected = Level::ALL.map(|level| {
        let is = |row: &CaseRow| row.outcome == Outcome::Unexpected && row.level == level;
        (count(&is), format!("unexpected at level {}", level.keyword()))
    });
    let known = [
        (count(&|row| row.outcome == Outcome::Xfail), "failing as known".to_owned()),
        (count(&|row| row.outcome == Outcome::Xpass), "known to fail and passing".to_owned()),
        (count(&|row| row.outcome == Outcome::Flaky), "passed on another try".to_owned()),
    ];
    let parts: Vec<String> = unexpected
        .into_iter()
        .chain(known)
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
