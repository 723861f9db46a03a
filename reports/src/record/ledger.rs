//! The rules that every record keeps to, in writing and in reading ([`RecordLedger`]).

use std::collections::{BTreeMap, HashSet};

use thiserror::Error;

use super::{BackendInfo, CaseRow, FORMAT, Footer, Header, OLDEST};
use crate::verdict::{Outcome, Verdict};

/// The contradiction between a line and the lines before it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LedgerFault {
    /// The header has a format version that never was.
    #[error("format {0} never existed; this boxproof writes format {FORMAT}")]
    Format(u32),
    /// The header names a backend twice.
    #[error("backend `{0}` is named twice in the header")]
    DuplicateBackend(String),
    /// A case has two rows for one backend.
    #[error("a second row for case `{id}` and backend `{backend}`")]
    DuplicateRow {
        /// The case.
        id: String,
        /// The backend.
        backend: String,
    },
    /// A row names a backend the header does not.
    #[error("case `{id}` is of backend `{backend}`, which the header does not name")]
    UnknownBackend {
        /// The case.
        id: String,
        /// The backend.
        backend: String,
    },
    /// A row claims a result of a backend that is not installed.
    #[error("case `{id}` has a row for backend `{backend}`, which the header says is missing")]
    MissingBackend {
        /// The case.
        id: String,
        /// The backend.
        backend: String,
    },
    /// A pass that is a known failure, or an unexpected pass that is none.
    #[error("case `{id}`: outcome {outcome} does not go with verdict {verdict}")]
    Outcome {
        /// The case.
        id: String,
        /// The row's verdict.
        verdict: Verdict,
        /// The row's outcome.
        outcome: Outcome,
    },
    /// Repetitions that do not add up.
    #[error("case `{id}`: its repetitions do not add up, or its verdict is not among theirs")]
    Stress {
        /// The case.
        id: String,
    },
    /// A duration is negative or no number.
    #[error("case `{id}`: a duration is not a number of milliseconds from 0")]
    Duration {
        /// The case.
        id: String,
    },
}

/// The books of one record: which backends it names, which rows it has, how they count.
#[derive(Debug)]
pub(super) struct RecordLedger {
    /// Backend → whether it is installed.
    backends: BTreeMap<String, bool>,
    seen: HashSet<(String, String)>,
    counts: BTreeMap<String, u64>,
}

impl RecordLedger {
    pub(super) fn open(header: &Header) -> Result<Self, LedgerFault> {
        if !(OLDEST..=FORMAT).contains(&header.format) {
            return Err(LedgerFault::Format(header.format));
        }
        let mut backends = BTreeMap::new();
        for BackendInfo { name, missing, .. } in &header.backends {
            if backends.insert(name.clone(), missing.is_none()).is_some() {
                return Err(LedgerFault::DuplicateBackend(name.clone()));
            }
        }
        Ok(Self { backends, seen: HashSet::new(), counts: Footer::no_counts() })
    }

    pub(super) fn enter(&mut self, row: &CaseRow) -> Result<(), LedgerFault> {
        self.check_backend(row)?;
        check_outcome(row)?;
        check_durations(row)?;
        check_stress(row)?;
        if !self.seen.insert((row.id.clone(), row.backend.clone())) {
            let (id, backend) = (row.id.clone(), row.backend.clone());
            return Err(LedgerFault::DuplicateRow { id, backend });
        }
        *self.counts.entry(row.verdict.keyword().to_owned()).or_default() += 1;
        Ok(())
    }

    /// The footer these books ask for, given the checksum of the lines so far.
    pub(super) fn close(self, checksum: String) -> Footer {
        Footer { counts: self.counts, rows: self.seen.len() as u64, checksum, interrupted: None }
    }

    fn check_backend(&self, row: &CaseRow) -> Result<(), LedgerFault> {
        let (id, backend) = (row.id.clone(), row.backend.clone());
        match self.backends.get(&row.backend) {
            Some(true) => Ok(()),
            Some(false) => Err(LedgerFault::MissingBackend { id, backend }),
            None => Err(LedgerFault::UnknownBackend { id, backend }),
        }
    }
}

fn check_outcome(row: &CaseRow) -> Result<(), LedgerFault> {
    let passed = row.verdict == Verdict::Pass;
    let fits = match row.outcome {
        Outcome::Xpass => passed,
        Outcome::Flaky => passed && row.is_flaky(),
        Outcome::Xfail | Outcome::Unexpected => !passed,
        Outcome::Expected => true,
    };
    let (id, verdict, outcome) = (row.id.clone(), row.verdict, row.outcome);
    if fits { Ok(()) } else { Err(LedgerFault::Outcome { id, verdict, outcome }) }
}

fn check_stress(row: &CaseRow) -> Result<(), LedgerFault> {
    match &row.stress {
        Some(stress) if !stress.fits(row.verdict) => {
            Err(LedgerFault::Stress { id: row.id.clone() })
        }
        _ => Ok(()),
    }
}

fn check_durations(row: &CaseRow) -> Result<(), LedgerFault> {
    let mut durations = row.arms.iter().map(|arm| arm.duration_ms).chain([row.duration_ms]);
    // JSON has no NaN: written as null, it would make a record that cannot be read.
    if durations.all(|ms| ms.is_finite() && ms >= 0.0) {
        Ok(())
    } else {
        Err(LedgerFault::Duration { id: row.id.clone() })
    }
}
