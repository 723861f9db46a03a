//! Reports on a run while it goes on ([`RunFollower`]): a bar with the failures above it, or a line
//! now and then where there is no terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use boxproof_reports::exit::is_red;
use boxproof_reports::findings::FindingKind;
use boxproof_reports::{CaseRow, ExitOptions, excerpt, printable};
use indicatif::{ProgressBar, ProgressStyle};

use super::note;
use crate::session::RunWatch;

/// The interval between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);
/// The most characters of a message above the bar.
const WIDTH: usize = 160;

/// Follows one run.
pub(super) struct RunFollower {
    /// The bar, where there is a terminal.
    bar: Option<ProgressBar>,
    /// `None` where a failure does not end the run; else true if those below `must` count.
    fail_fast: Option<bool>,
    begun: Instant,
    /// The time of the last line.
    told: Instant,
    judged: usize,
    failed: usize,
}

impl RunFollower {
    pub(super) fn new(fail_fast: Option<bool>) -> Self {
        let bar = std::io::stderr().is_terminal().then(progress_bar);
        let now = Instant::now();
        Self { bar, fail_fast, begun: now, told: now, judged: 0, failed: 0 }
    }

    /// Returns the line that is due at `now` where there is no terminal, if one is.
    fn due_line(&mut self, now: Instant, (done, total): (usize, usize)) -> Option<String> {
        if now.duration_since(self.told) < PAUSE {
            return None;
        }
        self.told = now;
        let (judged, failed) = (self.judged, self.failed);
        let seconds = now.duration_since(self.begun).as_secs();
        Some(format!("{done} of {total} arms, {judged} rows judged, {failed} failed, {seconds} s"))
    }
}

/// Returns the line about a failing row that stands above the bar.
fn failure_line(row: &CaseRow) -> String {
    let CaseRow { backend, id, verdict, message, .. } = row;
    printable(&format!("{backend}: {id}: {verdict}: {}", excerpt(message, WIDTH)))
}

fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} arms  {elapsed}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

impl RunWatch for RunFollower {
    fn arms(&mut self, done: usize, total: usize) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            }
            None => {
                if let Some(line) = self.due_line(Instant::now(), (done, total)) {
                    note(format_args!("{line}"));
                }
            }
        }
    }

    fn judged(&mut self, row: &CaseRow, again: bool) -> ControlFlow<()> {
        self.judged += 1;
        if again || FindingKind::from_row(row) != Some(FindingKind::Failure) {
            return ControlFlow::Continue(());
        }
        self.failed += 1;
        if let Some(bar) = &self.bar {
            bar.println(failure_line(row));
        }
        let counts = |strict| is_red(row, ExitOptions { strict, allow_missing: false });
        match self.fail_fast.is_some_and(counts) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Drop for RunFollower {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boxproof_reports::Verdict;

    fn row(verdict: Verdict) -> CaseRow {
        let message = "\u{1b}[2J\n::error::open ".to_owned() + &"x".repeat(500);
        let outcome = if verdict == Verdict::Pass { "expected" } else { "unexpected" };
        serde_json::from_value(serde_json::json!({
            "id": "fs/write", "backend": "box", "verdict": verdict, "reason": "oracle",
            "message": message, "outcome": outcome, "level": "must", "area": "fs",
            "requirements": ["R-fs-write"], "needs": [], "twin": "none", "duration_ms": 1.0,
            "purpose": "P.", "arms": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_line_is_due_every_ten_seconds_and_counts_what_failed() {
        let mut follower = RunFollower { bar: None, ..RunFollower::new(None) };
        assert!(follower.judged(&row(Verdict::Pass), false).is_continue());
        assert!(follower.judged(&row(Verdict::UnderBlock), false).is_continue());
        // Another try of the same pair.
        assert!(follower.judged(&row(Verdict::UnderBlock), true).is_continue());
        let begun = follower.begun;
        let mut at = |ms| follower.due_line(begun + Duration::from_millis(ms), (5, 9));
        assert_eq!(at(9_999), None);
        let line = "5 of 9 arms, 3 rows judged, 1 failed, 10 s";
        assert_eq!(at(10_000).as_deref(), Some(line));
        assert_eq!(at(19_999), None);
        assert!(at(20_001).is_some());
    }

    #[test]
    fn the_line_above_the_bar_is_short_and_without_controls() {
        let line = failure_line(&row(Verdict::UnderBlock));
        assert!(line.starts_with("box: fs/write: under-block: "), "{line}");
        assert!(!line.contains(char::is_control) && line.chars().count() < 250, "{line}");
    }

    #[test]
    fn the_first_failure_ends_a_run_that_is_to_fail_fast() {
        let mut follower = RunFollower { bar: None, ..RunFollower::new(Some(false)) };
        assert!(follower.judged(&row(Verdict::Pass), false).is_continue());
        assert!(follower.judged(&row(Verdict::UnderBlock), false).is_break());
    }
}
