//! The answer: the conclusions of a run, their record, and their presentation.
//!
//! A run record ([`record`]) is the one source of truth; everything else here is a pure rendering
//! of one or more [`Run`]s. Nothing in this crate judges, and nothing opens files.

pub mod annotations;
pub mod badge;
pub mod claims;
pub mod compare;
pub mod conformance;
pub mod coverage;
pub mod diff;
pub mod exit;
pub mod findings;
pub mod gate;
pub mod html;
pub mod junit;
pub mod label;
pub mod markdown;
pub mod matrix;
pub mod merge;
pub mod profile;
pub mod record;
pub mod row_reading;
pub mod sarif;
pub mod schema;
mod scope;
mod sentences;
pub mod stress;
pub mod summary;
pub mod tap;
pub mod terminal;
mod text;
pub mod timing;
mod unsafe_characters;
pub mod verdict;

pub use diff::{Diff, diff};
pub use exit::{ExitCode, ExitOptions, exit_code};
pub use matrix::Matrix;
pub use merge::{MergeError, joined, merge, merge_partial};
pub use record::{
    ArmName, ArmRow, BackendInfo, BlindLook, BlindShown, CaseQuestion, CaseRow, CorpusInfo,
    EarlierTry, ExitRow, Footer, Header, JudgeEvidence, KnownFailure, Level, OracleRow,
    RecordError, RecordWriter, RequirementText, Run, RunUser, Selection, SetInfo, Shard,
    StreamText, StressCount, TwinState, UserKind, WriteError,
};
pub use stress::wilson_interval;
pub use summary::{OutcomeTally, summary_line};
pub use text::{excerpt, printable};
pub use verdict::{Outcome, Verdict};
