//! Rates of cases that were repeated (`stress_lines`), with the interval of each
//! ([`wilson_interval`]).

use std::collections::BTreeMap;

use crate::matrix::Matrix;
use crate::record::StressCount;

/// The two-sided 95 % quantile of the normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// Returns the 95 % interval of the rate behind `count` of `total` (Wilson's score interval).
#[must_use]
pub fn wilson_interval(count: u32, total: u32) -> (f64, f64) {
    let (total, square) = (f64::from(total), NORMAL_95 * NORMAL_95);
    if total == 0.0 {
        return (0.0, 1.0);
    }
    let rate = f64::from(count) / total;
    let centre = (rate + square / (2.0 * total)) / (1.0 + square / total);
    let variance = rate * (1.0 - rate) / total + square / (4.0 * total * total);
    let half = NORMAL_95 * variance.sqrt() / (1.0 + square / total);
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// Tells the rate of every repeated case that did not always pass, and of all others together.
pub(crate) fn stress_lines(matrix: &Matrix<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, column) in matrix.columns.iter().enumerate() {
        // Number of runs → cases that passed in all of them.
        let mut held: BTreeMap<u32, u32> = BTreeMap::new();
        for row in matrix.rows_of(index) {
            match &row.stress {
                Some(stress) if stress.failed() == 0 => *held.entry(stress.runs).or_default() += 1,
                Some(stress) => {
                    lines.push(format!("{}: {}: {}", column.label, row.id, rate(stress)));
                }
                None => {}
            }
        }
        lines.extend(held.into_iter().map(|(runs, cases)| {
            let most = wilson_interval(0, runs).1 * 100.0;
            format!(
                "{}: {cases} cases passed in all of {runs} runs: at most {most:.1} % of runs of \
                 one fail (95 %)",
                column.label
            )
        }));
    }
    lines
}

fn rate(stress: &StressCount) -> String {
    let (failed, runs) = (stress.failed(), stress.runs);
    let (low, high) = wilson_interval(failed, runs);
    let share = f64::from(failed) / f64::from(runs.max(1));
    let [share, low, high] = [share, low, high].map(|rate| rate * 100.0);
    let verdicts: Vec<String> =
        stress.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    format!(
        "{failed} of {runs} runs did not pass, {share:.1} % [{low:.1}, {high:.1}] (95 %): {}",
        verdicts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;
    use rstest::rstest;

    #[rstest]
    #[case(0, 20, 0.0, 0.161_125)]
    #[case(10, 20, 0.299_298, 0.700_702)]
    #[case(1, 10, 0.017_876, 0.404_150)]
    #[case(20, 20, 0.838_875, 1.0)]
    #[case(0, 0, 0.0, 1.0)]
    fn rates(#[case] count: u32, #[case] total: u32, #[case] low: f64, #[case] high: f64) {
        let found = wilson_interval(count, total);
        assert!((found.0 - low).abs() < 1e-5 && (found.1 - high).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn a_rate_has_its_interval_and_its_verdicts() {
        let verdicts = [(Verdict::Pass, 2), (Verdict::UnderBlock, 1)].into();
        assert_eq!(
            rate(&StressCount { runs: 3, verdicts }),
            "1 of 3 runs did not pass, 33.3 % [6.1, 79.2] (95 %): 2 pass, 1 under-block"
        );
    }
}
