//! Colours, and the short words of cells ([`Paint`]).

use anstyle::{AnsiColor, Style as Ansi};

use super::Style;
use crate::record::CaseRow;
use crate::verdict::{Outcome, Verdict};

/// Applies colours, or does not.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) Style);

impl Paint {
    pub(super) fn heading(self, text: &str) -> String {
        self.paint(text, Ansi::new().bold())
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint(text, Ansi::new().dimmed())
    }

    pub(super) fn verdict(self, text: &str, verdict: Verdict) -> String {
        self.paint(text, colour(verdict))
    }

    fn paint(self, text: &str, ansi: Ansi) -> String {
        match self.0 {
            Style::Plain => text.to_owned(),
            Style::Color => format!("{ansi}{text}{ansi:#}"),
        }
    }
}

fn colour(verdict: Verdict) -> Ansi {
    match verdict {
        Verdict::Pass => AnsiColor::Green.on_default(),
        Verdict::UnderBlock | Verdict::OverBlock | Verdict::Contract | Verdict::Leak => {
            AnsiColor::Red.on_default().bold()
        }
        Verdict::Contradiction | Verdict::Inconclusive | Verdict::ProbeBroken | Verdict::Error => {
            AnsiColor::Yellow.on_default()
        }
        Verdict::Gap | Verdict::Unsupported | Verdict::NotApplicable | Verdict::Skipped => {
            Ansi::new().dimmed()
        }
    }
}

/// The short word of a verdict, so that several columns fit on a page.
pub(super) fn short_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::UnderBlock => "UNDER",
        Verdict::OverBlock => "OVER",
        Verdict::Contract => "CONTR",
        Verdict::Leak => "LEAK",
        Verdict::Contradiction => "contra",
        Verdict::Gap => "gap",
        Verdict::Inconclusive => "incon",
        Verdict::ProbeBroken => "probe",
        Verdict::Unsupported => "unsup",
        Verdict::NotApplicable => "n/a",
        Verdict::Skipped => "skip",
        Verdict::Error => "ERROR",
    }
}

/// Returns the mark after a short word: `*` for a known failure, `!` for an unexpected result, `~`
/// for a pass on another try.
pub(super) fn mark(row: &CaseRow) -> &'static str {
    match row.outcome {
        Outcome::Xfail => "*",
        Outcome::Xpass => "!",
        Outcome::Flaky => "~",
        Outcome::Unexpected if !row.verdict.is_failure() && !row.verdict.is_unlearnt() => "!",
        Outcome::Unexpected | Outcome::Expected => "",
    }
}
