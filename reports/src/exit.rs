//! The exit code of a finished run ([`ExitCode`]).

use crate::record::{BackendInfo, CaseRow, Level};
use crate::verdict::Outcome;

/// The exit codes of `boxproof run`, all of them.
///
/// ```
/// use boxproof_reports::{ExitCode, ExitOptions, exit_code};
///
/// // Nothing judged is never a success.
/// assert_eq!(exit_code(&[], ExitOptions::default(), &[]), ExitCode::Vacuous);
/// assert_eq!(ExitCode::Vacuous.code(), 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ExitCode {
    /// Everything was as expected.
    Expected = 0,
    /// At least one verdict was unexpected.
    Unexpected = 1,
    /// Wrong usage, or a corpus or manifest that does not load.
    Usage = 2,
    /// Something was not learnt (inconclusive, error), or a named backend is not installed.
    Unlearnt = 3,
    /// Nothing was selected, or a backend has not one judged row.
    Vacuous = 4,
    /// A gate tripped.
    Gate = 5,
}

impl ExitCode {
    /// Every exit code, in order.
    pub const ALL: [Self; 6] =
        [Self::Expected, Self::Unexpected, Self::Usage, Self::Unlearnt, Self::Vacuous, Self::Gate];

    /// The number for the shell.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// The options that decide which results count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExitOptions {
    /// Failures below level `must` count too.
    pub strict: bool,
    /// A named backend may be missing.
    pub allow_missing: bool,
}

/// Returns the exit code of a run. The worst result wins: 1, then 4, then 3.
///
/// A missing backend has no rows and is no vacuous one; when every backend is missing although they
/// may be, nothing was run, which is never a success.
#[must_use]
pub fn exit_code(rows: &[CaseRow], options: ExitOptions, backends: &[BackendInfo]) -> ExitCode {
    let (present, missing): (Vec<_>, Vec<_>) = backends.iter().partition(|b| b.missing.is_none());
    let missing_counts = !missing.is_empty() && !options.allow_missing;
    if rows.iter().any(|row| is_red(row, options)) {
        ExitCode::Unexpected
    } else if present.iter().any(|b| !has_judged_row(b, rows))
        || (present.is_empty() && !missing_counts)
    {
        ExitCode::Vacuous
    } else if missing_counts || rows.iter().any(is_unlearnt) {
        ExitCode::Unlearnt
    } else {
        ExitCode::Expected
    }
}

/// Returns whether a row alone makes the run fail: an unexpected verdict of a level that counts, or
/// a known failure that passes, at any level, because the list of known failures is then wrong.
#[must_use]
pub fn is_red(row: &CaseRow, options: ExitOptions) -> bool {
    match row.outcome {
        Outcome::Xpass => true,
        Outcome::Unexpected => {
            !row.verdict.is_unlearnt() && (options.strict || row.level == Level::Must)
        }
        Outcome::Expected | Outcome::Xfail | Outcome::Flaky => false,
    }
}

fn is_unlearnt(row: &CaseRow) -> bool {
    row.verdict.is_unlearnt() && row.outcome != Outcome::Xfail
}

fn has_judged_row(backend: &BackendInfo, rows: &[CaseRow]) -> bool {
    rows.iter().any(|row| row.backend == backend.name && row.verdict.is_judged())
}
