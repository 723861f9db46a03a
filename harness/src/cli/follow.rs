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
            None if self.told.elapsed() >= PAUSE => {
                self.told = Instant::now();
                let (judged, failed) = (self.judged, self.failed);
                let seconds = self.begun.elapsed().as_secs();
                note(format_args!(
                    "{done} of {total} arms, {judged} rows judged, {failed} failed, {seconds} s"
                ));
            }
            None => {}
        }
    }

    fn judged(&mut self, row: &CaseRow, again: bool) -> ControlFlow<()> {
        self.judged += 1;
        if again || FindingKind::from_row(row) != Some(FindingKind::Failure) {
            return ControlFlow::Continue(());
        }
        self.failed += 1;
        if let Some(bar) = &self.bar {
            let CaseRow { backend, id, verdict, message, .. } = row;
            let line = format!("{backend}: {id}: {verdict}: {}", excerpt(message, WIDTH));
            bar.println(printable(&line));
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
