//! Verdicts on lanes: by the interval over blocks ([`judge_blocks`]), and by exact counts
//! ([`judge_counts`]).

use std::collections::{BTreeMap, BTreeSet};

use boxproof_reports::timing::{CallChange, LaneBlock, RatioInterval, TimingLane, TimingVerdict};

use super::statistics::{CONFIDENCE, median, signed_rank_interval};

/// The conclusion on one lane from some blocks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LaneConclusion {
    pub(super) verdict: TimingVerdict,
    pub(super) reason: Option<String>,
    pub(super) base: f64,
    pub(super) head: f64,
    pub(super) ratio: Option<RatioInterval>,
    pub(super) control: Option<RatioInterval>,
    pub(super) calls: Vec<CallChange>,
}

impl LaneConclusion {
    /// A lane of which nothing can be said.
    pub(super) fn unavailable(reason: impl Into<String>) -> Self {
        Self {
            verdict: TimingVerdict::Unavailable,
            reason: Some(reason.into()),
            base: 0.0,
            head: 0.0,
            ratio: None,
            control: None,
            calls: Vec::new(),
        }
    }

    /// Returns whether new blocks have to decide: the lane is red, or undecided.
    pub(super) fn is_suspect(&self) -> bool {
        use TimingVerdict::{Changed, Inconclusive, Regression};
        matches!(self.verdict, Regression | Changed | Inconclusive)
    }
}

/// Judges a lane by its blocks, each of which counts once.
pub(super) fn judge_blocks(lane: TimingLane, blocks: &[LaneBlock]) -> LaneConclusion {
    let all = |pick: fn(&LaneBlock) -> [f64; 2]| blocks.iter().flat_map(pick).collect::<Vec<_>>();
    let (base, head) = (median(&all(|block| block.base)), median(&all(|block| block.head)));
    let values = blocks.iter().flat_map(|block| [block.base, block.head, block.control]);
    if values.flatten().any(|value| !(value.is_finite() && value > 0.0)) {
        return LaneConclusion::unavailable("a value is zero, so that there is no ratio");
    }
    // Half the logarithm of a product of two positions a side: drift within a block cancels.
    let logs = |pick: fn(&LaneBlock) -> [f64; 2]| {
        let log = |block: &LaneBlock| {
            let ([first, second], [old_first, old_second]) = (pick(block), block.base);
            ((first * second) / (old_first * old_second)).ln() / 2.0
        };
        blocks.iter().map(log).collect::<Vec<_>>()
    };
    let ratio = signed_rank_interval(&logs(|block| block.head), CONFIDENCE);
    let control = signed_rank_interval(&logs(|block| block.control), CONFIDENCE);
    let (verdict, reason) = match (ratio, control) {
        (Some(ratio), Some(control)) => judge_interval(lane, ratio, control),
        _ => (TimingVerdict::Inconclusive, Some("too few blocks for an interval".to_owned())),
    };
    LaneConclusion { verdict, reason, base, head, ratio, control, calls: Vec::new() }
}

/// Judges a ratio beside its control. Where the old program differs from itself, only what exceeds
/// the margin by more than that difference is concluded.
fn judge_interval(
    lane: TimingLane,
    ratio: RatioInterval,
    control: RatioInterval,
) -> (TimingVerdict, Option<String>) {
    let (margin, allowed) = (1.0 + lane.margin(), 1.0 + lane.control_margin());
    let noise = control.high.max(1.0 / control.low).max(1.0);
    let is_steady = noise <= allowed;
    let limit = if is_steady { margin } else { margin * noise };
    if ratio.low > limit {
        return (TimingVerdict::Regression, None);
    }
    if !is_steady {
        let reason = format!(
            "the old program differs from itself by up to {:.1} %, and {:.0} % may be",
            (noise - 1.0) * 100.0,
            lane.control_margin() * 100.0
        );
        return (TimingVerdict::Inconclusive, Some(reason));
    }
    let verdict = match ratio {
        RatioInterval { high, .. } if high < 1.0 / margin => TimingVerdict::Improvement,
        RatioInterval { low, high, .. } if high <= margin && low >= 1.0 / margin => {
            TimingVerdict::Equivalent
        }
        RatioInterval { high, .. } if high <= margin => TimingVerdict::NotWorse,
        _ => TimingVerdict::Inconclusive,
    };
    (verdict, None)
}

/// The number of times that one run made each system call.
pub(super) type CallCounts = BTreeMap<String, u64>;

/// System calls that cost much, or change what a sandbox is made of: one more of them is a
/// regression even where others were saved.
const COSTLY: [&str; 22] = [
    "bind",
    "clone",
    "clone3",
    "connect",
    "execve",
    "execveat",
    "fork",
    "fsconfig",
    "fsmount",
    "fsopen",
    "landlock_add_rule",
    "landlock_restrict_self",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "pivot_root",
    "seccomp",
    "setns",
    "umount2",
    "unshare",
    "vfork",
];

/// Judges system calls. A call that one program makes differently often from run to run is told by
/// its range, and counts only where the ranges have nothing in common.
pub(super) fn judge_counts(
    base: &[CallCounts],
    control: &[CallCounts],
    head: &[CallCounts],
) -> LaneConclusion {
    let old: Vec<&CallCounts> = base.iter().chain(control).collect();
    let new: Vec<&CallCounts> = head.iter().collect();
    let names: BTreeSet<&String> = old.iter().chain(&new).flat_map(|run| run.keys()).collect();
    let mut calls = Vec::new();
    let mut unsettled = Vec::new();
    for name in names {
        let (was, is) = (range(&old, name), range(&new, name));
        if was[0] != was[1] {
            unsettled.push(name.as_str());
        } else if is[0] > was[1] || is[1] < was[0] {
            calls.push(CallChange { call: name.clone(), base: was, head: is });
        }
    }
    let total = |runs: &[&CallCounts]| {
        median(&runs.iter().map(|run| run.values().sum::<u64>() as f64).collect::<Vec<_>>())
    };
    let reason = (!unsettled.is_empty())
        .then(|| format!("not judged, as the old program varies: {}", unsettled.join(", ")));
    LaneConclusion {
        verdict: counts_verdict(&calls),
        reason,
        base: total(&old),
        head: total(&new),
        ratio: None,
        control: None,
        calls,
    }
}

fn range(runs: &[&CallCounts], name: &str) -> [u64; 2] {
    let counts = || runs.iter().map(|run| run.get(name).copied().unwrap_or_default());
    [counts().min().unwrap_or_default(), counts().max().unwrap_or_default()]
}

fn counts_verdict(calls: &[CallChange]) -> TimingVerdict {
    let more = |change: &CallChange| change.head[0].saturating_sub(change.base[0]);
    let fewer = |change: &CallChange| change.base[0].saturating_sub(change.head[1]);
    let costlier = |change: &CallChange| more(change) > 0 && COSTLY.contains(&&*change.call);
    let (gained, saved): (u64, u64) = (calls.iter().map(more).sum(), calls.iter().map(fewer).sum());
    match (gained, saved) {
        (0, 0) => TimingVerdict::Equivalent,
        (0, _) => TimingVerdict::Improvement,
        _ if gained > saved || calls.iter().any(costlier) => TimingVerdict::Regression,
        _ => TimingVerdict::Changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Twelve blocks whose new program costs `factor`, and whose old one varies by `noise`.
    fn blocks(factor: f64, noise: f64) -> Vec<LaneBlock> {
        let block = |index: i32| {
            let off = 1.0 + noise * f64::from(index - 6) / 6.0;
            let drift = 1.0 + f64::from(index) / 10.0;
            LaneBlock {
                base: [100.0 * drift, 110.0 * drift],
                head: [100.0 * drift * factor * off, 110.0 * drift * factor],
                control: [100.0 * drift * off, 110.0 * drift],
            }
        };
        (0..12).map(block).collect()
    }

    #[rstest]
    #[case(TimingLane::Cpu, 1.0, 0.0, TimingVerdict::Equivalent)]
    #[case(TimingLane::Cpu, 1.08, 0.01, TimingVerdict::Regression)]
    #[case(TimingLane::Cpu, 1.03, 0.01, TimingVerdict::Equivalent)]
    #[case(TimingLane::Cpu, 0.955, 0.03, TimingVerdict::NotWorse)]
    #[case(TimingLane::Cpu, 0.8, 0.01, TimingVerdict::Improvement)]
    #[case(TimingLane::Cpu, 1.05, 0.02, TimingVerdict::Inconclusive)]
    #[case::unsteady(TimingLane::Cpu, 1.08, 0.3, TimingVerdict::Inconclusive)]
    #[case::unsteady_and_even(TimingLane::Cpu, 1.0, 0.3, TimingVerdict::Inconclusive)]
    #[case::unsteady_and_far_worse(TimingLane::Cpu, 2.0, 0.3, TimingVerdict::Regression)]
    #[case(TimingLane::Wall, 1.08, 0.01, TimingVerdict::Equivalent)]
    #[case(TimingLane::Wall, 1.15, 0.01, TimingVerdict::Regression)]
    #[case(TimingLane::Faults, 1.03, 0.002, TimingVerdict::Regression)]
    #[case(TimingLane::Faults, 1.01, 0.002, TimingVerdict::Equivalent)]
    fn intervals(
        #[case] lane: TimingLane,
        #[case] factor: f64,
        #[case] noise: f64,
        #[case] wanted: TimingVerdict,
    ) {
        let found = judge_blocks(lane, &blocks(factor, noise));
        assert_eq!(found.verdict, wanted, "{found:?}");
    }

    #[test]
    fn drift_within_and_between_blocks_cancels() {
        let found = judge_blocks(TimingLane::Wall, &blocks(1.0, 0.0));
        let ratio = found.ratio.unwrap();
        assert!((ratio.low - 1.0).abs() < 1e-9 && (ratio.high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn few_blocks_decide_nothing_and_zeroes_are_no_values() {
        let few = judge_blocks(TimingLane::Cpu, &blocks(2.0, 0.0)[..7]);
        assert_eq!(few.verdict, TimingVerdict::Inconclusive);
        let mut zero = blocks(1.0, 0.0);
        zero[3].head[0] = 0.0;
        assert_eq!(judge_blocks(TimingLane::Cpu, &zero).verdict, TimingVerdict::Unavailable);
    }

    /// Reads one run a text, such as `mount 2, openat 9`.
    fn runs(texts: &[&str]) -> Vec<CallCounts> {
        let call = |part: &str| {
            let (name, count) = part.split_once(' ').unwrap();
            (name.to_owned(), count.parse().unwrap())
        };
        texts.iter().map(|text| text.split(", ").map(call).collect()).collect()
    }

    const OLD: &str = "mount 2, openat 9, read 5";
    const OTHER: &str = "mount 2, openat 9, read 6";

    #[rstest]
    #[case::same(&[OLD], &[OLD], TimingVerdict::Equivalent)]
    #[case::one_more(&[OLD], &["mount 2, openat 10, read 5"], TimingVerdict::Regression)]
    #[case::fewer(&[OLD], &["mount 2, openat 9"], TimingVerdict::Improvement)]
    #[case::exchanged(&[OLD], &["mount 2, openat 8, read 6"], TimingVerdict::Changed)]
    #[case::a_mount_for_reads(&[OLD], &["mount 3, openat 9"], TimingVerdict::Regression)]
    #[case::a_new_call(&[OLD], &["mount 2, openat 9, read 5, stat 1"], TimingVerdict::Regression)]
    #[case::old_varies(&[OLD, OTHER], &["mount 2, openat 9, read 9"], TimingVerdict::Equivalent)]
    #[case::new_varies_over_old(&[OLD], &[OLD, OTHER], TimingVerdict::Equivalent)]
    fn counts(#[case] base: &[&str], #[case] head: &[&str], #[case] wanted: TimingVerdict) {
        let found = judge_counts(&runs(base), &runs(base), &runs(head));
        assert_eq!(found.verdict, wanted, "{found:?}");
    }

    #[test]
    fn a_call_that_varies_is_named_and_one_that_differs_is_listed() {
        let found = judge_counts(
            &runs(&[OLD, OTHER]),
            &runs(&[OLD]),
            &runs(&["mount 4, openat 9, read 5"]),
        );
        assert_eq!(found.reason.unwrap(), "not judged, as the old program varies: read");
        let change = CallChange { call: "mount".to_owned(), base: [2, 2], head: [4, 4] };
        assert_eq!((found.calls, found.base, found.head), (vec![change], 16.0, 18.0));
    }
}
