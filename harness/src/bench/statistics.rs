//! Statistics of timing: medians, and the exact interval of paired blocks
//! ([`signed_rank_interval`]). Nothing is drawn at random, so that the same samples always give the
//! same interval.

use boxproof_reports::timing::RatioInterval;

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.99;

/// Returns the median of `values`; 0 where there are none.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// Returns the Hodges-Lehmann estimate of `logs`, the logarithms of one ratio a block, with its
/// exact interval: the permutation test of Wilcoxon's signed ranks, inverted. `None` where there
/// are too few for `confidence`.
pub(super) fn signed_rank_interval(logs: &[f64], confidence: f64) -> Option<RatioInterval> {
    let rank = interval_rank(logs.len(), 1.0 - confidence)?;
    let mut means: Vec<f64> = Vec::with_capacity(logs.len() * (logs.len() + 1) / 2);
    for (index, first) in logs.iter().enumerate() {
        means.extend(logs[index..].iter().map(|second| f64::midpoint(*first, *second)));
    }
    means.sort_by(f64::total_cmp);
    let (low, high) = (means[rank - 1], means[means.len() - rank]);
    Some(RatioInterval { estimate: median(&means).exp(), low: low.exp(), high: high.exp() })
}

/// Returns the largest rank k so that the k-th smallest and the k-th largest mean of pairs enclose
/// the true centre with a probability of at least 1 - `alpha`.
fn interval_rank(count: usize, alpha: f64) -> Option<usize> {
    // The number of subsets of the ranks 1 to `count` by their sum.
    let mut subsets = vec![0.0_f64; count * (count + 1) / 2 + 1];
    subsets[0] = 1.0;
    for rank in 1..=count {
        for sum in (rank..subsets.len()).rev() {
            subsets[sum] += subsets[sum - rank];
        }
    }
    let all: f64 = subsets.iter().sum();
    let mut below = 0.0;
    let within = |ways: &&f64| {
        below += **ways;
        2.0 * below / all <= alpha
    };
    let rank = subsets.iter().take_while(within).count();
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[], 0.0)]
    #[case(&[3.0], 3.0)]
    #[case(&[4.0, 1.0], 2.5)]
    #[case(&[9.0, 1.0, 2.0], 2.0)]
    fn medians(#[case] values: &[f64], #[case] wanted: f64) {
        assert_eq!(median(values), wanted);
    }

    /// The published critical values of Wilcoxon's signed-rank test: the rank is one more.
    #[rstest]
    #[case(12, 0.05, Some(13))]
    #[case(20, 0.05, Some(52))]
    #[case(25, 0.05, Some(89))]
    #[case(30, 0.05, Some(137))]
    #[case(8, 0.01, Some(0))]
    #[case(12, 0.01, Some(7))]
    #[case(20, 0.01, Some(37))]
    #[case(30, 0.01, Some(109))]
    #[case(36, 0.01, Some(171))]
    #[case(50, 0.01, Some(373))]
    #[case(7, 0.01, None)]
    #[case(5, 0.05, None)]
    #[case(0, 0.05, None)]
    fn ranks(#[case] count: usize, #[case] alpha: f64, #[case] critical: Option<usize>) {
        assert_eq!(interval_rank(count, alpha), critical.map(|value| value + 1));
    }

    #[test]
    fn the_interval_is_that_of_the_paired_means() {
        let logs: Vec<f64> = (1..=6).map(f64::from).collect();
        let found = signed_rank_interval(&logs, 0.95).unwrap();
        let close = |value: f64, wanted: f64| (value.ln() - wanted).abs() < 1e-9;
        assert!(close(found.estimate, 3.5) && close(found.low, 1.0) && close(found.high, 6.0));
        assert_eq!(signed_rank_interval(&logs[..5], 0.95), None);
    }

    #[test]
    fn one_outlier_moves_no_interval_far() {
        let mut logs = vec![0.01, -0.01, 0.02, -0.02, 0.0, 0.015, -0.015, 0.005, -0.005, 0.0];
        let before = signed_rank_interval(&logs, CONFIDENCE).unwrap();
        logs[4] = 3.0;
        let after = signed_rank_interval(&logs, CONFIDENCE).unwrap();
        assert!((after.estimate - before.estimate).abs() < 0.01, "{before:?} {after:?}");
        assert_eq!(before.low, after.low);
    }
}
