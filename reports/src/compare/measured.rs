//! The measurement of several cases as one answer: [`MeasuredProbe`].

use crate::record::CaseRow;
use crate::verdict::Verdict;

/// The measurement of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredProbe {
    /// The verdict; `None` if the record lacks a case.
    pub verdict: Option<Verdict>,
    /// The reason code it came with.
    pub code: String,
    /// That, for people: which case says so where not all do, and why nothing was asked.
    pub words: String,
}

/// The verdicts by weight, heaviest first: failures, verdicts that were not learnt, passes, and
/// cases that were not asked.
const WEIGHT: [Verdict; 13] = [
    Verdict::UnderBlock,
    Verdict::Leak,
    Verdict::OverBlock,
    Verdict::Contract,
    Verdict::Error,
    Verdict::ProbeBroken,
    Verdict::Inconclusive,
    Verdict::Pass,
    Verdict::Contradiction,
    Verdict::Gap,
    Verdict::Unsupported,
    Verdict::NotApplicable,
    Verdict::Skipped,
];

impl MeasuredProbe {
    /// Combines the rows of `cases`; `row` finds one.
    pub(super) fn combine_rows<'a>(
        cases: &[String],
        row: impl Fn(&str) -> Option<&'a CaseRow>,
    ) -> Self {
        let rows: Option<Vec<&CaseRow>> = cases.iter().map(|id| row(id)).collect();
        let Some(rows) = rows else {
            let lacks = cases.iter().find(|id| row(id).is_none());
            let words = format!("no row for {}", lacks.map_or("", String::as_str));
            return Self::nothing(words);
        };
        let weighs = |row: &&&CaseRow| WEIGHT.iter().position(|verdict| *verdict == row.verdict);
        let Some(heaviest) = rows.iter().min_by_key(weighs) else {
            return Self::nothing("no case".to_owned());
        };
        let (verdict, code) = (Some(as_asked(heaviest.verdict)), heaviest.reason.clone());
        Self { verdict, code, words: measured_text(heaviest, &rows) }
    }

    fn nothing(words: String) -> Self {
        Self { verdict: None, code: String::new(), words }
    }
}

/// Returns what `verdict` says of the question: what is run without being claimed answers another one.
fn as_asked(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Gap | Verdict::Contradiction => Verdict::Unsupported,
        asked => asked,
    }
}

fn measured_text(heaviest: &CaseRow, rows: &[&CaseRow]) -> String {
    let verdict = heaviest.verdict;
    let alike = rows.iter().all(|row| row.verdict == verdict);
    if verdict == Verdict::Pass {
        return verdict.keyword().to_owned();
    }
    let place = if alike { String::new() } else { format!(" at {}", heaviest.id) };
    match heaviest.reason.as_str() {
        "" => format!("{verdict}{place}"),
        reason => format!("{verdict}{place} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::open(Verdict::Gap, Verdict::Unsupported)]
    #[case::closed(Verdict::Contradiction, Verdict::Unsupported)]
    #[case::asked(Verdict::UnderBlock, Verdict::UnderBlock)]
    fn what_is_not_claimed_is_not_asked(#[case] verdict: Verdict, #[case] asked: Verdict) {
        assert_eq!(as_asked(verdict), asked);
    }
}
