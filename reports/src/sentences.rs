//! What it comes to, in sentences that every format for people shares.

use crate::claims::{Claim, compare};
use crate::conformance::Share;
use crate::findings::gaps;
use crate::matrix::Matrix;
use crate::record::{CaseRow, Level};
use crate::verdict::Outcome;

type Word<'a> = fn(&Claim<'a>) -> String;

/// Claims that the results do not bear out, a line a column and kind.
pub(crate) fn claim_lines(matrix: &Matrix<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, column) in matrix.columns.iter().enumerate() {
        let mut found = compare(&column.backend.claims, matrix.rows_of(index));
        if !column.header.selection.filters.is_empty() {
            // What a filter left out is no gap.
            found.unshown.clear();
        }
        let kinds: [(&str, &[Claim<'_>], Word<'_>); 3] = [
            ("over-claims", &found.over, over_claim),
            ("under-claims", &found.under, |claim| claim.capability.to_owned()),
            ("claims, not judged here", &found.unshown, |claim| claim.capability.to_owned()),
        ];
        for (what, claims, word) in kinds.into_iter().filter(|(_, claims, _)| !claims.is_empty()) {
            let list: Vec<String> = claims.iter().map(word).collect();
            lines.push(format!("{} {what}: {}", column.label, list.join(", ")));
        }
    }
    lines
}

fn over_claim(claim: &Claim<'_>) -> String {
    let Share { passed, judged, .. } = claim.share;
    format!("{} ({}; {} of {judged} fail)", claim.capability, claim.level, judged - passed)
}

/// What was selected and not run, a line a column.
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

/// How the outcomes count; nothing when all is as expected.
pub(crate) fn outcome_line(matrix: &Matrix<'_>) -> Option<String> {
    let count = |is: &dyn Fn(&CaseRow) -> bool| matrix.rows().filter(|row| is(row)).count();
    let unexpected = Level::ALL.map(|level| {
        let is = |row: &CaseRow| row.outcome == Outcome::Unexpected && row.level == level;
        (count(&is), format!("unexpected at level {}", level.word()))
    });
    let known = [
        (count(&|row| row.outcome == Outcome::Xfail), "failing as known".to_owned()),
        (count(&|row| row.outcome == Outcome::Xpass), "known to fail and passing".to_owned()),
    ];
    let parts: Vec<String> = unexpected
        .into_iter()
        .chain(known)
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
