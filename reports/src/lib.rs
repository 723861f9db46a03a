//! The answer: what a run concluded, how it is kept, and how it is shown.
//!
//! A run record ([`record`]) is the one source of truth; everything else here is a pure
//! rendering of one or more [`Run`]s. Nothing in this crate judges, and nothing opens files.

pub mod record;
pub mod verdict;

pub use record::{
    ArmName, ArmRow, BackendInfo, CaseRow, CorpusInfo, ExitRow, Footer, Header, Known, Level,
    OracleRow, Run, Selection, Shard, StreamText, TwinState, User, UserKind,
};
pub use verdict::{Outcome, Verdict};
